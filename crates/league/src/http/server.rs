//! The HTTP server of an agent: `POST /mcp`, `POST /register`, `GET /health`, `/ready` and
//! `/metrics`, and optional pages; bytes in, bytes out.
//!
//! Many agents may share one listener, each below its own path. The [`Gate`] checks the `Host` and
//! `Origin` headers of every request before its body is read: a web page can make a browser send
//! requests to a port on this machine, and with a domain of its own that resolves to this machine
//! it could even read the answers. These two headers reveal such requests, and a page cannot set
//! them. The [`Service`] handles the body.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::mem::take;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Either, Full, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, LOCATION, ORIGIN,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
pub(crate) use league_mcp::McpResponse as ServiceResponse;
use league_mcp::{Events, Origin, RequestHead, ResponseBody};
use league_protocol::rpc::{self, Era, MAX_BODY, RpcError};
use thiserror::Error;
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

use super::connection::{HeadTimer, ShutdownSignal, WriteTimeout};
use super::connections::{Connections, Phase};
use super::descriptors::{Descriptors, is_shortage};
use super::endpoint::Endpoint;
use super::local;
use super::tls::ServerTls;
use super::transport::{Listener, Transport};
use crate::config::SystemConfig;
use crate::wire::record::RejectedCall;

/// The limits of a listener.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The largest body, in bytes.
    pub body: usize,
    /// The connections of the process, which all its listeners share.
    pub connections: Connections,
}

/// The most connections at once if nothing else is said.
const MAX_CONNECTIONS: usize = 4_096;

/// The limits of a process with one listener.
impl Default for Limits {
    fn default() -> Self {
        let descriptors = Descriptors::of(1, 1);
        let incoming = descriptors.map_or(1, |own| own.incoming(MAX_CONNECTIONS));
        Self {
            body: MAX_BODY,
            connections: Connections::new(incoming),
        }
    }
}

impl Limits {
    /// The most connections for viewers; the rest are reserved for agents.
    pub fn viewers(&self) -> usize {
        self.connections.most() / 2
    }
}

/// The largest request head, in bytes.
const MAX_HEAD: usize = 64 * 1024;
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a peer may read nothing of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a listener rests when this machine lacks descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// How long open requests may continue when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);
/// The answer to plain HTTP at a port that speaks TLS.
pub(crate) const NEEDS_TLS: &str = "this port speaks TLS; call it at `https://`";

/// Answers the requests below a path.
pub trait Service: Send + Sync {
    /// Answers the body of a `POST`.
    fn receive(&self, head: RequestHead, body: Bytes) -> ResponseFuture<'_>;
    /// Answers a plain `POST` to `/register`.
    fn register(&self, head: RequestHead, body: Bytes) -> ResponseFuture<'_>;
    /// Answers methods other than `POST` at `/mcp`.
    fn answer_other(&self, method: Method, head: RequestHead) -> ResponseFuture<'_>;
    /// Records a call that was refused before its body was read.
    fn note_rejected(&self, call: &RejectedCall);
    /// Answers a `GET` about the agent.
    fn status(&self, page: StatusPage) -> ResponseFuture<'_>;
    /// Whether the agent is in a league; calls before that may wait.
    fn is_admitted(&self) -> bool;
    /// Answers the lines of a pipe until it ends.
    fn serve_pipe(self: Arc<Self>, said: PipeIn, answers: PipeOut) -> PipeFuture;
}

/// What anyone may ask of an agent by `GET`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusPage {
    /// `/health`: how the agent is.
    Health,
    /// `/ready`: whether it can take calls.
    Ready,
    /// `/metrics`: its figures, for Prometheus.
    Metrics,
}

impl StatusPage {
    fn of(tool: &str) -> Option<Self> {
        match tool {
            "/health" => Some(Self::Health),
            "/ready" => Some(Self::Ready),
            "/metrics" => Some(Self::Metrics),
            _ => None,
        }
    }
}

