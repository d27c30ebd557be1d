//! The reception of an agent: from the bytes of a request to a command, and back to bytes.
//!
//! JSON-RPC and the envelope are read here, once for all kinds of agents; what a message means to
//! one of them is left to its [`Role`].

mod asked;

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use league_protocol::decode::{Decoded, decode};
use league_protocol::dialect::{Hints, SenderName};
use league_protocol::encode::{Stamp, encode};
use league_protocol::fault::Code;
use league_protocol::finding::Finding;
use league_protocol::id::{ConversationId, PlayerId, RefereeId};
use league_protocol::message::{LeagueError, Message};
use league_protocol::rpc::members::{split, text};
use league_protocol::rpc::{self, Call, Era, Frame, Incoming, RpcError};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::AuthToken;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::clock;
use crate::deviations::Deviations;
use crate::identity::Identity;
use crate::net::server::{Answered, Answering, Door};
use asked::Asked;

/// What a kind of agent does with what it is told.
pub trait Role: Send + Sync + 'static {
    /// Answers a message.
    fn hear(&self, heard: Heard) -> impl Future<Output = Spoken> + Send;
    /// Answers a call of a tool that takes no message; `None` if there is no such tool.
    fn call(&self, tool: &str, arguments: Arguments)
    -> impl Future<Output = Option<Spoken>> + Send;
    /// Says more about how the agent is.
    fn health(&self) -> impl Future<Output = serde_json::Map<String, Value>> + Send;
}

/// A message that came to an agent.
#[derive(Debug)]
pub struct Heard {
    /// What is said.
    pub message: Message,
    /// Who claims to say it.
    pub sender: Option<Agent>,
    /// The token that came with it.
    pub token: Option<AuthToken>,
    /// In which dialect.
    pub dialect: Dialect,
}

/// The arguments of a tool that takes no message.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    /// The token that came with them.
    pub token: Option<AuthToken>,
    /// All of them.
    pub members: serde_json::Map<String, Value>,
}

impl Arguments {
    /// The text of an argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }
}

/// What an agent answers.
#[derive(Debug)]
pub enum Spoken {
    /// A message.
    Message(Box<Message>),
    /// A message that proves the sender by its token.
    Proven(Box<Message>),
    /// Plain JSON, for tools that have no message.
    Plain(Value),
}

impl Spoken {
    /// A refusal.
    pub fn error(error: LeagueError) -> Self {
        Self::Message(Box::new(Message::LeagueError(error)))
    }
}

/// The reception of one agent.
pub struct Reception<R: Role> {
    /// Who receives.
    pub identity: Arc<Identity>,
    /// What was forgiven whom.
    pub deviations: Deviations,
    /// What it does with what it is told.
    pub role: R,
}

impl<R: Role> Door for Reception<R> {
    fn receive(&self, headers: HeaderMap, body: Bytes) -> Answering<'_> {
        Box::pin(async move { self.serve(&headers, &body).await })
    }

    fn health(&self) -> Answering<'_> {
        Box::pin(async move {
            let mut health = self.role.health().await;
            health.insert("status".into(), "healthy".into());
            health.insert("agent".into(), self.identity.label().into());
            health.insert("version".into(), env!("CARGO_PKG_VERSION").into());
            answered(200, Value::Object(health).to_string().into_bytes())
        })
    }
}

impl<R: Role> Reception<R> {
    async fn serve(&self, headers: &HeaderMap, body: &[u8]) -> Answered {
        let content_type = headers.get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        if let Err(refusal) = rpc::check_content_type(content_type) {
            return answered(refusal.status.code(), refusal.answer(Era::Simple));
        }
        match rpc::read(body, Era::Simple) {
            Incoming::Refused(refusal) => {
                answered(refusal.status.code(), refusal.answer(Era::Simple))
            }
            Incoming::Single(frame) => match &frame {
                Frame::Malformed(malformed) => {
                    let status = malformed.status(Era::Simple).code();
                    answered(status, malformed.answer(Era::Simple))
                }
                _ => match self.answer(frame).await {
                    Some(body) => answered(200, body),
                    None => answered(202, Vec::new()),
                },
            },
            Incoming::Batch(frames) => {
                let mut answers = Vec::new();
                for frame in frames {
                    answers.extend(self.answer(frame).await);
                }
                match rpc::batch(&answers) {
                    Some(body) => answered(200, body),
                    None => answered(202, Vec::new()),
                }
            }
        }
    }

    async fn answer(&self, frame: Frame<'_>) -> Option<Vec<u8>> {
        match frame {
            Frame::Call(call) => Some(self.attend(&call).await),
            Frame::Notification(note) => {
                // What wants no answer is heard all the same.
                let call = Call {
                    id: rpc::Id::number(0),
                    method: note.method,
                    params: note.params,
                };
                self.attend(&call).await;
                None
            }
            Frame::Response(_) => None,
            Frame::Malformed(malformed) => Some(malformed.answer(Era::Simple)),
        }
    }

    async fn attend(&self, call: &Call<'_>) -> Vec<u8> {
        let asked = match Asked::of(call) {
            Ok(asked) => asked,
            Err(error) => return rpc::fail(Some(&call.id), &error, Era::Simple),
        };
        if asked.tool == "ping" {
            return rpc::respond(&call.id, &json!({"status": "ok"}));
        }
        let result = match asked.message() {
            Some(raw) => self.hear(raw).await,
            None => match self.role.call(&asked.tool, asked.arguments()).await {
                Some(spoken) => self.written(spoken, Dialect::V2, None),
                None if league_protocol::encode::TOOLS.contains(&&*asked.tool) => {
                    self.written(no_message(), Dialect::V2, None)
                }
                None => {
                    let error = RpcError::method_not_found(&asked.tool);
                    return rpc::fail(Some(&call.id), &error, Era::Simple);
                }
            },
        };
        match asked.wrapped {
            true => rpc::respond(&call.id, &as_tool_result(&result)),
            false => rpc::respond(&call.id, &result),
        }
    }

