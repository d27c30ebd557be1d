//! Virtual time: appointments in order, and a hand that jumps from one to the next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use league_protocol::time::Timestamp;

/// When the first league of every seed begins: 2026-01-01.
const BEGINNING: i64 = 1_767_225_600_000;

/// What is to happen, and when; what was noted first happens first.
pub(crate) struct Clock<T> {
    now: Timestamp,
    sequence: u64,
    agenda: BinaryHeap<Appointment<T>>,
}

struct Appointment<T> {
    at: Timestamp,
    sequence: u64,
    what: T,
}

impl<T> Clock<T> {
    pub(crate) fn new() -> Self {
        Self {
            now: Self::beginning(),
            sequence: 0,
            agenda: BinaryHeap::new(),
        }
    }

    pub(crate) fn beginning() -> Timestamp {
        Timestamp::from_millis(BEGINNING)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// Notes something for later; a moment that has passed means at once.
    pub(crate) fn note(&mut self, at: Timestamp, what: T) {
        self.sequence += 1;
        self.agenda.push(Appointment {
            at: at.max(self.now),
            sequence: self.sequence,
            what,
        });
    }

    /// Moves the hand to the next appointment.
    pub(crate) fn advance(&mut self) -> Option<T> {
        let next = self.agenda.pop()?;
        self.now = next.at;
        Some(next.what)
    }
}

/// The earliest is the greatest, as the heap gives the greatest first.
impl<T> Ord for Appointment<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl<T> PartialOrd for Appointment<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Appointment<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Appointment<T> {}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_earliest_comes_first_and_equals_in_the_order_they_were_noted() {
        let mut clock = Clock::new();
        let start = clock.now();
        let second = Duration::from_secs(1);
        clock.note(start + second * 2, "third");
        clock.note(start + second, "first");
        clock.note(start + second, "second");
        assert_eq!(clock.advance(), Some("first"));
        clock.note(start, "overdue");
        assert_eq!(clock.advance(), Some("second"));
        assert_eq!(clock.advance(), Some("overdue"));
        assert_eq!(clock.now(), start + second);
        assert_eq!(clock.advance(), Some("third"));
        assert_eq!(clock.advance(), None);
    }
}
