//! The door of every kind of agent: bad input and strangers, in all eras.

use serde_json::{Value, json};

use crate::end_to_end::bodies::{BAD, BOTH, GOOD, Headers, JSON, MODERN};
use crate::end_to_end::ground::{Agent, Ground, LEAGUE};
use crate::end_to_end::http::{Answer, call, health, message, request_with};
use crate::end_to_end::process::{Process, league};
use crate::end_to_end::scripted::registration;

/// One agent of each kind, at work.
fn agents(ground: &Ground) -> Vec<Agent> {
    let manager = ground.manager(&[]);
    let referee = ground.referee(1, &manager.endpoint, &[]);
    let player = ground.player(1, &manager.endpoint, &[]);
    vec![manager, referee, player]
}

fn post(agent: &Agent, headers: Headers<'_>, body: &str) -> Answer {
    request_with(&agent.endpoint, "POST", "/mcp", headers, body.as_bytes())
}

#[test]
fn every_agent_refuses_bad_requests_in_json_rpc() {
    let ground = Ground::new();
    for agent in agents(&ground) {
        for (name, headers, body, status, code, id) in BAD {
            let answer = post(&agent, headers, body);
            let told = format!("{} {name}: {answer:?}", agent.endpoint);
            assert_eq!(answer.status, *status, "{told}");
            let found = answer.json();
            assert_eq!(found["error"]["code"], *code, "{told}");
            assert!(found["error"]["message"].is_string(), "{told}");
            match *id {
                "absent" => assert!(found.get("id").is_none(), "{told}"),
                id => assert_eq!(found["id"].to_string(), id, "{told}"),
            }
        }
    }
}

#[test]
fn every_agent_accepts_unusual_valid_requests() {
    let ground = Ground::new();
    for agent in agents(&ground) {
        for (name, headers, body, status, place, value) in GOOD {
            let answer = post(&agent, headers, body);
            let told = format!("{} {name}: {answer:?}", agent.endpoint);
            assert_eq!(answer.status, *status, "{told}");
            let found = answer.json().pointer(place).map(Value::to_string);
            assert_eq!(found.as_deref(), Some(*value), "{told}");
        }
    }
}

#[test]
fn ids_come_back_as_the_bytes_that_were_sent() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    for id in [
        "18446744073709551616",
        "-0",
        "1e2",
        "\"\\u0031\"",
        "\"1\"",
        "-7",
    ] {
        for method in ["ping", "tools/list", "no/such"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#);
            let answer = post(&manager, &[JSON], &body);
            assert!(
                answer.body.contains(&format!("\"id\":{id}}}")),
                "{id} {method}: {answer:?}"
            );
        }
    }
}

#[test]
fn other_methods_than_post_are_named_as_such() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    for method in ["GET", "DELETE", "PUT"] {
        let answer = request_with(&manager.endpoint, method, "/mcp", &[BOTH], b"");
        assert_eq!(answer.status, 405, "{method}: {answer:?}");
        assert_eq!(
            answer.json()["error"]["code"],
            -32600,
            "{method}: {answer:?}"
        );
    }
    let at_health = request_with(&manager.endpoint, "POST", "/health", &[JSON], b"{}");
    let elsewhere = request_with(&manager.endpoint, "POST", "/elsewhere", &[JSON], b"{}");
    for (answer, status) in [(at_health, 405), (elsewhere, 404)] {
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.json()["error"].is_string(), "{answer:?}");
    }
    let evil = [("host", "evil.example")];
    for path in ["/mcp", "/health", "/elsewhere"] {
        let answer = request_with(&manager.endpoint, "GET", path, &evil, b"");
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
    }
}

#[test]
fn modern_call_of_a_tool_is_answered_whole() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let result = modern(&manager, "get_standings", &json!({}), &[])["result"].clone();
    assert_eq!(result["resultType"], "complete", "{result}");
    assert_eq!(result["isError"], false, "{result}");
    let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], "league-manager", "{result}");
    let told: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(told, result["structuredContent"], "{result}");
    assert_eq!(told["message_type"], "LEAGUE_QUERY_RESPONSE", "{result}");
}

#[test]
fn modern_call_with_contradicting_headers_is_refused() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let other = [("mcp-name", "start_league")];
    let answer = modern(&manager, "get_standings", &json!({}), &other);
    assert_eq!(answer["error"]["code"], -32020, "{answer}");
}

