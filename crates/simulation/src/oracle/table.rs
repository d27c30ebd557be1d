//! The table, worked out from nothing but results in the plainest way there is.

use league_protocol::id::PlayerId;
use league_protocol::message::{MatchStatus, Score, StandingRow};

use super::league::LeagueWatch;

/// One player's row.
pub(super) struct Row {
    id: PlayerId,
    points: u32,
    wins: u32,
    draws: u32,
    losses: u32,
    technical_losses: u32,
    /// Points against those with the same points, wins and difference.
    among_equals: u32,
}

impl Row {
    fn record(&self) -> (u32, u32, i64) {
        let difference = i64::from(self.draws) - i64::from(self.losses);
        (self.points, self.wins, difference)
    }
}

/// Adds up every result and puts the players in order (ruling 20).
pub(super) fn from_results(league: &LeagueWatch, score: &Score) -> Vec<Row> {
    let mut rows: Vec<Row> = league
        .ids()
        .map(|id| Row {
            id: id.clone(),
            points: 0,
            wins: 0,
            draws: 0,
            losses: 0,
            technical_losses: 0,
            among_equals: 0,
        })
        .collect();
    let count = rows.len();
    let mut between = vec![0; count * count];
    for result in league.results() {
        let seats = [0, 1].map(|seat| {
            let player = &result.players[seat];
            rows.binary_search_by(|row| row.id.cmp(player)).unwrap_or(0)
        });
        for seat in [0, 1] {
            let player = &result.players[seat];
            let row = &mut rows[seats[seat]];
            let failed = result.failed.contains_key(player);
            let points = match result.status {
                MatchStatus::Draw => score.draw,
                _ if result.winner.as_ref() == Some(player) => score.win,
                _ if failed => score.technical_loss,
                _ => score.loss,
            };
            match result.status {
                MatchStatus::Draw => row.draws += 1,
                _ if result.winner.as_ref() == Some(player) => row.wins += 1,
                _ => row.losses += 1,
            }
            row.technical_losses += u32::from(failed);
            row.points += points;
            between[seats[seat] * count + seats[1 - seat]] += points;
        }
    }
    for one in 0..count {
        let equals = (0..count).filter(|&other| rows[other].record() == rows[one].record());
        rows[one].among_equals = equals.map(|other| between[one * count + other]).sum();
    }
    let order = |row: &Row| (row.record(), row.among_equals);
    rows.sort_by(|one, other| {
        let (id, other_id) = (one.id.as_str(), other.id.as_str());
        let by_id = (id.len(), id).cmp(&(other_id.len(), other_id));
        order(other).cmp(&order(one)).then(by_id)
    });
    rows
}

/// What is different in a table, if anything is.
pub(super) fn difference(expected: &[Row], found: &[StandingRow]) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!(
            "the table has {} rows, not {}",
            found.len(),
            expected.len()
        ));
    }
    for (place, (wanted, row)) in expected.iter().zip(found).enumerate() {
        let first_equal = expected
            .iter()
            .position(|other| other.record() == wanted.record());
        let same = row.player_id == wanted.id
            && row.rank as usize == place + 1
            && Some(row.shared_rank as usize) == first_equal.map(|first| first + 1)
            && (row.points, row.wins, row.draws) == (wanted.points, wanted.wins, wanted.draws)
            && (row.losses, row.technical_losses) == (wanted.losses, wanted.technical_losses)
            && row.played == row.wins + row.draws + row.losses;
        if !same {
            let (id, points) = (&wanted.id, wanted.points);
            return Some(format!(
                "at place {} stands `{}` with {} points, expected `{id}` with {points}",
                place + 1,
                row.player_id,
                row.points
            ));
        }
    }
    None
}
