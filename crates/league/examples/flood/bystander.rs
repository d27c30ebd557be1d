//! A server that answers as an agent does and belongs to no league.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
    content-length: 36\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}";
/// The end of a call.
const END: &[u8] = b"}";

/// Starts the server; it lives as long as the program.
pub(crate) async fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut heard = [0; 1_024];
                loop {
                    match stream.read(&mut heard).await {
                        Ok(0) | Err(_) => return,
                        Ok(read) if !heard[..read].ends_with(END) => {}
                        Ok(_) if stream.write_all(ANSWER).await.is_err() => return,
                        Ok(_) => {}
                    }
                }
            });
        }
    });
    Ok(address)
}
