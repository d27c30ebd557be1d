//! `config/games/games_registry.json`: the games there are (000 §3.8.3, §9.3.4).
//!
//! The file tells others what this program can play; the rules themselves are in its code.

use std::collections::BTreeMap;

use league_protocol::time::Timestamp;
use serde_json::Value;

use super::error::Wrong;
use super::setting::{Reading, SchemaVersion, Setting, below, settings, wrong};

settings! {
    /// The games there are.
    pub struct GamesRegistry {
        /// The form of the file.
        schema_version: SchemaVersion = SchemaVersion::default();
        /// Names the list.
        registry_id: String = "games_registry".to_owned();
        /// When the file was written.
        last_updated: Timestamp = Timestamp::default();
        /// The games by their type.
        game_registry: BTreeMap<String, GameConfig> = known_games();
    }
}

settings! {
    /// One game.
    pub struct GameConfig {
        needs {
            /// The name that people see.
            display_name: String;
            /// The kinds of move.
            move_types: Vec<String>;
        }
        has {
            /// The choices for each kind of move.
            valid_choices: BTreeMap<String, Vec<String>> = BTreeMap::new();
            /// The fewest seats.
            min_players: u32 = 2, within 1..=1_000;
            /// The most seats.
            max_players: u32 = 2, within 1..=1_000;
            /// The module that holds the rules.
            rules_module: String = "unknown".to_owned();
            /// How long a match should take at most.
            max_round_time_sec: u32 = 60, within 1..=1_000_000;
        }
    }
}

fn known_games() -> BTreeMap<String, GameConfig> {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let games = league_games::registry().game_registry.into_iter();
    games
        .map(|(game_type, entry)| {
            let choices = entry.valid_choices.iter();
            let game = GameConfig {
                display_name: entry.display_name.to_owned(),
                move_types: owned(&entry.move_types),
                valid_choices: choices
                    .map(|(&move_type, texts)| (move_type.to_owned(), owned(texts)))
                    .collect(),
                min_players: u32::from(entry.min_players),
                max_players: u32::from(entry.max_players),
                rules_module: entry.rules_module.to_owned(),
                max_round_time_sec: entry.max_round_time_sec,
            };
            (game_type.to_owned(), game)
        })
        .collect()
}

impl<T: Setting> Setting for BTreeMap<String, T> {
    fn expected() -> String {
        "an object".to_owned()
    }

    fn read(value: &Value, path: &str, reading: &mut Reading) -> Result<Self, Wrong> {
        let Value::Object(members) = value else {
            return Err(wrong(path, value, Self::expected()));
        };
        let members = members.iter();
        members
            .map(|(key, member)| Ok((key.clone(), T::read(member, &below(path, key), reading)?)))
            .collect()
    }
}
