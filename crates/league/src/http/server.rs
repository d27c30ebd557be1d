//! The HTTP server of an agent: `POST /mcp`, `GET /health`, and optional pages; bytes in, bytes
//! out.
//!
//! Many agents may share one listener, each below its own path. The [`Gate`] decides which requests
//! are allowed, and the [`Service`] handles the body.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::mem::take;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Either, Full, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
pub(crate) use league_mcp::McpResponse as Answered;
use league_mcp::{Events, Origin, RequestHead, ResponseBody};
use league_protocol::rpc::{self, Era, MAX_BODY, RpcError};
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::connection::{HeadTimer, ShutdownSignal, WriteTimeout};
use super::gate::Gate;
use crate::wire::record::RejectedCall;

/// The limits of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest body, in bytes.
    pub body: usize,
    /// The most connections at once; further connections are closed.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: MAX_BODY,
            connections: 4_096,
        }
    }
}

impl Limits {
    /// The most connections for viewers; the rest are reserved for agents.
    pub fn viewers(&self) -> usize {
        self.connections / 2
    }
}

/// The largest request head, in bytes.
const MAX_HEAD: usize = 64 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a peer may read nothing of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long open requests may continue when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// Answers the requests below a path.
pub trait Service: Send + Sync {
    /// Answers the body of a `POST`.
    fn receive(&self, head: RequestHead, body: Bytes) -> Answering<'_>;
    /// Answers methods other than `POST` at `/mcp`.
    fn beside(&self, method: Method, head: RequestHead) -> Answering<'_>;
    /// Records a call that was refused before its body was read.
    fn turned_away(&self, call: &RejectedCall);
    fn health(&self) -> Answering<'_>;
    /// Answers the lines of a pipe until it ends.
    fn attend(self: Arc<Self>, said: PipeIn, answers: PipeOut) -> Attending;
}

/// Pages for people, beside the services.
pub trait Pages: Send + Sync {
    fn visit(&self, path: &str, headers: HeaderMap) -> Answering<'_>;
}

pub(crate) type PipeIn = Box<dyn AsyncBufRead + Send + Unpin>;
pub(crate) type PipeOut = Box<dyn AsyncWrite + Send + Unpin>;
pub(crate) type Attending = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

pub(crate) type Answering<'d> = Pin<Box<dyn Future<Output = Answered> + Send + 'd>>;

type HttpResponse = Response<Either<Full<Bytes>, Events>>;

/// The services behind one listener, by the path before `/mcp` and `/health`.
#[derive(Clone, Default)]
pub struct Routes {
    gate: Gate,
    doors: BTreeMap<String, Arc<dyn Service>>,
    pages: Option<Arc<dyn Pages>>,
}

impl Routes {
    pub(crate) fn behind(gate: Gate) -> Self {
        Self {
            gate,
            ..Self::default()
        }
    }

    /// Serves pages at all paths that do not belong to a service.
    #[must_use]
    pub fn with_pages(mut self, pages: Arc<dyn Pages>) -> Self {
        self.pages = Some(pages);
        self
    }

    /// Adds a service below a prefix, such as an empty one or `/agents/P01`.
    pub fn open(&mut self, prefix: impl Into<String>, door: Arc<dyn Service>) {
        self.doors.insert(prefix.into(), door);
    }
}

/// Binds a port before its address is published.
///
/// # Errors
///
/// The port is in use or not permitted.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until the shutdown signal; open requests get `SHUTDOWN_GRACE` to finish.
pub async fn serve(
    listener: TcpListener,
    doors: Routes,
    limits: Limits,
    mut end: watch::Receiver<bool>,
) {
    let doors = Arc::new(doors);
    let room = Arc::new(Semaphore::new(limits.connections));
    loop {
        let accepted = tokio::select! {
            _ = end.wait_for(|ended| *ended) => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, or the peer left at once: try the next.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let Ok(seat) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let (doors, end) = (Arc::clone(&doors), end.clone());
        tokio::spawn(async move {
            serve_connection(stream, doors, limits.body, end).await;
            drop(seat);
        });
    }
    drop(listener);
    // Wait until open requests are answered.
    let seats = u32::try_from(limits.connections).unwrap_or(u32::MAX);
    let empty = room.acquire_many(seats);
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, empty).await;
}

async fn serve_connection(
    stream: TcpStream,
    doors: Arc<Routes>,
    largest: usize,
    end: watch::Receiver<bool>,
) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    // All requests share the context of their connection, and so avoid counters that connections
    // share.
    let ends = stream.peer_addr().ok().zip(stream.local_addr().ok());
    let visit = Arc::new(ConnectionContext {
        origin: ends.map_or(Origin::Unknown, |(from, at)| Origin::Network {
            from: from.ip().to_canonical(),
            at: at.ip().to_canonical(),
        }),
        doors,
        largest,
    });
    let service = service_fn(move |mut request| {
        let visit = Arc::clone(&visit);
        // Pass the request by reference: a moved value would be stored twice in the future.
        async move { Ok::<_, Infallible>(visit.answer(&mut request).await) }
    });
    let stream = WriteTimeout::new(stream, WRITE_TIMEOUT);
    let connection = http1::Builder::new()
        .timer(HeadTimer::default())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        biased;
        // A broken connection has no peer to report the error to.
        _ = connection.as_mut() => return,
        () = ShutdownSignal::new(end) => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, connection).await;
}

/// The context that all requests of one connection share.
struct ConnectionContext {
    doors: Arc<Routes>,
    origin: Origin,
    largest: usize,
}

