//! Decides when documents are written: soon after they change, but not at every change.
//!
//! A publisher applies the entries of one journal and returns the documents that are due. It does
//! no IO: [`DocumentFiles`] writes them where blocking is allowed. A document is written at most
//! twice a second, at the ends of rounds five times a second, and always at the end of a league.
//! After a restart a publisher applies the whole journal, and the versions in the files show which of
//! them are outdated.

use std::collections::BTreeMap;
use std::time::Duration;

use league_core::league::{self, League};
use league_core::player::{self, Player};
use league_core::referee;
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::time::Timestamp;

#[cfg(doc)]
use super::document_writer::DocumentFiles;
use super::document_writer::Publication;
use super::documents::{
    MatchChange, MatchDocument, MatchesProjection, RoundsProjection, history, standings,
};
use super::record::Record;

/// Decides when the documents of a manager are due.
#[derive(Debug, Clone)]
pub(crate) struct LeaguePublisher {
    rounds: RoundsProjection,
    table: Throttle,
    list: Throttle,
}

impl LeaguePublisher {
    pub(crate) fn new(league_id: LeagueId) -> Self {
        Self {
            rounds: RoundsProjection::new(league_id),
            table: Throttle::default(),
            list: Throttle::default(),
        }
    }

    /// Applies an entry that `league` has just applied.
    pub(crate) fn take_in(
        &mut self,
        sequence: u64,
        at: Timestamp,
        record: &Record<league::Event>,
        league: &League,
    ) {
        let Record::Event(event) = record else { return };
        if self.rounds.take_in(sequence, at, event, league) {
            self.list.change(sequence, at);
        }
        if changes_table(event) {
            self.table.change(sequence, at);
        }
        match event {
            league::Event::LeagueStarted { .. } | league::Event::LeagueCompleted { .. } => {
                self.hurry();
            }
            league::Event::RoundClosed { .. } => {
                self.table.advance();
                self.list.advance();
            }
            _ => {}
        }
    }

    /// Returns the documents that are due now, and counts them as written.
    pub(crate) fn due(&mut self, now: Timestamp, league: &League) -> Vec<Publication> {
        let mut due = Vec::new();
        if let Some((version, at)) = self.table.take(now, league.players().len()) {
            due.push(Publication::Standings(standings(league, version, at)));
        }
        let listed = self.rounds.listed();
        if self.list.take(now, listed).is_some() {
            due.push(Publication::Rounds(self.rounds.document().clone()));
        }
        due
    }

    /// Returns all changed documents, due or not: for the end of the process.
    pub(crate) fn rest(&mut self, now: Timestamp, league: &League) -> Vec<Publication> {
        self.hurry();
        self.due(now, league)
    }

    /// When the next document is due.
    pub(crate) fn wakeup(&self) -> Option<Timestamp> {
        [self.table.due(), self.list.due()]
            .into_iter()
            .flatten()
            .min()
    }

    fn hurry(&mut self) {
        self.table.hurry();
        self.list.hurry();
    }
}

/// Whether this entry changes the standings.
pub(crate) fn changes_table(event: &league::Event) -> bool {
    matches!(
        event,
        league::Event::PlayerRegistered { .. }
            | league::Event::AgentReturned { .. }
            | league::Event::OrganiserActed { .. }
            | league::Event::LeagueStarted { .. }
            | league::Event::ResultRecorded { .. }
            | league::Event::RoundClosed { .. }
            // It pays byes, or shows how far players have come.
            | league::Event::RoundOpened { .. }
            // It makes a round incomplete again.
            | league::Event::MatchesAdded { .. }
    )
}

/// Decides when the document of a player is due.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlayerPublisher {
    memory: Throttle,
    crowd: usize,
}

/// How many rows each player of the same process counts as, so that all of them together write five
/// memories a second: making a file costs a tenth of a match.
const ROWS_A_PLAYER: usize = 2_000;

impl PlayerPublisher {
    /// A publisher for one of this many players in the process.
    pub(crate) fn among(players: usize) -> Self {
        Self {
            memory: Throttle::default(),
            crowd: players,
        }
    }

