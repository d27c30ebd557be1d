//! Calls a server over connections that are kept, one call at a time on each.
//!
//! HTTP is spoken by hand here: what the caller spends is taken from the server on a small machine.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::requests::Wanted;

/// How long one load may take.
const LONGEST_LOAD: Duration = Duration::from_secs(120);
/// The largest answer, head and all, in bytes.
const LARGEST_ANSWER: usize = 64 * 1024;

/// Calls so many times over so many connections; every answer must be as long as the first.
///
/// # Errors
///
/// Says which answer was another than expected, or that it took too long.
pub(crate) async fn load(
    server: SocketAddr,
    wanted: &Arc<Wanted>,
    calls: u32,
    connections: u32,
) -> io::Result<()> {
    let length = once(server, wanted).await?.len();
    let called = Arc::new(AtomicU32::new(0));
    let mut lines = JoinSet::new();
    for _ in 0..connections {
        let (wanted, called) = (Arc::clone(wanted), Arc::clone(&called));
        lines.spawn(async move {
            let mut line = Line::open(server).await?;
            loop {
                let id = called.fetch_add(1, Ordering::Relaxed);
                if id >= calls {
                    return Ok(());
                }
                if line.call(&wanted, id).await?.len() != length {
                    return Err(io::Error::other(
                        "an answer differs in length from the first",
                    ));
                }
            }
        });
    }
    let all = async {
        while let Some(ended) = lines.join_next().await {
            ended.map_err(io::Error::other)??;
        }
        Ok(())
    };
    let late = |_| io::Error::other("the load took too long");
    tokio::time::timeout(LONGEST_LOAD, all)
        .await
        .map_err(late)?
}

/// Calls once and returns the body of the answer.
///
/// # Errors
///
/// The connection may break, or the answer be none.
pub(crate) async fn once(server: SocketAddr, wanted: &Wanted) -> io::Result<Vec<u8>> {
    let mut line = Line::open(server).await?;
    line.call(wanted, 0).await.map(<[u8]>::to_vec)
}

/// One connection.
struct Line {
    stream: TcpStream,
    out: Vec<u8>,
    read: Vec<u8>,
}

impl Line {
    async fn open(server: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            out: Vec::new(),
            read: Vec::with_capacity(LARGEST_ANSWER),
        })
    }

    /// Sends a request and returns the body of its answer.
    async fn call(&mut self, wanted: &Wanted, id: u32) -> io::Result<&[u8]> {
        wanted.write(id, &mut self.out);
        self.stream.write_all(&self.out).await?;
        self.read.clear();
        loop {
            if self.stream.read_buf(&mut self.read).await? == 0 || self.read.len() > LARGEST_ANSWER
            {
                return Err(io::Error::other("the answer broke off or is too large"));
            }
            if let Some((start, end)) = body(&self.read)?
                && end == self.read.len()
            {
                return Ok(&self.read[start..end]);
            }
        }
    }
}

/// Where the body of an answer begins and ends; nothing while the head is not whole.
fn body(read: &[u8]) -> io::Result<Option<(usize, usize)>> {
    let Some(start) = read.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&read[..start]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    match length.filter(|_| head.starts_with("http/1.1 200 ")) {
        Some(length) => Ok(Some((
            start + 4,
            start.saturating_add(4).saturating_add(length),
        ))),
        None => Err(io::Error::other(format!(
            "not the answer to a call: {head}"
        ))),
    }
}
