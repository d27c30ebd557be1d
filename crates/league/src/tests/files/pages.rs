//! The page on files tells every key with its default.

use std::fs;
use std::path::Path;

use crate::config::{
    AgentsConfig, GamesRegistry, LeagueConfig, PlayerDefaults, RefereeDefaults, SystemConfig,
};
use serde::Serialize;
use serde_json::Value;

fn page() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/files.md");
    fs::read_to_string(file).unwrap()
}

/// The part of the page under a heading.
fn section<'page>(page: &'page str, heading: &str) -> &'page str {
    let (_, rest) = page.split_once(&format!("### {heading}\n")).unwrap();
    rest.split("\n## ")
        .next()
        .unwrap()
        .split("\n### ")
        .next()
        .unwrap()
}

/// Every value with its path; a list or an empty object counts as one.
fn values(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, member) in members {
                let below = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                values(member, &below, found);
            }
        }
        _ => found.push((path.to_owned(), value.to_string())),
    }
}

fn missing(heading: &str, default: &impl Serialize) -> Vec<String> {
    let page = page();
    let section = section(&page, heading);
    let mut found = Vec::new();
    values(&serde_json::to_value(default).unwrap(), "", &mut found);
    let games = league_games::all().iter();
    let games: Vec<&str> = games.map(|game| game.rules.game_type).collect();
    let games = Value::from(games).to_string();
    found
        .into_iter()
        .filter(|(path, _)| path != "last_updated")
        .filter(|(path, _)| path != "referees" && path != "players")
        .map(|(path, value)| match value {
            all if all == games => format!("| `{path}` | all games |"),
            value => format!("| `{path}` | `{value}` |"),
        })
        .filter(|row| !section.contains(row))
        .collect()
}

#[test]
fn page_lists_every_key_with_its_default() {
    assert_eq!(
        missing("`config/system.json`", &SystemConfig::default()),
        [""; 0]
    );
    let league = missing(
        "`config/leagues/<league_id>.json`",
        &LeagueConfig::default(),
    );
    assert_eq!(league, [""; 0]);
    let agents = missing(
        "`config/agents/agents_config.json`",
        &AgentsConfig::default(),
    );
    assert_eq!(agents, [""; 0]);
    let referee = missing(
        "`config/defaults/referee.json`",
        &RefereeDefaults::default(),
    );
    assert_eq!(referee, [""; 0]);
    let player = missing("`config/defaults/player.json`", &PlayerDefaults::default());
    assert_eq!(player, [""; 0]);
}

#[test]
fn page_lists_every_key_of_an_agent_and_a_game() {
    let page = page();
    let agents = serde_json::to_value(AgentsConfig::default()).unwrap();
    let section = section(&page, "`config/agents/agents_config.json`");
    for list in ["referees", "players"] {
        for key in agents[list][0].as_object().unwrap().keys() {
            let row = format!("| `{list}[].{key}` |");
            assert!(section.contains(&row), "{row} is missing");
        }
    }
    let games = serde_json::to_value(GamesRegistry::default()).unwrap();
    for key in games["game_registry"]["even_odd"]
        .as_object()
        .unwrap()
        .keys()
    {
        assert!(page.contains(&format!("`{key}`")), "{key} is missing");
    }
}
