//! Our Swiss pairings beside those of `py4swiss`, an independent program for the Dutch rules.

use std::fs;

use league_core::league::format::{Format, FormatPlan, Sides};
use league_core::league::schedule::{Pairing, Schedule};
use league_core::league::standings::{MatchEnding, Standings};
use league_games::Dice;
use league_protocol::message::Score;
use serde_json::{Value, json};

use crate::python::Python;

/// A tournament in which the higher seed wins most of its matches.
fn tournament(players: u32, dice: &mut Dice) -> Value {
    let plan = FormatPlan {
        format: Format::find("swiss").unwrap(),
        players,
        sides: Sides::Balanced,
        ..FormatPlan::default()
    };
    let score = Score {
        win: 2,
        draw: 1,
        loss: 0,
        technical_loss: 0,
    };
    let mut standings = Standings::new(Schedule::new(plan), score);
    let mut rounds = Vec::new();
    while let Some(next) = standings.next_round(&|_| true) {
        standings.open(&next);
        let round = u32::try_from(rounds.len()).unwrap() + 1;
        let results = (0..).zip(&next.pairings).map(|(index, &seats)| {
            let higher = usize::from(seats[1] < seats[0]);
            let ending = match dice.roll(0..=9) {
                0 | 1 => MatchEnding::Draw,
                2 | 3 => MatchEnding::Win(1 - higher),
                _ => MatchEnding::Win(higher),
            };
            let pairing = Pairing {
                round,
                index,
                seats,
            };
            standings.note(pairing, ending);
            match ending.winner() {
                Some(0) => "1",
                Some(_) => "0",
                None => "=",
            }
        });
        let results: Vec<&str> = results.collect();
        rounds.push(json!({ "pairings": next.pairings, "byes": next.byes, "results": results }));
    }
    json!({ "players": players, "rounds": rounds })
}

#[test]
fn swiss_pairings_are_near_those_of_an_independent_program() {
    let mut dice = Dice::seeded(6);
    let tournaments = (6..=40).chain(6..=40);
    let lines = tournaments.map(|players| format!("{}\n", tournament(players, &mut dice)));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("swiss.jsonl");
    fs::write(&file, lines.collect::<String>()).unwrap();
    let python = Python::start("ratings", "swiss.py", &[file.to_str().unwrap()]);
    assert!(python.succeeds());
}
