//! An append-only, crash-safe list of facts.
//!
//! [`Journal`] stores it in a file. The state machine that made the facts gives them their meaning.

mod disk;
mod error;
mod follow;
mod journal;
mod line;
mod lock;
mod mirror;
mod scan;

use league_protocol::time::Timestamp;

#[cfg(test)]
pub(crate) use error::Damage;
pub(crate) use error::{JOURNAL_HINT, StoreError};
pub(crate) use follow::{Follower, read_backwards, read_lines};
pub(crate) use journal::{Cut, Durability, End, Journal, Opened};
pub(crate) use line::Head;
#[cfg(test)]
pub(crate) use line::MAX_LINE;
pub(crate) use lock::{holder, noted_line, was_locked};
pub(crate) use mirror::Mirror;
#[cfg(test)]
pub(crate) use scan::MAX_BATCH;

/// Stores facts in order.
pub(crate) trait Store<Fact>: Send {
    /// Appends facts, and returns the sequence of the last one once a crash cannot undo it.
    ///
    /// After a crash either all of them are stored or none. After an error it is unknown which; the
    /// caller must stop acting and restart from the stored facts.
    fn append(&mut self, at: Timestamp, facts: &[Fact]) -> Result<u64, StoreError>;

    /// Appends facts that a crash of the machine may undo; the end of the process does not. The next
    /// [`append`](Self::append) makes them durable.
    fn append_lightly(&mut self, at: Timestamp, facts: &[Fact]) -> Result<u64, StoreError>;

    /// Whether appending waits for a disk or for another machine, and not only for the operating
    /// system.
    fn waits(&self, lightly: bool) -> bool;

    /// The sequence of the last fact; 0 if there is none.
    fn last(&self) -> u64;
}

/// A stored fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<Fact> {
    /// Its position, counted from 1 without a gap; in a journal also its line number.
    pub(crate) sequence: u64,
    pub(crate) at: Timestamp,
    pub(crate) fact: Fact,
}
