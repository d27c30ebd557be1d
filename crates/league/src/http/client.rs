//! Calls to other agents over pooled connections.
//!
//! One call is one attempt: the league decides on retries. The pool is our own because general
//! clients cost half as much again (decision 0006).

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use league_protocol::peer::{self, EventStream, StreamState, Verb};
use league_protocol::time::in_words;
use serde_json::Value;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::descriptors::{Shortage, is_local};
use super::endpoint::{BadEndpoint, Endpoint, MAX_ENDPOINT, Scheme};
use super::group::Group;
use super::server::NEEDS_TLS;
use super::tls::{HandshakeError, Trust};
use super::transport::Transport;

/// The most idle connections per address, which many players may share.
pub(crate) const MAX_IDLE_PER_ADDRESS: usize = 1_024;

/// How long connecting to one address of several may take before the next is tried.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(1);

/// The largest answer, in bytes.
pub(crate) const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// Calls others; clones share the connections.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    idle: Arc<Mutex<IdleConnections>>,
    /// One permit for each connection that may still be opened.
    room: Arc<Semaphore>,
    pub(crate) shortage: Shortage,
    trust: Trust,
}

impl Default for Client {
    fn default() -> Self {
        Self::trusting(Trust::default())
    }
}

type Driver = http1::Connection<TokioIo<Transport<TcpStream>>, Full<Bytes>>;

/// A connection, whose bytes move while a call polls it: no task and no wake-up stand between them.
#[derive(Debug)]
struct Connection {
    requests: SendRequest<Full<Bytes>>,
    /// Moves the bytes; none once the connection is closed.
    driver: Option<Box<Driver>>,
    room: OwnedSemaphorePermit,
}

impl Connection {
    /// Sends a request, and waits for the head of the answer.
    async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        let sending = self.requests.send_request(request);
        self.during(sending).await
    }

    /// Moves bytes until something that waits for them is done.
    async fn during<T>(&mut self, waiting: impl Future<Output = T>) -> T {
        let mut waiting = pin!(waiting);
        poll_fn(|context| {
            self.move_bytes(context);
            waiting.as_mut().poll(context)
        })
        .await
    }

    fn move_bytes(&mut self, context: &mut Context<'_>) {
        let driver = self.driver.as_mut();
        // The pending request reports a broken connection to its caller.
        if driver.is_some_and(|driver| Pin::new(driver).poll(context).is_ready()) {
            self.driver = None;
        }
    }

    /// Whether it takes a request, as far as is known here. No task waits for it from now on.
    fn is_idle(&mut self) -> bool {
        self.move_bytes(&mut Context::from_waker(Waker::noop()));
        self.requests.is_ready()
    }
}

/// Connections that are alike: the scheme, the address if it is fixed and, for a name or over TLS, the
/// host, which led to an address that was checked or showed its certificate.
type PoolKey = (Scheme, Option<SocketAddr>, Option<Arc<str>>);

/// The idle connections of each key that has any, the latest last.
type IdleConnections = BTreeMap<PoolKey, Vec<Connection>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) session: Option<String>,
    /// Where a redirect leads.
    pub(crate) location: Option<String>,
    pub(crate) body: Bytes,
}

/// An answer that comes in pieces; its connection is not used again.
#[derive(Debug)]
pub(crate) struct AnswerStream {
    pub(crate) status: u16,
    /// When to ask again, as the server writes it.
    pub(crate) retry_after: Option<String>,
    body: Incoming,
    read: usize,
    connection: Connection,
}

impl AnswerStream {
    /// The next piece; `None` at the end.
    ///
    /// # Errors
    ///
    /// The connection broke, or the answer is too large.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        while let Some(frame) = self.connection.during(self.body.frame()).await {
            let Ok(piece) = frame.map_err(|error| broken(&error))?.into_data() else {
                continue;
            };
            self.read += piece.len();
            if self.read > MAX_ANSWER {
                return Err(CallError::TooLarge);
            }
            return Ok(Some(piece));
        }
        Ok(None)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum CallError {
    #[error("no answer within {}", in_words(*.0))]
    Timeout(Duration),
    #[error("no connection: {0}")]
    Connection(String),
    /// The call could not leave this machine.
    #[error("this machine cannot call for now: {0}")]
    Local(String),
    /// This machine cannot resolve the name of the peer, which may be in order.
    #[error("{0}")]
    Unresolved(String),
    /// The address of the peer may not be called.
    #[error("{0}")]
    NotAllowed(String),
    /// The server was reached, but TLS with it failed: its port and firewall are in order.
    #[error("no connection: {0}")]
    Tls(String),
    #[error("the answer is larger than {MAX_ANSWER} bytes")]
    TooLarge,
    /// A redirect that is not followed, to this address.
    #[error(
        "it redirects to `{}`, and a call, which may carry a token, follows only to an address that \
         `--manager` lists", .0.escape_debug()
    )]
    Redirect(String),
    /// Neither this manager nor another that is known holds the league now.
    #[error("no manager holds the league now (HTTP status {0})")]
    Unavailable(u16),
}