/// Pages for people, beside the services.
pub trait Pages: Send + Sync {
    fn get(&self, path: &str, headers: HeaderMap) -> ResponseFuture<'_>;
    /// Whether pages send something to this path.
    fn takes(&self, path: &str) -> bool;
    /// Answers the body of a `POST` to a path that it takes.
    fn post(&self, path: &str, head: RequestHead, body: Bytes) -> ResponseFuture<'_>;
}

pub(crate) type PipeIn = Box<dyn AsyncBufRead + Send + Unpin>;
pub(crate) type PipeOut = Box<dyn AsyncWrite + Send + Unpin>;
pub(crate) type PipeFuture = Pin<Box<dyn Future<Output = io::Result<()>> + Send>>;

pub(crate) type ResponseFuture<'d> = Pin<Box<dyn Future<Output = ServiceResponse> + Send + 'd>>;

type HttpResponse = Response<Either<Full<Bytes>, Events>>;

/// The services and pages behind one listener, by the path before `/mcp` and `/health`. Clones share
/// them: they may be opened and closed while the listener is served.
#[derive(Clone, Default)]
pub struct Routes {
    gate: Gate,
    table: Arc<RwLock<RouteTable>>,
}

#[derive(Default)]
struct RouteTable {
    services: BTreeMap<String, Arc<dyn Service>>,
    pages: BTreeMap<String, Arc<dyn Pages>>,
}

/// The deepest prefix at which pages are looked for, in slashes.
const MAX_PAGE_DEPTH: usize = 8;

impl Routes {
    pub(crate) fn behind(gate: Gate) -> Self {
        Self {
            gate,
            ..Self::default()
        }
    }

    /// Serves pages at all paths that do not belong to a service or to other pages.
    #[must_use]
    pub fn with_pages(self, pages: Arc<dyn Pages>) -> Self {
        self.open_pages("", pages);
        self
    }

    /// Adds a service below a prefix, such as an empty one or `/agents/P01`, in place of the one that
    /// is there.
    pub fn open(&self, prefix: impl Into<String>, service: Arc<dyn Service>) {
        self.change().services.insert(prefix.into(), service);
    }

    /// Serves pages below a prefix, which they do not see.
    pub fn open_pages(&self, prefix: impl Into<String>, pages: Arc<dyn Pages>) {
        self.change().pages.insert(prefix.into(), pages);
    }

    /// Removes the service and the pages of a prefix; requests that are being answered go on.
    pub fn close(&self, prefix: &str) {
        let mut table = self.change();
        table.services.remove(prefix);
        table.pages.remove(prefix);
    }

    fn change(&self) -> RwLockWriteGuard<'_, RouteTable> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn service(&self, prefix: &str) -> Option<Arc<dyn Service>> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.services.get(prefix).cloned()
    }

    /// Whether a path is the prefix of pages, whose links need a slash at its end.
    fn lacks_slash(&self, path: &str) -> bool {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.pages.contains_key(path)
    }

    /// The pages with the longest prefix of a path, and that prefix.
    fn pages<'p>(&self, path: &'p str) -> Option<(Arc<dyn Pages>, &'p str)> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let slashes = path.match_indices('/').take(MAX_PAGE_DEPTH);
        let prefixes = slashes.map(|(slash, _)| &path[..slash]);
        let found = prefixes.filter_map(|prefix| Some((table.pages.get(prefix)?, prefix)));
        found
            .last()
            .map(|(pages, prefix)| (Arc::clone(pages), prefix))
    }
}

/// Serves until the shutdown signal; open requests get `SHUTDOWN_GRACE` to finish.
pub async fn serve(
    listener: impl Into<Listener>,
    routes: Routes,
    limits: Limits,
    mut end: watch::Receiver<bool>,
) {
    let listener = listener.into();
    let routes = Arc::new(routes);
    // Each connection holds a sender, so that the last one closes the channel.
    let (open, mut all_closed) = mpsc::channel::<Infallible>(1);
    loop {
        let accepted = tokio::select! {
            _ = end.wait_for(|ended| *ended) => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if is_shortage(&error) => {
                limits.connections.make_room();
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
            // The peer left at once.
            Err(_) => continue,
        };
        // While a new connection waits for room, the next ones wait in the queue of the system: here
        // they would take descriptors.
        let admitted = tokio::select! {
            _ = end.wait_for(|ended| *ended) => break,
            admitted = limits.connections.admit(from.ip()) => admitted,
        };
        let Some(mut place) = admitted else {
            continue;
        };
        let (routes, end, open) = (Arc::clone(&routes), end.clone(), open.clone());
        let tls = listener.tls();
        tokio::spawn(async move {
            let serving = serve_connection(stream, tls, routes, limits.body, place.phase(), end);
            tokio::select! {
                biased;
                () = serving => {}
                () = place.closed() => {}
            }
            drop((place, open));
        });
    }
    drop((listener, open));
    // Wait until open requests are answered.
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, all_closed.recv()).await;
}

