//! JSON Schema (draft 2020-12) of every message of every dialect, made from the shapes.
//!
//! A lenient schema keeps the documented types, although a lenient reader also forgives a wrong
//! type in an optional field: a schema describes what to send, not what is tolerated.

mod example;

use serde_json::{Map, Value, json};

pub use example::example;

use crate::decode::ENVELOPE;
use crate::finding::Reading;
use crate::id::{LeagueId, MatchId};
use crate::message::form;
use crate::message::types;
use crate::sender::Dialect;
use crate::shape::{Codec as _, Round, Value as _, or_null};

/// The schema of one message; `None` if the dialect does not have the type.
pub fn message_schema(dialect: Dialect, message_type: &str, reading: Reading) -> Option<Value> {
    let (about, clause, body) = form(dialect, message_type)?.schema(dialect, reading);
    let mut envelope = ENVELOPE.schema(dialect, reading);
    let mut properties = taken(&mut envelope, "properties");
    properties.insert("message_type".into(), json!({"const": message_type}));
    let protocol = json!({"const": dialect.protocol()});
    properties.insert(
        "protocol".into(),
        match reading {
            Reading::Strict => protocol,
            Reading::Lenient => json!({"anyOf": [protocol, {"type": "null"}]}),
        },
    );
    merge(&mut envelope, &mut properties, body);
    for (name, schema) in context(reading) {
        properties.entry(name).or_insert(schema);
    }
    let mut whole = Map::new();
    whole.insert("$schema".into(), DRAFT.into());
    whole.insert(
        "$id".into(),
        format!("urn:league:{dialect}:{message_type}").into(),
    );
    whole.insert("title".into(), message_type.into());
    whole.insert(
        "description".into(),
        format!("{} ({clause})", about.trim()).into(),
    );
    whole.insert("type".into(), "object".into());
    whole.insert("properties".into(), properties.into());
    whole.insert("required".into(), envelope["required"].take());
    if reading == Reading::Strict {
        whole.insert("additionalProperties".into(), false.into());
    }
    Some(whole.into())
}

/// The context of 000 table 4, which any message may carry.
fn context(reading: Reading) -> [(&'static str, Value); 3] {
    [
        (
            "league_id",
            "league",
            LeagueId::schema(Dialect::V2, reading),
        ),
        ("match_id", "match", MatchId::schema(Dialect::V2, reading)),
        ("round_id", "round", Round::schema(Dialect::V2, reading)),
    ]
    .map(|(name, what, schema)| {
        let mut schema = or_null(schema);
        schema["description"] = format!("Which {what} it is about, if it tells.").into();
        (name, schema)
    })
}

/// The types of these dialects, in order.
pub fn message_names(dialects: &[Dialect]) -> impl Iterator<Item = (Dialect, &'static str)> {
    dialects
        .iter()
        .flat_map(|&dialect| types(dialect).iter().map(move |&name| (dialect, name)))
}

/// Whether any dialect has a message type of this name.
pub(crate) fn is_message_type(name: &str) -> bool {
    message_names(&Dialect::ALL).any(|(_, known)| known == name)
}

/// The schema of a message in any of these dialects; `None` if it is in none of them.
pub fn named_message(name: &str, dialects: &[Dialect], reading: Reading) -> Option<Value> {
    let mut schemas: Vec<Value> = dialects
        .iter()
        .filter_map(|&dialect| message_schema(dialect, name, reading))
        .collect();
    match schemas.len() {
        0 => None,
        1 => schemas.pop(),
        _ => Some(json!({
            "$schema": DRAFT,
            "$id": format!("urn:league:{name}"),
            "title": name,
            "anyOf": schemas,
        })),
    }
}

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

fn taken(schema: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match schema.remove(name) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn merge(
    envelope: &mut Map<String, Value>,
    properties: &mut Map<String, Value>,
    body: Map<String, Value>,
) {
    let mut required = envelope
        .get("required")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for (name, value) in body {
        match (name.as_str(), value) {
            ("properties", Value::Object(more)) => properties.extend(more),
            ("required", Value::Array(more)) => {
                for name in more {
                    if !required.contains(&name) {
                        required.push(name);
                    }
                }
            }
            _ => {}
        }
    }
    envelope.insert("required".into(), required.into());
}