    /// Applies an entry of the player's journal.
    pub(crate) fn take_in(&mut self, sequence: u64, at: Timestamp, record: &Record<player::Event>) {
        match record {
            Record::Event(player::Event::Remembered { .. } | player::Event::Enrolled { .. }) => {
                self.memory.change(sequence, at);
            }
            Record::Event(player::Event::LeagueCompleted { .. }) => self.memory.hurry(),
            _ => {}
        }
    }

    /// Returns the document if it is due now, and counts it as written.
    pub(crate) fn due(&mut self, now: Timestamp, player: &Player) -> Vec<Publication> {
        let remembered = player.memory().history().len();
        let rows = remembered.max(self.crowd.saturating_mul(ROWS_A_PLAYER));
        let due = self.memory.take(now, rows);
        let document = due.and_then(|(version, at)| history(player, version, at));
        document.map(Publication::History).into_iter().collect()
    }

    /// Returns the document if it has changed, due or not: for the end of the process.
    pub(crate) fn rest(&mut self, now: Timestamp, player: &Player) -> Vec<Publication> {
        self.memory.hurry();
        self.due(now, player)
    }

    /// When the document is due.
    pub(crate) fn wakeup(&self) -> Option<Timestamp> {
        self.memory.due()
    }
}

/// In a league of more matches than this, each match is a line in a file of its round: making a file
/// costs more than playing the match. A class of 30 has 435 matches.
pub(crate) const MAX_MATCH_FILES: u64 = 450;

/// Decides when the documents of a referee are due.
///
/// An unfinished match is written only after some time, so that a short match is written once.
#[derive(Debug, Clone, Default)]
pub(crate) struct RefereePublisher {
    matches: MatchesProjection,
    waiting: BTreeMap<MatchId, Timestamp>,
    /// Documents of finished matches where they belong.
    over: Vec<Publication>,
    files: u64,
    many: bool,
}

impl RefereePublisher {
    /// Applies an entry of the referee's journal.
    ///
    /// Documents of finished matches accumulate until [`due`](Self::due) takes them, so callers
    /// that feed a long journal must call it after each batch.
    pub(crate) fn take_in(
        &mut self,
        sequence: u64,
        at: Timestamp,
        record: &Record<referee::Event>,
    ) {
        match self.matches.take_in(sequence, at, record) {
            MatchChange::Nothing => {}
            MatchChange::GoesOn(match_id) => {
                self.waiting.entry(match_id).or_insert(at + MIN_GAP);
            }
            MatchChange::Over(document, first) => {
                self.waiting.remove(&document.match_id);
                self.count(&document.match_id);
                let placed = self.place(*document, first);
                self.over.push(placed);
            }
        }
    }

    /// Returns the documents that are due now, and counts them as written.
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
        let mut due: Vec<Publication> = going.map(Publication::Match).collect();
        due.append(&mut self.over);
        due
    }

    /// Returns all changed documents, due or not: for the end of the process.
    pub(crate) fn rest(&mut self, now: Timestamp) -> Vec<Publication> {
        self.waiting.values_mut().for_each(|due| *due = now);
        self.due(now)
    }

    /// When the next document is due.
    pub(crate) fn wakeup(&self) -> Option<Timestamp> {
        if !self.over.is_empty() {
            return Some(Timestamp::default());
        }
        self.waiting.values().min().copied()
    }

    /// The place of a match depends only on the journal up to its end, so that a restart does not
    /// look for it elsewhere.
    fn place(&self, document: MatchDocument, first: u64) -> Publication {
        match self.matches.referee_id() {
            Some(referee) if self.many => Publication::MatchLine {
                referee: referee.clone(),
                document: document.in_round(first),
            },
            _ => Publication::Match(document),
        }
    }

    /// A referee does not know how many matches its league has. The number in a match id gives a
    /// minimum for its round, and so a minimum for the league.
    fn count(&mut self, match_id: &MatchId) {
        self.files += 1;
        let number = match_id
            .numbers()
            .map_or(0, |(_, number)| u64::from(number));
        let at_least = number.saturating_mul(number.saturating_mul(2).saturating_sub(1));
        self.many |= self.files.max(at_least) > MAX_MATCH_FILES;
    }
}

