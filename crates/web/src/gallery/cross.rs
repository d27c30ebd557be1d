//! Who met whom.

use league_core::league::Phase;
use league_protocol::id::MatchId;

use super::{Gallery, MOST_CROSSED, ended};
use crate::model::{Cell, Cross};

impl Gallery {
    pub(super) fn cross(&self) -> Cross {
        let players = self.league.players();
        let shown = players.len().min(MOST_CROSSED);
        let row = |one: usize| (0..shown).map(|other| self.cell(one, other)).collect();
        Cross {
            players: players[..shown]
                .iter()
                .map(|player| self.named(player.id()))
                .collect(),
            cells: (0..shown).map(row).collect(),
            unlisted: players.len() - shown,
        }
    }

    /// The match of two players, as the first of them sees it.
    fn cell(&self, one: usize, other: usize) -> Option<Cell> {
        if one == other || self.league.phase() == Phase::Registering {
            return None;
        }
        let (one, other) = (u32::try_from(one).ok()?, u32::try_from(other).ok()?);
        let pairing = self.league.schedule().meeting(one, other)?;
        let match_id = MatchId::numbered(pairing.round, pairing.index + 1);
        let seat = pairing.seats.iter().position(|seat| *seat == one)?;
        match self.results.get(&match_id) {
            Some(finished) => Some(Cell {
                ended: Some(ended(&finished.result, seat)),
                match_id,
            }),
            None => {
                let running = self.league.fixture(&match_id)?;
                running.is_started().then_some(Cell {
                    match_id,
                    ended: None,
                })
            }
        }
    }
}