#[test]
fn mcp_call_needs_no_envelope_and_takes_a_bearer_token() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let meta = json!({
        "display_name": "Somebody", "version": "1.0.0", "game_types": ["even_odd"],
        "contact_endpoint": "http://localhost:9/mcp",
    });
    let says = json!({"player_meta": meta});
    let request = message("LEAGUE_REGISTER_REQUEST", "player:Somebody", None, &says);
    let registered = call(&manager.endpoint, "register_player", &request);
    let token = registered["auth_token"].as_str().unwrap().to_owned();
    let bearer = format!("Bearer {token}");
    let query = json!({"query_type": "GET_STANDINGS"});

    let answer = modern(
        &manager,
        "league_query",
        &query,
        &[("authorization", &bearer)],
    );
    assert_eq!(
        answer["result"]["structuredContent"]["success"], true,
        "{answer}"
    );
    let with_token = json!({"query_type": "GET_STANDINGS", "auth_token": token});
    let answer = modern(&manager, "league_query", &with_token, &[]);
    assert_eq!(
        answer["result"]["structuredContent"]["success"], true,
        "{answer}"
    );

    let answer = modern(&manager, "league_query", &query, &[]);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let error = &answer["result"]["structuredContent"];
    assert_eq!(error["message_type"], "LEAGUE_ERROR", "{answer}");
    assert_eq!(error["error_code"], "E011", "{answer}");

    let by_name = message("LEAGUE_QUERY", "player:P01", None, &query);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "league_query", "params": by_name});
    let answer = post(
        &manager,
        &[JSON, ("authorization", &bearer)],
        &body.to_string(),
    );
    assert_eq!(answer.json()["result"]["success"], true, "{answer:?}");
}

#[test]
fn tool_takes_its_own_messages_and_no_others() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let request = registration("Somebody", "http://localhost:9/mcp");
    for (tool, takes) in [
        ("get_standings", "`LEAGUE_QUERY`"),
        ("league_query", "`LEAGUE_QUERY`"),
        ("register_referee", "`REFEREE_REGISTER_REQUEST`"),
        ("create_schedule", "no message"),
        ("start_league", "no message"),
    ] {
        let wrapped = json!({"message": request});
        let by_mcp = modern(&manager, tool, &request, &[])["result"]["structuredContent"].take();
        let inside = modern(&manager, tool, &wrapped, &[])["result"]["structuredContent"].take();
        for answer in [by_mcp, inside, call(&manager.endpoint, tool, &request)] {
            assert_eq!(answer["error_code"], "E002", "{tool}: {answer}");
            assert_eq!(answer["context"]["path"], "message_type", "{answer}");
            let detail = answer["context"]["detail"].as_str().unwrap();
            assert!(detail.contains(takes), "{tool}: {detail}");
        }
    }
    assert_eq!(health(&manager.endpoint)["players"], 0);

    let admitted = call(&manager.endpoint, "mcp_message", &request);
    assert_eq!(admitted["status"], "ACCEPTED", "{admitted}");
    let other = registration("Another", "http://localhost:10/mcp");
    let admitted = call(&manager.endpoint, "LEAGUE_REGISTER_REQUEST", &other);
    assert_eq!(admitted["status"], "ACCEPTED", "{admitted}");
    let token = admitted["auth_token"].as_str();
    for kind in ["LEAGUE_QUERY", "QUERY_STANDINGS_REQUEST"] {
        let says = json!({"league_id": LEAGUE, "query_type": "GET_STANDINGS"});
        let query = message(kind, "player:P02", token, &says);
        for tool in ["get_standings", "league_query"] {
            let answer = call(&manager.endpoint, tool, &query);
            assert!(answer["error_code"].is_null(), "{kind} {tool}: {answer}");
        }
    }
}

#[test]
fn both_names_of_the_move_tool_work() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let mut player = ground.player(1, &manager.endpoint, &[]);
    player.process.event("state", "enrolled");
    let says = json!({"match_id": "R1M1", "player_id": "P01", "game_type": "even_odd", "context": {"opponent_id": "P02"}});
    let asked = message("CHOOSE_PARITY_CALL", "referee:REF01", Some("tok-x"), &says);
    let by_type = call(&player.endpoint, "CHOOSE_PARITY_CALL", &asked)["error_code"].take();
    assert_ne!(by_type, "E002");
    for tool in ["choose_parity", "choose_move"] {
        let answer = call(&player.endpoint, tool, &asked);
        assert_eq!(answer["error_code"], by_type, "{tool}: {answer}");
    }
    let answer = call(&player.endpoint, "notify_round", &asked);
    assert_eq!(answer["error_code"], "E002", "{answer}");
}

