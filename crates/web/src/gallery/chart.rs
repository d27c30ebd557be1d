//! Points over rounds.

use super::{Gallery, MOST_LINES};
use crate::model::{Chart, Line, Named, Standing};

impl Gallery {
    pub(super) fn chart(&self, standings: &[Standing]) -> Chart {
        let line = |row: &Standing| {
            let points = self.points_of(row.player_id.as_str());
            Line {
                player: Named {
                    id: row.player_id.clone(),
                    name: row.name.clone(),
                },
                points,
            }
        };
        Chart {
            lines: standings.iter().take(MOST_LINES).map(line).collect(),
            rounds: self.league.schedule().rounds(),
        }
    }

    /// The points of a player after 0, 1, 2, … rounds.
    pub(super) fn points_of(&self, id: &str) -> Vec<u32> {
        let mut players = self.league.players().iter();
        let place = players.position(|player| player.id().as_str() == id);
        let of_round = |round: &Vec<u32>| round.get(place?).copied();
        self.points.iter().filter_map(of_round).collect()
    }
}
