//! Wrong fields in `league.v2`: the code, the place, and whether a lenient reader forgives it.

use serde_json::Value;

use crate::samples::Knowledge;
use crate::tables::rows;
use crate::{Reading, read};

/// The messages that are changed in one place.
const EXAMPLES: [&str; 4] = [
    r#"{"protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:a",
        "timestamp": "2025-01-15T10:00:00Z", "conversation_id": "c", "player_meta": {
        "display_name": "A", "version": "1.0.0", "game_types": ["even_odd"],
        "contact_endpoint": "http://localhost:8101/mcp"}}"#,
    r#"{"protocol": "league.v2", "message_type": "GAME_JOIN_ACK", "sender": "player:P01",
        "timestamp": "2025-01-15T10:00:00Z", "conversation_id": "c", "match_id": "R1M1",
        "player_id": "P01", "arrival_timestamp": "2025-01-15T10:00:00Z", "accept": true}"#,
    r#"{"protocol": "league.v2", "message_type": "CHOOSE_PARITY_RESPONSE",
        "sender": "player:P01", "timestamp": "2025-01-15T10:00:00Z", "conversation_id": "c",
        "match_id": "R1M1", "player_id": "P01", "parity_choice": "even"}"#,
    r#"{"protocol": "league.v2", "message_type": "LEAGUE_QUERY", "sender": "player:P01",
        "timestamp": "2025-01-15T10:00:00Z", "conversation_id": "c", "league_id": "l",
        "query_type": "GET_STANDINGS"}"#,
];

/// Which message, which place, what stands there (`-` for nothing), and what is found.
const DEVIATIONS: &str = r#"
GAME_JOIN_ACK /sender - E003 sender
GAME_JOIN_ACK /sender "alpha" E002 sender
GAME_JOIN_ACK /conversation_id 7 E002 conversation_id
GAME_JOIN_ACK /timestamp - E003 timestamp
GAME_JOIN_ACK /player_id - E003 player_id
GAME_JOIN_ACK /player_id null E003 player_id
GAME_JOIN_ACK /player_id "../P01" E002 player_id
GAME_JOIN_ACK /arrival_timestamp "2025-01-15T10:00:00.123" E021 arrival_timestamp
GAME_JOIN_ACK /arrival_timestamp "soon" E021 arrival_timestamp
LEAGUE_REGISTER_REQUEST /player_meta/version 1 E002 player_meta.version
LEAGUE_REGISTER_REQUEST /player_meta/game_types "even_odd" E002 player_meta.game_types
LEAGUE_REGISTER_REQUEST /player_meta/game_types [1] E002 player_meta.game_types[0]
LEAGUE_REGISTER_REQUEST /player_meta/mood "good" E002 player_meta.mood
"#;

const ERRORS: &str = r#"
GAME_JOIN_ACK /accept "true" E002 accept
GAME_JOIN_ACK /accept null E003 accept
GAME_JOIN_ACK /timestamp "2025-01-15T10:00:00" E021 timestamp
GAME_JOIN_ACK /timestamp "2025-01-15T12:00:00+02:00" E021 timestamp
GAME_JOIN_ACK /arrival_timestamp "2025-01-15T12:00:00+02:00" E021 arrival_timestamp
GAME_JOIN_ACK /protocol "league.v3" E018 protocol
CHOOSE_PARITY_RESPONSE /parity_choice "Odd" E004 parity_choice
CHOOSE_PARITY_RESPONSE /parity_choice 1 E002 parity_choice
LEAGUE_REGISTER_REQUEST /player_meta - E003 player_meta
LEAGUE_REGISTER_REQUEST /player_meta [] E002 player_meta
LEAGUE_REGISTER_REQUEST /player_meta/display_name - E003 player_meta.display_name
LEAGUE_QUERY /query_type "GET_RICH" E002 query_type
"#;

#[test]
fn a_wrong_field_is_one_finding_with_its_code_and_place() {
    let knowledge = Knowledge::of("even_odd");
    for (json, finding) in rows(&EXAMPLES, DEVIATIONS) {
        let lenient = read(&json, Reading::Lenient, &knowledge.hints());
        assert_eq!(lenient.table(), [format!("{finding} Deviation")], "{json}");
        assert!(lenient.message.is_some(), "{json}");
        let written = serde_json::from_str::<Value>(&json).unwrap();
        assert_eq!(lenient.written, written);
        let strict = read(&json, Reading::Strict, &knowledge.hints());
        assert_eq!(strict.table(), [format!("{finding} Error")], "{json}");
    }
}

#[test]
fn what_a_message_hangs_on_is_not_forgiven() {
    let knowledge = Knowledge::of("even_odd");
    for (json, finding) in rows(&EXAMPLES, ERRORS) {
        let lenient = read(&json, Reading::Lenient, &knowledge.hints());
        assert_eq!(lenient.table(), [format!("{finding} Error")], "{json}");
        let written = serde_json::from_str::<Value>(&json).unwrap();
        assert_eq!(lenient.written, written);
    }
}