impl Client {
    /// A client for a few calls.
    pub(crate) fn trusting(trust: Trust) -> Self {
        Self::new(trust, Semaphore::MAX_PERMITS)
    }

    /// A client with at most so many connections at once, which calls servers over TLS if it trusts
    /// their authorities.
    pub(crate) fn new(trust: Trust, most: usize) -> Self {
        Self {
            idle: Arc::default(),
            room: Arc::new(Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS))),
            shortage: Shortage::default(),
            trust,
        }
    }

    /// Posts a body once and waits for the answer.
    ///
    /// # Errors
    ///
    /// The call failed; the caller decides whether to retry.
    pub(crate) async fn post(
        &self,
        endpoint: &Endpoint,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Answer, CallError> {
        let request = |to: &Endpoint| call(to, Method::POST, &[], body.clone());
        within(timeout, self.exchange(endpoint, None, request)).await
    }

    /// Sends a request once and waits for the answer; an event stream is read until it contains the
    /// answer.
    ///
    /// # Errors
    ///
    /// The call failed; the caller decides whether to retry.
    pub(crate) async fn send(
        &self,
        endpoint: &Endpoint,
        request: &peer::PeerRequest,
        timeout: Duration,
    ) -> Result<Answer, CallError> {
        let method = match request.verb {
            Verb::Post => Method::POST,
            Verb::Delete => Method::DELETE,
        };
        let body = Bytes::from(request.body.clone());
        let http = |to: &Endpoint| call(to, method.clone(), &request.headers, body.clone());
        within(timeout, self.exchange(endpoint, request.id, http)).await
    }

    /// Sends a `GET` request.
    ///
    /// # Errors
    ///
    /// The call failed.
    pub(crate) async fn get(
        &self,
        endpoint: &Endpoint,
        timeout: Duration,
    ) -> Result<Answer, CallError> {
        let request = |to: &Endpoint| call(to, Method::GET, &[], Bytes::new());
        within(timeout, self.exchange(endpoint, None, request)).await
    }

    /// Posts a body to a server that is not an agent, and gives its answer as it comes. The caller
    /// watches the time.
    ///
    /// # Errors
    ///
    /// The call failed before an answer came.
    pub(crate) async fn stream(
        &self,
        endpoint: &Endpoint,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<AnswerStream, CallError> {
        let mut connection = self.connect(endpoint).await?;
        let mut request = call(endpoint, Method::POST, &[], body)?;
        for (name, value) in headers {
            let named = HeaderName::from_bytes(name.as_bytes()).ok();
            let mut value = HeaderValue::from_str(value).ok();
            value.iter_mut().for_each(|value| value.set_sensitive(true));
            let Some((name, value)) = named.zip(value) else {
                let cause = format!("the value of the header `{name}` cannot be sent");
                return Err(CallError::Connection(cause));
            };
            request.headers_mut().insert(name, value);
        }
        let sent = connection.send(request).await;
        let response = sent.map_err(|error| unanswered(endpoint, &error))?;
        let retry_after = header(response.headers(), "retry-after").map(str::to_owned);
        Ok(AnswerStream {
            status: response.status().as_u16(),
            retry_after,
            body: response.into_body(),
            read: 0,
            connection,
        })
    }

    /// Sends a request to an address, or to the one of several that takes it.
    async fn exchange(
        &self,
        endpoint: &Endpoint,
        id: Option<u64>,
        request: impl Fn(&Endpoint) -> Result<Request<Full<Bytes>>, CallError>,
    ) -> Result<Answer, CallError> {
        match endpoint.group() {
            None => self.exchange_at(endpoint, id, &request, None).await,
            // Boxed, as few peers have several addresses.
            Some(group) => Box::pin(self.exchange_among(group, id, &request)).await,
        }
    }

    async fn exchange_among(
        &self,
        group: &Group,
        id: Option<u64>,
        request: impl Fn(&Endpoint) -> Result<Request<Full<Bytes>>, CallError>,
    ) -> Result<Answer, CallError> {
        let mut search = group.search();
        while let Some(endpoint) = search.endpoint() {
            let patience = search.connect_timeout();
            let tried = self.exchange_at(endpoint, id, &request, patience).await;
            if let ControlFlow::Break(outcome) = search.weigh(tried) {
                return outcome;
            }
        }
        Err(CallError::Connection("it has no address".to_owned()))
    }

    /// Uses a pooled connection or, if the peer has closed it meanwhile, a new one, which must be
    /// open within `patience`. Sending a request twice is harmless in this protocol.
    async fn exchange_at(
        &self,
        endpoint: &Endpoint,
        id: Option<u64>,
        request: impl Fn(&Endpoint) -> Result<Request<Full<Bytes>>, CallError>,
        patience: Option<Duration>,
    ) -> Result<Answer, CallError> {
        if let Some(kept) = self.take(endpoint) {
            match self.over(kept, endpoint, id, request(endpoint)?).await {
                Err(ExchangeError::BeforeAnswer(_)) => {}
                other => return other.map_err(ExchangeError::into_error),
            }
        }
        let fresh = self.connect(endpoint);
        let fresh = match patience {
            None => fresh.await?,
            Some(patience) => {
                let opened = tokio::time::timeout(patience, fresh).await;
                opened.unwrap_or(Err(CallError::Timeout(patience)))?
            }
        };
        let answered = self.over(fresh, endpoint, id, request(endpoint)?).await;
        answered.map_err(ExchangeError::into_error)
    }

    async fn over(
        &self,
        mut connection: Connection,
        endpoint: &Endpoint,
        id: Option<u64>,
        request: Request<Full<Bytes>>,
    ) -> Result<Answer, ExchangeError> {
        let response = connection
            .send(request)
            .await
            .map_err(|error| ExchangeError::BeforeAnswer(unanswered(endpoint, &error)))?;
        self.shortage.end();
        let status = response.status().as_u16();
        let location = header(response.headers(), "location")
            .filter(|_| response.status().is_redirection())
            .map(|location| location.chars().take(MAX_ENDPOINT).collect());
        let event_stream = header(response.headers(), "content-type")
            .is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
        let session = header(response.headers(), "mcp-session-id").map(str::to_owned);
        let body = match id.filter(|_| event_stream) {
            // The stream may continue after the answer, so its connection is not reused.
            Some(id) => {
                let events = events(response.into_body(), id);
                connection.during(events).await?
            }
            None => {
                let body = connection.during(whole(response.into_body())).await?;
                if is_tls_wanted(endpoint, status, &body) {
                    return Err(ExchangeError::Within(speaks_tls(endpoint)));
                }
                self.put(endpoint, connection);
                body
            }
        };
        Ok(Answer {
            status,
            session,
            location,
            body,
        })
    }

    /// Connects to a server without sending a request.
    ///
    /// # Errors
    ///
    /// The server cannot be reached or trusted.
    pub(crate) async fn probe(
        &self,
        endpoint: &Endpoint,
        timeout: Duration,
    ) -> Result<(), CallError> {
        let opened = tokio::time::timeout(timeout, self.open(endpoint)).await;
        opened.unwrap_or(Err(CallError::Timeout(timeout))).map(drop)
    }

    async fn open(&self, endpoint: &Endpoint) -> Result<Transport<TcpStream>, CallError> {
        let stream = reach(endpoint).await?;
        match endpoint.scheme {
            Scheme::Http => Ok(Transport::Plain(stream)),
            Scheme::Https => {
                let secured = self.trust.secure(stream, endpoint.host()).await;
                secured.map_err(|error| match error {
                    HandshakeError::Refused(cause) => CallError::Tls(cause),
                    HandshakeError::Broken(cause) => CallError::Connection(cause),
                })
            }
        }
    }

    async fn connect(&self, endpoint: &Endpoint) -> Result<Connection, CallError> {
        let connected = match self.make_room() {
            Some(room) => self.connect_in(endpoint, room).await,
            None => {
                let cause = "all its connections are in use".to_owned();
                Err(CallError::Local(cause))
            }
        };
        match &connected {
            Err(CallError::Local(cause)) => {
                self.shortage.begin(cause);
                // The last one to a peer stays: there may be no other for a while.
                drop(self.close_idle(1));
            }
            // A shortage ends the process, and a peer may have broken its name itself.
            Err(CallError::Unresolved(_)) => {}
            _ => self.shortage.end(),
        }
        connected
    }

    async fn connect_in(
        &self,
        endpoint: &Endpoint,
        room: OwnedSemaphorePermit,
    ) -> Result<Connection, CallError> {
        let stream = self.open(endpoint).await?;
        let (requests, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(&error))?;
        Ok(Connection {
            requests,
            driver: Some(Box::new(connection)),
            room,
        })
    }

    /// Room for a connection, if need be that of an idle one.
    fn make_room(&self) -> Option<OwnedSemaphorePermit> {
        let room = Arc::clone(&self.room).try_acquire_owned().ok();
        room.or_else(|| self.close_idle(0))
    }

    /// Closes the oldest idle connection to the address that has most of them, if it has more than
    /// so many.
    fn close_idle(&self, kept: usize) -> Option<OwnedSemaphorePermit> {
        let mut idle = self.idle();
        let longest = idle.iter().max_by_key(|(_, idle)| idle.len());
        let key = longest.filter(|(_, idle)| idle.len() > kept)?.0.clone();
        let closed = idle.get_mut(&key)?.remove(0);
        remove_if_empty(&mut idle, &key);
        Some(closed.room)
    }

    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, endpoint: &Endpoint) -> Option<Connection> {
        let (mut idle, key) = (self.idle(), key(endpoint));
        let kept = idle.get_mut(&key)?;
        let ready =
            std::iter::from_fn(|| kept.pop()).find_map(|mut kept| kept.is_idle().then_some(kept));
        remove_if_empty(&mut idle, &key);
        ready
    }

    /// The number of idle connections.
    #[cfg(test)]
    pub(crate) fn idle_connections(&self) -> usize {
        self.idle().values().map(Vec::len).sum()
    }

    fn put(&self, endpoint: &Endpoint, mut connection: Connection) {
        if !connection.is_idle() {
            return;
        }
        let mut idle = self.idle();
        let kept = idle.entry(key(endpoint)).or_default();
        // The latest is used first, so that those that the peer has closed lie at the bottom.
        let open = kept.iter_mut().position(Connection::is_idle);
        kept.drain(..open.unwrap_or(kept.len()));
        if kept.len() < MAX_IDLE_PER_ADDRESS {
            kept.push(connection);
        }
    }
}

