//! The summary of a match, where the choices are named after the players who made them.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::finding::{Notes, Path, Reading};
use crate::id::PlayerId;
use crate::lenient::extra_fields;
use crate::shape::{Any, Dict, Field, Shape, Wire, object};

use super::SummaryFacts;
use super::names::{player_id, player_name};

/// How a result came about: `player_001_choice` and its like, and the facts with fixed names.
#[derive(Debug, Clone)]
pub struct GameSummary<'a> {
    /// What was chosen, under names that end in `_choice`, in seat order where we wrote them.
    pub choices: Dict<'a, Any<'a>>,
    /// Everything else.
    pub facts: Box<SummaryFacts<'a>>,
}

const CHOICE: &str = "_choice";

impl GameSummary<'_> {
    /// The name under which the choice of a player stands.
    pub fn choice_name(player: &PlayerId) -> String {
        format!("{}{CHOICE}", player_name(player))
    }

    /// The players whose choices are named, in order, each with what it chose if it did.
    pub fn chosen(&self) -> impl Iterator<Item = (PlayerId, Option<Value>)> {
        self.choices.entries().filter_map(|(name, choice)| {
            let value = Some(choice.to_value()).filter(|value| !value.is_null());
            Some((chooser(name)?, value))
        })
    }
}

fn chooser(name: &str) -> Option<PlayerId> {
    player_id(name.strip_suffix(CHOICE)?).ok()
}

impl<'a> Wire<'a> for GameSummary<'a> {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let mut choices = Vec::new();
        let mut facts = Vec::new();
        for (name, raw) in object(raw, at, notes)? {
            if chooser(&name).is_some() {
                let choice = Any::read(raw, &at.member(&name, true), notes);
                choices.push((name, choice.map_or(Field::Unreadable(raw), Field::Is)));
            } else {
                facts.push((name, raw));
            }
        }
        let facts: SummaryFacts<'a> = Shape::take(facts.into(), at, notes);
        extra_fields(&facts.extra, at, notes);
        Some(Self {
            choices: Dict(choices),
            facts: Box::new(facts),
        })
    }

    fn schema(reading: Reading) -> Value {
        let mut schema = SummaryFacts::schema(reading);
        schema["patternProperties"] = serde_json::json!({"^player_.+_choice$": {}});
        schema
    }
}

impl Serialize for GameSummary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, choice) in &self.choices.0 {
            map.serialize_entry(name, choice)?;
        }
        self.facts.write_members(&mut map)?;
        map.end()
    }
}
