//! Whatever is repaired, nothing panics, nothing is invented, and what is repaired stays as it is.
//!
//! For a long run: `PROPTEST_CASES=1000000 cargo test --release -p league-protocol repair::`.

use league_protocol::finding::{Notes, Reading};
use league_protocol::lenient::{Expected, Repair, repair};
use league_protocol::sender::Dialect;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Names that fields go by, right ones and others.
const NAMES: [&str; 30] = [
    "message_type",
    "type",
    "protocol",
    "sender",
    "timestamp",
    "conversation_id",
    "match_id",
    "matchId",
    "game_id",
    "player_id",
    "id",
    "parity_choice",
    "choice",
    "parity",
    "Pick",
    "value",
    "play",
    "result",
    "answer",
    "opponent_choice",
    "auth_token",
    "token",
    "accept",
    "status",
    "arrival_timestamp",
    "params",
    "content",
    "data",
    "error",
    "play_response",
];

/// What fields hold.
const TEXTS: [&str; 22] = [
    "even",
    "odd",
    "EVEN",
    " Odd ",
    "neither",
    "",
    " ",
    "P01",
    "R1M1",
    "league.v2",
    "League-V1",
    "player:P01",
    "2026-11-15T12:00:00Z",
    "tok-p01-0123456789abcdef",
    "secret",
    "yes",
    "READY",
    "GAME_JOIN_ACK",
    "CHOOSE_PARITY_RESPONSE",
    "play_response",
    "{\"parity_choice\": \"odd\"}",
    "{\"token\": \"tok-inner\"}",
];

const TYPES: [&str; 6] = [
    "CHOOSE_PARITY_RESPONSE",
    "GAME_JOIN_ACK",
    "GAME_MOVE_RESPONSE",
    "PLAY_RESPONSE",
    "GAME_INVITATION_RESPONSE",
    "LEAGUE_REGISTER_REQUEST",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => select(TEXTS.to_vec()).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => (-2i64..9).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => "\\PC{0,9}".prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            3 => object(inner.clone()),
            1 => proptest::collection::vec(inner, 0..3).prop_map(Value::from),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        9 => select(NAMES.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,9}",
    ];
    let members = proptest::collection::vec((name, inner), 0..8);
    members.prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

fn repaired(content: &str, expected: &Expected<'_>) -> Option<Value> {
    let mut notes = Notes::new(Reading::Lenient);
    match repair(content, expected, &mut notes)? {
        Repair::Message(message) => serde_json::from_str(message.get()).ok(),
        Repair::Complaint(_) => None,
    }
}

/// All texts in a value, those inside texts too.
fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            into.push(text.clone());
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                texts(&inner, into);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| texts(element, into)),
        Value::Object(members) => members.values().for_each(|member| texts(member, into)),
        Value::Number(number) => into.push(number.to_string()),
        Value::Null | Value::Bool(_) => {}
    }
}

fn fold(text: &str) -> String {
    let letters = text.chars().filter(char::is_ascii_alphanumeric);
    letters.collect::<String>().to_ascii_lowercase()
}

/// What a repaired message chooses and shows, wherever it does.
fn chosen(message: &Value) -> Vec<&Value> {
    let places = [
        &message["parity_choice"],
        &message["choice"],
        &message["play"]["value"],
    ];
    places
        .into_iter()
        .filter(|place| !place.is_null())
        .collect()
}

fn dialect() -> impl Strategy<Value = Option<Dialect>> {
    select(vec![
        None,
        Some(Dialect::V2),
        Some(Dialect::V2Api),
        Some(Dialect::V1),
    ])
}

fn method() -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, Some("choose_parity"), Some("join"), Some("xyz")])
}

proptest! {
    #[test]
    fn nothing_is_invented_and_what_is_repaired_stays(
        came in object(value()),
        method in method(),
        dialect in dialect(),
        first in 0..TYPES.len(),
    ) {
        let mut types = TYPES;
        types.rotate_left(first);
        let expected = Expected { types: &types, method, dialect };
        let Some(once) = repaired(&came.to_string(), &expected) else {
            return Ok(());
        };
        let mut said = Vec::new();
        texts(&came, &mut said);
        for choice in chosen(&once) {
            if let Some(choice) = choice.as_str() {
                let known = said.iter().any(|text| fold(text) == fold(choice));
                prop_assert!(known, "{choice} is nowhere in {came}");
            }
        }
        if let Some(token) = once["auth_token"].as_str() {
            prop_assert!(said.iter().any(|text| text == token), "{token} is nowhere in {came}");
        }
        let again = Expected { method: None, ..expected };
        let twice = repaired(&once.to_string(), &again);
        prop_assert_eq!(twice, Some(once));
    }

    #[test]
    fn whatever_the_text_nothing_panics(text in "\\PC{0,200}", dialect in dialect()) {
        let expected = Expected { types: &TYPES, method: Some("choose_parity"), dialect };
        repaired(&text, &expected);
    }
}

#[test]
fn choice_of_another_player_is_not_taken() {
    let came = json!({"match_id": "R1M1", "opponent_choice": "even", "player_id": "P01"});
    let expected = Expected {
        types: &["CHOOSE_PARITY_RESPONSE"],
        method: None,
        dialect: None,
    };
    let repaired =
        repaired(&came.to_string(), &expected).expect("it is taken for the type that is due");
    assert_eq!(repaired.get("parity_choice"), None);
}