async fn serve_connection(
    stream: TcpStream,
    tls: Option<ServerTls>,
    routes: Arc<Routes>,
    max_body: usize,
    phase: Arc<Phase>,
    mut end: watch::Receiver<bool>,
) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let ends = stream.peer_addr().ok().zip(stream.local_addr().ok());
    let begun = tokio::select! {
        biased;
        begun = tokio::time::timeout(HEAD_TIMEOUT, begin(stream, tls.as_ref())) => begun,
        _ = end.wait_for(|ended| *ended) => return,
    };
    // An error of the handshake is for the peer, which has got an alert.
    let Ok(Ok(stream)) = begun else {
        return;
    };
    // All requests share the context of their connection, and so avoid counters that connections
    // share.
    let context = Arc::new(ConnectionContext {
        origin: ends.map_or(Origin::Unknown, |(from, at)| Origin::Network {
            from: from.ip().to_canonical(),
            at: at.ip().to_canonical(),
        }),
        routes,
        max_body,
        phase,
        needs_tls: tls.is_some() && stream.is_plain(),
    });
    let service = service_fn(move |mut request| {
        let context = Arc::clone(&context);
        // Pass the request by reference: a moved value would be stored twice in the future.
        async move {
            let answer = context.answer(&mut request).await;
            Ok::<_, Infallible>(context.send(answer))
        }
    });
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

/// Begins TLS if the listener speaks it. A peer that begins with plain HTTP is served plainly, so
/// that it can be told. Writes have their timeout below TLS, which may hold back an answer.
async fn begin(
    stream: TcpStream,
    tls: Option<&ServerTls>,
) -> io::Result<Transport<WriteTimeout<TcpStream>>> {
    let mut first = [0];
    if tls.is_some() {
        stream.peek(&mut first).await?;
    }
    let stream = WriteTimeout::new(stream, WRITE_TIMEOUT);
    match tls {
        // The methods of HTTP are in capitals; TLS begins with another byte.
        // Boxed, so that connections without TLS have no room for its state.
        Some(tls) if !first[0].is_ascii_uppercase() => Box::pin(tls.accept(stream)).await,
        _ => Ok(Transport::Plain(stream)),
    }
}

/// The context that all requests of one connection share.
struct ConnectionContext {
    routes: Arc<Routes>,
    origin: Origin,
    max_body: usize,
    phase: Arc<Phase>,
    /// Whether the caller speaks plain HTTP to a port that speaks TLS.
    needs_tls: bool,
}

impl ConnectionContext {
    fn head(&self, headers: HeaderMap) -> RequestHead {
        RequestHead {
            headers,
            origin: self.origin,
        }
    }

