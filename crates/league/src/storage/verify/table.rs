//! The table once more, added up in the plainest way (ruling 20), to hold the manager's against.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use league_protocol::id::PlayerId;
use league_protocol::message::{MatchResult, MatchStatus, Score, StandingRow};

/// What each player has, and what each match gave.
#[derive(Debug, Default)]
pub(super) struct Tally {
    numbers: BTreeMap<PlayerId, usize>,
    records: Vec<Record>,
    /// Two players and the points of each, for every match.
    met: Vec<[(u32, u32); 2]>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Record {
    wins: u32,
    draws: u32,
    losses: u32,
    technical_losses: u32,
    points: u32,
}

impl Record {
    fn standing(&self) -> (u32, u32, i64) {
        let difference = i64::from(self.draws) - i64::from(self.losses);
        (self.points, self.wins, difference)
    }
}

impl Tally {
    pub(super) fn add_player(&mut self, player: &PlayerId) {
        let next = self.records.len();
        self.numbers.entry(player.clone()).or_insert(next);
        self.records.resize(self.numbers.len(), Record::default());
    }

    /// Adds a result; one of players that are not in adds nothing.
    pub(super) fn add(&mut self, result: &MatchResult, score: &Score) {
        let [a, b] = &result.players;
        let (Some(&a), Some(&b)) = (self.numbers.get(a), self.numbers.get(b)) else {
            return;
        };
        let [at_a, at_b] = [a, b].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let given = [(a, 0), (b, 1)].map(|(number, seat)| {
            let player = &result.players[seat];
            let record = &mut self.records[number];
            let points = if result.status == MatchStatus::Draw {
                record.draws += 1;
                score.draw
            } else if result.failed.contains_key(player) {
                record.losses += 1;
                record.technical_losses += 1;
                score.technical_loss
            } else if result.winner.as_ref() == Some(player) {
                record.wins += 1;
                score.win
            } else {
                record.losses += 1;
                score.loss
            };
            record.points = record.points.saturating_add(points);
            points
        });
        self.met.push([(at_a, given[0]), (at_b, given[1])]);
    }

    /// Says where a table differs from this one.
    pub(super) fn difference(&self, rows: &[StandingRow]) -> Option<String> {
        let order = self.order();
        if order.len() != rows.len() {
            let (found, expected) = (rows.len(), order.len());
            return Some(format!("the table has {found} rows, expected {expected}"));
        }
        let mut pairs = (1_u32..).zip(rows.iter().zip(order));
        pairs.find_map(|(rank, (row, (player, record)))| {
            let found = Record {
                wins: row.wins,
                draws: row.draws,
                losses: row.losses,
                technical_losses: row.technical_losses,
                points: row.points,
            };
            let same = row.rank == rank && row.player_id == *player && found == *record;
            (!same).then(|| {
                let id = &row.player_id;
                format!("rank {rank} is `{id}` with {found:?}, expected `{player}` with {record:?}")
            })
        })
    }

    fn order(&self) -> Vec<(&PlayerId, &Record)> {
        let mut between = vec![0_u64; self.records.len()];
        for [(a, to_a), (b, to_b)] in &self.met {
            let (a, b) = (*a as usize, *b as usize);
            if self.records[a].standing() == self.records[b].standing() {
                between[a] += u64::from(*to_a);
                between[b] += u64::from(*to_b);
            }
        }
        let mut order: Vec<_> = self.numbers.iter().collect();
        order.sort_by_key(|&(player, &number)| {
            let standing = self.records[number].standing();
            let id = player.as_str();
            (Reverse((standing, between[number])), id.len(), id)
        });
        order
            .into_iter()
            .map(|(player, &number)| (player, &self.records[number]))
            .collect()
    }
}
