//! The reception of an agent: from the bytes of a request to bytes of an answer.
//!
//! JSON is split once here, the era of the caller is told from it, and each message goes where it
//! is understood: a call by the name of a tool to the [`Dispatcher`], a method of MCP to [`Mcp`].

mod asked;
mod attended;
mod dispatcher;
mod kindness;
mod lines;
mod offered;
pub mod prompts;
mod registry;
mod role;
mod told;
mod understanding;

use std::sync::Arc;

use bytes::Bytes;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use league_mcp::{Body, Head, LEGACY, MODERN, Mcp};
use league_protocol::rpc::members::text;
use league_protocol::rpc::{self, Call, Era, Frame, Incoming, Opened, RpcError};
use serde_json::{Map, Value, json};

use crate::http::server::{Answered, Answering, Attending, PipeIn, PipeOut, Service};
use crate::wire::traffic::RejectedCall;
pub(crate) use dispatcher::Dispatcher;
pub(crate) use registry::{Gives, Manifest, Takes, ToolEntry};
pub use role::{AgentService, Caller, Heard, ServiceReply, ToolArguments};

/// The header that names a revision of MCP.
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The code for a revision that nobody here speaks.
const UNSUPPORTED_VERSION: i64 = -32022;

/// Whoever answers calls in the simplified form, where the method is the tool.
pub trait ToolService: Send + Sync + 'static {
    /// Tells whether it answers to a method.
    fn has(&self, method: &str) -> bool;

    /// Answers a call.
    fn attend(&self, call: &Call<'_>, caller: Caller<'_>) -> impl Future<Output = Vec<u8>> + Send;

    /// Answers a message that came without a frame, if it is certain what it means.
    fn attend_bare(
        &self,
        _body: &str,
        _caller: Caller<'_>,
    ) -> impl Future<Output = Option<Vec<u8>>> + Send {
        std::future::ready(None)
    }

    /// Is told of a call that was turned away before anybody read it.
    fn turned_away(&self, _call: &RejectedCall) {}

    /// Says how it is.
    fn health(&self) -> impl Future<Output = Map<String, Value>> + Send;
}

/// The reception of one agent.
pub struct Router<S: ToolService> {
    /// Answers calls by the name of a tool.
    pub simple: Arc<S>,
    /// Answers the methods of MCP.
    pub mcp: Mcp,
}

impl<R: AgentService> Router<Dispatcher<R>> {
    /// Opens the reception of an agent: what its dispatcher has is served in both forms.
    pub fn new(dispatcher: Dispatcher<R>) -> Self {
        let simple = Arc::new(dispatcher);
        let mcp = Mcp::new(Arc::clone(&simple) as _);
        Self { simple, mcp }
    }
}

impl<S: ToolService> Service for Router<S> {
    fn receive(&self, head: Head, body: Bytes) -> Answering<'_> {
        Box::pin(async move { self.serve(&head, &body).await })
    }

    fn beside(&self, method: Method, head: Head) -> Answering<'_> {
        Box::pin(async move { self.mcp.beside(method, &head).await })
    }

    fn health(&self) -> Answering<'_> {
        Box::pin(async move {
            let mut health = self.simple.health().await;
            health.insert("status".into(), "healthy".into());
            health.insert("version".into(), env!("CARGO_PKG_VERSION").into());
            answered(200, Value::Object(health).to_string().into_bytes())
        })
    }

    fn turned_away(&self, call: &RejectedCall) {
        self.simple.turned_away(call);
    }

    fn attend(self: Arc<Self>, said: PipeIn, answers: PipeOut) -> Attending {
        Box::pin(self.serve_lines(said, answers))
    }
}

impl<S: ToolService> Router<S> {
    async fn serve(&self, head: &Head, body: &[u8]) -> Answered {
        let headers = &head.headers;
        let named = headers
            .get(VERSION)
            .map(|value| value.to_str().unwrap_or(""));
        let guessed = named.and_then(Era::of_version).unwrap_or(Era::Simple);
        let content_type = headers.get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        if let Err(refusal) = rpc::check_content_type(content_type) {
            return self.turn_away(head, &refusal, guessed);
        }
        let opened = match rpc::open(body) {
            Ok(opened) => opened,
            Err(broken) => {
                return self.turn_away(head, &rpc::Refusal::from(broken), guessed);
            }
        };
        let Some(era) = self.era(&opened, named) else {
            self.tell_turned_away(head, 400, UNSUPPORTED_VERSION);
            return unsupported(opened, named.unwrap_or_default());
        };
        match opened.read(era) {
            Incoming::Refused(refusal) => self.turn_away(head, &refusal, era),
            Incoming::Single(Frame::Malformed(malformed)) if era == Era::Simple => {
                match Box::pin(self.unframed(head, body)).await {
                    Some(body) => answered(200, body),
                    None => self.single(head, era, &Frame::Malformed(malformed)).await,
                }
            }
            Incoming::Single(frame) => self.single(head, era, &frame).await,
            // What is rare is kept elsewhere, so that what is common has little to move about.
            Incoming::Batch(frames) => Box::pin(self.batch(head, era, &frames)).await,
        }
    }

