//! Routes requests: from the bytes of a request to the bytes of a response.
//!
//! The body is split once and determines the era of the caller. Then each message goes to its
//! handler: a call by tool name to the [`ToolService`], an MCP method to [`Mcp`].
//!
//! Over a pipe, each line is one message. There are no headers: for MCP messages, the values that
//! headers would carry are read from the message, and the negotiated revision is kept.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use league_mcp::{LEGACY, MODERN, Mcp, Origin, RequestHead, ResponseBody, bare_headers};
use league_protocol::rpc::members::{members, text};
use league_protocol::rpc::{
    self, Broken, Call, Era, Frame, Id, InFlight, Incoming, MAX_BODY, Opened, RpcError,
};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::http::server::{
    PipeFuture, PipeIn, PipeOut, ResponseFuture, Service, ServiceResponse, StatusPage,
};
use crate::wire::dispatcher::{AgentService, Dispatcher};
use crate::wire::metrics;
use crate::wire::record::RejectedCall;

/// The header with the MCP revision.
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The most answers waiting to be written; at this bound no further line is read.
const MAX_PENDING: usize = 64;
/// The error code for an unsupported MCP revision.
const UNSUPPORTED_VERSION: i64 = -32022;

/// Answers plain JSON-RPC calls, whose method is the tool name.
pub trait ToolService: Send + Sync + 'static {
    /// Whether there is a tool with this name.
    fn has(&self, method: &str) -> bool;

    fn answer(&self, call: &Call<'_>, caller: Caller<'_>) -> impl Future<Output = Vec<u8>> + Send;

    /// Answers a body that is a message without a JSON-RPC frame, if its meaning is unambiguous.
    fn answer_bare(
        &self,
        _body: &[u8],
        _caller: Caller<'_>,
    ) -> impl Future<Output = Option<Vec<u8>>> + Send {
        std::future::ready(None)
    }

    /// Answers a plain registration with an HTTP status and JSON; `None` if the agent takes none.
    fn register(
        &self,
        _body: &[u8],
        _caller: Caller<'_>,
    ) -> impl Future<Output = Option<(u16, Value)>> + Send {
        std::future::ready(None)
    }

    /// Records a call that was rejected before it was decoded.
    fn note_rejected(&self, _call: &RejectedCall) {}

    fn health(&self) -> impl Future<Output = Map<String, Value>> + Send;

    /// The figures of the agent, as Prometheus text.
    fn metrics(&self) -> impl Future<Output = String> + Send {
        std::future::ready(String::new())
    }

    /// Why the agent cannot take calls now, if it cannot.
    fn problem(&self) -> Option<String> {
        None
    }

    /// Whether the agent is in a league; calls before that may wait.
    fn is_admitted(&self) -> bool {
        true
    }
}

/// The caller, as far as it is known before the message is decoded.
#[derive(Clone, Copy, Default)]
pub struct Caller<'c> {
    /// The bearer token of the headers.
    pub bearer: Option<&'c str>,
    pub origin: Origin,
}

impl<'c> Caller<'c> {
    pub(crate) fn of(head: &'c RequestHead) -> Self {
        Self {
            bearer: head.bearer(),
            origin: head.origin,
        }
    }
}

pub struct Router<S: ToolService> {
    /// Answers calls by tool name.
    pub tools: Arc<S>,
    /// Answers MCP methods.
    pub mcp: Mcp,
}

impl<A: AgentService> Router<Dispatcher<A>> {
    /// The router of an agent: plain calls and MCP reach the same tools.
    pub(crate) fn new(dispatcher: Dispatcher<A>) -> Self {
        let tools = Arc::new(dispatcher);
        let mcp = Mcp::new(Arc::clone(&tools) as _);
        Self { tools, mcp }
    }
}