    async fn answer(&self, request: &mut Request<Incoming>) -> HttpResponse {
        if self.needs_tls {
            return refused(StatusCode::BAD_REQUEST, NEEDS_TLS);
        }
        let (routes, headers) = (&*self.routes, request.headers());
        let arrived_at = match self.origin {
            Origin::Network { at, .. } => Some(at),
            Origin::Unknown | Origin::Pipe => None,
        };
        let path = request.uri().path();
        let (prefix, tool) = path.split_at(path.rfind('/').unwrap_or(0));
        let service = routes.service(prefix);
        if let Err(refusal) = routes.gate.check(request.uri(), headers, arrived_at) {
            let is_call = *request.method() == Method::POST && tool == "/mcp";
            let refused = refused(StatusCode::FORBIDDEN, &refusal.to_string());
            return self.reject(service.filter(|_| is_call).as_ref(), refused);
        }
        if request.body().is_end_stream() {
            self.phase.begin_answer().await;
        }
        let is_look = matches!(*request.method(), Method::GET | Method::HEAD);
        let status_page = StatusPage::of(tool).filter(|_| service.is_some());
        let is_agents = matches!(tool, "/mcp" | "/health") || status_page.is_some();
        let is_page = is_look && !is_agents;
        if is_page && routes.lacks_slash(path) {
            return moved(&format!("{path}/"));
        }
        if (is_page || !is_agents && tool != "/register")
            && let Some((pages, prefix)) = routes.pages(path)
        {
            let path = path[prefix.len()..].to_owned();
            if is_page || pages.takes(&path) {
                return self.answer_by_page(pages, &path, request).await;
            }
        }
        match (service, status_page) {
            (None, _) => plain(StatusCode::NOT_FOUND, "there is no agent at this path"),
            (Some(service), Some(page)) => match *request.method() {
                Method::GET => respond(service.status(page).await),
                _ => not_allowed("GET"),
            },
            (Some(service), None) => self.answer_by_service(&service, request).await,
        }
    }

    async fn answer_by_service(
        &self,
        service: &Arc<dyn Service>,
        request: &mut Request<Incoming>,
    ) -> HttpResponse {
        let path = request.uri().path();
        let tool = &path[path.rfind('/').unwrap_or(0)..];
        match (request.method(), tool) {
            (&Method::POST, "/mcp" | "/register") => {
                let is_plain = tool == "/register";
                match read(request.body_mut(), self.max_body).await {
                    Ok(body) => {
                        // A call that waits for the admission of its agent makes room for others.
                        if service.is_admitted() {
                            self.phase.begin_answer().await;
                        }
                        let head = self.head(take(request.headers_mut()));
                        respond(match is_plain {
                            true => service.register(head, body).await,
                            false => service.receive(head, body).await,
                        })
                    }
                    Err(refused) => self.reject(Some(service), refused),
                }
            }
            (method, "/mcp") => {
                let head = self.head(request.headers().clone());
                respond(service.answer_other(method.clone(), head).await)
            }
            (_, "/register") => not_allowed("POST"),
            _ => plain(
                StatusCode::NOT_FOUND,
                "agents answer `POST /mcp`, `GET /health`, `/ready` and `/metrics`; a manager also \
                 `POST /register`",
            ),
        }
    }
}

impl ConnectionContext {
    /// Hands an answer over to the connection, which then waits for the next request, or streams.
    fn send(&self, answer: HttpResponse) -> Response<Either<Full<Bytes>, AnswerStream>> {
        let (head, body) = answer.into_parts();
        let body = match body {
            Either::Left(whole) => {
                self.phase.end_answer();
                Either::Left(whole)
            }
            Either::Right(events) => {
                self.phase.begin_stream();
                let phase = Arc::clone(&self.phase);
                Either::Right(AnswerStream { events, phase })
            }
        };
        Response::from_parts(head, body)
    }

    /// Shows a page, or hands over what a page sends; the gate has looked at its origin.
    async fn answer_by_page(
        &self,
        pages: Arc<dyn Pages>,
        path: &str,
        request: &mut Request<Incoming>,
    ) -> HttpResponse {
        match *request.method() {
            Method::GET | Method::HEAD => {
                return respond(pages.get(path, request.headers().clone()).await);
            }
            Method::POST => {}
            _ => return not_allowed("POST"),
        }
        match read(request.body_mut(), self.max_body).await {
            Ok(body) => {
                self.phase.begin_answer().await;
                let head = self.head(take(request.headers_mut()));
                respond(pages.post(path, head, body).await)
            }
            Err(refused) => refused,
        }
    }

    /// Records a refused call with its service.
    fn reject(&self, service: Option<&Arc<dyn Service>>, refused: HttpResponse) -> HttpResponse {
        if let Some(service) = service {
            service.note_rejected(&RejectedCall {
                origin: self.origin,
                status: refused.status().as_u16(),
                code: RpcError::INVALID_REQUEST,
            });
        }
        refused
    }
}

