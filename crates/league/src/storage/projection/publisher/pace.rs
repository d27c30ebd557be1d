//! How often one document is written.

use std::time::Duration;

use league_protocol::time::Timestamp;

/// The least time between two writings of one document.
pub(crate) const SHORTEST_GAP: Duration = Duration::from_millis(500);
/// What each row of a document adds to that time, so that writing takes a small part of it.
pub(crate) const A_ROW: Duration = Duration::from_micros(100);

/// Whether a document has changed, and when it may be written again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    changed: Option<(u64, Timestamp)>,
    urgent: bool,
    not_before: Timestamp,
}

impl Pace {
    /// Notes a change by an entry.
    pub(super) fn change(&mut self, sequence: u64, at: Timestamp) {
        self.changed = Some((sequence, at));
    }

    /// Notes that the change must not wait.
    pub(super) fn hurry(&mut self) {
        self.urgent = true;
    }

    /// The entry that changed the document last, if it is due; it then counts as written.
    pub(super) fn take(&mut self, now: Timestamp, rows: usize) -> Option<(u64, Timestamp)> {
        if !self.urgent && now < self.not_before {
            return None;
        }
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let changed = self.changed.take()?;
        self.urgent = false;
        self.not_before = now + SHORTEST_GAP.max(A_ROW.saturating_mul(rows));
        Some(changed)
    }

    /// When the document is due, if it has changed.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let due = if self.urgent {
            Timestamp::default()
        } else {
            self.not_before
        };
        self.changed.map(|_| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_document_is_written_at_once_and_then_twice_a_second() {
        let mut pace = Pace::default();
        assert_eq!(pace.take(at(1_000), 4), None, "nothing changed");
        pace.change(1, at(1_000));
        assert_eq!(pace.take(at(1_000), 4), Some((1, at(1_000))));
        pace.change(2, at(1_001));
        pace.change(3, at(1_002));
        assert_eq!(pace.take(at(1_499), 4), None);
        assert_eq!(pace.due(), Some(at(1_500)));
        assert_eq!(pace.take(at(1_500), 4), Some((3, at(1_002))));
        assert_eq!(pace.due(), None);
    }

    #[test]
    fn what_is_urgent_does_not_wait_and_what_is_large_waits_longer() {
        let mut pace = Pace::default();
        pace.change(1, at(0));
        pace.take(at(0), 100_000).unwrap();
        pace.change(2, at(1));
        assert_eq!(pace.due(), Some(at(10_000)));
        pace.hurry();
        assert_eq!(pace.take(at(1), 100_000), Some((2, at(1))));
        pace.change(3, at(2));
        assert_eq!(pace.take(at(2), 100_000), None);
    }
}
