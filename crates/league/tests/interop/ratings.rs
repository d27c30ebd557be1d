//! Our ratings beside those of `choix` and of `scipy`, to the last digit shown.

use std::fs;

use league_core::forecast::Assumptions;
use league_core::league::format::{Format, FormatPlan, Sides};
use league_core::rating::{PairScore, Ratings};
use league_games::Dice;
use serde_json::{Value, json};

use crate::python::Python;

/// Some results and our ratings of them.
fn case(players: usize, scores: &[PairScore], sides_matter: bool) -> Value {
    let ratings = Ratings::estimate(players, scores, sides_matter);
    let rated = (0..players).filter_map(|player| ratings.rating(player));
    let rated: Vec<[f64; 3]> = rated.map(|it| [it.elo, it.low, it.high]).collect();
    assert_eq!(rated.len(), players, "all have played");
    let seat = ratings.seat_advantage();
    let scores = scores.iter();
    let scores = scores.map(|it| {
        let counts = [it.wins, it.draws, it.losses];
        json!([it.first, it.second, counts[0], counts[1], counts[2]])
    });
    json!({
        "players": players, "sides_matter": sides_matter, "ratings": rated,
        "scores": scores.collect::<Vec<_>>(),
        "seat": seat.map(|it| [it.share, it.interval.low, it.interval.high]),
    })
}

#[test]
fn ratings_agree_with_choix_and_scipy_to_the_last_digit() {
    let mut dice = Dice::seeded(4);
    let mut lines = String::new();
    for (format, players, legs, draws, seat) in [
        ("round_robin", 4, 1, 0.0, None),
        ("round_robin", 10, 4, 0.0, None),
        ("swiss", 16, 1, 0.0, None),
        ("round_robin", 6, 3, 0.3, None),
        ("round_robin", 8, 2, 0.0, Some(0.7)),
        ("knockout", 8, 3, 0.2, Some(0.4)),
    ] {
        let assumed = Assumptions {
            spread: 200.0,
            draws,
            seat: seat.unwrap_or(0.5),
        };
        let plan = FormatPlan {
            format: Format::find(format).unwrap(),
            players,
            legs,
            sides: Sides::Balanced,
            ..FormatPlan::default()
        };
        let strengths = assumed.strengths(players, &mut dice);
        let event = assumed.play(plan, u32::MAX, &strengths, &mut dice);
        let found = case(players as usize, &event.matches, seat.is_some());
        lines += &format!("{found}\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ratings.jsonl");
    fs::write(&file, lines).unwrap();
    let python = Python::start("ratings", "ratings.py", &[file.to_str().unwrap()]);
    assert!(python.succeeds());
}
