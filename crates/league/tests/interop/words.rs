//! What kits tell people in trouble: a slow `choose`, the error of a referee, a technical loss.

use std::io::Write;

use serde_json::json;

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::http::connect;
use crate::end_to_end::process::free_port;
use crate::kits::{Kit, answering};
use crate::mistakes::EditedKit;
use crate::signing::{Member, SIGNING};

/// A language, the line that opens `choose`, and what makes it slow.
const SLOW: [(&str, &str, &str); 3] = [
    (
        "python",
        "def choose(opponent, history):\n",
        "    time.sleep(1.5)\n",
    ),
    (
        "python-fastmcp",
        "def choose(opponent, history):\n",
        "    time.sleep(1.5)\n",
    ),
    (
        "javascript",
        "function choose(opponent, history) {\n",
        "  return pause(1500).then(() => \"odd\");\n",
    ),
];

#[test]
fn slow_choice_is_told_in_a_sentence_and_answers_the_next_question() {
    for (lang, opening, slow) in SLOW {
        let ground = Ground::new();
        let mut kit = EditedKit::start(&ground, lang, opening, slow);
        let call = json!({
            "match_id": "R1M1", "message_type": "CHOOSE_PARITY_CALL",
            "timestamp": "2026-03-02T09:05:03Z", "deadline": "2026-03-02T09:05:04Z",
        });
        // The first caller does not wait for the answer.
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "choose_parity", "params": call});
        let body = body.to_string();
        let (mut stream, host) = connect(&kit.endpoint);
        let length = body.len();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        drop(stream);
        let choice = kit.call("choose_parity", &call)["parity_choice"].clone();
        assert!(choice == "even" || choice == "odd", "{lang}: {choice}");
        let told = kit.program.says("`choose` took");
        assert!(told.starts_with("R1M1: "), "{lang}: {told}");
        assert!(told.contains("and the referee waits 1 s"), "{lang}: {told}");
        kit.call("ping", &json!({}));
        let errors = kit.errors();
        assert!(!errors.contains("Traceback"), "{lang}: {errors}");
    }
}

#[test]
fn kit_says_why_it_lost_and_where_to_look() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "9"]);
    let site = manager.endpoint.trim_end_matches("/mcp");
    for lang in SIGNING {
        let mut member = Member::start(&ground, lang, &manager.endpoint);
        member.announce(1, "tok-match");
        let own = member.player_id.as_str().unwrap().to_owned();
        let error = json!({
            "match_id": "R1M1", "auth_token": "tok-match", "error_code": "E001",
            "context": {"detail": "no answer within 30 s"},
            "retry_info": {"retry_count": 3, "max_retries": 3},
        });
        member.kit.call("notify_game_error", &error);
        let told = member.kit.program.says("the referee says");
        let wanted = "R1M1: the referee says E001, attempt 3 of 3: no answer within 30 s";
        assert_eq!(told, wanted, "{lang}");
        let mut over = json!({"match_id": "R1M1", "auth_token": "tok-match"});
        over["game_result"] = json!({
            "status": "TECHNICAL_LOSS", "winner_player_id": "P99", "failed": {&own: "E001"},
            "reason": "it did not\u{1b}[31m answer in time (E001)", "score": {&own: 0, "P99": 3},
        });
        member.kit.call("notify_match_result", &over);
        let told = member.kit.program.says("technical loss");
        assert!(!told.contains('\u{1b}'), "{lang}: {told}");
        assert!(told.contains("answer in time (E001)"), "{lang}: {told}");
        let told = member.kit.program.says("faster");
        let wanted = format!("R1M1: make `choose` faster; see {site}/match/R1M1");
        assert_eq!(told, wanted, "{lang}");
        let row = json!({"rank": 2, "player_id": &own, "points": 1});
        let end = json!({
            "auth_token": member.manager_token, "league_id": LEAGUE,
            "champion": {"player_id": "P99", "display_name": "Ada"},
            "final_standings": [{"rank": 1, "player_id": "P99", "points": 6}, row],
        });
        member.kit.call("notify_league_completed", &end);
        let told = member.kit.program.says("we are number");
        let wanted = format!("we are number 2 of 2, with 1 point: {site}/player/{own}");
        assert_eq!(told, wanted, "{lang}");
        let told = member.kit.program.says("next league");
        let wanted = "when the manager opens its next league, this program joins it";
        assert_eq!(told, wanted, "{lang}");
    }
}

#[test]
fn invited_kit_knows_who_it_is() {
    let ground = Ground::new();
    let silent_manager = format!("http://localhost:{}/mcp", free_port());
    for lang in SIGNING {
        let mut kit = answering(Kit::start(&ground, lang, &silent_manager));
        for (match_id, opponent, winner, told) in [
            ("R1M1", Some("P02"), "P01", "R1M1: won against P02;"),
            ("R2M1", Some("P02"), "P02", "R2M1: lost against P02;"),
            ("R3M1", None, "P02", "R3M1: P02 won;"),
        ] {
            let invitation = json!({"match_id": match_id, "opponent_id": opponent});
            kit.call("handle_game_invitation", &invitation);
            let question = json!({"match_id": match_id, "player_id": "P01"});
            let chosen = kit.call("choose_parity", &question);
            assert_eq!(chosen["player_id"], "P01", "{lang}: {chosen}");
            let result = json!({
                "status": "WIN", "winner_player_id": winner, "reason": "so it is",
                "choices": {"P01": "even", "P02": "odd"}, "score": {"P01": 3, "P02": 0},
            });
            let over = json!({"match_id": match_id, "game_result": result});
            kit.call("notify_match_result", &over);
            let line = kit.program.says(match_id);
            assert!(line.starts_with(told), "{lang}: {line}");
        }
    }
}