/// The minimum time between two writes of one document.
pub(crate) const MIN_GAP: Duration = Duration::from_millis(500);
/// The minimum time between two writes of a document at the ends of rounds: replacing a file costs as
/// much as a tenth of a match, and people notice no shorter delay.
pub(crate) const ROUND_GAP: Duration = Duration::from_millis(200);
/// The minimum time for each row of a document, so that writing takes a small part of the time.
pub(crate) const GAP_PER_ROW: Duration = Duration::from_micros(100);

/// Whether a document has changed, and when it may be written again.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Throttle {
    changed: Option<(u64, Timestamp)>,
    urgent: bool,
    not_before: Timestamp,
    /// The earliest time at the end of a round.
    earliest: Timestamp,
}

impl Throttle {
    /// Records a change by an entry.
    pub(crate) fn change(&mut self, sequence: u64, at: Timestamp) {
        self.changed = Some((sequence, at));
    }

    /// Makes the change due immediately.
    pub(crate) fn hurry(&mut self) {
        self.urgent = true;
    }

    /// Makes the change due as soon as the end of a round allows.
    pub(crate) fn advance(&mut self) {
        self.not_before = self.earliest;
    }

    /// The entry of the last change, if the document is due; it then counts as written.
    pub(crate) fn take(&mut self, now: Timestamp, rows: usize) -> Option<(u64, Timestamp)> {
        if !self.urgent && now < self.not_before {
            return None;
        }
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let changed = self.changed.take()?;
        self.urgent = false;
        let gap = GAP_PER_ROW.saturating_mul(rows);
        self.earliest = now + gap.max(ROUND_GAP);
        self.not_before = now + gap.max(MIN_GAP);
        Some(changed)
    }

    /// When the document is due, if it has changed.
    pub(crate) fn due(&self) -> Option<Timestamp> {
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
    fn document_is_written_at_once_and_then_twice_a_second() {
        let mut throttle = Throttle::default();
        assert_eq!(throttle.take(at(1_000), 4), None, "nothing changed");
        throttle.change(1, at(1_000));
        assert_eq!(throttle.take(at(1_000), 4), Some((1, at(1_000))));
        throttle.change(2, at(1_001));
        throttle.change(3, at(1_002));
        assert_eq!(throttle.take(at(1_499), 4), None);
        assert_eq!(throttle.due(), Some(at(1_500)));
        assert_eq!(throttle.take(at(1_500), 4), Some((3, at(1_002))));
        assert_eq!(throttle.due(), None);
    }

    #[test]
    fn urgent_documents_do_not_wait_and_large_ones_wait_longer() {
        let mut throttle = Throttle::default();
        throttle.change(1, at(0));
        throttle.take(at(0), 100_000).unwrap();
        throttle.change(2, at(1));
        assert_eq!(throttle.due(), Some(at(10_000)));
        throttle.hurry();
        assert_eq!(throttle.take(at(1), 100_000), Some((2, at(1))));
        throttle.change(3, at(2));
        assert_eq!(throttle.take(at(2), 100_000), None);
    }

    #[test]
    fn advanced_document_waits_for_a_fifth_of_a_second_or_for_its_rows() {
        for (rows, due, later) in [(200, 200, 500), (3_000, 300, 500), (9_000, 900, 900)] {
            let mut throttle = Throttle::default();
            throttle.change(1, at(0));
            throttle.take(at(0), rows).unwrap();
            throttle.change(2, at(1));
            throttle.advance();
            assert_eq!(throttle.due(), Some(at(due)));
            assert_eq!(throttle.take(at(due - 1), rows), None);
            assert_eq!(throttle.take(at(due), rows), Some((2, at(1))));
            throttle.change(3, at(due + 1));
            assert_eq!(throttle.due(), Some(at(due + later)), "advanced once");
        }
    }
}
