//! What a kind of agent brings to its dispatcher: what it takes, and what it answers.

use league_mcp::{Head, Origin};
use league_protocol::id::ConversationId;
use league_protocol::message::{LeagueError, Message};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::AuthToken;
use serde_json::{Map, Value};

use super::registry::Manifest;

/// What a kind of agent does with what it is told.
pub trait AgentService: Send + Sync + 'static {
    /// Says what this kind of agent offers.
    fn manifest(&self) -> &'static Manifest;
    /// Answers a message.
    fn hear(&self, heard: Heard) -> impl Future<Output = ServiceReply> + Send;
    /// Answers a call of a tool that takes no message; `None` if there is no such tool.
    fn call(
        &self,
        tool: &str,
        arguments: ToolArguments,
    ) -> impl Future<Output = Option<ServiceReply>> + Send;
    /// Shows what it knows fresher than its documents, at an address that its card lists.
    fn show(&self, uri: &str) -> impl Future<Output = Option<Value>> + Send;
    /// Says more about how the agent is.
    fn health(&self) -> impl Future<Output = Map<String, Value>> + Send;
    /// Whether it nods at messages of types that it does not know.
    fn nods(&self) -> bool {
        false
    }
}

/// Who calls, as far as can be told before the message is read.
#[derive(Clone, Copy, Default)]
pub struct Caller<'c> {
    /// The token that came in the headers.
    pub bearer: Option<&'c str>,
    /// Where the call comes from.
    pub origin: Origin,
}

impl<'c> Caller<'c> {
    /// Whoever sent this.
    pub fn of(head: &'c Head) -> Self {
        Self {
            bearer: head.bearer(),
            origin: head.origin,
        }
    }
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
    /// In which conversation.
    pub conversation: Option<ConversationId>,
    /// Where it comes from.
    pub origin: Origin,
}

/// The arguments of a tool that takes no message.
#[derive(Debug, Clone, Default)]
pub struct ToolArguments {
    /// The token that came with them.
    pub token: Option<AuthToken>,
    /// All of them.
    pub members: serde_json::Map<String, Value>,
}

impl ToolArguments {
    /// The text of an argument.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }
}

/// What an agent answers.
#[derive(Debug)]
pub enum ServiceReply {
    /// A message.
    Message(Box<Message>),
    /// A message that proves the sender by its token.
    Proven(Box<Message>),
    /// A message in another spelling than the caller's.
    Spelled(Box<Message>, Dialect),
    /// Plain JSON, for tools that have no message.
    Plain(Value),
}

impl ServiceReply {
    /// The same in another spelling, if one is given; what proves the sender stays as it is.
    #[must_use]
    pub fn spelled(self, spelling: Option<Dialect>) -> Self {
        match (self, spelling) {
            (Self::Message(message), Some(dialect)) => Self::Spelled(message, dialect),
            (spoken, _) => spoken,
        }
    }

    /// The message, if it is one.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Message(message) | Self::Proven(message) | Self::Spelled(message, _) => {
                Some(message)
            }
            Self::Plain(_) => None,
        }
    }

    /// A refusal.
    pub fn error(error: LeagueError) -> Self {
        Self::Message(Box::new(Message::from(error)))
    }
}
