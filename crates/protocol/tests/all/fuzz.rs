//! Whatever the bytes, nothing panics, and what was read of them goes out again.
//!
//! For a long run: `PROPTEST_CASES=10000000 cargo test --release -p league-protocol fuzz::`.

use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::explain::explain;
use league_protocol::finding::{Notes, Reading};
use league_protocol::id::{GameType, LeagueId, PlayerId};
use league_protocol::lenient;
use league_protocol::rpc;
use league_protocol::sender::Dialect;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::documents::DOCUMENTS;

/// Reads bytes in every way that the league reads them.
fn read_in_every_way(bytes: &[u8]) {
    for era in [
        rpc::Era::Simple,
        rpc::Era::LegacyWithBatch,
        rpc::Era::Legacy,
        rpc::Era::Modern,
    ] {
        let _ = rpc::read(bytes, era);
    }
    let league = LeagueId::new("league").expect("an id");
    let game = GameType::new("even_odd").expect("an id");
    let (reader, opponent) = (PlayerId::numbered(1), PlayerId::numbered(2));
    let knowing = Hints {
        league_id: Some(&league),
        game_type: Some(&game),
        reader: Some(&reader),
        opponent: Some(&opponent),
        match_id: None,
        placeholders: false,
        synonyms: false,
    };
    for reading in [Reading::Lenient, Reading::Strict] {
        let _ = explain(bytes, reading);
        let mut notes = Notes::new(reading);
        let _ = lenient::reply(bytes, 1, &mut notes);
        let Ok(raw) = serde_json::from_slice::<&RawValue>(bytes) else {
            continue;
        };
        for pinned in [
            None,
            Some(Dialect::V2),
            Some(Dialect::V2Api),
            Some(Dialect::V1),
        ] {
            for hints in [Hints::default(), knowing] {
                if let Ok(mut decoded) = decode(raw, reading, pinned) {
                    let _ = decoded.message(&hints);
                }
            }
        }
    }
}

/// The examples of the documents, as bytes, with and without their frames.
fn examples() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for document in DOCUMENTS {
        let examples: Vec<Value> = serde_json::from_str(document).expect("examples are readable");
        for example in examples {
            let example = &example["example"];
            for value in [example, &example["params"], &example["result"]] {
                if value.is_object() {
                    found.push(value.to_string().into_bytes());
                }
            }
        }
    }
    found
}

/// One thing that can happen to a message on its way.
#[derive(Debug, Clone)]
enum Mutation {
    Flip(Index, u8),
    Cut(Index),
    Insert(Index, &'static str),
    Remove(Index, usize),
    Replace(Index, Value),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let pieces = vec![
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "null",
        "\\u0000",
        "\\ud800",
        "1e999",
        "-0",
        "\u{202e}",
        "\"protocol\":\"league.v1\",",
        "\"message_type\":\"GAME_RESULT\",",
        "\"accept\":0,",
    ];
    let values = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(Value::Array(vec![])),
        Just(Value::Array(vec![
            Value::Null,
            Value::from(1),
            Value::from("x")
        ])),
        Just(serde_json::json!({})),
        Just(serde_json::json!({"P01": 3, "../x": -1})),
        Just(Value::from("2025-01-15T10:30:00+02:00")),
        Just(Value::from("x".repeat(5_000))),
    ];
    prop_oneof![
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Flip(at, byte)),
        1 => any::<Index>().prop_map(Mutation::Cut),
        1 => (any::<Index>(), select(pieces)).prop_map(|(at, piece)| Mutation::Insert(at, piece)),
        1 => (any::<Index>(), 1..40_usize).prop_map(|(at, count)| Mutation::Remove(at, count)),
        4 => (any::<Index>(), values).prop_map(|(at, value)| Mutation::Replace(at, value)),
    ]
}

fn mutate(bytes: &mut Vec<u8>, mutation: &Mutation) {
    if bytes.is_empty() {
        return;
    }
    match mutation {
        Mutation::Flip(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Mutation::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Mutation::Insert(at, piece) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, piece.bytes());
        }
        Mutation::Remove(at, count) => {
            let from = at.index(bytes.len());
            bytes.drain(from..(from + count).min(bytes.len()));
        }
        Mutation::Replace(at, value) => {
            if let Ok(mut whole) = serde_json::from_slice::<Value>(bytes) {
                let places = count(&whole);
                replace(&mut whole, &mut at.index(places), value);
                *bytes = whole.to_string().into_bytes();
            }
        }
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Object(members) => members.values().map(count).sum(),
        Value::Array(elements) => elements.iter().map(count).sum(),
        _ => 0,
    }
}

/// Puts a value in the place that is `steps` values from the start.
fn replace(whole: &mut Value, steps: &mut usize, value: &Value) -> bool {
    if *steps == 0 {
        *whole = value.clone();
        return true;
    }
    *steps -= 1;
    match whole {
        Value::Object(members) => members
            .values_mut()
            .any(|inner| replace(inner, steps, value)),
        Value::Array(elements) => elements
            .iter_mut()
            .any(|inner| replace(inner, steps, value)),
        _ => false,
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_in_every_way(&bytes);
    }

    #[test]
    fn no_mutated_message_makes_a_reader_panic(
        example in select(examples()),
        mutations in proptest::collection::vec(mutation(), 1..5),
    ) {
        let mut bytes = example;
        for mutation in &mutations {
            mutate(&mut bytes, mutation);
        }
        read_in_every_way(&bytes);
    }

    #[test]
    fn message_with_any_value_changed_is_written_again_as_it_came(
        example in select(examples()),
        mutations in proptest::collection::vec(mutation(), 1..3),
    ) {
        let mut bytes = example;
        for mutation in mutations.iter().filter(|one| matches!(one, Mutation::Replace(..))) {
            mutate(&mut bytes, mutation);
        }
        let whole: Value = serde_json::from_slice(&bytes).expect("replacing keeps JSON");
        let explanations = explain(&bytes, Reading::Lenient);
        if whole.is_object() {
            let again = explanations.iter().map(|one| serde_json::from_str(one.again.text()));
            let again: Vec<Value> = again.collect::<Result<_, _>>().expect("it is JSON");
            prop_assert_eq!(again, vec![whole]);
        }
    }
}
