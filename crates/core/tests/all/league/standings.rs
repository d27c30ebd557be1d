//! The standings against a naive recount.

use std::cmp::Reverse;
use std::sync::Arc;

use league_core::league::Tiebreaker;
use league_core::league::schedule::{Pairing, RoundRobin, Sides};
use league_core::league::standings::{MatchEnding, NamedPlayer, Standings};
use league_protocol::id::PlayerId;
use league_protocol::message::Score;
use proptest::prelude::*;

fn names(players: u32) -> Vec<NamedPlayer> {
    // Numbered from behind, so that ids and numbers run in opposite directions.
    let named = |number: u32| (PlayerId::numbered(players - number), Arc::from("name"));
    (0..players).map(named).collect()
}

fn ending(number: u8) -> MatchEnding {
    match number {
        0 => MatchEnding::Win(0),
        1 => MatchEnding::Win(1),
        2 | 3 => MatchEnding::Draw,
        4 => MatchEnding::Forfeit(0),
        5 => MatchEnding::Forfeit(1),
        6 => MatchEnding::BothForfeit,
        _ => MatchEnding::BothLose,
    }
}

/// The points of a seat, written out anew.
fn worth(ending: MatchEnding, seat: usize, score: &Score) -> u32 {
    match (ending, seat) {
        (MatchEnding::Win(winner), seat) if winner == seat => score.win,
        (MatchEnding::Win(_) | MatchEnding::BothLose, _) => score.loss,
        (MatchEnding::Draw, _) => score.draw,
        (MatchEnding::Forfeit(absent), seat) if absent == seat => score.technical_loss,
        (MatchEnding::Forfeit(_), _) => score.win,
        (MatchEnding::BothForfeit, _) => score.technical_loss,
    }
}

type Results = Vec<(Pairing, MatchEnding)>;

/// Points, wins, draws minus losses.
fn figures(results: &Results, player: u32, score: &Score) -> (u32, u32, i64) {
    let (mut points, mut wins, mut difference) = (0, 0, 0);
    for (pairing, ending) in results {
        let Some(seat) = pairing.seats.iter().position(|seated| *seated == player) else {
            continue;
        };
        points += worth(*ending, seat, score);
        match (*ending, seat) {
            (MatchEnding::Draw, _) => difference += 1,
            (MatchEnding::Win(winner), seat) if winner == seat => wins += 1,
            (MatchEnding::Forfeit(absent), seat) if absent != seat => wins += 1,
            _ => difference -= 1,
        }
    }
    (points, wins, difference)
}

fn from_scratch(results: &Results, names: &[NamedPlayer], score: &Score) -> Vec<(String, u32)> {
    let players: Vec<u32> = (0..names.len() as u32).collect();
    let figures: Vec<_> = players
        .iter()
        .map(|player| figures(results, *player, score))
        .collect();
    let between = |player: u32| -> u32 {
        let group = figures[player as usize];
        let inside = results.iter().filter(|(pairing, _)| {
            pairing
                .seats
                .iter()
                .all(|seat| figures[*seat as usize] == group)
        });
        inside
            .filter_map(|(pairing, ending)| {
                let seat = pairing.seats.iter().position(|seated| *seated == player)?;
                Some(worth(*ending, seat, score))
            })
            .sum()
    };
    let mut order = players.clone();
    order.sort_by_key(|player| {
        let id = names[*player as usize].0.to_string();
        (
            Reverse(figures[*player as usize]),
            Reverse(between(*player)),
            id.len(),
            id,
        )
    });
    order
        .iter()
        .map(|player| {
            let above = |other: &&u32| figures[**other as usize] > figures[*player as usize];
            let shared = players.iter().filter(above).count() as u32 + 1;
            (names[*player as usize].0.to_string(), shared)
        })
        .collect()
}

fn table_of(results: &Results, schedule: RoundRobin, score: Score) -> Vec<(String, u32)> {
    let mut standings = Standings::new(schedule, score);
    for (pairing, ending) in results {
        standings.note(*pairing, *ending);
    }
    let table = standings.table(|| names(schedule.players()));
    for (rank, row) in (1..).zip(table.rows.iter()) {
        assert_eq!(row.rank, rank);
    }
    for player in 0..schedule.players() {
        let row = table.row(player).unwrap();
        assert_eq!(row.player_id, names(schedule.players())[player as usize].0);
    }
    let rows = table.rows.iter();
    rows.map(|row| (row.player_id.to_string(), row.shared_rank))
        .collect()
}

