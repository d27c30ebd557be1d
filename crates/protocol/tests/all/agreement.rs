//! The schema of a message and the reader of it take the same messages.
//!
//! Each example of the documents is changed in one place at a time, in every place and in every
//! way that is listed here; what one of the two takes, the other takes as well.

use std::collections::BTreeMap;

use league_protocol::explain::explain;
use league_protocol::finding::Reading;
use league_protocol::message::types;
use league_protocol::schema::message_schema;
use league_protocol::sender::Dialect;
use serde_json::{Value, json};

use crate::dialects::additions;
use crate::documents::DOCUMENTS;

/// The messages among the examples, and our additions to the documents, by dialect and type.
fn messages() -> Vec<(Dialect, String, Value)> {
    let read = |text| serde_json::from_str::<Vec<Value>>(text).expect("examples are readable");
    let message = |entry: Value| {
        let name = entry["message_type"].as_str()?.to_owned();
        let dialect = Dialect::ALL
            .into_iter()
            .find(|dialect| entry["dialect"] == dialect.as_str())?;
        let message = match entry["is"].as_str()? {
            "JSON-RPC request" => entry["example"]["params"].clone(),
            "JSON-RPC response" => entry["example"]["result"].clone(),
            _ => entry["example"].clone(),
        };
        types(dialect)
            .contains(&name.as_str())
            .then_some((dialect, name, message))
    };
    DOCUMENTS
        .into_iter()
        .flat_map(read)
        .filter_map(message)
        .chain(additions::written())
        .collect()
}

/// Every place in a value, as a pointer; the value itself is none.
fn places(value: &Value, here: &str, all: &mut Vec<String>) {
    let mut visit = |name: String, inside: &Value| {
        let place = format!("{here}/{name}");
        all.push(place.clone());
        places(inside, &place, all);
    };
    match value {
        Value::Object(members) => {
            for (name, inside) in members {
                visit(name.clone(), inside);
            }
        }
        Value::Array(items) => {
            for (place, inside) in items.iter().enumerate() {
                visit(place.to_string(), inside);
            }
        }
        _ => {}
    }
}

/// What is put in the place of a value.
fn others() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(4_294_967_296_u64),
        json!(""),
        json!("x"),
        json!("a b"),
        json!("2025-01-15T10:30:00"),
        json!("x".repeat(5_000)),
        json!([]),
        json!(["x"]),
        json!({}),
        json!({"x": 1}),
    ]
}

/// The value without what is at a place.
fn without(value: &Value, place: &str) -> Value {
    let mut value = value.clone();
    let (parent, name) = place.rsplit_once('/').expect("a place has a parent");
    match value.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.remove(name);
        }
        Some(Value::Array(items)) => {
            items.remove(name.parse().expect("a place in a list is a number"));
        }
        _ => {}
    }
    value
}

/// Every message that differs from this one in one place, and what was done.
fn changed(message: &Value) -> Vec<(String, String, Value)> {
    let mut spots = Vec::new();
    places(message, "", &mut spots);
    let mut all = Vec::new();
    for place in &spots {
        all.push((
            place.clone(),
            "left out".to_owned(),
            without(message, place),
        ));
        for other in others() {
            let mut copy = message.clone();
            let how = other.to_string().chars().take(24).collect();
            if let Some(inside) = copy.pointer_mut(place) {
                *inside = other;
            }
            all.push((place.clone(), how, copy));
        }
    }
    for place in std::iter::once(String::new()).chain(spots) {
        let mut copy = message.clone();
        if let Some(Value::Object(members)) = copy.pointer_mut(&place) {
            members.insert("foreign".to_owned(), json!(1));
            all.push((format!("{place}/foreign"), "added".to_owned(), copy));
        }
    }
    all
}

/// What the schema and the reader of a message make of each change.
fn compare(mut judge: impl FnMut(String, bool, bool, String)) {
    for (dialect, name, message) in messages() {
        let schema = message_schema(dialect, &name, Reading::Strict).expect("a schema");
        let schema = jsonschema::draft202012::new(&schema).expect("the schema is a schema");
        for (place, how, changed) in changed(&message) {
            let explained = explain(changed.to_string().as_bytes(), Reading::Strict).remove(0);
            let same = explained.message_type.as_deref() == Some(&name)
                && explained.dialect == Some(dialect);
            let found = explained.findings.first();
            let found = found.map(|finding| format!("{}: {}", finding.path, finding.detail));
            let by_reader = same && explained.findings.is_empty();
            judge(
                format!("{dialect} {name} {place} {how}"),
                schema.is_valid(&changed),
                by_reader,
                found.unwrap_or_default(),
            );
        }
    }
}

#[test]
fn strictly_valid_message_matches_the_schema() {
    let mut taken = 0;
    let mut wrong = Vec::new();
    compare(|what, by_schema, by_reader, _| {
        taken += u32::from(by_reader);
        if by_reader && !by_schema {
            wrong.push(what);
        }
    });
    assert!(taken > 1_000, "{taken}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What hangs on another field cannot be said by a schema in words that people read.
const RELATIONS: [&str; 13] = [
    // Whom a result may name.
    "the winner must be",
    "a win has a winner and a draw has none",
    "a score has the points of two players",
    "somebody is named who is not in the match",
    // What an agent gets that is let in, and no other.
    "an accepted player needs its `player_id`",
    "auth_token: `auth_token` is missing",
    "_id` is missing or not usable; send the agent's id",
    // What is chosen follows from the game, what is answered from the question.
    "send `even` or `odd`",
    "the action of Even/Odd is always `choose`",
    "play.value: `value` is null",
    "data: the answer cannot be read",
    "data: `data` is missing",
    "`choice` is null; send a value",
];

#[test]
fn schema_valid_message_is_accepted_unless_fields_conflict() {
    let mut loose = BTreeMap::new();
    compare(|what, by_schema, by_reader, found| {
        let relation = RELATIONS.iter().any(|relation| found.contains(relation));
        if by_schema && !by_reader && !relation {
            loose.insert(what, found);
        }
    });
    assert!(loose.is_empty(), "{loose:#?}");
}
