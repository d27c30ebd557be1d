//! Peers that flood a server, and peers that only hold connections to it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::wire::{connect, exchange, ping};

/// Where flooding peers come from, and silent ones.
const FLOODING: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const SILENT: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));
/// How long a peer rests that was turned away.
const REST: Duration = Duration::from_millis(50);

/// Peers at work, until this is dropped.
pub(crate) struct Peers {
    _tasks: JoinSet<()>,
    answered: Arc<AtomicU64>,
}

impl Peers {
    /// Sends so many peers of each kind to the targets in turn; each flooding peer calls as often as
    /// it is answered, but pauses between two calls.
    pub(crate) fn gather(peers: usize, targets: &[SocketAddr], pause: Duration) -> Self {
        let answered = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for (number, target) in (0..peers).zip(targets.iter().copied().cycle()) {
            // They do not all begin at once.
            let start = pause.mul_f64(number as f64 / peers as f64);
            tasks.spawn(flood(target, start, pause, Arc::clone(&answered)));
            tasks.spawn(hold(target));
        }
        let _tasks = tasks;
        Self { _tasks, answered }
    }

    /// How many calls were answered so far.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }
}

async fn flood(target: SocketAddr, start: Duration, pause: Duration, answered: Arc<AtomicU64>) {
    let call = ping();
    sleep(start).await;
    loop {
        if let Ok(mut stream) = connect(FLOODING, target).await {
            while exchange(&mut stream, &call).await.is_ok() {
                answered.fetch_add(1, Ordering::Relaxed);
                sleep(pause).await;
            }
        }
        sleep(REST).await;
    }
}

/// Holds a connection with half a request, and comes again when it is closed.
async fn hold(target: SocketAddr) {
    let half = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n";
    loop {
        if let Ok(mut stream) = connect(SILENT, target).await
            && stream.write_all(half).await.is_ok()
        {
            // Ends when the server closes.
            let _ = stream.read(&mut [0; 64]).await;
        }
        sleep(REST).await;
    }
}
