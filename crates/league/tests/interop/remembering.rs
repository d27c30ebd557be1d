//! What kits remember: who they are, what they show to nobody, and what they forget.

use std::io::{BufReader, Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::http::read_head;
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
    let old = json!({"player_id": "P05", "manager_token": "old"});
    let old = json!([old, {"R1M1": "old"}, {}, manager.endpoint]);
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

/// The next request that a kit sends to a manager of the test.
fn registration(manager: &TcpListener) -> Value {
    let (stream, _) = manager.accept().unwrap();
    let mut stream = BufReader::new(stream);
    let (_, length) = read_head(&mut stream).unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    serde_json::from_slice::<Value>(&body).unwrap()["params"].take()
}

#[test]
fn no_manager_sees_the_tokens_of_another() {
    for lang in ["python", "python-fastmcp", "javascript"] {
        let ground = Ground::new();
        let manager = ground.manager(&["--players", "9"]);
        let port = free_port();
        let mut kit = Kit::start_at(&ground, lang, &manager.endpoint, port);
        kit.program.says("in the league");
        kit.program.kill();
        let other = TcpListener::bind("localhost:0").unwrap();
        let url = format!(
            "http://localhost:{}/mcp",
            other.local_addr().unwrap().port()
        );
        let _kit = Kit::start_at(&ground, lang, &url, port);
        let params = registration(&other);
        assert_eq!(params["auth_token"], Value::Null, "{lang}: {params}");
    }
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
        assert_eq!(again.program.says("in the league"), before);
    }
}

/// A league begins with its last registration, so that news may overtake the answer to it.
#[test]
fn kit_keeps_an_announcement_that_comes_before_its_admission() {
    // Ours answers E009 until it is admitted, and the manager tries again.
    for lang in ["python", "python-fastmcp", "javascript"] {
        let ground = Ground::new();
        let listener = TcpListener::bind("localhost:0").unwrap();
        let manager = format!(
            "http://localhost:{}/mcp",
            listener.local_addr().unwrap().port()
        );
        let mut kit = Kit::start_at(&ground, lang, &manager, free_port());
        let (stream, _) = listener.accept().unwrap();
        let mut stream = BufReader::new(stream);
        let (_, length) = read_head(&mut stream).unwrap();
        stream.read_exact(&mut vec![0; length]).unwrap();
        let announce = |manager: &str, id: &str, token: &str| {
            let row = json!({"match_id": id, "match_token": token, "attempt": 1});
            let news = json!({"auth_token": manager, "matches": [row]});
            let said = kit.call("notify_round", &news);
            assert_eq!(said["status"], "ok", "{lang}: {said}");
        };
        announce("tok-forged", "R1M2", "tok-forged-match");
        announce("tok-manager", "R1M1", "tok-match");
        let given = json!({
            "status": "ACCEPTED", "player_id": "P01", "league_id": LEAGUE,
            "auth_token": "tok-own", "manager_token": "tok-manager", "return_token": "tok-return",
        });
        let admission = json!({"jsonrpc": "2.0", "id": 1, "result": given}).to_string();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
        let answer = format!(
            "{head}\r\nContent-Length: {}\r\n\r\n{admission}",
            admission.len()
        );
        stream.get_mut().write_all(answer.as_bytes()).unwrap();
        kit.program.says("in the league");
        let invite = |id: &str, token: &str| {
            let call = json!({"match_id": id, "auth_token": token, "opponent_id": "P02"});
            kit.call("handle_game_invitation", &call)
        };
        let joined = invite("R1M1", "tok-match");
        assert_eq!(joined["message_type"], "GAME_JOIN_ACK", "{lang}: {joined}");
        let refused = invite("R1M2", "tok-forged-match");
        assert_eq!(refused["error_code"], "E012", "{lang}: {refused}");
    }
}
