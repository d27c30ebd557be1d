//! Honest callers: each calls an agent at even times and notes how long the answer takes.
//!
//! They have a thread of their own, so that they do not wait for the peers of this process.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use crate::wire::{connect, exchange, ping};

/// Where honest agents live.
const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The time between two calls of one agent.
const INTERVAL: Duration = Duration::from_millis(20);
/// How often a call is tried before it counts as failed.
const MAX_TRIES: u32 = 3;

/// Calls agents for some time; gives the milliseconds that each call took, counted from the moment
/// at which it was due, the shortest first.
///
/// # Errors
///
/// A call may find no answer.
pub(crate) async fn call_all(agents: [SocketAddr; 3], lasting: Duration) -> io::Result<Vec<f64>> {
    let calling = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let [one, two, three] = agents.map(|agent| call(agent, lasting));
        let (one, two, three) = runtime.block_on(async { tokio::try_join!(one, two, three) })?;
        let mut took = [one, two, three].concat();
        took.sort_by(f64::total_cmp);
        Ok(took)
    };
    let calling = tokio::task::spawn_blocking(calling);
    calling.await.map_err(io::Error::other)?
}

async fn call(agent: SocketAddr, lasting: Duration) -> io::Result<Vec<f64>> {
    let request = ping();
    let mut stream = connect(HOME, agent).await?;
    let (mut due, end) = (Instant::now(), Instant::now() + lasting);
    let mut took = Vec::new();
    while due < end {
        sleep_until(due).await;
        answer(&mut stream, agent, &request).await?;
        took.push(due.elapsed().as_secs_f64() * 1e3);
        due += INTERVAL;
    }
    Ok(took)
}

/// Calls over the connection, or over a new one if the agent has closed it.
async fn answer(stream: &mut TcpStream, agent: SocketAddr, request: &[u8]) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match exchange(stream, request).await {
            Ok(200) => return Ok(()),
            Ok(status) => return Err(io::Error::other(format!("an agent answers {status}"))),
            Err(error) if tries == MAX_TRIES => return Err(error),
            Err(_) => tries += 1,
        }
        *stream = connect(HOME, agent).await?;
    }
}
