//! Reads a game's settings from JSON, and says which key is wrong when one is.
//!
//! Which values make sense is each game's own business: `Game::check`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Game;
use crate::game::{in_backticks, written};

/// Why settings were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSettings {
    /// Settings are an object, or `null` for all defaults.
    #[error("settings are an object of keys and values, not {found}")]
    NotAnObject {
        /// The kind of JSON that was found.
        found: &'static str,
    },
    /// The game has no such setting.
    #[error("unknown setting `{key}`; {}", known_keys(known))]
    UnknownKey {
        key: String,
        /// The keys that the game knows.
        known: Vec<String>,
    },
    /// The value is of a kind that the setting cannot hold.
    #[error("setting `{key}` cannot be read: {problem}")]
    WrongValue {
        /// The key with the value.
        key: String,
        problem: String,
    },
    /// The value can be read, but the game makes no sense with it.
    #[error("setting `{key}` {problem}")]
    OutOfRange {
        /// The key to change.
        key: &'static str,
        /// What the value would have to be.
        problem: String,
    },
}

/// The settings of a game that leaves nothing to choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// Reads and checks the settings of a game; keys left out keep their defaults.
pub(crate) fn read<G: Game>(given: &Value) -> Result<G::Settings, BadSettings> {
    let given = keys_of(given)?;
    let defaults = match written(&G::Settings::default()) {
        Value::Object(defaults) => defaults,
        _ => Map::new(),
    };
    let mut merged = defaults.clone();
    for (key, value) in &given {
        read_one::<G>(&defaults, key, value)?;
        merged.insert(key.clone(), value.clone());
    }
    let settings =
        serde_json::from_value(Value::Object(merged)).map_err(|error| BadSettings::WrongValue {
            key: in_one_line(&given),
            problem: error.to_string(),
        })?;
    G::check(&settings)?;
    Ok(settings)
}

fn keys_of(given: &Value) -> Result<Map<String, Value>, BadSettings> {
    let found = match given {
        Value::Object(given) => return Ok(given.clone()),
        Value::Null => return Ok(Map::new()),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
    };
    Err(BadSettings::NotAnObject { found })
}

/// Tries one value among nothing but defaults, so that a refusal can be laid to its key.
fn read_one<G: Game>(
    defaults: &Map<String, Value>,
    key: &str,
    value: &Value,
) -> Result<(), BadSettings> {
    if !defaults.contains_key(key) {
        let known = defaults.keys().cloned().collect();
        return Err(BadSettings::UnknownKey {
            key: key.to_owned(),
            known,
        });
    }
    let mut trial = defaults.clone();
    trial.insert(key.to_owned(), value.clone());
    match serde_json::from_value::<G::Settings>(Value::Object(trial)) {
        Ok(_) => Ok(()),
        Err(error) => Err(BadSettings::WrongValue {
            key: key.to_owned(),
            problem: error.to_string(),
        }),
    }
}

fn known_keys(known: &[String]) -> String {
    if known.is_empty() {
        return "this game has none".to_owned();
    }
    format!("this game has {}", in_backticks(known))
}

fn in_one_line(given: &Map<String, Value>) -> String {
    let keys: Vec<&str> = given.keys().map(String::as_str).collect();
    keys.join(", ")
}
