//! Wrong fields of `league.v1`: the code, the place, and whether a lenient reader forgives it.

use serde_json::{Value, json};

use crate::samples::Knowledge;
use crate::{Reading, examples_003::EXAMPLES, read};

/// The example of a type with one place changed, or taken away where the value is `None`.
fn changed(message_type: &str, place: &str, value: Option<Value>) -> String {
    let mut examples = EXAMPLES
        .iter()
        .map(|text| serde_json::from_str(text).unwrap());
    let mut example: Value = examples
        .find(|example: &Value| example["message_type"] == message_type)
        .unwrap();
    let (around, name) = place.rsplit_once('/').unwrap();
    let around = example
        .pointer_mut(around)
        .unwrap()
        .as_object_mut()
        .unwrap();
    match value {
        Some(value) => around.insert(name.into(), value),
        None => around.remove(name),
    };
    example.to_string()
}

#[test]
fn a_wrong_field_is_one_finding_with_its_code_and_place() {
    let knowledge = Knowledge::of("even_odd");
    let deviations = [
        (
            "GAME_INVITATION",
            "/league_id",
            Some(json!("league_2025")),
            "E002 league_id",
        ),
        (
            "GAME_INVITATION",
            "/league_id",
            Some(json!("../x")),
            "E002 league_id",
        ),
        ("GAME_INVITATION", "/league_id", None, "E003 league_id"),
        (
            "GAME_INVITATION",
            "/round_id",
            Some(json!("ROUND_1")),
            "E002 round_id",
        ),
        (
            "GAME_INVITATION",
            "/game_info/your_role",
            Some(json!("PLAYER_A")),
            "E002 game_info.your_role",
        ),
        (
            "GAME_INVITATION",
            "/game_info/opponent_id",
            Some(json!("P02")),
            "E002 game_info.opponent_id",
        ),
        (
            "PLAY_RESPONSE",
            "/play/action",
            Some(json!("guess")),
            "E002 play.action",
        ),
        ("PLAY_RESPONSE", "/play/action", None, "E003 play.action"),
        (
            "PLAY_VALIDATION",
            "/validation/player_id",
            Some(json!("player_1")),
            "E002 validation.player_id",
        ),
        (
            "PLAY_REQUEST",
            "/game_state/game_specific_state",
            None,
            "E003 game_state.game_specific_state",
        ),
        ("GAME_RESULT", "/result/loser", None, "E003 result.loser"),
        ("GAME_RESULT", "/result/winner", None, "E003 result.winner"),
        (
            "LEAGUE_COMPLETE",
            "/final_standings/champion/win_rate",
            Some(json!("high")),
            "E002 final_standings.champion.win_rate",
        ),
    ];
    for (message_type, place, value, finding) in deviations {
        let json = changed(message_type, place, value);
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
        ("GAME_INVITATION", "/match_id", None, "E003 match_id"),
        (
            "GAME_INVITATION_RESPONSE",
            "/status",
            Some(json!("MAYBE")),
            "E002 status",
        ),
        (
            "PLAY_RESPONSE",
            "/match_id",
            Some(json!("R1/M1")),
            "E002 match_id",
        ),
        (
            "PLAY_RESPONSE",
            "/play/value",
            Some(json!("Even")),
            "E004 play.value",
        ),
        (
            "PLAY_RESPONSE",
            "/play/value",
            Some(json!(2)),
            "E004 play.value",
        ),
        ("PLAY_RESPONSE", "/play/value", None, "E003 play.value"),
        ("PLAY_RESPONSE", "/play", Some(json!("even")), "E002 play"),
        (
            "PLAY_VALIDATION",
            "/validation/status",
            Some(json!("OK")),
            "E002 validation.status",
        ),
        (
            "GAME_RESULT",
            "/result/outcome",
            Some(json!("TIE")),
            "E002 result.outcome",
        ),
        (
            "GAME_RESULT",
            "/result/winner",
            Some(json!("player_009")),
            "E002 result.winner",
        ),
        (
            "LEAGUE_REGISTER_RESPONSE",
            "/player_id",
            None,
            "E003 player_id",
        ),
        ("ROUND_COMPLETE", "/round_id", None, "E003 round_id"),
    ];
    for (message_type, place, value, finding) in errors {
        let json = changed(message_type, place, value);
        let lenient = read(&json, Reading::Lenient, &knowledge.hints());
        assert_eq!(lenient.table(), [format!("{finding} Error")], "{json}");
        assert_eq!(lenient.message, None, "{json}");
        assert_eq!(
            lenient.written,
            serde_json::from_str::<Value>(&json).unwrap()
        );
    }
}

#[test]
fn who_plays_is_not_guessed() {
    let hints = crate::Hints::default();
    let json = changed("PLAY_REQUEST", "/round_id", Some(json!(1)));
    let read = read(&json, Reading::Lenient, &hints);
    assert_eq!(read.table(), ["E003  Error"]);
    assert_eq!(read.message, None);
}
