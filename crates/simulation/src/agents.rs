//! What a shell does for its machine: it turns messages into commands and replies into messages.
//!
//! One file for each kind of agent; the desk that they all work at is in `desk.rs`.

mod manager;
mod player;
mod referee;

use std::fmt::Debug;
use std::sync::Arc;

use league_core::letter::Outcome;
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::MatchId;
use league_protocol::message::{LeagueError, MatchResult, Message};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::oracle::Oracle;
use crate::sabotage::Sabotage;
use crate::{Checked, Who};

/// The three kinds of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Manager,
    Referee,
    Player,
}

/// A message as it comes to an agent.
pub(crate) struct Call {
    pub(crate) message: Message,
    pub(crate) sender: Option<Agent>,
    /// The token as it stands in the message, which a registration is weighed by.
    pub(crate) own_token: Option<AuthToken>,
    pub(crate) token: Option<TokenHash>,
    pub(crate) dialect: Dialect,
    pub(crate) chance: [u8; 32],
}

/// What a shell does with a reply.
pub(crate) enum Step<Command> {
    /// Answers the caller.
    Say(Message),
    /// Keeps the token that the manager gave, and the one to come back with if it gave one.
    Keep(AuthToken, Option<AuthToken>),
    /// Lets the strategy think, and comes back with this command and a choice.
    Think(Box<league_core::player::Think>),
    /// Brings this command next.
    Next(Box<Command>),
    /// Nobody waits.
    Nothing,
}

/// What an agent promises by an answer, once it has left.
pub(crate) enum Promise {
    /// The result stands.
    Acked(MatchId, Arc<MatchResult>),
    /// The agent of this name has this id and these tokens.
    Enrolled(Agent, Vec<AuthToken>),
}

/// A fact that can be written, read back and compared.
pub(crate) trait Fact: Debug + Clone + PartialEq + Serialize + DeserializeOwned {}

impl<T: Debug + Clone + PartialEq + Serialize + DeserializeOwned> Fact for T {}

/// A machine with the knowledge of its shell.
pub(crate) trait Worker: Machine<Event: Fact, Ticket: Clone> + Clone {
    const KIND: Kind;

    fn tick() -> Self::Command;
    fn heard(ticket: Self::Ticket, outcome: Outcome) -> Self::Command;
    /// What the process does first.
    fn begin(token: Option<&AuthToken>) -> Option<Self::Command>;
    /// Who it is, once it knows.
    fn name(&self) -> Option<Agent>;
    /// Whether it believes the manager by a token only.
    fn knows_manager(&self) -> bool;
    /// Turns a message into a command, or into the answer that the shell gives by itself.
    fn understand(call: Call) -> Result<Self::Command, Box<Message>>;
    fn follow(reply: Self::Reply, token: Option<&AuthToken>) -> Step<Self::Command>;
    fn refuse(refusal: &Self::Refusal) -> LeagueError;
    /// Whether a call was refused only because it came too soon, so that the shell lets it wait.
    fn is_early(_refusal: &Self::Refusal) -> bool {
        false
    }
    /// Whether a fact is what such calls wait for.
    fn announces(_event: &Self::Event) -> bool {
        false
    }
    /// What the answer to a command promises.
    fn promise(command: &Self::Command, reply: &Self::Reply) -> Option<Promise>;
    /// Shows a fact to the oracle.
    fn watch(&self, oracle: &mut Oracle, who: Who, at: Timestamp, event: &Self::Event) -> Checked;
    /// Tells the oracle what is left after a crash.
    fn recall(oracle: &mut Oracle, who: Who, journal: &[Self::Event]) -> Checked;
    /// Whether two machines are the same as far as a journal says; `None` if all agrees.
    fn differs(&self, replayed: &Self) -> Option<String>;
    /// Lets a planted bug change a decision.
    fn tamper(
        &self,
        sabotage: Sabotage,
        at: Timestamp,
        command: &Self::Command,
        events: &mut Vec<Self::Event>,
        reply: &mut Result<Self::Reply, Self::Refusal>,
    );
    /// The time that a planted bug takes it to be.
    fn time(_sabotage: Sabotage, at: Timestamp, _command: &Self::Command) -> Timestamp {
        at
    }
}

/// The answer to a message that an agent of this kind is never sent.
fn not_for_me(message_type: Option<&'static str>) -> Box<Message> {
    let detail = "this agent is not asked for that";
    let mut error = LeagueError::new(Code::InvalidMessage, detail);
    error.original_message_type = message_type.map(str::to_owned);
    Box::new(Message::from(error))
}