    /// Understands a message, has it answered, and puts the answer into the caller's words.
    async fn hear(&self, raw: &RawValue) -> Box<RawValue> {
        let mut decoded = match decode(raw, self.identity.reading(), None) {
            Ok(decoded) => decoded,
            Err(notes) => {
                let error = notes.first_error().map(LeagueError::from);
                let error = error.unwrap_or_else(unclear);
                return self.written(Spoken::error(error), Dialect::V2, None);
            }
        };
        let conversation = decoded.envelope.conversation_id.text();
        let conversation = conversation.map(ConversationId::new);
        let dialect = decoded.dialect;
        let spoken = match self.understood(&mut decoded) {
            Ok(heard) => {
                let kind = heard.message.v2_type();
                tracing::debug!(
                    agent_id = self.identity.log_name(),
                    event_type = "MESSAGE_RECEIVED",
                    message_type = kind,
                    conversation_id = conversation.as_ref().map(ConversationId::as_str),
                    from = heard.sender.as_ref().map(tracing::field::display),
                );
                let sender = heard.sender.clone();
                let spoken = named(self.role.hear(heard).await, kind);
                self.note(&spoken, sender.as_ref(), &decoded.notes.findings);
                spoken
            }
            Err(finding) => {
                let mut error = LeagueError::from(&finding);
                error.original_message_type = decoded.message_type().map(str::to_owned);
                Spoken::error(error)
            }
        };
        self.written(spoken, dialect, conversation)
    }

    fn understood(&self, decoded: &mut Decoded<'_>) -> Result<Heard, Finding> {
        let message = self.hinted(|hints| decoded.message(hints));
        Ok(Heard {
            message: message?,
            sender: sender(decoded),
            token: decoded.token(),
            dialect: decoded.dialect,
        })
    }

    /// Notes what was forgiven, under the name of a caller who was believed.
    fn note(&self, spoken: &Spoken, sender: Option<&Agent>, findings: &[Finding]) {
        let refused = matches!(spoken, Spoken::Message(message)
            if matches!(**message, Message::LeagueError(_)));
        match sender.filter(|_| !refused) {
            Some(sender) => self.deviations.note(&sender.to_string(), findings),
            None => self.deviations.note("unproven callers", findings),
        }
    }

    fn written(
        &self,
        spoken: Spoken,
        dialect: Dialect,
        conversation: Option<ConversationId>,
    ) -> Box<RawValue> {
        let (message, proven) = match spoken {
            Spoken::Plain(value) => return raw(&value),
            Spoken::Message(message) => (message, false),
            Spoken::Proven(message) => (message, true),
        };
        let agent = self.identity.agent();
        let own = || league_protocol::encode::conversation(&message, &self.identity.label());
        let conversation = conversation.unwrap_or_else(own);
        let token = self.identity.token().filter(|_| proven);
        let stamp = Stamp {
            sender: self.identity.sender(agent.as_ref()),
            at: clock::now(),
            conversation: &conversation,
            token: token.as_ref(),
        };
        self.hinted(|hints| {
            let outgoing = encode(&message, dialect, stamp, hints);
            // A dialect without words for the answer is given a nod.
            outgoing.map_or_else(|| raw(&json!({"status": "ok"})), |outgoing| raw(&outgoing))
        })
    }

    /// Does something with what this agent knows and a message may leave unsaid.
    fn hinted<Out>(&self, act: impl FnOnce(&Hints<'_>) -> Out) -> Out {
        let (league, game) = (self.identity.league(), self.identity.game());
        let reader = self.identity.player();
        act(&Hints {
            league_id: league.as_ref(),
            game_type: game.as_ref(),
            reader: reader.as_ref(),
            ..Hints::default()
        })
    }
}

/// The JSON of an answer, its members in the order in which they are written.
fn raw(answer: &impl serde::Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(answer).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Whom the field `sender` names, if it is an id that could be held.
fn sender(decoded: &Decoded<'_>) -> Option<Agent> {
    match decoded.envelope.sender.value()? {
        SenderName::Manager => Some(Agent::Manager),
        SenderName::Referee(id) => RefereeId::new(id.as_deref()?).ok().map(Agent::Referee),
        SenderName::Player(id) => PlayerId::new(id.as_str()).ok().map(Agent::Player),
    }
}

/// Says which message an error is about.
fn named(mut spoken: Spoken, kind: Option<&'static str>) -> Spoken {
    if let Spoken::Message(message) = &mut spoken
        && let Message::LeagueError(error) = &mut **message
        && error.original_message_type.is_none()
    {
        error.original_message_type = kind.map(str::to_owned);
    }
    spoken
}

fn no_message() -> Spoken {
    let detail = "the tool needs a message, and `message_type` is missing; add it";
    let mut error = LeagueError::new(Code::MissingField, detail);
    error.path = Some("message_type".to_owned());
    Spoken::error(error)
}

fn unclear() -> LeagueError {
    LeagueError::new(Code::InvalidMessage, "the parameters hold no message")
}

/// A result as MCP's `tools/call` gives it.
fn as_tool_result(result: &RawValue) -> Value {
    let members = split(result.get()).unwrap_or_default();
    let failed = members.get("message_type").and_then(text).as_deref() == Some("LEAGUE_ERROR");
    json!({
        "content": [{"type": "text", "text": result.get()}],
        "structuredContent": result,
        "isError": failed,
    })
}

fn answered(status: u16, body: Vec<u8>) -> Answered {
    Answered {
        status,
        body: body.into(),
    }
}
