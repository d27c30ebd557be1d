//! What is sent: exact bytes and headers for each manner, and arguments that fit their tool.

use league_protocol::peer::{Inputs, LEGACY, MODERN, PeerProfile, Session, Verb, call, end, ping};
use serde_json::{Map, Value, json};

fn message() -> Value {
    json!({"protocol": "league.v2", "message_type": "CHOOSE_PARITY_CALL", "match_id": "R1M1",
        "auth_token": "tok-r1m1", "context": {"round_id": 1}})
}

fn modern() -> PeerProfile {
    PeerProfile::mcp(Session {
        version: MODERN.to_owned(),
        id: None,
        handshake: false,
    })
}

fn session(id: Option<&str>) -> Session {
    Session {
        version: LEGACY.to_owned(),
        id: id.map(str::to_owned),
        handshake: true,
    }
}

#[test]
fn simple_peer_is_called_by_the_name_of_the_tool() {
    let request = call(
        &PeerProfile::PLAIN,
        3,
        "choose_parity",
        &json!({"match_id": "R1M1"}),
        None,
    );
    let request = request.unwrap();
    assert_eq!(request.headers, []);
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        r#"{"jsonrpc":"2.0","method":"choose_parity","params":{"match_id":"R1M1"},"id":3}"#
    );
}

#[test]
fn modern_peer_is_told_the_same_in_the_headers_and_in_the_body() {
    let request = call(&modern(), 3, "choose_parity", &message(), None).unwrap();
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert_eq!(
        headers,
        [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "choose_parity"),
        ]
    );
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["method"], "tools/call");
    assert_eq!(body["id"], 3);
    assert_eq!(body["params"]["name"], "choose_parity");
    assert_eq!(body["params"]["arguments"], message());
    let meta = &body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], MODERN);
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({})
    );
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "league");
}

#[test]
fn peer_with_a_session_is_shown_it_every_time() {
    let both = vec![
        ("mcp-protocol-version", "2025-11-25".to_owned()),
        ("mcp-session-id", "b8e19a872ebd".to_owned()),
    ];
    let session = session(Some("b8e19a872ebd"));
    let profile = PeerProfile::mcp(session.clone());
    let request = call(&profile, 3, "choose_parity", &message(), None).unwrap();
    assert_eq!(request.headers, both);
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["params"].as_object().unwrap().len(), 2, "{body}");
    let beat = ping(&profile, 9).unwrap();
    assert_eq!(beat.headers, both);
    assert_eq!(
        String::from_utf8(beat.body).unwrap(),
        r#"{"jsonrpc":"2.0","method":"ping","params":{},"id":9}"#
    );
    let end = end(&session).unwrap();
    assert_eq!((end.verb, end.headers), (Verb::Delete, both));
}

#[test]
fn session_without_an_id_has_no_end() {
    assert_eq!(end(&session(None)), None);
}

#[test]
fn arguments_fit_what_the_tool_declares() {
    let whole = message();
    let all = json!({"message": whole});
    for (schema, arguments) in [
        // Nothing is declared, or more is taken in so many words.
        (json!(null), whole.clone()),
        (json!({"type": "object"}), whole.clone()),
        (
            json!({"properties": {"match_id": {}, "x": {}}, "additionalProperties": true}),
            whole.clone(),
        ),
        // Some fields.
        (
            json!({"properties": {"match_id": {"type": "string"}, "context": {"type": "object"}},
                "required": ["match_id"], "additionalProperties": false}),
            json!({"match_id": "R1M1", "context": {"round_id": 1}}),
        ),
        // A library that refuses more and does not say so.
        (
            json!({"properties": {"match_id": {"type": "string"}, "deadline": {"type": "string"}},
                "required": ["match_id"]}),
            json!({"match_id": "R1M1"}),
        ),
        // One field that is an object is still that field.
        (
            json!({"properties": {"context": {"type": "object"}}, "required": ["context"]}),
            json!({"context": {"round_id": 1}}),
        ),
        (json!({"additionalProperties": false}), json!({})),
        // The whole message under one name.
        (
            json!({"properties": {"message": {"type": "object"}}, "required": ["message"]}),
            all.clone(),
        ),
        (
            json!({"properties": {"message": {"$ref": "#/$defs/Any"}}, "required": ["message"]}),
            all.clone(),
        ),
        (
            json!({"properties": {"message": {}, "extra": {}}, "required": ["message"]}),
            all.clone(),
        ),
        (
            json!({"properties": {"message": {"anyOf": [{"type": "object"}, {"type": "null"}]}}}),
            all.clone(),
        ),
        (
            json!({"properties": {"message": {"type": "string"}}, "required": ["message"]}),
            json!({"message": whole.to_string()}),
        ),
        // A text of another name is not a message.
        (
            json!({"properties": {"name": {"type": "string"}}, "required": ["name"]}),
            json!({}),
        ),
    ] {
        let shaped = Inputs::of(&schema).shaped(object(&whole));
        assert_eq!(Value::Object(shaped), arguments, "{schema}");
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}