impl<S: ToolService> Service for Router<S> {
    fn receive(&self, head: RequestHead, body: Bytes) -> ResponseFuture<'_> {
        Box::pin(async move { self.serve(&head, &body).await })
    }

    fn register(&self, head: RequestHead, body: Bytes) -> ResponseFuture<'_> {
        Box::pin(async move {
            // A whole call at this path is answered as at `/mcp`; so is a wrong content type.
            let content_type = head.headers.get(CONTENT_TYPE).map(HeaderValue::to_str);
            let content_type = content_type.and_then(Result::ok);
            if rpc::check_content_type(content_type).is_err() || is_framed(&body) {
                return self.serve(&head, &body).await;
            }
            let (status, answer) = match self.tools.register(&body, Caller::of(&head)).await {
                Some(answer) => answer,
                None => (
                    404,
                    json!({"error": "register at the league manager, not here"}),
                ),
            };
            answered(status, answer.to_string().into_bytes())
        })
    }

    fn answer_other(&self, method: Method, head: RequestHead) -> ResponseFuture<'_> {
        Box::pin(async move { self.mcp.answer_other(method, &head).await })
    }

    fn status(&self, page: StatusPage) -> ResponseFuture<'_> {
        Box::pin(async move {
            let (status, body) = match page {
                StatusPage::Health => {
                    let mut health = self.tools.health().await;
                    health.insert("status".into(), "healthy".into());
                    health.insert("version".into(), env!("CARGO_PKG_VERSION").into());
                    (200, Value::Object(health).to_string())
                }
                StatusPage::Ready => match self.tools.problem() {
                    None => (200, json!({"ready": true}).to_string()),
                    Some(reason) => (503, json!({"ready": false, "reason": reason}).to_string()),
                },
                StatusPage::Metrics => (200, self.tools.metrics().await),
            };
            ServiceResponse {
                headers: metrics::headers(page),
                ..answered(status, body.into_bytes())
            }
        })
    }

    fn note_rejected(&self, call: &RejectedCall) {
        self.tools.note_rejected(call);
    }

    fn is_admitted(&self) -> bool {
        self.tools.is_admitted()
    }

    fn serve_pipe(self: Arc<Self>, said: PipeIn, answers: PipeOut) -> PipeFuture {
        Box::pin(self.serve_lines(said, answers))
    }
}

impl<S: ToolService> Router<S> {
    async fn serve(&self, head: &RequestHead, body: &[u8]) -> ServiceResponse {
        let headers = &head.headers;
        let named = headers
            .get(VERSION)
            .map(|value| value.to_str().unwrap_or(""));
        let guessed = named.and_then(Era::of_version).unwrap_or(Era::Simple);
        let content_type = headers.get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        if let Err(refusal) = rpc::check_content_type(content_type) {
            return self.reject(head, &refusal, guessed);
        }
        let opened = match rpc::open(body) {
            Ok(opened) => opened,
            Err(broken) => {
                return self.reject(head, &rpc::Refusal::from(broken), guessed);
            }
        };
        let Some(era) = self.era(&opened, named) else {
            self.note_rejected(head, 400, UNSUPPORTED_VERSION);
            return unsupported(opened, named.unwrap_or_default());
        };
        match opened.read(era) {
            Incoming::Refused(refusal) => self.reject(head, &refusal, era),
            Incoming::Single(Frame::Malformed(malformed)) if era == Era::Simple => {
                match Box::pin(self.tools.answer_bare(body, Caller::of(head))).await {
                    Some(body) => answered(200, body),
                    None => self.single(head, era, &Frame::Malformed(malformed)).await,
                }
            }
            Incoming::Single(frame) => self.single(head, era, &frame).await,
            // Batches are rare: boxing them keeps the common future small.
            Incoming::Batch(frames) => Box::pin(self.batch(head, era, &frames)).await,
        }
    }

    /// Rejects a whole body.
    fn reject(&self, head: &RequestHead, refusal: &rpc::Refusal, era: Era) -> ServiceResponse {
        let status = refusal.status.code();
        self.note_rejected(head, status, refusal.error.code);
        answered(status, refusal.answer(era))
    }

    fn note_rejected(&self, head: &RequestHead, status: u16, code: i64) {
        let origin = head.origin;
        self.tools.note_rejected(&RejectedCall {
            origin,
            status,
            code,
        });
    }

    /// The era whose rules apply to a body; `None` if the body names an unknown revision.
    ///
    /// An MCP client may also call a tool by its name.
    fn era(&self, opened: &Opened<'_>, version: Option<&str>) -> Option<Era> {
        let era = opened.era(version)?;
        let (Some(_), Opened::Single(Ok(message))) = (version, opened) else {
            return Some(era);
        };
        let method = message.get("method").and_then(text);
        let by_name = method.is_some_and(|method| method != "ping" && self.tools.has(&method));
        let is_plain = by_name && opened.era(None) == Some(Era::Simple);
        Some(if is_plain { Era::Simple } else { era })
    }

    async fn single(&self, head: &RequestHead, era: Era, frame: &Frame<'_>) -> ServiceResponse {
        match frame {
            Frame::Malformed(malformed) => {
                let status = malformed.status(era).code();
                self.note_rejected(head, status, malformed.error.code);
                answered(status, malformed.answer(era))
            }
            Frame::Response(_) if era == Era::Simple => {
                let error = RpcError::unasked_response();
                self.note_rejected(head, 400, error.code);
                answered(400, rpc::fail(None, &error, era))
            }
            _ if era.is_mcp() => Box::pin(self.mcp.answer(head, era, frame)).await,
            _ => match self.by_name(head, frame).await {
                Some(body) => answered(200, body),
                None => answered(202, Vec::new()),
            },
        }
    }