    /// Turns away a whole body.
    fn turn_away(&self, head: &Head, refusal: &rpc::Refusal, era: Era) -> Answered {
        let status = refusal.status.code();
        self.tell_turned_away(head, status, refusal.error.code);
        answered(status, refusal.answer(era))
    }

    fn tell_turned_away(&self, head: &Head, status: u16, code: i64) {
        let origin = head.origin;
        self.simple.turned_away(&RejectedCall {
            origin,
            status,
            code,
        });
    }

    /// By which rules a body is read; `None` if it names a revision that nobody knows.
    ///
    /// A client of MCP may call a tool by its name all the same.
    fn era(&self, opened: &Opened<'_>, version: Option<&str>) -> Option<Era> {
        let era = opened.era(version)?;
        let (Some(_), Opened::Single(Ok(message))) = (version, opened) else {
            return Some(era);
        };
        let method = message.get("method").and_then(text);
        let by_name = method.is_some_and(|method| method != "ping" && self.simple.has(&method));
        match by_name && opened.era(None) == Some(Era::Simple) {
            true => Some(Era::Simple),
            false => Some(era),
        }
    }

    async fn single(&self, head: &Head, era: Era, frame: &Frame<'_>) -> Answered {
        match frame {
            Frame::Malformed(malformed) => {
                let status = malformed.status(era).code();
                self.tell_turned_away(head, status, malformed.error.code);
                answered(status, malformed.answer(era))
            }
            Frame::Response(_) if era == Era::Simple => {
                let error = RpcError::unasked_response();
                self.tell_turned_away(head, 400, error.code);
                answered(400, rpc::fail(None, &error, era))
            }
            _ if era.is_mcp() => Box::pin(self.mcp.answer(head, era, frame)).await,
            _ => match self.by_name(head, frame).await {
                Some(body) => answered(200, body),
                None => answered(202, Vec::new()),
            },
        }
    }

    /// Answers a body that is a message by itself; one that names a method is a call gone wrong.
    async fn unframed(&self, head: &Head, body: &[u8]) -> Option<Vec<u8>> {
        let body = std::str::from_utf8(body).ok()?;
        let members = rpc::members::split(body).ok()?;
        if !members.has("message_type") || members.has("method") || members.has("jsonrpc") {
            return None;
        }
        self.simple.attend_bare(body, Caller::of(head)).await
    }

    async fn batch(&self, head: &Head, era: Era, frames: &[Frame<'_>]) -> Answered {
        let mut answers = Vec::new();
        for frame in frames {
            match frame {
                Frame::Malformed(malformed) => {
                    self.tell_turned_away(head, 200, malformed.error.code);
                    answers.push(malformed.answer(era));
                }
                _ if era.is_mcp() && !self.is_simple(frame) => {
                    let answer = self.mcp.answer(head, era, frame).await;
                    if let (Frame::Call(_), Body::Whole(body)) = (frame, answer.body) {
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
            Frame::Call(call) => self.simple.has(&call.method),
            Frame::Notification(note) => self.simple.has(&note.method),
            Frame::Response(_) | Frame::Malformed(_) => false,
        }
    }

    /// Answers a call by the name of a tool; nothing for what wants no answer.
    async fn by_name(&self, head: &Head, frame: &Frame<'_>) -> Option<Vec<u8>> {
        let caller = Caller::of(head);
        match frame {
            Frame::Call(call) => Some(self.simple.attend(call, caller).await),
            Frame::Notification(note) => {
                // What wants no answer is heard all the same.
                let call = Call {
                    id: rpc::Id::number(0),
                    method: note.method.clone(),
                    params: note.params,
                };
                self.simple.attend(&call, caller).await;
                None
            }
            Frame::Response(_) | Frame::Malformed(_) => None,
        }
    }
}

/// The answer to a body that names a revision which nobody here speaks.
fn unsupported(opened: Opened<'_>, requested: &str) -> Answered {
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

fn answered(status: u16, body: Vec<u8>) -> Answered {
    Answered {
        status,
        headers: HeaderMap::new(),
        body: Body::Whole(body.into()),
    }
}