fn some_results() -> impl Strategy<Value = (RoundRobin, Results)> {
    (2_u32..12).prop_flat_map(|players| {
        let schedule = RoundRobin::new(players, Sides::AsPrinted);
        let pairings: Vec<Pairing> = schedule.pairings().collect();
        let most = pairings.len();
        let ends = prop::collection::vec(0_u8..8, most);
        (0..=most, ends).prop_flat_map(move |(count, ends)| {
            let results: Results = pairings
                .iter()
                .copied()
                .zip(ends.into_iter().map(ending))
                .take(count)
                .collect();
            (Just(schedule), Just(results).prop_shuffle())
        })
    })
}

proptest! {
    #[test]
    fn standings_equal_a_recount_in_any_order(
        (schedule, results) in some_results(),
        usual in any::<bool>(),
    ) {
        let odd = Score { win: 5, draw: 2, loss: 1, technical_loss: 0 };
        let score = if usual { Score::default() } else { odd };
        let names = names(schedule.players());
        let expected = from_scratch(&results, &names, &score);
        prop_assert_eq!(table_of(&results, schedule, score), expected.clone());
        let mut sorted = results;
        sorted.sort_by_key(|(pairing, _)| (pairing.round, pairing.index));
        prop_assert_eq!(table_of(&sorted, schedule, score), expected);
    }
}

#[test]
fn repeated_result_counts_once() {
    let schedule = RoundRobin::new(2, Sides::AsPrinted);
    let mut standings = Standings::new(schedule, Score::default());
    let pairing = schedule.pairing(1, 0).unwrap();
    standings.note(pairing, MatchEnding::Win(0));
    let once = standings.clone();
    standings.note(pairing, MatchEnding::Win(1));
    assert_eq!(standings, once);
}

#[test]
fn head_to_head_winner_ranks_first_among_equals() {
    let schedule = RoundRobin::new(4, Sides::AsPrinted);
    let mut standings = Standings::new(schedule, Score::default());
    // 3 beats 0, 0 beats 1: with a win and a loss against others, 0 and 3 have equal records.
    for (winner, loser) in [(3, 0), (0, 1), (2, 3)] {
        let pairing = schedule.meetings(winner, loser).next().unwrap();
        let seat = usize::from(pairing.seats[1] == winner);
        standings.note(pairing, MatchEnding::Win(seat));
    }
    let ids = |number: u32| (PlayerId::numbered(number + 1), Arc::from("name"));
    let table = standings.table(|| (0..4).map(ids).collect());
    let order: Vec<_> = table
        .rows
        .iter()
        .map(|row| row.player_id.as_str())
        .collect();
    assert_eq!(order, ["P03", "P04", "P01", "P02"]);
    let shared: Vec<_> = table.rows.iter().map(|row| row.shared_rank).collect();
    assert_eq!(shared, [1, 2, 2, 4]);
}

