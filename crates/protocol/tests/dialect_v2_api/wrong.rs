//! Wrong fields by the API page: the code, the place, and whether a lenient reader forgives it.

use serde_json::{Value, json};

use crate::samples::Knowledge;
use crate::{Hints, Reading, examples_001::EXAMPLES, read};

/// The example of a type with one field changed, or taken away where the value is `None`.
fn changed(message_type: &str, name: &str, value: Option<Value>) -> String {
    let mut examples = EXAMPLES
        .iter()
        .map(|text| serde_json::from_str(text).unwrap());
    let mut example: Value = examples
        .find(|example: &Value| example["message_type"] == message_type)
        .unwrap();
    let members = example.as_object_mut().unwrap();
    match value {
        Some(value) => members.insert(name.into(), value),
        None => members.remove(name),
    };
    example.to_string()
}

#[test]
fn a_wrong_field_is_one_finding_with_its_code_and_place() {
    let knowledge = Knowledge::of("even_odd");
    let deviations = [
        (
            "GAME_INVITATION",
            "role",
            Some(json!("challenger")),
            "E002 role",
        ),
        ("GAME_INVITATION", "role", None, "E003 role"),
        (
            "GAME_INVITATION",
            "round_id",
            Some(json!("first")),
            "E002 round_id",
        ),
        (
            "GAME_INVITATION",
            "opponent_id",
            Some(json!("a b")),
            "E002 opponent_id",
        ),
        ("CHOOSE_PARITY_CALL", "deadline", None, "E003 deadline"),
        (
            "CHOOSE_PARITY_CALL",
            "deadline",
            Some(json!("2025-01-15T10:30:40")),
            "E021 deadline",
        ),
        (
            "GAME_OVER",
            "points_earned",
            Some(json!("3")),
            "E002 points_earned",
        ),
        ("GAME_OVER", "your_choice", None, "E003 your_choice"),
        ("LEAGUE_ERROR", "error_name", None, "E003 error_name"),
        (
            "LEAGUE_ERROR",
            "retryable",
            Some(json!("no")),
            "E002 retryable",
        ),
    ];
    for (message_type, name, value, finding) in deviations {
        let json = changed(message_type, name, value);
        let lenient = read(&json, Reading::Lenient, &knowledge.hints());
        assert_eq!(lenient.table(), [format!("{finding} Deviation")], "{json}");
        assert!(lenient.message.is_some(), "{json}");
        assert_eq!(
            lenient.written,
            serde_json::from_str::<Value>(&json).unwrap()
        );
        let strict = read(&json, Reading::Strict, &knowledge.hints());
        assert_eq!(strict.table(), [format!("{finding} Error")], "{json}");
    }
}

#[test]
fn what_a_message_hangs_on_is_not_forgiven() {
    let knowledge = Knowledge::of("even_odd");
    let errors = [
        (
            "LEAGUE_REGISTER_RESPONSE",
            "status",
            Some(json!("ACCEPTED")),
            "E002 status",
        ),
        (
            "LEAGUE_REGISTER_RESPONSE",
            "player_id",
            None,
            "E003 player_id",
        ),
        ("GAME_INVITATION", "match_id", None, "E003 match_id"),
        ("GAME_JOIN_ACK", "accept", Some(json!("yes")), "E002 accept"),
        (
            "CHOOSE_PARITY_CALL",
            "deadline",
            Some(json!("2025-01-15T10:30:40+02:00")),
            "E021 deadline",
        ),
        (
            "CHOOSE_PARITY_RESPONSE",
            "parity_choice",
            Some(json!("EVEN")),
            "E004 parity_choice",
        ),
        (
            "CHOOSE_PARITY_RESPONSE",
            "parity_choice",
            None,
            "E003 parity_choice",
        ),
        ("GAME_OVER", "result", Some(json!("TIE")), "E002 result"),
        (
            "QUERY_STANDINGS_RESPONSE",
            "standings",
            Some(json!({})),
            "E002 standings",
        ),
        (
            "LEAGUE_ERROR",
            "error_code",
            Some(json!("E999")),
            "E002 error_code",
        ),
    ];
    for (message_type, name, value, finding) in errors {
        let json = changed(message_type, name, value);
        let lenient = read(&json, Reading::Lenient, &knowledge.hints());
        assert_eq!(lenient.table(), [format!("{finding} Error")], "{json}");
        assert_eq!(
            lenient.written,
            serde_json::from_str::<Value>(&json).unwrap()
        );
    }
}

#[test]
fn who_plays_is_not_guessed() {
    for message_type in ["CHOOSE_PARITY_CALL", "GAME_OVER"] {
        let json = changed(message_type, "match_id", Some(json!("R1M1")));
        let read = read(&json, Reading::Lenient, &Hints::default());
        assert_eq!(read.table(), ["E003  Error"], "{json}");
        assert_eq!(read.message, None);
    }
}
