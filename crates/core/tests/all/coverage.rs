//! The 95 % intervals of ratings hold the true strengths in 93 to 97 % of all leagues together; in
//! ladders and arenas, where neighbours meet again and again, in 91 %.
//!
//! Leagues are simulated in every format, with few matches and with many, with close and with distant
//! strengths, with and without draws, and with an advantage of seat A that is drawn too.

use league_core::forecast::Assumptions;
use league_core::league::format::{Format, FormatPlan, Sides};
use league_core::rating::{ELO, Ratings};
use league_games::Dice;

/// The rounds of a format that has no last one.
const ROUNDS: u32 = 12;

/// How many leagues are simulated; `cargo xtask campaign coverage` simulates more.
#[expect(
    clippy::disallowed_methods,
    reason = "the campaign asks for more by the environment"
)]
fn leagues() -> u64 {
    let leagues = std::env::var("LEAGUE_COVERAGE_LEAGUES").ok();
    leagues.map_or(1_200, |it| {
        it.parse().expect("LEAGUE_COVERAGE_LEAGUES is a number")
    })
}

/// How many intervals there were, and how many of them held the truth.
#[derive(Default, Clone, Copy)]
struct Held {
    held: u64,
    all: u64,
}

impl Held {
    fn add(&mut self, is_held: bool) {
        self.held += u64::from(is_held);
        self.all += 1;
    }

    fn take_in(&mut self, part: Self) {
        self.held += part.held;
        self.all += part.all;
    }

    fn share(self) -> f64 {
        self.held as f64 / self.all.max(1) as f64
    }
}

/// Formats, and players and legs of their leagues.
const LEAGUES: [(&str, u32, u32); 12] = [
    ("round_robin", 3, 2),
    ("round_robin", 4, 1),
    ("round_robin", 4, 5),
    ("round_robin", 8, 1),
    ("round_robin", 16, 1),
    ("swiss", 12, 1),
    ("knockout", 8, 3),
    ("double_elimination", 8, 1),
    ("groups", 8, 1),
    ("gauntlet", 6, 3),
    ("ladder", 8, 1),
    ("arena", 8, 1),
];

/// The least share of the leagues of one kind.
const MIN_OF_A_KIND: f64 = 0.87;

#[test]
fn intervals_hold_the_truth_as_often_as_they_promise() {
    let mut dice = Dice::seeded(19);
    let mut of_league = [[Held::default(); 2]; LEAGUES.len()];
    let mut of_spread = [Held::default(); 3];
    for number in 0..leagues() {
        let kind = number as usize % LEAGUES.len();
        let (format, players, legs) = LEAGUES[kind];
        let at_spread = dice.roll(0..=2) as usize;
        let assumed = Assumptions {
            spread: [100.0, 200.0, 400.0][at_spread],
            draws: [0.0, 0.1, 0.35][dice.roll(0..=2) as usize],
            seat: [0.4, 0.5, 0.6, 0.75][dice.roll(0..=3) as usize],
        };
        let plan = FormatPlan {
            format: Format::find(format).unwrap(),
            players,
            legs,
            sides: Sides::Balanced,
            ..FormatPlan::default()
        };
        let strengths = assumed.strengths(players, &mut dice);
        let mean = strengths.iter().sum::<f64>() / strengths.len() as f64;
        let rounds = match plan.max_rounds() {
            u32::MAX => ROUNDS,
            _ => u32::MAX,
        };
        let event = assumed.play(plan, rounds, &strengths, &mut dice);
        let ratings = Ratings::estimate(strengths.len(), &event.matches, true);
        for (player, strength) in strengths.iter().enumerate() {
            let Some(rating) = ratings.rating(player) else {
                continue;
            };
            let truth = ELO * (strength - mean);
            let is_held = rating.low <= truth && truth <= rating.high;
            of_league[kind][0].add(is_held);
            of_spread[at_spread].add(is_held);
        }
        if let Some(found) = ratings.seat_advantage() {
            let range = found.interval.low..=found.interval.high;
            of_league[kind][1].add(range.contains(&assumed.seat));
        }
    }
    let mut sum = [Held::default(); 2];
    for ((format, players, legs), found) in LEAGUES.iter().zip(of_league) {
        let [strengths, seat] = found.map(|held| 100.0 * held.share());
        println!(
            "{format:18} {players:2} players, {legs} legs: strengths {strengths:.1} %, seat A {seat:.1} %"
        );
        for (sum, part) in sum.iter_mut().zip(found) {
            assert!(part.share() >= MIN_OF_A_KIND, "{format} of {players}");
            sum.take_in(part);
        }
    }
    println!(
        "spread 100, 200, 400: {:?}",
        of_spread.map(|held| held.share())
    );
    let [strengths, seat] = sum.map(Held::share);
    println!("all: strengths {strengths:.4}, seat A {seat:.4}");
    assert!((0.93..=0.97).contains(&strengths), "strengths: {strengths}");
    assert!((0.93..=0.97).contains(&seat), "seat A: {seat}");
}
