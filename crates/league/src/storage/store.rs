//! Where facts are kept: a list that only grows and that a crash does not shorten.
//!
//! [`Journal`] keeps it in a file. What the facts mean is left to the machine that made them.

mod disk;
mod error;
mod follow;
mod journal;
mod line;
mod lock;
mod scan;

use league_protocol::time::Timestamp;

#[cfg(test)]
pub(crate) use error::Damage;
pub(crate) use error::StoreError;
pub(crate) use follow::{Follower, read_backwards};
#[cfg(test)]
pub(crate) use journal::Cut;
pub(crate) use journal::{Durability, End, Journal};
#[cfg(test)]
pub(crate) use line::LONGEST_LINE;
pub(crate) use lock::holder;
#[cfg(test)]
pub(crate) use scan::MOST_IN_A_BATCH;

/// Keeps facts in the order they came.
pub(crate) trait Store<Fact>: Send {
    /// Adds facts at the end and gives the sequence of the last one, once a crash cannot undo it.
    ///
    /// After a crash either all of them are there or none. An error means that it is not known
    /// which; whoever gets one must act on nothing more and start again from what is kept.
    fn append(&mut self, at: Timestamp, facts: &[Fact]) -> Result<u64, StoreError>;

    /// The sequence of the last fact; 0 if there is none.
    fn last(&self) -> u64;
}

/// A fact in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<Fact> {
    /// Its place, counted from 1 without a gap; in a journal also the number of its line.
    pub(crate) sequence: u64,
    /// When it was written down.
    pub(crate) at: Timestamp,
    /// The fact.
    pub(crate) fact: Fact,
}
