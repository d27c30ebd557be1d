//! Trial matches: what a league finds in a player decides what the check says of it.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use league_check::Target;
use league_check::listener::{IncomingCall, Listener, ScriptedAnswer};
use serde_json::{Value, json};

use crate::check::processes::post;
use crate::end_to_end::process::free_port;

/// The lines of a check of a scripted player, which registers by this method and message once the
/// check has begun.
async fn checked(
    script: impl Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync + 'static,
    method: &str,
    registers: impl FnOnce(&mut Value),
) -> Vec<Value> {
    let anywhere = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
    let player = Listener::open(anywhere, script).await.unwrap();
    let (port, manager) = (player.address.port(), free_port());
    let url = format!("http://localhost:{port}/mcp");
    let mut message = json!({
        "protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:Heron", "timestamp": "2026-11-15T12:00:00Z",
        "conversation_id": "heron-hello",
        "player_meta": {
            "display_name": "Heron", "version": "0.3.0", "protocol_version": "2.1.0",
            "game_types": ["even_odd"], "contact_endpoint": url,
        },
    });
    registers(&mut message);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": message});
    let check = tokio::task::spawn_blocking(move || {
        Command::new(env!("CARGO_BIN_EXE_league"))
            .args(["check", &url, "--port", &manager.to_string()])
            .args(["--wait", "2m", "--output", "json"])
            .output()
            .unwrap()
    });
    let home = Target::local(manager);
    while post(&home, &call).await.came.is_err() {
        assert!(!check.is_finished(), "the check ended early");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let stdout = String::from_utf8(check.await.unwrap().stdout).unwrap();
    let lines = stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn verdict<'l>(lines: &'l [Value], id: &str) -> &'l Value {
    let line = lines.iter().find(|line| line["id"] == id).unwrap();
    &line["verdict"]
}

/// Perfect answers, member by member.
fn neat(heard: &IncomingCall) -> ScriptedAnswer {
    let asked = heard.message();
    let says = |kind: &str, name: &str, value: Value| {
        ScriptedAnswer::Result(json!({
            "protocol": "league.v2", "message_type": kind, "sender": "player:P01",
            "timestamp": "2026-11-15T12:00:00Z", "conversation_id": asked["conversation_id"],
            "match_id": asked["match_id"], "player_id": "P01",
            "arrival_timestamp": "2026-11-15T12:00:00Z", name: value,
        }))
    };
    match heard.tool() {
        Some("handle_game_invitation") => says("GAME_JOIN_ACK", "accept", json!(true)),
        Some("choose_parity") => says("CHOOSE_PARITY_RESPONSE", "parity_choice", json!("even")),
        Some(tool) if tool.starts_with("notify_") || tool == "update_standings" => {
            ScriptedAnswer::Result(json!({"status": "ok"}))
        }
        _ => ScriptedAnswer::unknown_method(heard),
    }
}

/// Answers in words of its own, without frames, to calls by the type of the message alone.
fn sloppy(heard: &IncomingCall) -> ScriptedAnswer {
    let said = match heard.json["method"].as_str().unwrap_or_default() {
        "GAME_INVITATION" => json!({"type": "JOIN", "accepted": "yes", "player": 1}),
        "CHOOSE_PARITY_CALL" => json!({"choice": "EVEN", "round_id": "first"}),
        "GAME_OVER" | "ROUND_ANNOUNCEMENT" => json!("thanks"),
        _ => return ScriptedAnswer::unknown_method(heard),
    };
    ScriptedAnswer::Raw(200, said.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn sloppy_player_that_plays_is_graded_above_a_neat_one_that_loses() {
    let never_legal = |heard: &IncomingCall| match neat(heard) {
        ScriptedAnswer::Result(mut message) if heard.tool() == Some("choose_parity") => {
            message["parity_choice"] = "neither".into();
            ScriptedAnswer::Result(message)
        }
        said => said,
    };
    let (sloppy, neat) = tokio::join!(
        checked(sloppy, "league_register", |message| {
            let meta = message["player_meta"].as_object_mut();
            meta.unwrap().remove("game_types");
        }),
        checked(never_legal, "register_player", |_| {}),
    );
    let (plays, loses) = (sloppy.last().unwrap(), neat.last().unwrap());
    assert_eq!(plays["can_play"]["answer"], "with deviations", "{plays}");
    assert_eq!(plays["in_strict_league"]["answer"], "no", "{plays}");
    assert_eq!(plays["speech"], "type", "{plays}");
    assert_eq!(loses["can_play"]["answer"], "no", "{loses}");
    let because = loses["can_play"]["because"].as_str().unwrap();
    assert!(because.contains("neither"), "{because}");
    assert_eq!(loses["grade"], "F");
    // Letters grow as grades fall.
    assert!(
        plays["grade"].as_str() < loses["grade"].as_str(),
        "{plays} {loses}"
    );
    assert!(
        plays["score"].as_u64() > loses["score"].as_u64(),
        "{plays} {loses}"
    );
    assert!(
        plays["passed"].as_u64() < loses["passed"].as_u64(),
        "{plays} {loses}"
    );
}

/// A neat player behind MCP, whose tools have names of their own.
fn behind_mcp(heard: &IncomingCall) -> ScriptedAnswer {
    let tools = ["receive_game_invitation", "make_choice"];
    let mut plain = heard.clone();
    match heard.json["method"].as_str().unwrap_or_default() {
        "initialize" => ScriptedAnswer::Result(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "heron", "version": "1"},
        })),
        "notifications/initialized" => ScriptedAnswer::Raw(202, String::new()),
        "tools/list" => {
            let listed = tools.map(|name| {
                json!({"name": name, "description": name, "inputSchema": {"type": "object"}})
            });
            ScriptedAnswer::Result(json!({"tools": listed}))
        }
        "tools/call" => {
            let params = &heard.json["params"];
            plain.json["method"] = match params["name"].as_str() {
                Some("receive_game_invitation") => "handle_game_invitation".into(),
                Some("make_choice") => "choose_parity".into(),
                _ => Value::Null,
            };
            plain.json["params"] = params["arguments"].clone();
            match neat(&plain) {
                ScriptedAnswer::Result(message) => {
                    let text = json!({"type": "text", "text": message.to_string()});
                    ScriptedAnswer::Result(json!({"content": [text], "isError": false}))
                }
                said => said,
            }
        }
        _ => ScriptedAnswer::unknown_method(heard),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn player_is_called_in_the_form_that_a_league_finds() {
    let lines = checked(behind_mcp, "register_player", |_| {}).await;
    let summary = lines.last().unwrap();
    assert_eq!(summary["speech"], "mcp", "{summary}");
    assert_eq!(
        summary["can_play"]["answer"], "with deviations",
        "{summary}"
    );
    let told = summary["can_play"]["deviations"].to_string();
    assert!(told.contains("receive_game_invitation"), "{told}");
    for id in ["P-HTTP-01", "P-JOIN-01", "P-PICK-01", "P-PICK-02"] {
        assert_eq!(verdict(&lines, id), "pass", "{id}: {lines:#?}");
    }
}
