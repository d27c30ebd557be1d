//! The schema of a message and the reader of it take the same messages.
//!
//! Each example of the documents is changed in one place at a time, in every place and in every
//! way that is listed here; what one of the two takes, the other takes as well.

use std::collections::BTreeMap;

use league_protocol::explain::{Explanation, Lens, explain};
use league_protocol::finding::{Finding, Reading};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{Message, types, types_taken};
use league_protocol::peer::HttpReply;
use league_protocol::rpc::{self, Era, Frame, Incoming};
use league_protocol::schema::message_schema;
use league_protocol::sender::{CallStyle, Dialect};
use league_protocol::tools::{MANAGER_TOOLS, PLAYER_TOOLS, REFEREE_TOOLS, ToolEntry};
use league_protocol::wire::{Context, Inbound, SentCall, read_reply, receive};
use serde_json::{Value, json};

use crate::dialects::{additions, samples};
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
const RELATIONS: [&str; 16] = [
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
    // What a manager makes of a registration.
    "_meta.protocol_version: protocol version",
    "_meta.display_name: a display name has",
    "_meta.contact_endpoint: `contact_endpoint` is missing",
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

/// The tools of the kind of agent that takes messages of a type, and the one that they are sent to.
fn taken_by(name: &str) -> Option<(&'static [ToolEntry], &'static str)> {
    let kinds: [&'static [ToolEntry]; 3] = [&MANAGER_TOOLS, &REFEREE_TOOLS, &PLAYER_TOOLS];
    kinds.into_iter().find_map(|tools| {
        let takes =
            |tool: &&ToolEntry| tool.takes_message() && types_taken(tool.name).contains(&name);
        Some((tools, tools.iter().find(takes)?.name))
    })
}

/// The question that a message of a type answers.
fn question(name: &str) -> Option<Message> {
    Some(match name {
        "GAME_JOIN_ACK" | "GAME_INVITATION_RESPONSE" => samples::invitation(),
        "CHOOSE_PARITY_RESPONSE" | "PLAY_RESPONSE" => samples::move_call("even_odd").into(),
        "LEAGUE_REGISTER_RESPONSE" => samples::register_request(),
        _ => return None,
    })
}

/// Whether strict play takes a message, which differs from an example; `None` if it is neither sent
/// to a tool nor the answer to a question.
fn is_played(dialect: Dialect, name: &str, example: &Value, message: &Value) -> Option<bool> {
    let id = |field: &str| example[field].as_str();
    let reader = id("player_id").and_then(|id| PlayerId::new(id).ok());
    let reader = reader.unwrap_or(PlayerId::numbered(1));
    let match_id = id("match_id").and_then(|id| MatchId::new(id).ok());
    let mut context = Context {
        reading: Reading::Strict,
        pinned: Some(dialect),
        ..Context::default()
    };
    if let Some((tools, tool)) = taken_by(name) {
        context.tools = tools;
        context.hints.reader = (tools.len() == PLAYER_TOOLS.len()).then_some(&reader);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": tool, "params": message});
        let body = body.to_string();
        let opened = rpc::open(body.as_bytes()).expect("it is JSON");
        let Incoming::Single(Frame::Call(call)) = opened.read(Era::Simple) else {
            return Some(false);
        };
        return Some(matches!(receive(&call, &context), Inbound::Message(_)));
    }
    let asked = question(name)?;
    context.hints.match_id = match_id.as_ref();
    context.hints.reader = Some(&reader);
    let call = SentCall {
        id: 1,
        message: &asked,
        dialect,
        style: CallStyle::Tool,
        player: None,
        is_kept: false,
    };
    let body = json!({"jsonrpc": "2.0", "id": 1, "result": message}).to_string();
    let reply = HttpReply {
        status: 200,
        session: None,
        body: body.as_bytes(),
    };
    let read = read_reply(&call, &reply, &context).read;
    Some(read.is_ok_and(|received| received.message != Message::Acknowledged))
}

#[test]
fn strict_reading_and_strict_play_take_the_same_messages() {
    let (mut compared, mut passed) = (0, 0);
    let mut differ = BTreeMap::new();
    for (dialect, name, example) in messages() {
        for (place, how, message) in changed(&example) {
            let lens = Lens {
                reading: Reading::Strict,
                dialect: Some(dialect),
            };
            let explained = explain(message.to_string().as_bytes(), lens).remove(0);
            let by_reading = explained.valid && explained.message_type.as_deref() == Some(&name);
            let Some(by_play) = is_played(dialect, &name, &example, &message) else {
                continue;
            };
            compared += 1;
            passed += u32::from(by_reading);
            if by_reading != by_play && !is_judged_later(&explained) {
                let found = explained.findings.first().map(|found| found.detail.clone());
                let what = format!("{dialect} {name} {place} {how}");
                differ.insert(what, (by_reading, by_play, found));
            }
        }
    }
    assert!(compared > 5_000 && passed > 1_000, "{compared} {passed}");
    assert!(differ.is_empty(), "{} differ: {differ:#?}", differ.len());
}

/// Whether the only fault is one that the manager finds after reading: `crates/core` compares those.
fn is_judged_later(explained: &Explanation) -> bool {
    let ends = [
        "_meta.protocol_version",
        "_meta.display_name",
        "_meta.contact_endpoint",
    ];
    let later = |finding: &Finding| ends.iter().any(|end| finding.path.ends_with(end));
    !explained.findings.is_empty() && explained.findings.iter().all(later)
}
