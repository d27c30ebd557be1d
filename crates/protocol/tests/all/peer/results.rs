//! What comes back of calls: messages in every wrapping, nods, failures and faults.

use league_protocol::peer::{
    MAX_QUOTE, McpFault, PeerProfile, Session, ToolResult, is_expired, read, tool_result,
};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::json;

/// What a result tells: the message, `None` for a nod.
fn message(result: &Value) -> Option<Value> {
    match tool_result(&to_raw_value(result).unwrap()).unwrap() {
        ToolResult::Message(raw) => Some(serde_json::from_str(raw.get()).unwrap()),
        ToolResult::Acknowledged => None,
        ToolResult::Failed(text) => panic!("{text}"),
    }
}

#[test]
fn message_is_found_in_every_wrapping() {
    let said = json!({"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"});
    let text = said.to_string();
    for result in [
        json!({"content": [], "structuredContent": said, "resultType": "complete"}),
        json!({"content": [], "structuredContent": {"result": said}}),
        json!({"content": [], "structuredContent": {"result": text}, "isError": false}),
        json!({"content": [{"type": "text", "text": text}]}),
        json!({"content": [{"type": "image", "data": ""}, {"type": "text", "text": text}]}),
        json!({"content": [{"type": "text", "text": text}], "structuredContent": {"result": 7}}),
    ] {
        assert_eq!(message(&result), Some(said.clone()), "{result}");
    }
}

#[test]
fn words_and_silence_are_a_nod() {
    for result in [
        json!({"content": [], "isError": false}),
        json!({"content": [{"type": "text", "text": "ok"}], "structuredContent": {"result": "ok"}}),
        json!({"content": [{"type": "text", "text": "[1]"}]}),
    ] {
        assert_eq!(message(&result), None, "{result}");
    }
}

#[test]
fn tool_that_failed_is_quoted_shortly() {
    let result =
        json!({"content": [{"type": "text", "text": "bad \u{202e}".repeat(500)}], "isError": true});
    let ToolResult::Failed(text) = tool_result(&to_raw_value(&result).unwrap()).unwrap() else {
        panic!("it failed");
    };
    // What could deceive is spelled out, eight characters for one.
    assert!(text.chars().count() <= 8 * MAX_QUOTE, "{text}");
    assert!(!text.contains('\u{202e}'));
}

#[test]
fn failure_that_is_a_message_is_read_as_one() {
    let said = json!({"message_type": "LEAGUE_ERROR", "error_code": "E012"});
    let result = json!({"content": [], "structuredContent": said, "isError": true});
    assert_eq!(message(&result), Some(said));
}

#[test]
fn peer_that_demands_input_gets_none() {
    let result = json!({"resultType": "input_required", "inputRequests": {}});
    let fault = tool_result(&to_raw_value(&result).unwrap()).unwrap_err();
    assert_eq!(fault, McpFault::Incomplete("input_required".to_owned()));
    let fault = tool_result(&to_raw_value(&json!({"status": "ok"})).unwrap()).unwrap_err();
    assert_eq!(fault, McpFault::Shapeless);
}

#[test]
fn answer_is_read_if_it_answers_this_call() {
    let body = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#;
    assert_eq!(
        read(&json(200, body), 3).unwrap().get(),
        r#"{"content":[]}"#
    );
    // The answer to another call is no answer to this one.
    assert_eq!(read(&json(200, body), 4).unwrap_err(), McpFault::Unreadable);
    assert_eq!(
        read(&json(503, "busy"), 3).unwrap_err(),
        McpFault::Status(503)
    );
    assert_eq!(read(&json(200, "[]"), 3).unwrap_err(), McpFault::Unreadable);
    let refused = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown tool"}}"#;
    let fault = read(&json(200, refused), 3).unwrap_err();
    assert!(matches!(fault, McpFault::Refused { code: -32602, .. }));
}

#[test]
fn forgotten_session_is_known() {
    let legacy = PeerProfile::mcp(Session {
        version: "2025-11-25".to_owned(),
        id: Some("x".to_owned()),
        handshake: true,
    });
    let unknown = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}"#;
    assert!(is_expired(&legacy, &json(404, unknown)));
    assert!(is_expired(
        &legacy,
        &json(400, "Bad PeerRequest: Missing session ID")
    ));
    assert!(!is_expired(&legacy, &json(400, "bad arguments")));
    assert!(!is_expired(&legacy, &json(200, "session")));
    assert!(!is_expired(&PeerProfile::PLAIN, &json(404, unknown)));
}
