//! Receiving, without transport and without state: calls to us, and replies to our calls.
//!
//! [`receive`] and [`read_reply`] take what [`rpc`](crate::rpc) framed, find the message in it,
//! read it exactly if possible, repair it if the meaning is certain, and note each departure. Both
//! give a [`Received`] message, or an [`Unread`] one with the reason.

mod receive;
mod reply;

pub use receive::{Inbound, expects_answer, has_method, receive, receive_bare, receive_tool_call};
pub use reply::{ReadReply, SentCall, read_reply, reply_types};

use std::fmt;

use crate::decode::Decoded;
use crate::dialect::{Hints, SenderName};
use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading};
use crate::id::{ConversationId, PlayerId, RefereeId};
use crate::message::{LeagueError, Message};
use crate::sender::{Agent, CallStyle, Dialect};
use crate::token::AuthToken;
use crate::tools::ToolEntry;

/// The receiver's configuration and knowledge.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'c> {
    pub reading: Reading,
    /// The dialect that is assumed for every message; without one it is recognised.
    pub pinned: Option<Dialect>,
    pub hints: Hints<'c>,
    /// The tools that the receiver has.
    pub tools: &'static [ToolEntry],
    /// The token in the headers, for a message without one.
    pub bearer: Option<&'c str>,
    /// Whether the receiver acknowledges news that it does not understand (ruling 47).
    pub acknowledges_all: bool,
}

/// A message that was understood.
#[derive(Debug)]
pub struct Received {
    pub message: Message,
    pub sender: ClaimedSender,
    pub dialect: Dialect,
    pub conversation: Option<ConversationId>,
    pub token: Option<AuthToken>,
    /// How the sender calls, if that differs from the documents.
    pub style: Option<CallStyle>,
    /// The departures that were forgiven.
    pub findings: Vec<Finding>,
}

/// A message that was not understood.
#[derive(Debug)]
pub struct Unread {
    pub error: Box<LeagueError>,
    pub sender: ClaimedSender,
    pub dialect: Dialect,
    pub conversation: Option<ConversationId>,
    pub findings: Vec<Finding>,
}

impl Unread {
    /// Content of which only the error is known.
    pub fn new(error: LeagueError) -> Self {
        Self {
            error: Box::new(error),
            sender: ClaimedSender::Unknown,
            dialect: Dialect::V2,
            conversation: None,
            findings: Vec::new(),
        }
    }
}

/// The sender that a message names. The token does not say more: a match token belongs to the
/// referee of the match, whichever that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimedSender {
    Agent(Agent),
    /// A referee without an id, as in `league.v1`.
    SomeReferee,
    /// No sender, or a sender without a valid id.
    Unknown,
}

impl ClaimedSender {
    fn of(decoded: &Decoded<'_>) -> Self {
        let agent = match &decoded.envelope.sender {
            Some(SenderName::Manager) => Some(Agent::Manager),
            Some(SenderName::Referee(None)) => return Self::SomeReferee,
            Some(SenderName::Referee(Some(id))) => {
                RefereeId::new(id.as_str()).ok().map(Agent::Referee)
            }
            Some(SenderName::Player(id)) => PlayerId::new(id.as_str()).ok().map(Agent::Player),
            None => None,
        };
        agent.map_or(Self::Unknown, Self::Agent)
    }

    pub fn into_agent(self) -> Option<Agent> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::SomeReferee | Self::Unknown => None,
        }
    }

    pub fn agent(&self) -> Option<&Agent> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::SomeReferee | Self::Unknown => None,
        }
    }
}

/// The form used in logs.
impl fmt::Display for ClaimedSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => agent.fmt(f),
            Self::SomeReferee => f.write_str("referee:unknown"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

fn conversation(decoded: &Decoded<'_>) -> Option<ConversationId> {
    let named = decoded.envelope.conversation_id.as_ref();
    named.map(|named| ConversationId::new(named.as_str()))
}

/// Notes a forgiven departure at a member of a call or reply, or at the whole.
fn forgive(
    notes: &mut Notes,
    clause: &'static str,
    code: Code,
    member: &str,
    expected: &str,
    detail: &str,
) {
    let root = Path::root(clause);
    match member {
        "" => notes.forgive(code, &root, expected, detail),
        member => notes.forgive(code, &root.member(member, false), expected, detail),
    }
}
