//! Calls a server over connections that are kept, one call at a time on each.
//!
//! HTTP is spoken by hand here: what the caller spends is taken from the server on a small machine.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::requests::RequestTemplate;

/// How long one run of calls may take.
const LOAD_TIMEOUT: Duration = Duration::from_secs(120);
/// The largest answer, head and all, in bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// A server, and the connections to it.
pub(crate) struct Load {
    wanted: Arc<RequestTemplate>,
    lines: Vec<Line>,
    /// How long every answer must be.
    length: usize,
}

impl Load {
    /// Opens the connections and calls once; `expected` must stand in the answer.
    ///
    /// # Errors
    ///
    /// The connections may break, or the answer be another.
    pub(crate) async fn open(
        server: SocketAddr,
        wanted: RequestTemplate,
        connections: u32,
        expected: &str,
    ) -> io::Result<Self> {
        let mut lines = Vec::new();
        for _ in 0..connections.max(1) {
            lines.push(Line::open(server).await?);
        }
        let answer = lines[0].call(&wanted, 0).await?;
        let told = String::from_utf8_lossy(answer);
        if !told.contains(expected) {
            return Err(io::Error::other(format!("no answer to a call: {told}")));
        }
        let length = answer.len();
        let wanted = Arc::new(wanted);
        Ok(Self {
            wanted,
            lines,
            length,
        })
    }

    /// Calls so many times, the same on each connection, and returns how many calls that were.
    ///
    /// # Errors
    ///
    /// Says that an answer was another than the first, or that it took too long.
    pub(crate) async fn call(&mut self, calls: u32) -> io::Result<u32> {
        let connections = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        let each = calls.div_ceil(connections);
        let mut busy = JoinSet::new();
        for mut line in self.lines.drain(..) {
            let (wanted, length) = (Arc::clone(&self.wanted), self.length);
            busy.spawn(async move {
                for id in 0..each {
                    if line.call(&wanted, id).await?.len() != length {
                        let told = "an answer differs in length from the first";
                        return Err(io::Error::other(told));
                    }
                }
                Ok(line)
            });
        }
        let all = async {
            while let Some(line) = busy.join_next().await {
                self.lines.push(line.map_err(io::Error::other)??);
            }
            Ok(each.saturating_mul(connections))
        };
        let late = |_| io::Error::other("the calls took too long");
        let done = tokio::time::timeout(LOAD_TIMEOUT, all).await;
        done.map_err(late)?
    }
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
            read: Vec::with_capacity(MAX_ANSWER),
        })
    }

    /// Sends a request and returns the body of its answer.
    async fn call(&mut self, wanted: &RequestTemplate, id: u32) -> io::Result<&[u8]> {
        wanted.write(id, &mut self.out);
        self.stream.write_all(&self.out).await?;
        self.read.clear();
        loop {
            if self.stream.read_buf(&mut self.read).await? == 0 || self.read.len() > MAX_ANSWER {
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