impl ConnectionContext {
    fn head(&self, headers: HeaderMap) -> RequestHead {
        RequestHead {
            headers,
            origin: self.origin,
        }
    }

    async fn answer(&self, request: &mut Request<Incoming>) -> HttpResponse {
        let (doors, headers) = (&*self.doors, request.headers());
        let arrived_at = match self.origin {
            Origin::Network { at, .. } => Some(at),
            Origin::Unknown | Origin::Pipe => None,
        };
        let path = request.uri().path();
        let (prefix, tool) = path.split_at(path.rfind('/').unwrap_or(0));
        let door = doors.doors.get(prefix);
        if let Err(refusal) = doors.gate.check(request.uri(), headers, arrived_at) {
            let is_call = *request.method() == Method::POST && tool == "/mcp";
            let refused = refused(StatusCode::FORBIDDEN, &refusal.to_string());
            return self.turn_away(door.filter(|_| is_call), refused);
        }
        let is_look = matches!(*request.method(), Method::GET | Method::HEAD);
        if let (Some(pages), true) = (&doors.pages, is_look && !matches!(tool, "/mcp" | "/health"))
        {
            return respond(pages.visit(path, headers.clone()).await);
        }
        let Some(door) = door else {
            return plain(StatusCode::NOT_FOUND, "there is no agent at this path");
        };
        match (request.method(), tool) {
            (&Method::POST, "/mcp") => match read(request.body_mut(), self.largest).await {
                Ok(body) => respond(
                    door.receive(self.head(take(request.headers_mut())), body)
                        .await,
                ),
                Err(refused) => self.turn_away(Some(door), refused),
            },
            (&Method::GET, "/health") => respond(door.health().await),
            (method, "/mcp") => {
                let head = self.head(headers.clone());
                respond(door.beside(method.clone(), head).await)
            }
            (_, "/health") => not_allowed("GET"),
            _ => plain(
                StatusCode::NOT_FOUND,
                "agents answer `POST /mcp` and `GET /health`",
            ),
        }
    }
}

impl ConnectionContext {
    /// Records a refused call with its service.
    fn turn_away(&self, door: Option<&Arc<dyn Service>>, refused: HttpResponse) -> HttpResponse {
        if let Some(door) = door {
            door.turned_away(&RejectedCall {
                origin: self.origin,
                status: refused.status().as_u16(),
                code: RpcError::INVALID_REQUEST,
            });
        }
        refused
    }
}

async fn read(body: &mut Incoming, largest: usize) -> Result<Bytes, HttpResponse> {
    let mut whole = pin!(whole(Limited::new(body, largest)));
    // Most bodies arrive together with their heads and need no timer.
    let read = match poll_fn(|context| Poll::Ready(whole.as_mut().poll(context))).await {
        Poll::Ready(read) => Ok(read),
        Poll::Pending => Box::pin(tokio::time::timeout(BODY_TIMEOUT, whole)).await,
    };
    match read {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(refused(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("the body is larger than {largest} bytes"),
        )),
        Ok(Err(_)) => Err(refused(StatusCode::BAD_REQUEST, "the body broke off")),
        Err(_) => Err(refused(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not come in time",
        )),
    }
}

/// Collects a body; a body of one chunk is not copied.
async fn whole(mut body: Limited<&mut Incoming>) -> Result<Bytes, Box<dyn Error + Send + Sync>> {
    let first = match body.frame().await.transpose()? {
        Some(frame) => frame.into_data().unwrap_or_default(),
        None => return Ok(Bytes::new()),
    };
    if body.is_end_stream() {
        return Ok(first);
    }
    let mut pieces = BytesMut::from(first);
    while let Some(frame) = body.frame().await.transpose()? {
        pieces.extend_from_slice(&frame.into_data().unwrap_or_default());
    }
    Ok(pieces.freeze())
}

fn respond(answered: Answered) -> HttpResponse {
    let (kind, body) = match answered.body {
        ResponseBody::Whole(body) => ("application/json", Either::Left(Full::new(body))),
        ResponseBody::Events(events) => ("text/event-stream", Either::Right(events)),
    };
    let mut response = Response::new(body);
    *response.headers_mut() = answered.headers;
    *response.status_mut() =
        StatusCode::from_u16(answered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers
        .entry(CONTENT_TYPE)
        .or_insert(HeaderValue::from_static(kind));
    if kind == "text/event-stream" {
        headers
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-cache"));
    }
    response
}

fn not_allowed(method: &'static str) -> HttpResponse {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "use the other method here");
    response
        .headers_mut()
        .insert(ALLOW, HeaderValue::from_static(method));
    response
}

/// An HTTP error as JSON with one sentence.
fn plain(status: StatusCode, sentence: &str) -> HttpResponse {
    let body = serde_json::json!({ "error": sentence }).to_string();
    json(status, body.into_bytes())
}

/// A refusal before the body is read, as a JSON-RPC error.
fn refused(status: StatusCode, sentence: &str) -> HttpResponse {
    let error = RpcError::invalid_request(sentence.to_owned());
    // The era is not known yet, and all eras accept a missing id.
    json(status, rpc::fail(None, &error, Era::Modern))
}

fn json(status: StatusCode, body: Vec<u8>) -> HttpResponse {
    respond(Answered {
        status: status.as_u16(),
        headers: HeaderMap::new(),
        body: ResponseBody::Whole(body.into()),
    })
}
