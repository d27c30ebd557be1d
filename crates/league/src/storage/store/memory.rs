//! The double of a journal, for tests: nothing outlives it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use league_protocol::time::Timestamp;

use super::{Entry, Store, StoreError};

/// Facts in memory.
///
/// Clones share what they hold, so that a test can look into a store that it has given away.
#[derive(Debug, Clone)]
pub(crate) struct Memory<Fact> {
    entries: Arc<Mutex<Vec<Entry<Fact>>>>,
    room: u64,
}

impl<Fact> Default for Memory<Fact> {
    fn default() -> Self {
        Self::with_room(u64::MAX)
    }
}

impl<Fact> Memory<Fact> {
    /// A store that is full after so many facts.
    pub(crate) fn with_room(room: u64) -> Self {
        Self {
            entries: Arc::default(),
            room,
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Entry<Fact>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Fact: Clone> Memory<Fact> {
    /// All that is kept, oldest first.
    pub(crate) fn entries(&self) -> Vec<Entry<Fact>> {
        self.kept().clone()
    }
}

impl<Fact: Clone + Send> Store<Fact> for Memory<Fact> {
    fn append(&mut self, at: Timestamp, facts: &[Fact]) -> Result<u64, StoreError> {
        let mut kept = self.kept();
        let last = kept.len() as u64;
        let room = self.room.saturating_sub(last);
        if facts.len() as u64 > room {
            let path = PathBuf::from("memory");
            return Err(StoreError::Full { path });
        }
        kept.extend((last + 1..).zip(facts).map(|(sequence, fact)| Entry {
            sequence,
            at,
            fact: fact.clone(),
        }));
        Ok(kept.len() as u64)
    }

    fn last(&self) -> u64 {
        self.kept().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_counts_from_one_and_a_clone_sees_the_same() {
        let at = Timestamp::from_millis(7);
        let mut memory = Memory::default();
        let clone = memory.clone();
        assert_eq!(memory.append(at, &["a", "b"]).unwrap(), 2);
        assert_eq!(memory.append(at, &["c"]).unwrap(), 3);
        let seen: Vec<_> = clone
            .entries()
            .iter()
            .map(|entry| (entry.sequence, entry.fact))
            .collect();
        assert_eq!(seen, [(1, "a"), (2, "b"), (3, "c")]);
        assert_eq!(clone.last(), 3);
    }

    #[test]
    fn a_batch_that_does_not_fit_is_not_kept_in_part() {
        let mut memory = Memory::with_room(2);
        memory.append(Timestamp::default(), &[1]).unwrap();
        let refused = memory.append(Timestamp::default(), &[2, 3]);
        assert!(matches!(refused, Err(StoreError::Full { .. })));
        assert_eq!(memory.last(), 1);
    }
}
