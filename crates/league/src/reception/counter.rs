//! The counter of an agent: what a call asks for is understood here and answered in its words.
//!
//! The envelope is read once for all kinds of agents; what a message means to one of them is left
//! to its [`Role`], and framing to the reception around it.

use std::sync::Arc;

use league_mcp::{Given, Tool};
use league_protocol::decode::{Decoded, decode};
use league_protocol::dialect::{Hints, SenderName};
use league_protocol::encode::{Stamp, encode};
use league_protocol::fault::Code;
use league_protocol::finding::Finding;
use league_protocol::id::{ConversationId, PlayerId, RefereeId};
use league_protocol::message::{LeagueError, Message};
use league_protocol::rpc::{self, Call, Era, RpcError};
use league_protocol::schema::message_names;
use league_protocol::sender::{Agent, Dialect, Speech};
use league_protocol::token::AuthToken;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::asked::Asked;
use super::registry::{Card, Takes, ToolEntry};
use super::{Simple, told};
use crate::clock;
use crate::deviations::Deviations;
use crate::identity::Identity;
use crate::reading_room::ReadingRoom;
use crate::root::Root;

/// What a kind of agent does with what it is told.
pub trait Role: Send + Sync + 'static {
    /// Says what this kind of agent offers.
    fn card(&self) -> &'static Card;
    /// Answers a message.
    fn hear(&self, heard: Heard) -> impl Future<Output = Spoken> + Send;
    /// Answers a call of a tool that takes no message; `None` if there is no such tool.
    fn call(&self, tool: &str, arguments: Arguments)
    -> impl Future<Output = Option<Spoken>> + Send;
    /// Shows what it knows fresher than its documents, at an address that its card lists.
    fn show(&self, uri: &str) -> impl Future<Output = Option<Value>> + Send;
    /// Says more about how the agent is.
    fn health(&self) -> impl Future<Output = Map<String, Value>> + Send;
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

/// The counter of one agent.
pub struct Counter<R: Role> {
    /// Who receives.
    pub identity: Arc<Identity>,
    /// What was forgiven whom.
    deviations: Deviations,
    /// What it does with what it is told.
    pub(super) role: R,
    /// What its readers may read.
    pub(super) room: ReadingRoom,
    /// The tools as MCP lists them.
    pub(super) tools: Vec<Tool>,
}

impl<R: Role> Simple for Counter<R> {
    fn has(&self, method: &str) -> bool {
        method == "ping" || self.entry(method).is_some() || carries_messages(method)
    }

    async fn attend(&self, call: &Call<'_>, bearer: Option<&str>) -> Vec<u8> {
        let asked = match Asked::of(call) {
            Ok(asked) => asked,
            Err(error) => return rpc::fail(Some(&call.id), &error, Era::Simple),
        };
        if asked.tool == "ping" {
            return rpc::respond(&call.id, &nod());
        }
        let message = asked.message();
        let result = match (message, self.entry(asked.tool)) {
            (Some(raw), Some(entry)) => self.hear(raw, bearer, Some(entry), None).await.answer,
            (Some(raw), None) if carries_messages(asked.tool) => {
                self.hear(raw, bearer, None, None).await.answer
            }
            (None, Some(entry)) => match entry.takes {
                Takes::Message(_) => self.written(no_message(), Dialect::V2, None).answer,
                Takes::Arguments(_) => match self.call_plain(&asked, bearer).await {
                    Some(given) => given.answer,
                    None => return unknown(call),
                },
            },
            (None, None) if carries_messages(asked.tool) => {
                self.written(no_message(), Dialect::V2, None).answer
            }
            (_, None) if self.identity.takes_anything() && told::tells(asked.tool) => raw(&nod()),
            (_, None) => return unknown(call),
        };
        rpc::respond(&call.id, &result)
    }

    async fn health(&self) -> Map<String, Value> {
        let mut health = self.role.health().await;
        health.insert("agent".into(), self.identity.label().into());
        health
    }
}

impl<R: Role> Counter<R> {
    /// Sets up the counter of an agent.
    pub fn new(identity: Arc<Identity>, deviations: Deviations, root: Root, role: R) -> Self {
        let tools = role.card().tools.iter().map(ToolEntry::shown).collect();
        let room = ReadingRoom {
            root,
            identity: Arc::clone(&identity),
        };
        Self {
            identity,
            deviations,
            role,
            room,
            tools,
        }
    }

