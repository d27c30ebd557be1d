//! Every strategy plays every game that it knows in real calls; `cargo xtask campaign networked`
//! plays more.

use std::collections::BTreeMap;

use league_core::strategy;
use league_protocol::id::GameType;
use serde_json::{Value, json};

use crate::end_to_end::campaign::setting;
use crate::end_to_end::ground::Ground;

#[test]
fn no_strategy_is_late_or_deviates_in_any_game() {
    let games = setting("LEAGUE_NETWORKED_GAMES", 1);
    for listing in league_games::all() {
        let game = listing.rules.game_type;
        let known = GameType::new(game).unwrap();
        let known = strategy::all().iter().filter(|it| it.knows(&known));
        let known: Vec<&str> = known.map(|strategy| strategy.name).collect();
        let summary = summary(game, &known, games.div_ceil(known.len() as u64 - 1));
        assert_eq!(summary["technical_losses"], json!({}), "{game}: {summary}");
        assert_eq!(summary["deviations"], json!({}), "{game}: {summary}");
        let played = played(&summary);
        assert_eq!(played.len(), known.len(), "{game}: {summary}");
        for (strategy, (_, played)) in known.iter().zip(played) {
            assert!(played >= games, "{game}: {strategy} played {played}");
            println!("{game:<28} {strategy:<14} {played:>4} games, 0 time-outs, 0 deviations");
        }
    }
}

/// The last line of a league in which every two of these strategies meet so often.
fn summary(game: &str, strategies: &[&str], legs: u64) -> Value {
    let ground = Ground::new();
    let (players, legs) = (strategies.len().to_string(), legs.to_string());
    let arguments = [
        ["--game", game],
        ["--strategies", &strategies.join(",")],
        ["--players", &players],
        ["--legs", &legs],
        ["--referees", "2"],
        ["--ports", "auto"],
    ];
    let mut process = ground.start("run", arguments.as_flattened());
    // Each line has its own time: many games take long.
    let summary = loop {
        let line: Value = serde_json::from_str(&process.line(|_| true)).unwrap();
        if line["event"] == "standings" {
            break line;
        }
    };
    assert_eq!(process.end().code, Some(0));
    summary
}

/// How many matches each player played, in the order of players, which is that of strategies.
fn played(summary: &Value) -> BTreeMap<String, u64> {
    let rows = summary["standings"].as_array().unwrap().iter();
    let row = |row: &Value| {
        let id = row["player_id"].as_str().unwrap().to_owned();
        (id, row["played"].as_u64().unwrap())
    };
    rows.map(row).collect()
}
