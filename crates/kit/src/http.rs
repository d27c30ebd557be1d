//! The HTTP/1.1 of a player, by `hyper`, in a thread with a runtime of its own: `choose` may block,
//! and a program with a runtime may play too. Everything has a bound.

mod connections;

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use connections::{ConnectionTable, TableEntry};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes};
use hyper::header::{
    ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, ORIGIN,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use league_protocol::rpc::MAX_BODY;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Handle};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// The largest head, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// The most connections at once; a further one takes the place of one without a request.
pub(crate) const MAX_CONNECTIONS: usize = 256;
/// How long a connection may wait for its next request, its head included.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the listener rests after an error, such as a lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the server asks for each body that is posted to `/mcp`.
pub(crate) trait PostHandler: Send + Sync + 'static {
    /// The status and the JSON of the answer; an empty one for a notification. It may block.
    fn post(&self, content_type: Option<&str>, bearer: Option<&str>, body: &[u8])
    -> (u16, Vec<u8>);
}

/// Serves at most so many connections at once until the process ends; returns the runtime that does.
pub(crate) fn serve(
    listener: TcpListener,
    handler: Arc<impl PostHandler>,
    most: usize,
) -> io::Result<Handle> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        // One for each request, and one that resolves the name of the manager.
        .max_blocking_threads(most + 1)
        .build()?;
    let handle = runtime.handle().clone();
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let name = thread::Builder::new().name("server".to_owned());
    name.spawn(move || runtime.block_on(accept(listener, handler, most)))?;
    Ok(handle)
}

async fn accept(listener: tokio::net::TcpListener, handler: Arc<impl PostHandler>, most: usize) {
    let table = Arc::new(ConnectionTable::new(most));
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // A caller that finds all others busy is closed, and tries again.
        if let Some(entry) = table.enter(from.ip()) {
            tokio::spawn(converse(stream, Arc::clone(&handler), entry));
        }
    }
}

/// Answers the requests of a connection until its caller leaves or it has to make room.
async fn converse(stream: TcpStream, handler: Arc<impl PostHandler>, entry: TableEntry) {
    // Without this option the answers come later.
    let _ = stream.set_nodelay(true);
    let entry = &entry;
    let service = service_fn(|request| {
        let handler = Arc::clone(&handler);
        async move { Ok::<_, Infallible>(respond(request, handler, entry).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        // A caller may close its side when it has asked.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // A connection that breaks concerns only its caller.
        _ = connection => {}
        () = entry.closed() => {}
    }
}

async fn respond(
    request: Request<hyper::body::Incoming>,
    handler: Arc<impl PostHandler>,
    entry: &TableEntry,
) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    // Agents send no `Origin`, so this is a web page in a browser.
    if head.headers.contains_key(ORIGIN) {
        return told(403, "web pages may not call a player");
    }
    match (&head.method, head.uri.path()) {
        (&Method::POST, "/mcp" | "/mcp/") => match read(body, BODY_TIMEOUT).await {
            Ok(body) => {
                entry.set_waiting(false);
                let posted = spawn_blocking(move || {
                    let content_type = text(&head.headers, CONTENT_TYPE);
                    let bearer = text(&head.headers, AUTHORIZATION).and_then(bearer);
                    handler.post(content_type, bearer, &body)
                });
                let answer = posted.await;
                entry.set_waiting(true);
                answer.map_or_else(
                    |_| told(500, "this player failed; look at its output"),
                    |(status, answer)| json(status, answer),
                )
            }
            Err((status, words)) => told(status, words),
        },
        (&Method::GET | &Method::HEAD, "/health") => json(200, b"{\"status\":\"ok\"}".to_vec()),
        (_, "/mcp" | "/mcp/") => allow(told(405, "call `POST /mcp`"), "POST"),
        (_, "/health") => allow(told(405, "call `GET /health`"), "GET, HEAD"),
        _ => told(404, "there are `POST /mcp` and `GET /health`"),
    }
}

/// Reads a body to its end; otherwise the status and the reason.
async fn read(
    body: impl Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
    within: Duration,
) -> Result<Bytes, (u16, &'static str)> {
    const TOO_LARGE: (u16, &str) = (413, "a body has at most 256 KiB");
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(TOO_LARGE);
    }
    match timeout(within, pin!(Limited::new(body, MAX_BODY)).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(TOO_LARGE),
        Ok(Err(_)) => Err((400, "the body is not complete, or its chunks are broken")),
        Err(_) => Err((408, "the body did not come in time")),
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// The token of an `Authorization` header.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn told(status: u16, words: &str) -> Response<Full<Bytes>> {
    json(
        status,
        serde_json::json!({"error": words}).to_string().into(),
    )
}

fn json(status: u16, answer: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(answer));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn allow(mut response: Response<Full<Bytes>>, methods: &'static str) -> Response<Full<Bytes>> {
    let methods = HeaderValue::from_static(methods);
    response.headers_mut().insert(ALLOW, methods);
    response
}

#[cfg(test)]
mod tests;