/// An answer that is a stream of events, until its end.
struct AnswerStream {
    events: Events,
    phase: Arc<Phase>,
}

impl Body for AnswerStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.events).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.events.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.events.size_hint()
    }
}

impl Drop for AnswerStream {
    fn drop(&mut self) {
        self.phase.end_answer();
    }
}

async fn read(body: &mut Incoming, max_body: usize) -> Result<Bytes, HttpResponse> {
    let mut whole = pin!(whole(Limited::new(body, max_body)));
    // Most bodies arrive together with their heads and need no timer.
    let read = match poll_fn(|context| Poll::Ready(whole.as_mut().poll(context))).await {
        Poll::Ready(read) => Ok(read),
        Poll::Pending => Box::pin(tokio::time::timeout(BODY_TIMEOUT, whole)).await,
    };
    match read {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(refused(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("the body is larger than {max_body} bytes"),
        )),
        Ok(Err(_)) => Err(refused(StatusCode::BAD_REQUEST, "the body broke off")),
        Err(_) => Err(refused(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not come in time",
        )),
    }
}

/// Collects a body; a body of one chunk is not copied.
async fn whole(
    mut body: Limited<&mut Incoming>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
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

fn respond(answered: ServiceResponse) -> HttpResponse {
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

/// The page is at another path of this server.
fn moved(path: &str) -> HttpResponse {
    let mut response = plain(StatusCode::PERMANENT_REDIRECT, "the address ends with `/`");
    if let Ok(path) = HeaderValue::from_str(path) {
        response.headers_mut().insert(LOCATION, path);
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
    respond(ServiceResponse {
        status: status.as_u16(),
        headers: HeaderMap::new(),
        body: ResponseBody::Whole(body.into()),
    })
}

/// The allowed hosts and origins.
///
/// The names and addresses of loopback are always allowed, and so is the address at which a
/// connection arrived. If agents listen on more than loopback, the machine's own names are allowed
/// as well, and over TLS the names in the certificate; a foreign name that resolves to this machine
/// is not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gate(Arc<AllowedNames>);

#[derive(Debug, Default)]
struct AllowedNames {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// The certificate of the listener, which names hosts too.
    tls: Option<ServerTls>,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum GateRefusal {
    #[error(
        "the header `Host` is missing or names a host that this agent does not go by; \
         if it should, start it with `--host` and that name, or add the name to \
         `security.allowed_hosts` in config/system.json"
    )]
    Host,
    #[error(
        "pages of this `Origin` may not call this agent; \
         if they should, add it to `security.allowed_origins` in config/system.json"
    )]
    Origin,
}

impl Gate {
    /// Also allows the hosts and origins of the configuration, and the hosts of a certificate.
    pub(crate) fn new(system: &SystemConfig, tls: Option<ServerTls>) -> Self {
        Self::on_machine(system, tls, local::names())
    }

    /// The same on a machine with these names.
    fn on_machine(system: &SystemConfig, tls: Option<ServerTls>, names: Vec<String>) -> Self {
        let security = &system.security;
        // On a local network, people reach a machine by its name.
        let own = if security.bind.is_loopback() {
            Vec::new()
        } else {
            names
        };
        let network = &system.network;
        let public = network.public_url.as_deref().map(Endpoint::own);
        let public = public.and_then(|public| Some(public.ok()?.host().to_owned()));
        let named = security.allowed_hosts.iter();
        let hosts = named.chain([&network.base_host]).chain(&public).chain(&own);
        let lower = |text: &String| text.trim().trim_end_matches('/').to_ascii_lowercase();
        Self(Arc::new(AllowedNames {
            hosts: hosts.map(lower).collect(),
            origins: security.allowed_origins.iter().map(lower).collect(),
            tls,
        }))
    }