/// Calls a tool by the rules of 2026-07-28; these headers replace ours of the same name.
fn modern(agent: &Agent, tool: &str, arguments: &Value, more: Headers<'_>) -> Value {
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": tool,
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let usual = [
        JSON,
        BOTH,
        MODERN,
        ("mcp-method", "tools/call"),
        ("mcp-name", tool),
    ];
    let replaced = |name: &str| more.iter().any(|(other, _)| *other == name);
    let usual = usual.into_iter().filter(|(name, _)| !replaced(name));
    let headers: Vec<_> = usual.chain(more.iter().copied()).collect();
    post(agent, &headers, &body.to_string()).json()
}

#[test]
fn a_league_with_a_join_code_admits_only_its_holders() {
    let ground = Ground::new();
    let manager = ground.manager(&["--join-code", "blue heron"]);
    for code in [&[][..], &["--join-code", "blue herring"]] {
        let common = ["--manager", &manager.endpoint, "--port", "0"];
        let refused = ground.start("player", &[&common, code].concat()).end();
        assert_eq!(refused.code, Some(3), "{refused:?}");
        assert!(
            refused.errors.contains("Join code missing or wrong"),
            "{refused:?}"
        );
        let told = format!("{}{}", refused.out, refused.errors);
        assert!(!told.contains("blue"), "{refused:?}");
    }
    let ours = ["--join-code", "blue heron"];
    let mut player = ground.player(2, &manager.endpoint, &ours);
    player.process.event("state", "enrolled");
    let mut old = ground.player(
        3,
        &manager.endpoint,
        &[&ours[..], &["--dialect", "v1"]].concat(),
    );
    old.process.event("state", "enrolled");
}

#[test]
fn a_whole_league_plays_with_a_configured_join_code() {
    let ground = Ground::new();
    ground.write(
        "config/system.json",
        &json!({"security": {"join_code": "blue heron"}}),
    );
    let common = [
        "run",
        "--ports",
        "auto",
        "--players",
        "2",
        "--root",
        ground.root(),
    ];
    let ended = Process::start(common).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ground.verified();
}

#[test]
fn two_agents_at_one_address_are_told_apart() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let mut player = ground.player(1, &manager.endpoint, &[]);
    player.process.event("state", "enrolled");
    let second = registration("Second", &player.endpoint);
    let answer = call(&manager.endpoint, "register_player", &second);
    assert_eq!(answer["status"], "REJECTED", "{answer}");
    let reason = answer["reason"].as_str().unwrap();
    assert!(reason.contains("answers there already"), "{reason}");
}

#[test]
fn organiser_admits_referees_at_addresses_that_can_be_called_only() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let admit = |endpoint: &str| {
        let words = ["admin", "admit-referee", endpoint, "--root", ground.root()];
        league(words.into_iter().chain(["--manager", &manager.endpoint]))
    };
    for wrong in [
        "foo",
        "",
        "ftp://localhost/mcp",
        "http://localhost:99999/mcp",
        "http://localhost:17052/other",
        "http://10.0.0.1:99/mcp",
    ] {
        let ended = admit(wrong);
        assert_ne!(ended.code, Some(0), "{wrong}: {ended:?}");
    }
    assert_eq!(ground.facts("organiser_acted").len(), 0);
    let ended = admit("http://localhost:17052/mcp");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ground.facts("organiser_acted").len(), 1);
}

#[test]
fn empty_referee_key_is_not_a_key() {
    let ground = Ground::new();
    let mut manager = ground.start("manager", &["--port", "0", "--referee-key", ""]);
    let greeting = manager.event("event", "manager");
    let key = greeting["referee_key"].as_str().unwrap();
    assert!(key.starts_with("tok-referee-"), "{greeting}");
    manager.stop();
}

#[test]
fn manager_does_not_wait_for_one_player() {
    let ground = Ground::new();
    let ended = ground
        .start("manager", &["--port", "0", "--players", "1"])
        .end();
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.errors.contains("one player has no opponent"),
        "{ended:?}"
    );
}
