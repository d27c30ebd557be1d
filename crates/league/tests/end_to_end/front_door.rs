//! The door of every kind of agent: bad input and strangers, in all eras.

use serde_json::{Value, json};

use crate::ground::{Agent, Ground};
use crate::http::{Answer, call, message, request_with};

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");
const MODERN: (&str, &str) = ("mcp-protocol-version", "2026-07-28");
const LEGACY: (&str, &str) = ("mcp-protocol-version", "2025-11-25");

type Headers<'h> = &'h [(&'h str, &'h str)];

/// A body, how it is sent, and what must come back: status, code of the error, id.
type Row<'r> = (&'r str, Headers<'r>, &'r str, u16, i64, &'r str);

/// What cannot be taken, by section 5 of JSON-RPC's rules and by the rules of each era.
const BAD: &[Row<'_>] = &[
    (
        "not JSON",
        &[JSON],
        r#"{"jsonrpc":"2.0", bad"#,
        400,
        -32700,
        "null",
    ),
    (
        "not JSON, legacy",
        &[JSON, LEGACY],
        r#"{"jsonrpc":"2.0", bad"#,
        400,
        -32700,
        "null",
    ),
    (
        "not JSON, modern",
        &[JSON, MODERN],
        r#"{"jsonrpc":"2.0", bad"#,
        400,
        -32700,
        "absent",
    ),
    ("empty", &[JSON], "", 400, -32700, "null"),
    ("a number", &[JSON], "1", 400, -32600, "null"),
    (
        "no jsonrpc",
        &[JSON],
        r#"{"id":7,"method":"ping"}"#,
        400,
        -32600,
        "7",
    ),
    (
        "no jsonrpc, MCP",
        &[JSON, LEGACY],
        r#"{"id":7,"method":"tools/list"}"#,
        400,
        -32600,
        "7",
    ),
    (
        "id null, MCP",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
        400,
        -32600,
        "null",
    ),
    (
        "id 1.5, MCP",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#,
        400,
        -32600,
        "null",
    ),
    (
        "id an object",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        400,
        -32600,
        "null",
    ),
    (
        "params null",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#,
        400,
        -32600,
        "1",
    ),
    (
        "params a list",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"get_standings","params":[]}"#,
        200,
        -32602,
        "1",
    ),
    (
        "params a list, MCP",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}"#,
        400,
        -32602,
        "1",
    ),
    (
        "a member twice",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"start_league"}"#,
        400,
        -32600,
        "1",
    ),
    (
        "a member of params twice, MCP",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
        400,
        -32602,
        "1",
    ),
    (
        "no such tool",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"no_such_tool"}"#,
        200,
        -32601,
        "1",
    ),
    (
        "no such tool with a message",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"no_such_tool","params":{"message_type":"LEAGUE_QUERY"}}"#,
        200,
        -32601,
        "1",
    ),
    (
        "no such tool, MCP",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool"}}"#,
        200,
        -32602,
        "1",
    ),
    (
        "a message type is no tool of MCP",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"LEAGUE_QUERY"}}"#,
        200,
        -32602,
        "1",
    ),
    (
        "no such method, MCP",
        &[JSON, LEGACY],
        r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#,
        200,
        -32601,
        "1",
    ),
    (
        "reserved",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"rpc.list"}"#,
        200,
        -32601,
        "1",
    ),
    (
        "an answer",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        400,
        -32600,
        "null",
    ),
    (
        "an answer, legacy",
        &[JSON, LEGACY],
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        400,
        -32600,
        "null",
    ),
    (
        "an answer, modern",
        &[JSON, MODERN],
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        400,
        -32600,
        "absent",
    ),
    ("an empty batch", &[JSON], "[]", 400, -32600, "null"),
    (
        "an empty batch, modern",
        &[JSON, MODERN],
        "[]",
        400,
        -32600,
        "absent",
    ),
    (
        "a batch, 2025-11-25",
        &[JSON, LEGACY],
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]"#,
        400,
        -32600,
        "null",
    ),
    (
        "no such version",
        &[JSON, ("mcp-protocol-version", "1999-01-01")],
        r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#,
        400,
        -32022,
        "9",
    ),
    (
        "modern header, no metadata",
        &[JSON, MODERN, BOTH, ("mcp-method", "tools/list")],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#,
        400,
        -32602,
        "1",
    ),
    (
        "no content type",
        &[],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        415,
        -32600,
        "null",
    ),
    (
        "text",
        &[("content-type", "text/plain")],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        415,
        -32600,
        "null",
    ),
    (
        "a stranger's page",
        &[JSON, ("origin", "https://evil.example")],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        403,
        -32600,
        "absent",
    ),
    (
        "a stranger's name",
        &[JSON, ("host", "evil.example")],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        403,
        -32600,
        "absent",
    ),
];

