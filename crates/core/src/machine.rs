//! The shape that the machines share: decide on a command, apply events, name letters and the next
//! wake-up.

use league_protocol::time::Timestamp;
use serde::Serialize;

use crate::letter::{CallOutcome, Letter};

/// A state machine without clock, file, socket or randomness of its own.
///
/// # Promises
///
/// - [`decide`](Self::decide) reads and never changes; the same state, time and command give the
///   same decision.
/// - [`apply`](Self::apply) changes and never decides; it cannot fail and is all that replay needs.
/// - Applying an event twice in a row is never asked for; replaying a journal twice into two fresh
///   machines gives two equal machines.
pub trait Machine: Send + 'static {
    /// A request from outside, with all the randomness it may need.
    type Command: Send + 'static;
    type Event: Clone + Serialize + Send + Sync + 'static;
    type Reply: Send + 'static;
    type Refusal: Send + 'static;
    /// Names a letter whose outcome comes back to the machine.
    type CorrelationId: Clone + Send + Sync + 'static;

    /// The command that says that time has passed.
    fn tick() -> Self::Command;

    /// The command that brings the outcome of a letter.
    fn outcome(correlation: Self::CorrelationId, outcome: CallOutcome) -> Self::Command;

    fn decide(
        &self,
        at: Timestamp,
        command: &Self::Command,
    ) -> Decision<Self::Event, Self::Reply, Self::Refusal>;

    /// Changes the state by an event. The caller writes a [`Persistence::Journal`] event before it
    /// lets anything out that follows from it.
    fn apply(&mut self, event: &Self::Event);

    /// Adds the letters that an event calls for, once it is applied.
    fn letters(&self, event: &Self::Event, out: &mut Vec<Letter<Self::CorrelationId>>);

    /// The letters that are still owed, to be sent again after a restart.
    fn pending(&self) -> Vec<Letter<Self::CorrelationId>>;

    /// When a tick is due if no command comes before.
    fn wakeup(&self) -> Option<Timestamp>;

    fn keep(event: &Self::Event) -> Persistence;
}

/// The events to write, and the answer to give once they are written.
///
/// A refusal may have events too: a false report is refused and noted.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<Event, Reply, Refusal> {
    pub events: Vec<Event>,
    pub answer: Result<Reply, Refusal>,
}

impl<Event, Reply, Refusal> Decision<Event, Reply, Refusal> {
    pub fn accept(events: Vec<Event>, reply: Reply) -> Self {
        Self {
            events,
            answer: Ok(reply),
        }
    }

    /// An answer that changes nothing.
    pub fn reply(reply: Reply) -> Self {
        Self::accept(Vec::new(), reply)
    }
}

impl<Event, Reply, Refusal> From<Result<Self, Refusal>> for Decision<Event, Reply, Refusal> {
    /// An error is a refusal that changes nothing.
    fn from(result: Result<Self, Refusal>) -> Self {
        result.unwrap_or_else(|refusal| Self {
            events: Vec::new(),
            answer: Err(refusal),
        })
    }
}

/// Where an event is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Persistence {
    /// In the journal, before anything else happens: losing it would break a promise.
    Journal,
    /// In memory alone: the rules hide it from files, or a restart may forget it because the
    /// question behind it is asked again.
    Memory,
}
