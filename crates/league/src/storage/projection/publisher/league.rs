//! When the manager's table and rounds are written.

use league_core::league::{Event, League};
use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;

use super::archive::Publication;
use super::pace::Pace;
use crate::storage::projection::{RoundsProjection, standings};
use crate::storage::record::Record;

/// Says when the documents of a manager are due.
#[derive(Debug, Clone)]
pub(crate) struct LeaguePublisher {
    rounds: RoundsProjection,
    table: Pace,
    list: Pace,
}

impl LeaguePublisher {
    /// Begins with an empty journal.
    pub(crate) fn new(league_id: LeagueId) -> Self {
        Self {
            rounds: RoundsProjection::new(league_id),
            table: Pace::default(),
            list: Pace::default(),
        }
    }

    /// Takes in an entry that `league` has just taken in.
    pub(crate) fn take_in(
        &mut self,
        sequence: u64,
        at: Timestamp,
        record: &Record<Event>,
        league: &League,
    ) {
        let Record::Event(event) = record else { return };
        if self.rounds.take_in(sequence, at, event, league) {
            self.list.change(sequence, at);
        }
        if changes_table(event) {
            self.table.change(sequence, at);
        }
        if matches!(
            event,
            Event::LeagueStarted { .. } | Event::RoundClosed { .. } | Event::LeagueCompleted { .. }
        ) {
            self.hurry();
        }
    }

    /// The documents that are due now; they count as written.
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

    /// All that has changed, whether it is due or not: for the end of the process.
    pub(crate) fn rest(&mut self, now: Timestamp, league: &League) -> Vec<Publication> {
        self.hurry();
        self.due(now, league)
    }

    /// When something is due next.
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

/// Whether the table is another after this entry.
pub(crate) fn changes_table(event: &Event) -> bool {
    matches!(
        event,
        Event::PlayerRegistered { .. }
            | Event::AgentReturned { .. }
            | Event::LeagueStarted { .. }
            | Event::ResultRecorded { .. }
            | Event::RoundClosed { .. }
    )
}