    async fn batch(&self, head: &RequestHead, era: Era, frames: &[Frame<'_>]) -> ServiceResponse {
        let mut answers = Vec::new();
        for frame in frames {
            match frame {
                Frame::Malformed(malformed) => {
                    self.note_rejected(head, 200, malformed.error.code);
                    answers.push(malformed.answer(era));
                }
                _ if era.is_mcp() && !self.is_simple(frame) => {
                    let answer = self.mcp.answer(head, era, frame).await;
                    if let (Frame::Call(_), ResponseBody::Whole(body)) = (frame, answer.body) {
                        answers.push(body.into());
                    }
                }
                _ => answers.extend(self.by_name(head, frame).await),
            }
        }
        match rpc::batch(&answers) {
            Some(body) => answered(200, body),
            None => answered(202, Vec::new()),
        }
    }

    fn is_simple(&self, frame: &Frame<'_>) -> bool {
        match frame {
            Frame::Call(call) => self.tools.has(&call.method),
            Frame::Notification(note) => self.tools.has(&note.method),
            Frame::Response(_) | Frame::Malformed(_) => false,
        }
    }

    /// Answers a call by tool name; `None` for a notification.
    async fn by_name(&self, head: &RequestHead, frame: &Frame<'_>) -> Option<Vec<u8>> {
        let caller = Caller::of(head);
        match frame {
            Frame::Call(call) => Some(self.tools.answer(call, caller).await),
            Frame::Notification(note) => {
                // Notifications are processed as well.
                let call = Call {
                    id: rpc::Id::number(0),
                    method: note.method.clone(),
                    params: note.params,
                };
                self.tools.answer(&call, caller).await;
                None
            }
            Frame::Response(_) | Frame::Malformed(_) => None,
        }
    }

    /// Serves a pipe until it ends; answers are written when they are ready, in any order.
    ///
    /// # Errors
    ///
    /// The pipe breaks.
    pub(crate) async fn serve_lines(
        self: Arc<Self>,
        mut reader: impl AsyncBufRead + Unpin,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> io::Result<()> {
        let (answers, ready) = mpsc::channel(MAX_PENDING);
        let pipe = Arc::new(Pipe::default());
        let writing = tokio::spawn(write(writer, ready));
        let mut tasks = JoinSet::new();
        let read = loop {
            let line = match next_line(&mut reader).await {
                Ok(Some(line)) => line,
                Ok(None) => break Ok(()),
                Err(error) => {
                    tasks.abort_all();
                    break Err(error);
                }
            };
            while tasks.len() >= MAX_PENDING {
                tasks.join_next().await;
            }
            let (router, pipe, answers) = (Arc::clone(&self), Arc::clone(&pipe), answers.clone());
            // Messages after a handshake depend on its result.
            let alone = may_be_handshake(&line);
            let answering = async move {
                if let Some(answer) = router.answer_line(&pipe, &line).await {
                    // If the writer has stopped, it has reported the reason.
                    let _ = answers.send(answer).await;
                }
            };
            if alone {
                answering.await;
            } else {
                tasks.spawn(answering);
            }
        };
        while tasks.join_next().await.is_some() {}
        drop(answers);
        read.and(writing.await.map_err(io::Error::other)?)
    }

    async fn answer_line(&self, pipe: &Pipe, line: &Line) -> Option<Vec<u8>> {
        let Line::Whole(line) = line else {
            return self.reject_line(&Broken::TooLarge.into(), Era::Simple);
        };
        let opened = match rpc::open(line) {
            Ok(opened) => opened,
            Err(broken) => return self.reject_line(&broken.into(), Era::Simple),
        };
        let agreed = pipe.agreed();
        let era = self.era(&opened, agreed.as_deref()).unwrap_or(Era::Simple);
        let answered = match opened.read(era) {
            Incoming::Refused(refusal) => return self.reject_line(&refusal, era),
            Incoming::Single(frame) => {
                let head = piped(&frame, agreed.as_deref());
                let Frame::Call(call) = &frame else {
                    return whole(self.single(&head, era, &frame).await);
                };
                if let Err(error) = pipe.begin(&call.id) {
                    return Some(rpc::fail(Some(&call.id), &error, era));
                }
                let answered = self.single(&head, era, &frame).await;
                pipe.end(&call.id);
                pipe.heed(call, &answered);
                answered
            }
            Incoming::Batch(frames) => {
                let first = frames.first();
                let head = first.map(|frame| piped(frame, agreed.as_deref()));
                self.batch(&head.unwrap_or_default(), era, &frames).await
            }
        };
        whole(answered)
    }

    fn reject_line(&self, refusal: &rpc::Refusal, era: Era) -> Option<Vec<u8>> {
        let head = RequestHead {
            origin: Origin::Pipe,
            ..RequestHead::default()
        };
        whole(self.reject(&head, refusal, era))
    }
}

/// Whether a body is a JSON-RPC call.
fn is_framed(body: &[u8]) -> bool {
    let is_call = |element: &rpc::Element<'_>| {
        let members = element.as_ref();
        members.is_ok_and(|members| members.has("jsonrpc") && members.has("method"))
    };
    rpc::open(body).is_ok_and(|opened| opened.elements().iter().any(is_call))
}

/// The answer to a body that names an unsupported revision.
fn unsupported(opened: Opened<'_>, requested: &str) -> ServiceResponse {
    let mut supported = vec![MODERN];
    supported.extend(LEGACY);
    let requested: String = requested.chars().take(32).collect();
    let data = json!({"supported": supported, "requested": requested});
    let message = "The header `MCP-Protocol-Version` names a version that is not spoken here.";
    let mut error = RpcError::new(UNSUPPORTED_VERSION, message);
    error.data = serde_json::value::to_raw_value(&data).ok();
    let frame = match opened.read(Era::LegacyWithBatch) {
        Incoming::Single(frame) => Some(frame),
        Incoming::Batch(_) | Incoming::Refused(_) => None,
    };
    let id = match &frame {
        Some(Frame::Call(call)) => Some(&call.id),
        _ => None,
    };
    answered(400, rpc::fail(id, &error, Era::Legacy))
}

fn answered(status: u16, body: Vec<u8>) -> ServiceResponse {
    ServiceResponse {
        status,
        headers: HeaderMap::new(),
        body: ResponseBody::Whole(body.into()),
    }
}

/// The state of a pipe.
#[derive(Default)]
struct Pipe {
    /// The negotiated revision.
    agreed: Mutex<Option<String>>,
    waiting: Mutex<InFlight>,
}

/// The request head that the message would have over HTTP.
fn piped(frame: &Frame<'_>, agreed: Option<&str>) -> RequestHead {
    RequestHead {
        headers: bare_headers(frame, agreed),
        origin: Origin::Pipe,
    }
}

impl Pipe {
    fn agreed(&self) -> Option<String> {
        let agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        agreed.clone()
    }

