//! Outgoing letters: message, receiver and retry rule.

use std::sync::Arc;
use std::time::Duration;

use league_protocol::fault::Code;
use league_protocol::message::Message;
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::{AuthToken, TokenHash};

use crate::timeouts::Backoff;

/// A message to be carried to another agent.
///
/// Letters about one match, and letters about none, reach an address in the order they were posted.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter<CorrelationId> {
    pub to: Arc<Peer>,
    pub message: Message,
    pub credential: Credential,
    /// How often and how long to try.
    pub retry: RetryRule,
    /// What the token of the answer must hash to, where one is owed.
    pub proof: Option<TokenHash>,
    /// Brings the outcome back to the machine, if it wants one.
    pub correlation: Option<CorrelationId>,
}

/// An agent and the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    pub agent: Agent,
    pub endpoint: Arc<str>,
    pub dialect: Dialect,
    /// How it takes calls, if known; else the shell detects it.
    pub speech: Option<CallStyle>,
    /// Whether it has not shown that it knows fields that the documents do not have; a strict league
    /// sends it none of them.
    pub is_foreign: bool,
}

/// What a letter shows to prove its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    None,
    /// The sender's own token, which the shell holds.
    Own,
    /// What the sender comes back with: the return token if the shell holds one, else its own.
    Return,
    /// The token of one match and one player.
    Match(AuthToken),
    /// The token by which the manager proves itself to the receiver.
    Manager(AuthToken),
}

/// How often and how long to try; the rule is made here, the trying is done outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryRule {
    /// Tries in all, at least one.
    pub attempts: u32,
    /// How long each try may take.
    pub timeout: Duration,
    /// How long to wait between tries.
    pub backoff: Backoff,
}

impl RetryRule {
    /// How long all tries take at most, with the waits between them.
    pub fn longest(&self) -> Duration {
        let waits = (1..self.attempts).map(|failed| self.backoff.longest_wait(failed));
        self.timeout.saturating_mul(self.attempts) + waits.sum::<Duration>()
    }
}

/// The outcome of a letter with a correlation: an answer, or the cause of silence.
pub type CallOutcome = Result<PeerAnswer, CallFailure>;

/// A message that came back.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerAnswer {
    pub message: Message,
    /// The hash of the token that came with it.
    pub token: Option<TokenHash>,
}

/// Why no answer can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    pub cause: FailureCause,
    /// The rule that was broken: no answer in time, no connection, not a message, ….
    pub code: Code,
    /// What happened, in a sentence for people.
    pub detail: String,
}

/// The side that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    Peer,
    /// The letter could not leave this machine, which lacks descriptors, memory or ports. No peer
    /// is blamed for that.
    Local,
    /// The peer is not called: its address may not be, or its certificate is not trusted.
    Refused,
}

impl CallFailure {
    /// The peer did not answer, or not as it should.
    pub fn of_peer(code: Code, detail: impl Into<String>) -> Self {
        Self {
            cause: FailureCause::Peer,
            code,
            detail: detail.into(),
        }
    }

    /// The letter did not leave this machine.
    pub fn local(detail: impl Into<String>) -> Self {
        Self {
            cause: FailureCause::Local,
            code: Code::Connection,
            detail: detail.into(),
        }
    }

    /// The peer is not called.
    pub fn refused(detail: impl Into<String>) -> Self {
        Self {
            cause: FailureCause::Refused,
            code: Code::Connection,
            detail: detail.into(),
        }
    }

    pub fn is_local(&self) -> bool {
        self.cause == FailureCause::Local
    }
}