    /// The tool of that name.
    pub(super) fn entry(&self, tool: &str) -> Option<&'static ToolEntry> {
        let mut tools = self.role.card().tools.iter();
        tools.find(|entry| entry.name == tool)
    }

    /// Calls a tool over MCP, where an envelope may be left out; `None` if there is no such tool.
    pub(super) async fn call_tool(
        &self,
        tool: &str,
        arguments: Option<&RawValue>,
        bearer: Option<&str>,
    ) -> Option<Given> {
        let entry = self.entry(tool)?;
        let asked = Asked::with(tool, arguments);
        let speech = Some(Speech::Mcp);
        if let Some(raw) = asked.message() {
            return Some(self.hear(raw, bearer, Some(entry), speech).await);
        }
        match entry.takes {
            Takes::Arguments(_) => self.call_plain(&asked, bearer).await,
            Takes::Message(kinds) => {
                let kind = kinds.first().copied().unwrap_or_default();
                let Some(raw) = asked.enveloped(kind, clock::now()) else {
                    return Some(self.written(Spoken::error(unclear()), Dialect::V2, None));
                };
                Some(self.hear(&raw, bearer, Some(entry), speech).await)
            }
        }
    }

    async fn call_plain(&self, asked: &Asked<'_>, bearer: Option<&str>) -> Option<Given> {
        let arguments = asked.arguments(bearer);
        let spoken = self.role.call(asked.tool, arguments).await?;
        Some(self.written(spoken, Dialect::V2, None))
    }

    /// Understands a message, has it answered, and puts the answer into the caller's words.
    ///
    /// A message that came by the name of a tool must be one of those that the tool takes.
    async fn hear(
        &self,
        raw: &RawValue,
        bearer: Option<&str>,
        entry: Option<&ToolEntry>,
        speech: Option<Speech>,
    ) -> Given {
        let mut decoded = match decode(raw, self.identity.reading(), self.identity.pinned()) {
            Ok(decoded) => decoded,
            Err(notes) => {
                let error = notes.first_error().map(LeagueError::from);
                let error = error.unwrap_or_else(unclear);
                return self.written(Spoken::error(error), Dialect::V2, None);
            }
        };
        let conversation = decoded.envelope.conversation_id.text();
        let conversation = conversation.map(ConversationId::new);
        let dialect = self.identity.answers_in(decoded.dialect);
        let spoken = match self.understood(&mut decoded, bearer, entry, speech) {
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
            Err(_) if self.nods_at(&decoded) => {
                self.note(&acknowledged(), None, &decoded.notes.findings);
                acknowledged()
            }
            Err(mut error) => {
                error.original_message_type = decoded.message_type().map(str::to_owned);
                Spoken::error(error)
            }
        };
        self.written(spoken, dialect, conversation)
    }

    /// Whether a message that makes no sense is nodded at all the same.
    fn nods_at(&self, decoded: &Decoded<'_>) -> bool {
        self.identity.takes_anything() && decoded.message_type().is_some_and(told::is_told)
    }

    fn understood(
        &self,
        decoded: &mut Decoded<'_>,
        bearer: Option<&str>,
        entry: Option<&ToolEntry>,
        speech: Option<Speech>,
    ) -> Result<Heard, LeagueError> {
        let understood = self.hinted(|hints| decoded.message(hints));
        let mut message = understood.map_err(|finding| LeagueError::from(&finding))?;
        if let Some(entry) = entry {
            entry.admit(&message)?;
        }
        let token = decoded.token().or_else(|| bearer.map(AuthToken::new));
        if let Message::PlayerRegisterRequest(request) | Message::RefereeRegisterRequest(request) =
            &mut message
        {
            request.token.clone_from(&token);
            // Whoever registers by MCP is taken to answer by it, unless it says otherwise.
            request.meta.speech = request.meta.speech.or(speech);
        }
        Ok(Heard {
            message,
            sender: sender(decoded),
            token,
            dialect: decoded.dialect,
        })
    }

    /// Notes what was forgiven, under the name of a caller who was believed.
    fn note(&self, spoken: &Spoken, sender: Option<&Agent>, findings: &[Finding]) {
        match sender.filter(|_| !is_refusal(spoken)) {
            Some(sender) => self.deviations.note(&sender.to_string(), findings),
            None => self.deviations.note("unproven callers", findings),
        }
    }

    fn written(
        &self,
        spoken: Spoken,
        dialect: Dialect,
        conversation: Option<ConversationId>,
    ) -> Given {
        let failed = is_refusal(&spoken);
        let given = |answer| Given { answer, failed };
        let (message, proven) = match spoken {
            Spoken::Plain(value) => return given(raw(&value)),
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
            given(match outgoing {
                Some(outgoing) => raw(&outgoing),
                None => raw(&nod()),
            })
        })
    }

    /// Does something with what this agent knows and a message may leave unsaid.
    fn hinted<Out>(&self, act: impl FnOnce(&Hints<'_>) -> Out) -> Out {
        let (league, game) = (self.identity.meant(), self.identity.game());
        let reader = self.identity.player();
        act(&Hints {
            league_id: league.as_ref(),
            game_type: game.as_ref(),
            reader: reader.as_ref(),
            synonyms: self.identity.takes_anything(),
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

fn acknowledged() -> Spoken {
    Spoken::Message(Box::new(Message::Acknowledged))
}

/// The answer of one who has nothing to say.
fn nod() -> Value {
    json!({"status": "ok"})
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

/// Whether a method stands for any message: `mcp_message`, or the type of one.
fn carries_messages(method: &str) -> bool {
    method == "mcp_message" || message_names(&Dialect::ALL).any(|(_, name)| name == method)
}

/// The answer to a call of a method that there is not.
fn unknown(call: &Call<'_>) -> Vec<u8> {
    let error = RpcError::method_not_found(&call.method);
    rpc::fail(Some(&call.id), &error, Era::Simple)
}

/// Whether an answer is an error.
fn is_refusal(spoken: &Spoken) -> bool {
    matches!(spoken, Spoken::Message(message) if matches!(**message, Message::LeagueError(_)))
}