/// The stage at which an exchange failed.
enum ExchangeError {
    BeforeAnswer(CallError),
    Within(CallError),
}

impl ExchangeError {
    fn into_error(self) -> CallError {
        match self {
            Self::BeforeAnswer(error) | Self::Within(error) => error,
        }
    }
}

async fn within(
    timeout: Duration,
    exchange: impl Future<Output = Result<Answer, CallError>>,
) -> Result<Answer, CallError> {
    let answered = tokio::time::timeout(timeout, exchange).await;
    answered.unwrap_or(Err(CallError::Timeout(timeout)))
}

async fn whole(body: Incoming) -> Result<Bytes, ExchangeError> {
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    let body = body.map_err(|error| {
        ExchangeError::Within(match error.downcast_ref::<hyper::Error>() {
            Some(error) => broken(error),
            None => CallError::TooLarge,
        })
    })?;
    Ok(body.to_bytes())
}

/// Reads an event stream until it contains the answer to a call; empty if the answer never comes.
async fn events(mut body: Incoming, id: u64) -> Result<Bytes, ExchangeError> {
    let mut events = EventStream::new(id);
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ExchangeError::Within(broken(&error)))?;
        let Ok(more) = frame.into_data() else {
            continue;
        };
        read += more.len();
        if read > MAX_ANSWER {
            return Err(ExchangeError::Within(CallError::TooLarge));
        }
        match events.hear(&more) {
            StreamState::Waiting => {}
            StreamState::Answer(json) => return Ok(json.into()),
            StreamState::Exhausted => return Ok(Bytes::new()),
        }
    }
    match events.end() {
        StreamState::Answer(json) => Ok(json.into()),
        StreamState::Waiting | StreamState::Exhausted => Ok(Bytes::new()),
    }
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn key(endpoint: &Endpoint) -> PoolKey {
    let (scheme, address) = (endpoint.scheme, endpoint.address());
    let has_host = scheme == Scheme::Https || address.is_none();
    let host = has_host.then(|| Arc::clone(&endpoint.authority));
    (scheme, address, host)
}

