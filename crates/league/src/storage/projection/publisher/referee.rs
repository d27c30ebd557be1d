//! When a referee's matches are written, and where: a file each, or a line each.

use std::collections::BTreeMap;

use league_core::referee::Event;
use league_protocol::id::MatchId;
use league_protocol::time::Timestamp;

use super::archive::Publication;
use super::pace::SHORTEST_GAP;
use crate::storage::documents::MatchDocument;
use crate::storage::projection::{Change, MatchesProjection};
use crate::storage::record::Record;

/// In a league of more matches than this, each is a line in a file of its round.
pub(crate) const MOST_MATCH_FILES: u64 = 100_000;

/// Says when the documents of a referee are due.
///
/// A match that goes on is first shown when it has gone on for a while, so that one that is played
/// in a moment is written once.
#[derive(Debug, Clone, Default)]
pub(crate) struct RefereePublisher {
    matches: MatchesProjection,
    waiting: BTreeMap<MatchId, Timestamp>,
    over: Vec<MatchDocument>,
    files: u64,
    many: bool,
}

impl RefereePublisher {
    /// Takes in an entry of the referee's journal.
    ///
    /// Documents of matches that are over gather here until [`due`](Self::due) takes them: whoever
    /// feeds a long journal asks after each batch.
    pub(crate) fn take_in(&mut self, sequence: u64, at: Timestamp, record: &Record<Event>) {
        match self.matches.take_in(sequence, at, record) {
            Change::Nothing => {}
            Change::GoesOn(match_id) => {
                self.waiting.entry(match_id).or_insert(at + SHORTEST_GAP);
            }
            Change::Over(document) => {
                self.waiting.remove(&document.match_id);
                self.count(&document.match_id);
                self.over.push(*document);
            }
        }
    }

    /// The documents that are due now; they count as written.
    pub(crate) fn due(&mut self, now: Timestamp) -> Vec<Publication> {
        let waiting = &mut self.waiting;
        let mut going = Vec::new();
        if !self.many {
            waiting.retain(|match_id, due| {
                let wait = now < *due;
                if !wait {
                    going.push(match_id.clone());
                }
                wait
            });
        } else {
            waiting.clear();
        }
        let going = going.iter().filter_map(|id| self.matches.document(id));
        let over = std::mem::take(&mut self.over);
        let mut due: Vec<Publication> = going.map(Publication::Match).collect();
        due.extend(over.into_iter().map(|document| self.place(document)));
        due
    }

    /// All that has changed, whether it is due or not: for the end of the process.
    pub(crate) fn rest(&mut self, now: Timestamp) -> Vec<Publication> {
        self.waiting.values_mut().for_each(|due| *due = now);
        self.due(now)
    }

    /// When something is due next.
    pub(crate) fn wakeup(&self) -> Option<Timestamp> {
        if !self.over.is_empty() {
            return Some(Timestamp::default());
        }
        self.waiting.values().min().copied()
    }

    fn place(&self, document: MatchDocument) -> Publication {
        match self.matches.referee_id() {
            Some(referee) if self.many => Publication::MatchLine {
                referee: referee.clone(),
                document,
            },
            _ => Publication::Match(document),
        }
    }

    /// A referee is not told how many matches its league has. It knows by the number of a match
    /// how many its round has at least, and so how many the league has at least.
    fn count(&mut self, match_id: &MatchId) {
        self.files += 1;
        let number = match_id.as_str().split_once('M');
        let number: u64 = number
            .and_then(|(_, number)| number.parse().ok())
            .unwrap_or(0);
        let at_least = number.saturating_mul(number.saturating_mul(2).saturating_sub(1));
        self.many |= self.files.max(at_least) > MOST_MATCH_FILES;
    }
}