#[test]
fn table_follows_any_order_of_tiebreakers() {
    use Tiebreaker::{DrawDifference, HeadToHead, PlayerId as Id, Points, Wins};
    let schedule = RoundRobin::new(4, Sides::AsPrinted);
    let mut standings = Standings::new(schedule, Score::default());
    // P01 wins and loses twice, P02 draws thrice, P03 loses one and draws, P04 beats P01.
    let ends = [
        (0, 2, Some(0)),
        (3, 0, Some(3)),
        (1, 2, None),
        (1, 3, None),
        (1, 0, None),
    ];
    for (a, b, winner) in ends {
        let pairing = schedule.meetings(a, b).next().unwrap();
        let seat = |player| usize::from(pairing.seats[1] == player);
        let ending = winner.map_or(MatchEnding::Draw, |winner| MatchEnding::Win(seat(winner)));
        standings.note(pairing, ending);
    }
    let order = |tiebreakers: [Tiebreaker; 5]| {
        let ids = |number: u32| (PlayerId::numbered(number + 1), Arc::from("name"));
        let table = standings.clone().ordered_by(tiebreakers);
        let table = table.table(|| (0..4).map(ids).collect());
        let ids = table.rows.iter().map(|row| row.player_id.to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    // Points 4 3 1 4, wins 1 0 0 1, draws minus losses 0 3 0 1.
    for (tiebreakers, expected) in [
        (Tiebreaker::USUAL, "P04 P01 P02 P03"),
        (
            [DrawDifference, Points, Wins, HeadToHead, Id],
            "P02 P04 P01 P03",
        ),
        (
            [Wins, Id, Points, DrawDifference, HeadToHead],
            "P01 P04 P02 P03",
        ),
        (
            [Id, Wins, Points, DrawDifference, HeadToHead],
            "P01 P02 P03 P04",
        ),
        (
            [Wins, HeadToHead, Points, DrawDifference, Id],
            "P04 P01 P02 P03",
        ),
        (
            [HeadToHead, Id, Wins, Points, DrawDifference],
            "P01 P04 P02 P03",
        ),
    ] {
        assert_eq!(order(tiebreakers), expected, "{tiebreakers:?}");
    }
}

#[test]
fn ids_are_compared_by_number() {
    let schedule = RoundRobin::new(3, Sides::AsPrinted);
    let ids = ["P100", "P99", "P2"].map(|id| (PlayerId::new(id).unwrap(), Arc::from("name")));
    let table = Standings::new(schedule, Score::default()).table(|| ids.to_vec());
    let order: Vec<_> = table
        .rows
        .iter()
        .map(|row| row.player_id.as_str())
        .collect();
    assert_eq!(order, ["P2", "P99", "P100"]);
}

/// The points of a player after each round, by hand.
fn naive(by: Tiebreaker, results: &Results, players: u32, player: u32) -> i64 {
    let score = Score::default();
    let points = |player: u32| -> i64 {
        let own = results.iter().flat_map(|(pairing, ending)| {
            let seat = pairing.seats.iter().position(|it| *it == player)?;
            Some(i64::from(ending.points(seat, &score)))
        });
        own.sum()
    };
    let rounds = RoundRobin::new(players, Sides::AsPrinted).rounds();
    let mut others = Vec::new();
    let (mut berger, mut progressive, mut at_b) = (0, 0, 0);
    for (pairing, ending) in results {
        let Some(seat) = pairing.seats.iter().position(|it| *it == player) else {
            continue;
        };
        let other = points(pairing.seats[1 - seat]);
        others.push(other);
        let won = ending.winner() == Some(seat);
        berger += other
            * if won {
                2
            } else {
                i64::from(*ending == MatchEnding::Draw)
            };
        for _ in pairing.round..=rounds {
            progressive += i64::from(ending.points(seat, &score));
        }
        at_b += i64::from(seat == 1 && *ending == MatchEnding::Win(1));
    }
    others.sort_unstable();
    let until = others.len().saturating_sub(1);
    match by {
        Tiebreaker::Buchholz => others.iter().sum(),
        Tiebreaker::BuchholzCut1 => others.iter().skip(1).sum(),
        Tiebreaker::BuchholzMedian => others[..until].iter().skip(1).sum(),
        Tiebreaker::SonnebornBerger => berger,
        Tiebreaker::Progressive => progressive,
        _ => at_b,
    }
}

proptest! {
    #[test]
    fn each_tiebreaker_orders_as_counted_by_hand((schedule, results) in some_results()) {
        use Tiebreaker::{Buchholz, BuchholzCut1, BuchholzMedian, Progressive, SonnebornBerger, WinsAtB};
        for by in [Buchholz, BuchholzCut1, BuchholzMedian, Progressive, SonnebornBerger, WinsAtB] {
            let mut standings = Standings::new(schedule, Score::default()).ordered_by([by]);
            for (pairing, ending) in &results {
                standings.note(*pairing, *ending);
            }
            let table = standings.table(|| names(schedule.players()));
            let figures = table.rows.iter().map(|row| {
                let ids = names(schedule.players());
                let number = ids.iter().position(|(id, _)| *id == row.player_id).unwrap();
                naive(by, &results, schedule.players(), number as u32)
            });
            let figures: Vec<i64> = figures.collect();
            prop_assert!(figures.is_sorted_by(|above, below| above >= below), "{by:?}: {figures:?}");
            for (pair, decided) in figures.windows(2).zip(&table.decided[1..]) {
                prop_assert_eq!(*decided, (pair[0] != pair[1]).then_some(by.title()));
            }
        }
    }
}