    /// Checks the head of a request that arrived at one of our addresses.
    ///
    /// # Errors
    ///
    /// Names the wrong header.
    pub(crate) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        arrived_at: Option<IpAddr>,
    ) -> Result<(), GateRefusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let named = match (uri.authority(), hosts.next()) {
            (Some(authority), _) => Some(authority.as_str()),
            (None, Some(host)) => host.to_str().ok(),
            (None, None) => None,
        };
        let authority = named.filter(|_| hosts.next().is_none());
        let named = authority.and_then(host);
        if !named.is_some_and(|named| self.goes_by(named, arrived_at)) {
            return Err(GateRefusal::Host);
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        // A page that we served ourselves, under one of our names, may send us requests.
        let own = |origin: &str| {
            let scheme = origin.split_once("://").map(|(_, authority)| authority);
            scheme
                .zip(authority)
                .is_some_and(|(own, named)| own.eq_ignore_ascii_case(named))
        };
        let trusted = |origin: &str| own(origin) || self.trusts(origin);
        if origins.all(|origin| origin.to_str().is_ok_and(trusted)) {
            Ok(())
        } else {
            Err(GateRefusal::Origin)
        }
    }

    fn goes_by(&self, host: &str, arrived_at: Option<IpAddr>) -> bool {
        let mut hosts = self.0.hosts.iter();
        is_loopback(host)
            || arrived_at.is_some_and(|at| address(host) == Some(at.to_canonical()))
            || hosts.any(|name| host.eq_ignore_ascii_case(name))
            || self.0.tls.as_ref().is_some_and(|tls| tls.is_for(host))
    }

    fn trusts(&self, origin: &str) -> bool {
        let origin = origin.trim();
        let listed = |name: &String| name == "*" || origin.eq_ignore_ascii_case(name);
        if self.0.origins.iter().any(listed) {
            return true;
        }
        let authority = ["http://", "https://"].iter().find_map(|scheme| {
            let start = origin.get(..scheme.len())?;
            start
                .eq_ignore_ascii_case(scheme)
                .then(|| &origin[scheme.len()..])
        });
        authority.and_then(host).is_some_and(is_loopback)
    }
}

