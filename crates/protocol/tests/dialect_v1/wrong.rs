//! Wrong fields of `league.v1`: the code, the place, and whether a lenient reader forgives it.

use serde_json::Value;

use crate::samples::Knowledge;
use crate::tables::{changed, rows};
use crate::{Hints, Reading, examples_003::EXAMPLES, read};

/// Which message, which place, what stands there (`-` for nothing), and what is found.
const DEVIATIONS: &str = r#"
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

const ERRORS: &str = r#"
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
fn who_plays_is_not_guessed() {
    let json = changed(&EXAMPLES, "PLAY_REQUEST", "/round_id", "1");
    let read = read(&json, Reading::Lenient, &Hints::default());
    assert_eq!(read.table(), ["E003 player_id Error"]);
    assert_eq!(read.message, None);
}
