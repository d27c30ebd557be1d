//! The shape that the machines share: weigh a command, note facts, send letters, wait.

use league_protocol::time::Timestamp;

use crate::letter::Letter;

/// Something that decides, and remembers only what it was told to remember.
///
/// # Promises
///
/// - [`decide`](Self::decide) reads and never changes; the same state, time and command give the
///   same decision.
/// - [`apply`](Self::apply) changes and never decides; it cannot fail and is all that replay needs.
/// - Applying an event twice in a row is never asked for; replaying a journal twice into two fresh
///   machines gives two equal machines.
pub trait Machine {
    /// What the world may bring, with all the chance it may need.
    type Command;
    /// A fact.
    type Event;
    /// What the bringer of a command is answered.
    type Reply;
    /// Why a command is turned down.
    type Refusal;
    /// Names a question that was sent, so that its answer finds the way back.
    type CorrelationId;

    /// Weighs a command against the present state.
    fn decide(
        &self,
        at: Timestamp,
        command: &Self::Command,
    ) -> Result<Decision<Self::Event, Self::Reply>, Self::Refusal>;

    /// Takes in a fact; a [`Keep::Journal`] one is already written.
    fn apply(&mut self, event: &Self::Event);

    /// Adds the letters that a fact calls for, once it is applied.
    fn letters(&self, event: &Self::Event, out: &mut Vec<Letter<Self::CorrelationId>>);

    /// The letters that are still owed, to be sent again after a restart.
    fn pending(&self) -> Vec<Letter<Self::CorrelationId>>;

    /// When to be woken with a tick if nothing comes before.
    fn wakeup(&self) -> Option<Timestamp>;

    /// Where a fact is kept.
    fn keep(event: &Self::Event) -> Keep;
}

/// Facts to note down, and the answer to give once they are.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision<Event, Reply> {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// What to answer.
    pub reply: Reply,
}

impl<Event, Reply> Decision<Event, Reply> {
    /// An answer that changes nothing.
    pub fn reply(reply: Reply) -> Self {
        Self {
            events: Vec::new(),
            reply,
        }
    }
}

/// Where a fact is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// In the journal, before anything else happens: losing it would be a wrong.
    Journal,
    /// In memory alone: it is hidden from files by the rules, or a restart may forget it because
    /// the question behind it is simply asked again.
    Memory,
}