/// Connects to a server, at the first of its addresses that answers.
async fn reach(endpoint: &Endpoint) -> Result<TcpStream, CallError> {
    let addresses = endpoint.addresses().await.map_err(|error| match error {
        BadEndpoint::Unknown(_) => CallError::Connection(error.to_string()),
        BadEndpoint::Unresolved { .. } => CallError::Unresolved(error.to_string()),
        refused => CallError::NotAllowed(refused.to_string()),
    })?;
    let Some((last, others)) = addresses.split_last() else {
        return Err(CallError::Connection("it has no address".to_owned()));
    };
    let mut first_error = None;
    for address in others {
        let connecting = tokio::time::timeout(ADDRESS_TIMEOUT, connect_to(*address));
        match connecting.await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => first_error = first_error.or(Some(error)),
            Err(_) => {}
        }
    }
    // The last may be one of IPv6, which this machine need not have.
    let connected = connect_to(*last).await;
    connected.map_err(|error| first_error.unwrap_or(error))
}

async fn connect_to(address: SocketAddr) -> Result<TcpStream, CallError> {
    let lost = |error: io::Error| {
        let cause = match error.kind() {
            io::ErrorKind::ConnectionRefused => "it refuses connections".to_owned(),
            _ => error.to_string(),
        };
        if is_local(&error, address) {
            CallError::Local(cause)
        } else {
            CallError::Connection(cause)
        }
    };
    let stream = TcpStream::connect(address).await.map_err(lost)?;
    stream.set_nodelay(true).map_err(lost)?;
    Ok(stream)
}

