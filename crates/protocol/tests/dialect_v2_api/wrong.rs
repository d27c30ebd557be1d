//! Wrong fields by the API page: the code, the place, and whether a lenient reader forgives it.

use serde_json::Value;

use crate::samples::Knowledge;
use crate::tables::{changed, rows};
use crate::{Hints, Reading, examples_001::EXAMPLES, read};

/// Which message, which place, what stands there (`-` for nothing), and what is found.
const DEVIATIONS: &str = r#"
GAME_INVITATION /role - E003 role
GAME_INVITATION /round_id "first" E002 round_id
GAME_INVITATION /opponent_id "../x" E002 opponent_id
CHOOSE_PARITY_CALL /deadline - E003 deadline
CHOOSE_PARITY_CALL /deadline "2025-01-15T10:30:40" E021 deadline
GAME_OVER /points_earned "3" E002 points_earned
GAME_OVER /your_choice - E003 your_choice
LEAGUE_ERROR /error_name - E003 error_name
LEAGUE_ERROR /retryable "no" E002 retryable
"#;

const ERRORS: &str = r#"
LEAGUE_REGISTER_RESPONSE /status "ACCEPTED" E002 status
LEAGUE_REGISTER_RESPONSE /player_id - E003 player_id
GAME_INVITATION /match_id - E003 match_id
GAME_INVITATION /role "challenger" E002 role
GAME_JOIN_ACK /accept "yes" E002 accept
GAME_JOIN_ACK /accept - E003 accept
CHOOSE_PARITY_RESPONSE /parity_choice "EVEN" E004 parity_choice
CHOOSE_PARITY_RESPONSE /parity_choice - E003 parity_choice
GAME_OVER /result "TIE" E002 result
QUERY_STANDINGS_RESPONSE /standings {} E002 standings
LEAGUE_ERROR /error_code "E999" E002 error_code
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
        assert_eq!(lenient.message, None, "{json}");
        let written = serde_json::from_str::<Value>(&json).unwrap();
        assert_eq!(lenient.written, written);
    }
}

#[test]
fn a_time_that_is_not_utc_is_never_forgiven() {
    let knowledge = Knowledge::of("even_odd");
    let json = changed(
        &EXAMPLES,
        "CHOOSE_PARITY_CALL",
        "/deadline",
        r#""2025-01-15T10:30:40+02:00""#,
    );
    let read = read(&json, Reading::Lenient, &knowledge.hints());
    assert_eq!(read.table(), ["E021 deadline Error"]);
}

#[test]
fn who_plays_is_not_guessed() {
    for (message_type, place) in [
        ("CHOOSE_PARITY_CALL", "player_id"),
        ("GAME_OVER", "winner_player_id"),
    ] {
        let json = changed(&EXAMPLES, message_type, "/match_id", r#""R1M1""#);
        let read = read(&json, Reading::Lenient, &Hints::default());
        assert_eq!(read.table(), [format!("E003 {place} Error")], "{json}");
        assert_eq!(read.message, None);
    }
}
