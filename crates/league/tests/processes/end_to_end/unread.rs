//! What a log tells of those who call without a name, or without anything that can be read.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::{request, request_with};
use crate::end_to_end::traced::log;

/// What an agent says of the calls that it turned away: status, code, and how many it were.
fn turned_away(lines: &[Value]) -> Vec<(Value, Value, Value)> {
    let turned_away = lines.iter().filter(|line| {
        line["event_type"] == "MESSAGE_RECEIVED" && line["data"]["outcome"] == "refused"
    });
    let told = turned_away.map(|line| {
        assert_eq!(line["message_type"], "unknown", "{line}");
        assert_eq!(line["component"], "league_manager", "{line}");
        let data = &line["data"];
        assert_eq!(data["direction"], "received", "{line}");
        assert_eq!(data["peer"], "127.0.0.1", "{line}");
        let part = |name: &str| data[name].clone();
        (part("status"), part("code"), part("times"))
    });
    told.collect()
}

#[test]
fn unreadable_call_is_logged_without_its_content() {
    let ground = Ground::new();
    let system = json!({"limits": {"max_body_bytes": 1024}});
    ground.write("config/system.json", &system);
    let manager = ground.manager(&[]);
    let post = |headers: &[(&str, &str)], body: &[u8]| {
        request_with(&manager.endpoint, "POST", "/mcp", headers, body).status
    };
    let json = ("content-type", "application/json");
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let large = format!("\"{}\"", "heron ".repeat(200));
    let told = [
        (post(&[json], b"heron"), 400, -32_700),
        (post(&[json], br#"{"heron":1}"#), 400, -32_600),
        (post(&[json], large.as_bytes()), 413, -32_600),
        (post(&[json, ("host", "heron.example")], call), 403, -32_600),
        (post(&[("content-type", "text/heron")], call), 415, -32_600),
        (
            post(&[json], br#"{"jsonrpc":"2.0","id":1,"method":"heron"}"#),
            200,
            -32_601,
        ),
    ];
    let expected: Vec<_> = told
        .iter()
        .enumerate()
        .map(|(place, (answered, status, code))| {
            assert_eq!(answered, status);
            (json!(status), json!(code), json!(place + 1))
        })
        .collect();
    // What is fine, and who only looks, is not among them.
    assert_eq!(post(&[json], call), 200);
    request(&manager.endpoint, "GET", "/health", b"");
    manager.process.stop();
    let lines = log(&ground, "league_manager");
    assert_eq!(turned_away(&lines), expected);
    let said = Value::from(lines).to_string();
    assert!(!said.contains("heron"), "{said}");
}

#[test]
fn flood_of_unreadable_calls_is_logged_by_its_size() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    for _ in 0..100 {
        request(&manager.endpoint, "POST", "/mcp", b"heron");
    }
    manager.process.stop();
    let lines = turned_away(&log(&ground, "league_manager"));
    assert!(lines.len() < 40, "{lines:?}");
    assert!(lines.len() >= 16, "{lines:?}");
}

#[test]
fn unidentified_caller_is_logged_as_such() {
    let ground = Ground::new();
    let old = ["--players", "2", "--dialects", "v1", "--ports", "auto"];
    let ended = ground.start("run", &old).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines = log(&ground, "P01");
    let passed = lines.iter().filter(|line| {
        let event = line["event_type"].as_str().unwrap_or_default();
        event.starts_with("MESSAGE_")
    });
    let peers: BTreeSet<String> = passed
        .map(|line| line["data"]["peer"].to_string())
        .collect();
    let known = [r#""league_manager""#, r#""referee:unknown""#];
    assert_eq!(peers, BTreeSet::from(known.map(str::to_owned)));
}