/// What is taken, however unusual: status, and a pointer into the answer with what stands there.
const GOOD: &[(&str, Headers<'_>, &str, u16, &str, &str)] = &[
    (
        "accept JSON alone",
        &[JSON, ("accept", "application/json")],
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        200,
        "/id",
        "1",
    ),
    (
        "accept anything",
        &[JSON, ("accept", "*/*")],
        r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#,
        200,
        "/id",
        "\"a\"",
    ),
    (
        "ping by name",
        &[JSON, BOTH],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        200,
        "/result/status",
        "\"ok\"",
    ),
    (
        "ping of MCP",
        &[JSON, LEGACY],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        200,
        "/result",
        "{}",
    ),
    (
        "id null by name",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        200,
        "/id",
        "null",
    ),
    (
        "id 1.5 by name",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        200,
        "/id",
        "1.5",
    ),
    (
        "JSON with a charset",
        &[("content-type", "application/json; charset=utf-8")],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        200,
        "/id",
        "1",
    ),
    (
        "our own page",
        &[JSON, ("origin", "http://localhost:5173")],
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        200,
        "/id",
        "1",
    ),
    (
        "a batch by name",
        &[JSON],
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"ping"},1]"#,
        200,
        "/1/error/code",
        "-32600",
    ),
    (
        "a batch of MCP without version",
        &[JSON],
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
        200,
        "/1/id",
        "2",
    ),
    (
        "a handshake",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        200,
        "/result/protocolVersion",
        "\"2025-06-18\"",
    ),
    (
        "a handshake of a version before ours",
        &[JSON],
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        200,
        "/result/protocolVersion",
        "\"2025-11-25\"",
    ),
];

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
fn what_cannot_be_taken_is_answered_in_json_rpc_by_every_agent() {
    let ground = Ground::new();
    for agent in agents(&ground) {
        for (name, headers, body, status, code, id) in BAD {
            let answer = post(&agent, headers, body);
            let told = format!("{} {name}: {answer:?}", agent.endpoint);
            assert_eq!(answer.status, *status, "{told}");
            // The table of a manager has a tool that the others have not.
            let found = answer.json();
            let expected = match (*name, found["error"]["code"].as_i64()) {
                ("params a list", Some(-32601)) => -32601,
                _ => *code,
            };
            assert_eq!(found["error"]["code"], expected, "{told}");
            assert!(found["error"]["message"].is_string(), "{told}");
            match *id {
                "absent" => assert!(found.get("id").is_none(), "{told}"),
                id => assert_eq!(found["id"].to_string(), id, "{told}"),
            }
        }
    }
}

#[test]
fn what_is_unusual_but_right_is_taken_by_every_agent() {
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
    let evil = [("host", "evil.example")];
    for path in ["/mcp", "/health", "/elsewhere"] {
        let answer = request_with(&manager.endpoint, "GET", path, &evil, b"");
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
    }
}

#[test]
fn a_modern_call_of_a_tool_is_answered_whole() {
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
fn a_modern_call_whose_headers_say_something_else_is_refused() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let other = [("mcp-name", "start_league")];
    let answer = modern(&manager, "get_standings", &json!({}), &other);
    assert_eq!(answer["error"]["code"], -32020, "{answer}");
}

#[test]
fn an_envelope_may_be_left_out_over_mcp_and_the_token_be_a_bearer() {
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
