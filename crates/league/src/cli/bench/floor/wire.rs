//! The least that carries a call: hyper on both sides, or a length before each body; one pool of
//! open connections.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Floor, Wire};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Before a body over TCP: its length, the call, the number of the match.
const REQUEST_HEAD: usize = 16;
/// Before an answer over TCP: its length.
const ANSWER_HEAD: usize = 4;

/// Open connections, by address; a call takes one and gives it back.
pub(crate) struct Pool {
    wire: Wire,
    idle: Mutex<BTreeMap<SocketAddr, Vec<Connection>>>,
}

enum Connection {
    Hyper(SendRequest<Full<Bytes>>),
    Tcp(TcpStream, BytesMut),
}

impl Pool {
    pub(crate) fn new(wire: Wire) -> Self {
        Self {
            wire,
            idle: Mutex::default(),
        }
    }

    /// Makes a call and reads the whole answer.
    pub(crate) async fn call(
        &self,
        to: SocketAddr,
        call: usize,
        number: u64,
        body: Bytes,
    ) -> io::Result<()> {
        let kept = self.idle().get_mut(&to).and_then(Vec::pop);
        let mut connection = match kept {
            Some(kept) => kept,
            None => self.open(to).await?,
        };
        connection.call(to, call, number, body).await?;
        self.idle().entry(to).or_default().push(connection);
        Ok(())
    }

    async fn open(&self, to: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        if self.wire == Wire::Tcp {
            return Ok(Connection::Tcp(stream, BytesMut::new()));
        }
        let opened = handshake(TokioIo::new(stream)).await;
        let (requests, connection) = opened.map_err(io::Error::other)?;
        // The call reports a broken connection.
        tokio::spawn(async move { drop(connection.await) });
        Ok(Connection::Hyper(requests))
    }

    fn idle(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Vec<Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    async fn call(
        &mut self,
        to: SocketAddr,
        call: usize,
        number: u64,
        body: Bytes,
    ) -> io::Result<()> {
        match self {
            Self::Hyper(requests) => {
                let request = request(to, call, number, body)?;
                let sent = requests.send_request(request).await;
                let response = sent.map_err(io::Error::other)?;
                let whole = response.into_body().collect().await;
                whole.map(drop).map_err(io::Error::other)
            }
            Self::Tcp(stream, buffer) => {
                buffer.put_u32(body.len() as u32);
                buffer.put_u32(call as u32);
                buffer.put_u64(number);
                buffer.put_slice(&body);
                stream.write_all_buf(buffer).await?;
                fill(stream, buffer, ANSWER_HEAD).await?;
                let length = buffer.get_u32() as usize;
                fill(stream, buffer, length).await?;
                buffer.advance(length);
                Ok(())
            }
        }
    }
}

fn request(
    to: SocketAddr,
    call: usize,
    number: u64,
    body: Bytes,
) -> io::Result<Request<Full<Bytes>>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    let path = Uri::try_from(format!("/{call}/{number}"));
    *request.uri_mut() = path.map_err(io::Error::other)?;
    let host = HeaderValue::try_from(to.to_string()).map_err(io::Error::other)?;
    request.headers_mut().insert(HOST, host);
    request.headers_mut().insert(CONTENT_TYPE, JSON);
    Ok(request)
}

/// Reads until so many bytes are there.
async fn fill(stream: &mut TcpStream, buffer: &mut BytesMut, length: usize) -> io::Result<()> {
    while buffer.len() < length {
        if stream.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

/// Answers the calls of a listener for as long as the process lives.
pub(crate) async fn serve(wire: Wire, listener: TcpListener, floor: Arc<Floor>) {
    while let Ok((stream, _)) = listener.accept().await {
        let floor = Arc::clone(&floor);
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        // A caller that leaves is told of by its own side.
        match wire {
            Wire::Hyper => tokio::spawn(async move { drop(converse(stream, floor).await) }),
            Wire::Tcp => tokio::spawn(async move { drop(exchange(stream, floor).await) }),
        };
    }
}

async fn converse(stream: TcpStream, floor: Arc<Floor>) -> hyper::Result<()> {
    let answer = service_fn(move |request: Request<Incoming>| {
        let floor = Arc::clone(&floor);
        async move {
            let (call, number) = path(request.uri()).unwrap_or_default();
            let read = request.into_body().collect().await;
            let mut response = Response::new(Full::default());
            if read.is_ok() {
                *response.body_mut() = Full::new(floor.answer(call, number));
            }
            response.headers_mut().insert(CONTENT_TYPE, JSON);
            Ok::<_, Infallible>(response)
        }
    });
    http1::Builder::new()
        .serve_connection(TokioIo::new(stream), answer)
        .await
}

fn path(uri: &Uri) -> Option<(usize, u64)> {
    let (call, number) = uri.path().strip_prefix('/')?.split_once('/')?;
    Some((call.parse().ok()?, number.parse().ok()?))
}

async fn exchange(mut stream: TcpStream, floor: Arc<Floor>) -> io::Result<()> {
    let mut buffer = BytesMut::new();
    let mut answers = BytesMut::new();
    loop {
        fill(&mut stream, &mut buffer, REQUEST_HEAD).await?;
        let length = buffer.get_u32() as usize;
        let (call, number) = (buffer.get_u32() as usize, buffer.get_u64());
        fill(&mut stream, &mut buffer, length).await?;
        buffer.advance(length);
        let answer = floor.answer(call, number);
        answers.put_u32(answer.len() as u32);
        answers.put_slice(&answer);
        stream.write_all_buf(&mut answers).await?;
    }
}
