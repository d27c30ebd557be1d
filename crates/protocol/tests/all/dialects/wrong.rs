//! Wrong members in each dialect: the code, the place, and whether a lenient reader forgives it.

use league_protocol::dialect::Hints;
use league_protocol::finding::Reading;
use league_protocol::sender::Dialect;
use serde_json::Value;

use super::kit::{Outcome, read};
use super::samples::Knowledge;
use super::tables::{changed, rows};
use super::{examples_001, examples_003};

/// Messages of the main document that are changed in one place.
const EXAMPLES_000: [&str; 4] = [
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

/// A dialect, its examples, what is forgiven in them, and what is not.
///
/// A line is: which message, which place, what stands there (`-` for nothing), and what is found.
const TABLES: [(Dialect, &[&str], &str, &str); 3] = [
    (Dialect::V2, &EXAMPLES_000, V2_DEVIATIONS, V2_ERRORS),
    (
        Dialect::V2Api,
        &examples_001::EXAMPLES,
        API_DEVIATIONS,
        API_ERRORS,
    ),
    (
        Dialect::V1,
        &examples_003::EXAMPLES,
        V1_DEVIATIONS,
        V1_ERRORS,
    ),
];

const V2_DEVIATIONS: &str = r#"
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

const V2_ERRORS: &str = r#"
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

const API_DEVIATIONS: &str = r#"
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

const API_ERRORS: &str = r#"
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

const V1_DEVIATIONS: &str = r#"
GAME_INVITATION /league_id "league_2025" E002 league_id
GAME_INVITATION /league_id "../x" E002 league_id
GAME_INVITATION /league_id - E003 league_id
GAME_INVITATION /round_id "ROUND_1" E002 round_id
GAME_INVITATION /game_info/opponent_id "P02" E002 game_info.opponent_id
PLAY_RESPONSE /play/action "guess" E002 play.action
PLAY_RESPONSE /play/action - E003 play.action
PLAY_VALIDATION /validation/player_id "player_1" E002 validation.player_id
PLAY_REQUEST /game_state/game_specific_state - E003 game_state.game_specific_state
GAME_RESULT /result/loser - E003 result.loser
GAME_RESULT /result/winner - E003 result.winner
LEAGUE_COMPLETE /final_standings/champion/win_rate "high" E002 final_standings.champion.win_rate
GAME_RESULT /result/game_summary/weather "fine" E002 result.game_summary.weather
"#;

const V1_ERRORS: &str = r#"
GAME_INVITATION /match_id - E003 match_id
GAME_INVITATION /game_info/your_role "PLAYER_A" E002 game_info.your_role
GAME_INVITATION_RESPONSE /status "MAYBE" E002 status
PLAY_RESPONSE /match_id "R1/M1" E002 match_id
PLAY_RESPONSE /play/value "Even" E004 play.value
PLAY_RESPONSE /play/value 2 E004 play.value
PLAY_RESPONSE /play/value - E003 play.value
PLAY_RESPONSE /play "even" E002 play
PLAY_VALIDATION /validation/status "OK" E002 validation.status
GAME_RESULT /result/outcome "TIE" E002 result.outcome
GAME_RESULT /result/winner "player_009" E002 result.winner
LEAGUE_REGISTER_RESPONSE /player_id - E003 player_id
ROUND_COMPLETE /round_id - E003 round_id
"#;

fn read_by_a_player(dialect: Dialect, json: &str, reading: Reading) -> Outcome {
    let outcome = read(dialect, json, reading, &Knowledge::of("even_odd").hints());
    let original: Value = serde_json::from_str(json).expect("test data is JSON");
    assert_eq!(outcome.written, original);
    outcome
}

#[test]
fn wrong_member_is_one_finding_with_its_code_and_place() {
    for (dialect, examples, deviations, _) in TABLES {
        for (json, finding) in rows(examples, deviations) {
            let lenient = read_by_a_player(dialect, &json, Reading::Lenient);
            assert_eq!(lenient.table(), [format!("{finding} Deviation")], "{json}");
            assert!(lenient.message.is_some(), "{json}");
            let strict = read_by_a_player(dialect, &json, Reading::Strict);
            assert_eq!(strict.table(), [format!("{finding} Error")], "{json}");
        }
    }
}

#[test]
fn member_that_a_message_hangs_on_is_not_forgiven() {
    for (dialect, examples, _, errors) in TABLES {
        for (json, finding) in rows(examples, errors) {
            let lenient = read_by_a_player(dialect, &json, Reading::Lenient);
            assert_eq!(lenient.table(), [format!("{finding} Error")], "{json}");
            assert_eq!(lenient.message, None, "{json}");
        }
    }
}

#[test]
fn time_that_is_not_utc_is_never_forgiven() {
    let deadline = r#""2025-01-15T10:30:40+02:00""#;
    let examples = &examples_001::EXAMPLES;
    let json = changed(examples, "CHOOSE_PARITY_CALL", "/deadline", deadline);
    let read = read_by_a_player(Dialect::V2Api, &json, Reading::Lenient);
    assert_eq!(read.table(), ["E021 deadline Error"]);
}

#[test]
fn reader_is_not_guessed() {
    let page = &examples_001::EXAMPLES;
    for (dialect, json, place) in [
        (
            Dialect::V2Api,
            changed(page, "CHOOSE_PARITY_CALL", "/match_id", r#""R1M1""#),
            "player_id",
        ),
        (
            Dialect::V2Api,
            changed(page, "GAME_OVER", "/match_id", r#""R1M1""#),
            "winner_player_id",
        ),
        (
            Dialect::V1,
            changed(&examples_003::EXAMPLES, "PLAY_REQUEST", "/round_id", "1"),
            "player_id",
        ),
    ] {
        let read = read(dialect, &json, Reading::Lenient, &Hints::default());
        assert_eq!(read.table(), [format!("E003 {place} Error")], "{json}");
        assert_eq!(read.message, None);
    }
}
