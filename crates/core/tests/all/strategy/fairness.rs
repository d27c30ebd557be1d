//! Ruling 24: in Even/Odd no strategy gains on chance; `lab.rs` counts all pairs.

use std::sync::Arc;

use league_core::player::MatchOutcome;
use league_core::strategy::all;
use league_games::{Dice, Outcome, Seat, find};
use serde_json::{Value, json};

use crate::strategy::{Chair, play};

const GAMES: u32 = 1_000;

/// How far a count may be from what is expected, in standard deviations.
const SIGMAS: f64 = 4.0;

/// Wins, draws and losses of the first player.
#[derive(Debug, Default)]
struct Score {
    wins: u32,
    draws: u32,
    losses: u32,
}

/// Lets two strategies play many matches, in which both remember all.
fn meet(one: &str, other: &str, seed: u64) -> Score {
    let mut chairs = [Chair::new(one, seed), Chair::new(other, seed + 1)];
    let mut draw = Dice::seeded(seed + 2);
    let mut score = Score::default();
    for _ in 0..GAMES {
        let mut table = (find("even_odd").expect("the game is listed").open)(&Value::Null)
            .expect("the defaults fit");
        let outcome = play(&mut *table, &mut chairs, &mut draw);
        let choices = [Seat::A, Seat::B].map(|seat| table.view(seat)["your_choice"].clone());
        let verdicts = match outcome {
            Outcome::Draw => [MatchOutcome::Draw; 2],
            Outcome::Win(Seat::A) => [MatchOutcome::Win, MatchOutcome::Loss],
            Outcome::Win(_) => [MatchOutcome::Loss, MatchOutcome::Win],
        };
        match verdicts[0] {
            MatchOutcome::Win => score.wins += 1,
            MatchOutcome::Draw => score.draws += 1,
            MatchOutcome::Loss | MatchOutcome::TechnicalLoss => score.losses += 1,
        }
        let [a, b] = [choices[0].as_str(), choices[1].as_str()];
        chairs[0].remember("B", verdicts[0], [a, b]);
        chairs[1].remember("A", verdicts[1], [b, a]);
    }
    score
}

fn deviation(chance: f64) -> f64 {
    (f64::from(GAMES) * chance * (1.0 - chance)).sqrt()
}

fn is_near(count: u32, chance: f64) -> bool {
    let expected = f64::from(GAMES) * chance;
    (f64::from(count) - expected).abs() <= SIGMAS * deviation(chance)
}

#[test]
fn any_strategy_wins_a_quarter_and_draws_half_against_a_random_player() {
    for (seed, strategy) in (1_000..).step_by(10).zip(all()) {
        let score = meet(strategy.name, "random", seed);
        let fair = is_near(score.wins, 0.25) && is_near(score.draws, 0.5);
        assert!(
            fair && is_near(score.losses, 0.25),
            "{} {score:?}",
            strategy.name
        );
    }
}

#[test]
fn predicting_a_fixed_opponent_reduces_draws_only() {
    for (seed, strategy) in (2_000..)
        .step_by(10)
        .zip(["frequency", "pattern", "markov"])
    {
        let score = meet(strategy, "always-even", seed);
        // A few matches go by until there is something to go by.
        assert!(score.draws < 5, "{strategy} {score:?}");
        assert!(is_near(score.wins, 0.5), "{strategy} {score:?}");
    }
}

#[test]
fn same_seeds_give_the_same_choices() {
    for strategy in all() {
        let line = |seed| -> Vec<Value> {
            let mut chair = Chair::new(strategy.name, seed);
            let options = [json!("even"), json!("odd")];
            let think = chair.think("even_odd", Value::Null, &options, "P02");
            (0..32).map(|_| chair.choose(&think)).collect()
        };
        assert_eq!(line(7), line(7), "{}", strategy.name);
    }
    let options: Arc<[Value]> = Arc::new([json!("even"), json!("odd")]);
    let mut chair = Chair::new("random", 1);
    let think = chair.think("even_odd", Value::Null, &options, "P02");
    let even = (0..GAMES)
        .filter(|_| chair.choose(&think) == "even")
        .count();
    assert!(is_near(even as u32, 0.5), "{even}");
}
