//! Requests and answers of HTTP/1.1, as little of them as a flood needs.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// A call that every agent answers at once.
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
/// The longest answer that is read.
const MAX_ANSWER: usize = 64 * 1024;

/// The bytes of a call.
pub(crate) fn ping() -> Vec<u8> {
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    format!("{head}content-length: {}\r\n\r\n{PING}", PING.len()).into_bytes()
}

/// Connects from an address of this machine, so that peers do not look like the league's own.
pub(crate) async fn connect(from: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((from, 0).into())?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Sends a request and reads the answer; gives its status.
pub(crate) async fn exchange(stream: &mut TcpStream, request: &[u8]) -> io::Result<u16> {
    stream.write_all(request).await?;
    let mut heard = Vec::with_capacity(1_024);
    loop {
        if stream.read_buf(&mut heard).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some((status, length)) = head(&heard)
            && heard.len() >= length
        {
            return Ok(status);
        }
        if heard.len() > MAX_ANSWER {
            return Err(io::Error::other("an answer without an end"));
        }
    }
}

/// The status of an answer and the length of all of it, once its head is there.
fn head(heard: &[u8]) -> Option<(u16, usize)> {
    let end = heard.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&heard[..end]).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let body = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    Some((status, end + 4 + body.unwrap_or(0)))
}
