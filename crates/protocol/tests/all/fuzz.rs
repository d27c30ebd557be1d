//! Whatever the bytes, nothing panics, and what was read of them goes out again.
//!
//! `cargo xtask campaign fuzz` reads as many frames as it is told, and the last of these tests some.

use league_protocol::explain::explain;
use league_protocol::finding::Reading;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

use frames::{Frames, examples, read_in_every_way};

#[path = "../../examples/fuzz/frames.rs"]
mod frames;

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

#[test]
fn no_frame_of_the_campaign_makes_a_reader_panic() {
    let frames = Frames::new();
    let mut lengths = std::collections::BTreeSet::new();
    for number in 0..50_000 {
        let frame = frames.frame(1, number);
        lengths.insert(frame.len());
        read_in_every_way(&frame);
    }
    assert!(lengths.len() > 500, "the frames differ");
    assert_eq!(frames.frame(1, 7), frames.frame(1, 7));
}
