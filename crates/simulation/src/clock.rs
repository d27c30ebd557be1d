//! Virtual time: appointments in order, and a hand that jumps from one to the next.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use league_protocol::time::Timestamp;

/// When the first league of every seed begins: 2026-01-01.
const BEGINNING: i64 = 1_767_225_600_000;
/// So many milliseconds from now on have a line each; whatever is later waits in the heap.
const NEAR: usize = 64;
/// Room for the appointments that one millisecond usually has.
const USUAL: usize = 16;

/// Scheduled steps by time; equal times keep their order.
pub(crate) struct Clock<T> {
    now: Timestamp,
    sequence: u64,
    /// The appointments of the next milliseconds, each at its time modulo [`NEAR`].
    near: [VecDeque<T>; NEAR],
    /// A bit for each slot that is not empty.
    busy: u64,
    later: BinaryHeap<Appointment<T>>,
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
            near: std::array::from_fn(|_| VecDeque::with_capacity(USUAL)),
            busy: 0,
            later: BinaryHeap::new(),
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
        let at = at.max(self.now);
        if near(self.now, at) {
            return self.stand(at, what);
        }
        self.sequence += 1;
        self.later.push(Appointment {
            at,
            sequence: self.sequence,
            what,
        });
    }

    /// Moves the hand to the next appointment.
    pub(crate) fn advance(&mut self) -> Option<T> {
        let at = self.next()?;
        if at != self.now {
            self.now = at;
            // Whatever comes near now was noted before all that will be noted for the same time.
            while self.later.peek().is_some_and(|next| near(at, next.at))
                && let Some(next) = self.later.pop()
            {
                self.stand(next.at, next.what);
            }
        }
        let place = place_of(at);
        let line = &mut self.near[place];
        let what = line.pop_front();
        if line.is_empty() {
            self.busy &= !(1 << place);
        }
        what
    }

    /// When the next appointment is.
    fn next(&self) -> Option<Timestamp> {
        if self.busy == 0 {
            return self.later.peek().map(|next| next.at);
        }
        let from_now = self.busy.rotate_right(place_of(self.now) as u32);
        let wait = Duration::from_millis(u64::from(from_now.trailing_zeros()));
        Some(self.now + wait)
    }

    fn stand(&mut self, at: Timestamp, what: T) {
        let place = place_of(at);
        self.near[place].push_back(what);
        self.busy |= 1 << place;
    }
}

/// Whether a moment has a line of its own while the hand stands at another before it.
fn near(now: Timestamp, at: Timestamp) -> bool {
    at.as_millis() - now.as_millis() < NEAR as i64
}

/// The line of a moment.
fn place_of(at: Timestamp) -> usize {
    at.as_millis() as usize % NEAR
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
    use super::*;

    #[test]
    fn earliest_comes_first_and_equals_in_the_order_they_were_noted() {
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

    #[test]
    fn far_appointment_precedes_a_later_near_one() {
        let mut clock = Clock::new();
        let start = clock.now();
        let millis = |millis| start + Duration::from_millis(millis);
        clock.note(millis(100), "second");
        clock.note(millis(40), "first");
        clock.note(millis(100), "third");
        assert_eq!(clock.advance(), Some("first"));
        clock.note(millis(100), "fourth");
        clock.note(millis(103), "sixth");
        clock.note(millis(40 + 64), "seventh");
        clock.note(millis(101), "fifth");
        let rest: Vec<_> = std::iter::from_fn(|| clock.advance()).collect();
        assert_eq!(
            rest,
            ["second", "third", "fourth", "fifth", "sixth", "seventh"]
        );
        assert_eq!(clock.now(), millis(104));
    }
}
