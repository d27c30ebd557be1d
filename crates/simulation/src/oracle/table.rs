//! The table as it must be, worked out from results alone by the tiebreakers of the league.

use std::cmp::Reverse;

use league_core::league::{League, Tiebreaker};
use league_protocol::id::PlayerId;
use league_protocol::message::{Score, StandingRow};

use super::league::LeagueWatch;
use super::levers::SeatEnd;

/// One player's row.
pub(crate) struct ExpectedRow {
    id: PlayerId,
    is_last: bool,
    /// How far it came, where that counts before points.
    progress: u32,
    byes: u32,
    points: u32,
    wins: u32,
    draws: u32,
    losses: u32,
    technical_losses: u32,
    /// Its matches that count.
    met: Vec<Meeting>,
    /// What each tiebreaker says of it, the most important first.
    figures: Vec<i64>,
}

/// A match of a row.
struct Meeting {
    other: usize,
    end: SeatEnd,
    points: u32,
}

/// The rows of all players with nothing but their byes.
fn rows_before_matches(
    league: &League,
    watch: &LeagueWatch,
    score: &Score,
    progress: Vec<u32>,
) -> Vec<ExpectedRow> {
    let progress = progress.into_iter().chain(std::iter::repeat(0));
    league
        .players()
        .iter()
        .zip(progress)
        .map(|(player, progress)| ExpectedRow {
            id: player.id().clone(),
            is_last: watch.levers.penalised.contains(player.id()),
            progress,
            byes: watch.byes_of(player.id()),
            points: watch.byes_of(player.id()) * score.win,
            wins: 0,
            draws: 0,
            losses: 0,
            technical_losses: 0,
            met: Vec::new(),
            figures: Vec::new(),
        })
        .collect()
}

/// Adds up the matches that count and puts the players in order (ruling 20).
pub(crate) fn table_of(
    league: &League,
    watch: &LeagueWatch,
    score: &Score,
    progress: Vec<u32>,
) -> Vec<ExpectedRow> {
    let mut rows = rows_before_matches(league, watch, score, progress);
    rows.sort_by(|one, other| one.id.cmp(&other.id));
    for counted in watch.counted(league) {
        let seats = [0, 1].map(|seat| {
            let player = &counted.players[seat];
            rows.binary_search_by(|row| row.id.cmp(player)).unwrap_or(0)
        });
        for seat in [0, 1] {
            let row = &mut rows[seats[seat]];
            let end = counted.ends[seat];
            let (sum, points) = match end {
                SeatEnd::Won => (&mut row.wins, score.win),
                SeatEnd::Drew => (&mut row.draws, score.draw),
                SeatEnd::Lost => (&mut row.losses, score.loss),
                SeatEnd::Failed => {
                    row.technical_losses += 1;
                    (&mut row.losses, score.technical_loss)
                }
            };
            *sum += 1;
            row.points += points;
            let other = seats[1 - seat];
            row.met.push(Meeting { other, end, points });
        }
    }
    for by in deciding(league) {
        let figures: Vec<i64> = (0..rows.len()).map(|own| figure(&rows, own, *by)).collect();
        for (row, figure) in rows.iter_mut().zip(figures) {
            row.figures.push(figure);
        }
    }
    rows.sort_by_cached_key(|row| {
        let order = Reverse((row.progress, row.figures.clone()));
        (row.is_last, order, row.id.as_str().len(), row.id.clone())
    });
    rows
}

/// The tiebreakers before the id.
fn deciding(league: &League) -> &[Tiebreaker] {
    let mut parts = league
        .rules()
        .tiebreakers
        .split(|by| *by == Tiebreaker::PlayerId);
    parts.next().unwrap_or_default()
}

/// What a tiebreaker says of a row; more is better.
fn figure(rows: &[ExpectedRow], own: usize, by: Tiebreaker) -> i64 {
    let row = &rows[own];
    let sum = |count: &dyn Fn(&Meeting) -> u32| -> i64 {
        row.met.iter().map(|met| i64::from(count(met))).sum()
    };
    let opponents = |weakest: usize, strongest: usize| -> i64 {
        let met = row.met.iter().map(|met| rows[met.other].points);
        let mut points: Vec<u32> = met.collect();
        points.resize(points.len() + row.byes as usize, row.points);
        points.sort_unstable();
        points.truncate(points.len().saturating_sub(strongest));
        points.iter().skip(weakest).map(|it| i64::from(*it)).sum()
    };
    match by {
        Tiebreaker::Points => row.points.into(),
        Tiebreaker::Wins => row.wins.into(),
        Tiebreaker::DrawDifference => i64::from(row.draws) - i64::from(row.losses),
        Tiebreaker::HeadToHead => {
            sum(&|met| met.points * u32::from(rows[met.other].figures == row.figures))
        }
        Tiebreaker::Buchholz => opponents(0, 0),
        Tiebreaker::BuchholzCut1 => opponents(1, 0),
        Tiebreaker::BuchholzMedian => opponents(1, 1),
        Tiebreaker::SonnebornBerger => sum(&|met| match met.end {
            SeatEnd::Won => 2 * rows[met.other].points,
            SeatEnd::Drew => rows[met.other].points,
            SeatEnd::Lost | SeatEnd::Failed => 0,
        }),
        Tiebreaker::TechnicalLosses => -i64::from(row.technical_losses),
        // No simulated league is ordered by these.
        Tiebreaker::Progressive | Tiebreaker::WinsAtB | Tiebreaker::PlayerId => 0,
    }
}

/// The first difference between two standings, if any.
pub(crate) fn difference(
    league: &League,
    expected: &[ExpectedRow],
    found: &[StandingRow],
) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!(
            "the table has {} rows, not {}",
            found.len(),
            expected.len()
        ));
    }
    let mut by = deciding(league).iter();
    let compared = by.position(|by| *by == Tiebreaker::HeadToHead);
    let compared = compared.unwrap_or(deciding(league).len());
    // Rows of one class share a rank in the first protocol.
    let class = |row: &ExpectedRow| (row.is_last, row.progress, row.figures[..compared].to_vec());
    for (place, (wanted, row)) in expected.iter().zip(found).enumerate() {
        let first_equal = expected
            .iter()
            .position(|other| class(other) == class(wanted));
        let same = row.player_id == wanted.id
            && row.rank as usize == place + 1
            && Some(row.shared_rank as usize) == first_equal.map(|first| first + 1)
            && (row.points, row.wins, row.draws) == (wanted.points, wanted.wins, wanted.draws)
            && (row.losses, row.technical_losses) == (wanted.losses, wanted.technical_losses)
            && row.byes == wanted.byes
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
