//! What kits remember: who they are, what they show to nobody, and what they forget.

use serde_json::json;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::process::free_port;
use crate::kits::{Kit, LANGUAGES, memory};

#[test]
fn shortest_kit_hides_its_token_from_unproven_callers() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "9"]);
    let port = free_port();
    let mut kit = Kit::start_at(&ground, "python", &manager.endpoint, port);
    kit.program.says("in the league");
    let kept = memory(&ground, port);
    let token = kept[0]["auth_token"].as_str().unwrap();
    for (tool, message, code) in [
        ("mcp_message", json!({}), "E002"),
        ("handle_game_invitation", json!({}), "E003"),
        (
            "handle_game_invitation",
            json!({"match_id": "R1M1"}),
            "E011",
        ),
        (
            "choose_parity",
            json!({"match_id": "R1M1", "auth_token": "tok-x"}),
            "E012",
        ),
        (
            "choose_parity",
            json!({"match_id": "R1M1", "player_id": "P77"}),
            "E012",
        ),
        ("notify_round", json!({"matches": []}), "E011"),
        (
            "notify_match_result",
            json!({"match_id": "R1M1", "timestamp": "2026-01-01T00:00:00+02:00"}),
            "E021",
        ),
    ] {
        let refusal = kit.call(tool, &message);
        assert_eq!(refusal["error_code"], code, "{tool} {message}: {refusal}");
        assert!(!refusal.to_string().contains(token), "{refusal}");
    }
}

#[test]
fn shortest_kit_forgets_tokens_of_another_league() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "9"]);
    let port = free_port();
    let old = json!([{"player_id": "P05", "manager_token": "old"}, {"R1M1": "old"}]);
    let file = format!("kits/.player-python-{port}.json");
    ground.write(&file, &old);
    let mut kit = Kit::start_at(&ground, "python", &manager.endpoint, port);
    kit.program.says("in the league");
    let kept = memory(&ground, port);
    assert_ne!(kept[0]["manager_token"], "old", "{kept}");
    assert_eq!(kept[1], json!({}), "{kept}");

    drop(kit);
    std::fs::write(ground.path(&file), "[[1]]").unwrap();
    let mut kit = Kit::start_at(&ground, "python", &manager.endpoint, port);
    kit.program.says("is ignored");
}

#[test]
fn killed_kit_returns_as_the_same_player() {
    for lang in LANGUAGES {
        let ground = Ground::new();
        let mut manager = ground.manager(&["--players", "2", "--referees", "1"]);
        let _referee = ground.referee(1, &manager.endpoint, &[]);
        let port = free_port();
        let mut kit = Kit::start_at(&ground, lang, &manager.endpoint, port);
        let before = kit.program.says("in the league");
        let _own = ground.player(2, &manager.endpoint, &[]);
        manager.process.event("state", "completed");
        kit.program.kill();
        // The league has begun, so that only who shows its old token is let in.
        let mut again = Kit::start_at(&ground, lang, &manager.endpoint, port);
        let words = match lang {
            "rust" => "the league is over",
            _ => "in the league",
        };
        let after = again.program.says(words);
        assert!(lang == "rust" || after == before, "{before} {after}");
    }
}