    fn begin(&self, id: &Id<'_>) -> Result<(), RpcError> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.begin(id)
    }

    fn end(&self, id: &Id<'_>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.end(id);
    }

    /// Stores what a handshake negotiated.
    fn heed(&self, call: &Call<'_>, answered: &ServiceResponse) {
        let ResponseBody::Whole(body) = &answered.body else {
            return;
        };
        if call.method != "initialize" {
            return;
        }
        let version = std::str::from_utf8(body).ok().and_then(|body| {
            let result = members(members(body).ok()?.get("result")?.get()).ok()?;
            text(result.get("protocolVersion")?).map(|version| version.into_owned())
        });
        let mut agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        *agreed = version.or_else(|| agreed.take());
    }
}

fn whole(answered: ServiceResponse) -> Option<Vec<u8>> {
    match answered.body {
        ResponseBody::Whole(body) if !body.is_empty() => Some(body.into()),
        ResponseBody::Whole(_) | ResponseBody::Events(_) => None,
    }
}

/// A line, or a marker for a line that was too long.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// Whether a line may be a handshake; a wrong guess only costs time.
fn may_be_handshake(line: &Line) -> bool {
    match line {
        Line::Whole(line) => line.windows(12).any(|part| part == b"\"initialize\""),
        Line::TooLong => false,
    }
}

/// The next non-empty line; `None` at the end.
async fn next_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Line>> {
    loop {
        let mut line = Vec::new();
        let bound = MAX_BODY as u64 + 1;
        if (&mut *reader)
            .take(bound)
            .read_until(b'\n', &mut line)
            .await?
            == 0
        {
            return Ok(None);
        }
        if line.len() > MAX_BODY && line.last() != Some(&b'\n') {
            skip_line(reader).await?;
            return Ok(Some(Line::TooLong));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Line::Whole(line.trim_ascii().to_vec())));
        }
    }
}

/// Discards input up to the end of the line.
async fn skip_line(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let part = reader.fill_buf().await?;
        let end = part.iter().position(|byte| *byte == b'\n');
        let (length, ended) = match end {
            Some(place) => (place + 1, true),
            None => (part.len(), part.is_empty()),
        };
        reader.consume(length);
        if ended {
            return Ok(());
        }
    }
}

async fn write(
    mut writer: impl AsyncWrite + Unpin,
    mut ready: mpsc::Receiver<Vec<u8>>,
) -> io::Result<()> {
    while let Some(mut answer) = ready.recv().await {
        answer.push(b'\n');
        writer.write_all(&answer).await?;
        writer.flush().await?;
    }
    Ok(())
}
