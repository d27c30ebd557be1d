//! When a player's memory is written.

use league_core::player::{Event, Player};
use league_protocol::time::Timestamp;

use super::archive::Publication;
use super::pace::Pace;
use crate::storage::projection::history;
use crate::storage::record::Record;

/// Says when the document of a player is due.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlayerPublisher {
    memory: Pace,
    crowd: usize,
}

/// How many rows each player of the same process counts as, so that a thousand of them do not
/// write their memories all the time.
const ROWS_A_PLAYER: usize = 100;

impl PlayerPublisher {
    /// A publisher among those of so many players in one process.
    pub(crate) fn among(players: usize) -> Self {
        Self {
            memory: Pace::default(),
            crowd: players,
        }
    }

    /// Takes in an entry of the player's journal.
    pub(crate) fn take_in(&mut self, sequence: u64, at: Timestamp, record: &Record<Event>) {
        match record {
            Record::Event(Event::Remembered { .. } | Event::Enrolled { .. }) => {
                self.memory.change(sequence, at);
            }
            Record::Event(Event::LeagueCompleted { .. }) => self.memory.hurry(),
            _ => {}
        }
    }

    /// The document, if it is due now; it counts as written.
    pub(crate) fn due(&mut self, now: Timestamp, player: &Player) -> Vec<Publication> {
        let remembered = player.memory().history().len();
        let rows = remembered.max(self.crowd.saturating_mul(ROWS_A_PLAYER));
        let due = self.memory.take(now, rows);
        let document = due.and_then(|(version, at)| history(player, version, at));
        document.map(Publication::History).into_iter().collect()
    }

    /// The document if it has changed, whether it is due or not: for the end of the process.
    pub(crate) fn rest(&mut self, now: Timestamp, player: &Player) -> Vec<Publication> {
        self.memory.hurry();
        self.due(now, player)
    }

    /// When something is due next.
    pub(crate) fn wakeup(&self) -> Option<Timestamp> {
        self.memory.due()
    }
}