/// Whether a host is a name or an address of loopback.
fn is_loopback(host: &str) -> bool {
    // The two usual forms need no parsing.
    host.eq_ignore_ascii_case("localhost")
        || host == "127.0.0.1"
        || address(host).is_some_and(|address| address.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    host.parse()
        .ok()
        .map(|address: IpAddr| address.to_canonical())
}

/// The host in `host`, `host:port`, `[v6]` or `[v6]:port`; `None` for any other form.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            let port = match after {
                "" => None,
                _ => Some(after.strip_prefix(':')?),
            };
            (host, port)
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok());
    (!host.is_empty() && port_fits).then_some(host)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::Notify;

    use super::*;

    fn verdict(gate: &Gate, host: Option<&str>, origin: Option<&str>) -> Result<(), GateRefusal> {
        let mut headers = HeaderMap::new();
        if let Some(host) = host {
            headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        }
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        let arrived_at = Some("10.0.0.7".parse().unwrap());
        gate.check(&Uri::from_static("/mcp"), &headers, arrived_at)
    }

    /// The service of an agent that is not admitted yet: its calls wait.
    struct EarlyService(Arc<Notify>);

    impl Service for EarlyService {
        fn receive(&self, _: RequestHead, _: Bytes) -> ResponseFuture<'_> {
            self.0.notify_one();
            Box::pin(std::future::pending())
        }

        fn register(&self, _: RequestHead, _: Bytes) -> ResponseFuture<'_> {
            Box::pin(std::future::pending())
        }

        fn answer_other(&self, _: Method, _: RequestHead) -> ResponseFuture<'_> {
            Box::pin(std::future::pending())
        }

        fn note_rejected(&self, _: &RejectedCall) {}

        fn status(&self, _: StatusPage) -> ResponseFuture<'_> {
            let response = ServiceResponse {
                status: 200,
                headers: HeaderMap::new(),
                body: ResponseBody::Whole(Bytes::from_static(b"{}")),
            };
            Box::pin(std::future::ready(response))
        }

        fn is_admitted(&self) -> bool {
            false
        }

        fn serve_pipe(self: Arc<Self>, _: PipeIn, _: PipeOut) -> PipeFuture {
            Box::pin(std::future::ready(Ok(())))
        }
    }

    #[tokio::test]
    async fn call_that_waits_for_an_admission_makes_room() {
        let called = Arc::new(Notify::new());
        let routes = Routes::default();
        routes.open("", Arc::new(EarlyService(Arc::clone(&called))));
        let limits = Limits {
            connections: Connections::new(1),
            ..Limits::default()
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        let (_end, ended) = watch::channel(false);
        tokio::spawn(serve(listener, routes, limits, ended));
        let mut early = TcpStream::connect(at).await.unwrap();
        let call = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
        early.write_all(call.as_bytes()).await.unwrap();
        called.notified().await;
        let mut other = TcpStream::connect(at).await.unwrap();
        let call = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        other.write_all(call.as_bytes()).await.unwrap();
        let mut answer = String::new();
        other.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Pages that show their name and the path that they see.
    struct EchoPages(&'static str);

    impl Pages for EchoPages {
        fn get(&self, path: &str, _: HeaderMap) -> ResponseFuture<'_> {
            let response = ServiceResponse {
                status: 200,
                headers: HeaderMap::new(),
                body: ResponseBody::Whole(format!("{} {path}", self.0).into()),
            };
            Box::pin(std::future::ready(response))
        }

        fn takes(&self, path: &str) -> bool {
            path == "/play/join"
        }

        fn post(&self, path: &str, _: RequestHead, _: Bytes) -> ResponseFuture<'_> {
            self.get(path, HeaderMap::new())
        }
    }

    /// The status and the body of an answer, or where it leads.
    async fn ask(at: std::net::SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(at).await.unwrap();
        let call = format!("{line} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(call.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
        let location = lines.find_map(|line| line.strip_prefix("location: "));
        format!("{status} {}", location.unwrap_or(body))
    }

    #[tokio::test]
    async fn routes_are_opened_and_closed_while_they_are_served() {
        let routes = Routes::default().with_pages(Arc::new(EchoPages("root")));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let at = listener.local_addr().unwrap();
        let (_end, ended) = watch::channel(false);
        tokio::spawn(serve(listener, routes.clone(), Limits::default(), ended));
        let none = r#"404 {"error":"there is no agent at this path"}"#;
        let requests = [
            "GET /leagues/a/health",
            "GET /leagues/a/match/R1M1",
            "GET /leagues/a",
            "POST /leagues/a/play/join",
            "GET /leagues/b/",
            "GET /",
        ];
        let before = [
            none,
            "200 root /leagues/a/match/R1M1",
            "200 root /leagues/a",
            none,
        ];
        let others = ["200 root /leagues/b/", "200 root /"];
        let opened = [
            "200 {}",
            "200 a /match/R1M1",
            "308 /leagues/a/",
            "200 a /play/join",
        ];
        for is_open in [false, true, false] {
            match is_open {
                true => {
                    routes.open("/leagues/a", Arc::new(EarlyService(Arc::default())));
                    routes.open_pages("/leagues/a", Arc::new(EchoPages("a")));
                }
                false => routes.close("/leagues/a"),
            }
            let expected = if is_open { opened } else { before };
            for (request, expected) in requests.iter().zip(expected.iter().chain(&others)) {
                assert_eq!(ask(at, request).await, **expected, "{request} {is_open}");
            }
        }
    }

    #[test]
    fn loopback_and_the_address_of_arrival_are_let_in() {
        let gate = Gate::default();
        for host in [
            "localhost",
            "LOCALHOST:8000",
            "127.0.0.1:1",
            "[::1]:8000",
            "[::1]",
            "10.0.0.7:8101",
            "127.3.2.1",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert_eq!(verdict(&gate, Some(host), None), Ok(()), "{host}");
        }
    }

    #[test]
    fn foreign_hosts_are_refused() {
        let gate = Gate::default();
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evil.example:8000",
            "127.0.0.1.evil.example",
            "10.0.0.8",
            "[::2]:80",
            "localhost:port",
            "localhost:1:2",
            "[::1",
            "",
            "user@localhost",
        ] {
            assert_eq!(
                verdict(&gate, Some(host), None),
                Err(GateRefusal::Host),
                "{host}"
            );
        }
        assert_eq!(verdict(&gate, None, None), Err(GateRefusal::Host));
    }

    #[test]
    fn host_of_the_public_url_is_let_in() {
        let mut system = SystemConfig::default();
        system.network.public_url = Some("https://Heron.example:8443/mcp".to_owned());
        let gate = Gate::new(&system, None);
        let page = Some("https://heron.example");
        for host in ["heron.example", "HERON.example:8443"] {
            assert_eq!(verdict(&gate, Some(host), None), Ok(()), "{host}");
        }
        assert_eq!(verdict(&gate, Some("heron.example"), page), Ok(()));
        for host in ["crane.example", "heron.example.evil.example"] {
            let refused = verdict(&gate, Some(host), None);
            assert_eq!(refused, Err(GateRefusal::Host), "{host}");
        }
    }

    #[test]
    fn foreign_origins_are_refused() {
        let gate = Gate::default();
        let from = |origin| verdict(&gate, Some("localhost:1"), Some(origin));
        for origin in [
            "http://localhost",
            "https://localhost:5173",
            "http://[::1]:80",
        ] {
            assert_eq!(from(origin), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://localhost.evil.example",
            "localhost:1",
            "file://localhost",
            "http://evil.example#localhost",
            "http://localhost/",
        ] {
            assert_eq!(from(origin), Err(GateRefusal::Origin), "{origin}");
        }
    }

    #[test]
    fn our_own_pages_may_call_under_their_own_host() {
        let gate = Gate::default();
        let from = |host, origin| verdict(&gate, Some(host), Some(origin));
        assert_eq!(from("10.0.0.7:8000", "http://10.0.0.7:8000"), Ok(()));
        for origin in [
            "http://10.0.0.7:9000",
            "http://10.0.0.7",
            "http://10.0.0.7:8000/",
        ] {
            assert_eq!(
                from("10.0.0.7:8000", origin),
                Err(GateRefusal::Origin),
                "{origin}"
            );
        }
        let stranger = from("evil.example", "http://evil.example");
        assert_eq!(
            stranger,
            Err(GateRefusal::Host),
            "a name that only points here"
        );
    }

    #[test]
    fn beyond_loopback_the_names_of_the_machine_are_let_in() {
        let mut system = SystemConfig::default();
        let gate = |system: &SystemConfig| {
            let names = ["board.local", "board"].map(str::to_owned);
            Gate::on_machine(system, None, names.into())
        };
        let verdicts = |gate: &Gate| {
            ["board.local:8000", "BOARD:8000"].map(|host| verdict(gate, Some(host), None))
        };
        assert_eq!(verdicts(&gate(&system)), [Err(GateRefusal::Host); 2]);
        system.security.bind = "0.0.0.0".parse().unwrap();
        let gate = gate(&system);
        assert_eq!(verdicts(&gate), [Ok(()); 2]);
        for pointed_here in ["evil.example:8000", "sub.localhost.evil.example"] {
            let refused = verdict(&gate, Some(pointed_here), None);
            assert_eq!(refused, Err(GateRefusal::Host), "{pointed_here}");
        }
    }

    #[test]
    fn configured_hosts_and_origins_are_let_in() {
        let mut system = SystemConfig::default();
        system.security.allowed_hosts = vec!["League.example".to_owned()];
        system.security.allowed_origins = vec!["https://board.example".to_owned()];
        system.network.base_host = "10.1.2.3".to_owned();
        let gate = Gate::new(&system, None);
        let origin = Some("https://board.example");
        assert_eq!(verdict(&gate, Some("league.EXAMPLE:8000"), origin), Ok(()));
        assert_eq!(verdict(&gate, Some("10.1.2.3:8000"), None), Ok(()));
        let other_port = Some("https://board.example:444");
        let refused = verdict(&gate, Some("league.example"), other_port);
        assert_eq!(refused, Err(GateRefusal::Origin));
    }
}