/// How usual servers refuse plain HTTP at a port with TLS: those written in Go, nginx, Apache.
const REFUSALS_OF_PLAIN_HTTP: [&str; 3] = [
    "Client sent an HTTP request to an HTTPS server",
    "The plain HTTP request was sent to HTTPS port",
    "You're speaking plain HTTP to an SSL-enabled server port",
];

/// Forgets an address without idle connections: the addresses of a long league are many.
fn remove_if_empty(idle: &mut IdleConnections, key: &PoolKey) {
    if idle.get(key).is_some_and(Vec::is_empty) {
        idle.remove(key);
    }
}

/// Whether a server refuses plain HTTP because it speaks TLS. The answer of an agent is JSON and may
/// quote anything, so of JSON only our own refusal counts.
fn is_tls_wanted(endpoint: &Endpoint, status: u16, body: &[u8]) -> bool {
    if endpoint.scheme != Scheme::Http || status != 400 {
        return false;
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(json) => json["error"]["message"] == NEEDS_TLS,
        Err(_) => {
            let said = String::from_utf8_lossy(body);
            let mut refusals = REFUSALS_OF_PLAIN_HTTP.iter();
            refusals.any(|refusal| said.contains(refusal))
        }
    }
}

fn speaks_tls(endpoint: &Endpoint) -> CallError {
    let authority = &endpoint.authority;
    CallError::Tls(format!(
        "`{authority}` speaks TLS, not plain HTTP; its address begins with `https://`"
    ))
}

fn call(
    endpoint: &Endpoint,
    method: Method,
    headers: &[peer::Header],
    body: Bytes,
) -> Result<Request<Full<Bytes>>, CallError> {
    let mut request = Request::builder()
        .method(method)
        .uri(&*endpoint.path)
        .header(HOST, &*endpoint.authority)
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    request
        .body(Full::new(body))
        .map_err(|error| CallError::Connection(error.to_string()))
}

fn unanswered(endpoint: &Endpoint, error: &hyper::Error) -> CallError {
    match broken(error) {
        CallError::Connection(cause) if error.is_parse() && endpoint.scheme == Scheme::Http => {
            CallError::Connection(format!(
                "the answer is not HTTP: {cause}; if it is TLS, the address begins with `https://`"
            ))
        }
        error => error,
    }
}

fn broken(error: &hyper::Error) -> CallError {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
    CallError::Connection(format!("{error}{cause}"))
}

#[cfg(test)]
mod tests;
