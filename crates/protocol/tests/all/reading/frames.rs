//! Frames are judged as the readers of frames judge them, and the message in them is found.

use league_protocol::explain::{Explanation, Lens, MAX_PIECES, explain};
use league_protocol::finding::Reading;
use league_protocol::rpc::MAX_BODY;
use league_protocol::sender::Dialect;
use serde_json::{Value, json};

use super::{ack, table};

fn explained(json: &str) -> Explanation {
    let mut all = explain(json.as_bytes(), Reading::Lenient);
    assert_eq!(all.len(), 1, "{json}");
    all.remove(0)
}

/// A frame, and the one thing that is found.
const BROKEN: &str = r#"
{"jsonrpc":"2.0","id":1} Error E002
{"jsonrpc":"2.0","id":1,"error":5} Error E002 error
{"jsonrpc":"2.0","id":1,"error":null} Error E002 error
{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}} Error E002 error
{"jsonrpc":"2.0","id":1,"method":"ping","params":5} Error E002 params
{"jsonrpc":"2.0","id":1,"method":"ping","params":null} Error E002 params
{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]} Error E002 params
{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":2}}} Error E002 params.a
{"jsonrpc":"2.0","id":1,"method":"rpc.x"} Error E002 method
{"jsonrpc":"2.0","id":1,"method":7} Error E002 method
{"jsonrpc":"2.0","id":[],"method":"ping"} Error E002 id
{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"} Error E002
{"id":1,"method":"ping"} Error E002 jsonrpc
{"jsonrpc":"2.0","id":1,"method":"choose_parity"} Error E003 params.message_type
{"jsonrpc":"2.0","id":1,"method":"choose_parity","params":{}} Error E003 params.message_type
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"choose_parity"}} Error E003 params.arguments.message_type
"#;

#[test]
fn broken_frame_is_not_valid() {
    for row in BROKEN.trim().lines() {
        let (json, found) = row.split_once(' ').expect("two cells");
        let explanation = explained(json);
        assert_eq!(
            table(&explanation.findings).join(", ").trim(),
            found,
            "{json}"
        );
        assert!(!explanation.valid, "{json}");
    }
}

#[test]
fn only_faults_of_a_reply_are_forgiven() {
    let plain = ack().to_string();
    for (json, found) in [
        (
            format!(r#"{{"result":{plain}}}"#),
            ["jsonrpc", "id"].as_slice(),
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":null,"result":{plain}}}"#),
            &["error"],
        ),
        (format!(r#"{{"jsonrpc":"2.0","result":{plain}}}"#), &["id"]),
    ] {
        let explanation = explained(&json);
        let found: Vec<_> = found
            .iter()
            .map(|at| format!("Deviation E002 {at}"))
            .collect();
        assert_eq!(table(&explanation.findings), found, "{json}");
        assert_eq!(explanation.message_type.as_deref(), Some("GAME_JOIN_ACK"));
        let strict = explain(json.as_bytes(), Reading::Strict);
        assert!(!strict[0].valid, "{json}");
    }
}

#[test]
fn message_is_found_wherever_a_frame_may_hold_it() {
    let mut wrong = ack();
    wrong["accept"] = "yes".into();
    let request = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let response = |result: Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
    for (framed, place) in [
        (request("mcp_message", wrong.clone()), "params"),
        (
            request(
                "tools/call",
                json!({"name": "mcp_message", "arguments": wrong}),
            ),
            "params.arguments",
        ),
        (response(wrong.clone()), "result"),
        (
            response(json!({"content": [], "structuredContent": wrong})),
            "result.structuredContent",
        ),
        (
            response(json!({"content": [{"type": "text", "text": wrong.to_string()}]})),
            "result.content[0].text",
        ),
    ] {
        let explanation = explained(&framed.to_string());
        let found = format!("Error E002 {place}.accept");
        assert_eq!(table(&explanation.findings), [found], "{framed}");
        let again: Value = serde_json::from_str(explanation.again.text()).unwrap();
        assert_eq!(again, framed);
    }
}

#[test]
fn message_beside_the_members_of_a_frame_is_still_a_message() {
    let mut flat = ack();
    flat["jsonrpc"] = "2.0".into();
    flat["id"] = 1.into();
    let explanation = explained(&flat.to_string());
    assert_eq!(explanation.message_type.as_deref(), Some("GAME_JOIN_ACK"));
    let mut found = table(&explanation.findings);
    found.sort();
    assert_eq!(found, ["Deviation E002 id", "Deviation E002 jsonrpc"]);
}

#[test]
fn array_names_its_elements_and_ends_at_the_bound() {
    let mut wrong = ack();
    wrong["accept"] = "yes".into();
    let array = Value::from(vec![wrong; MAX_PIECES + 3]);
    let all = explain(array.to_string().as_bytes(), Reading::Lenient);
    assert_eq!(all.len(), MAX_PIECES + 1);
    assert_eq!(table(&all[7].findings), ["Error E002 [7].accept"]);
    let rest = table(&all[MAX_PIECES].findings);
    assert_eq!(rest, ["Error E002 [10000]"]);
}

#[test]
fn bound_holds_for_each_message_of_many_not_for_all_together() {
    let mut large = ack();
    large["more"] = "x".repeat(MAX_BODY / 2).into();
    let mut huge = ack();
    huge["more"] = "x".repeat(MAX_BODY).into();
    let pieces = [large.clone(), huge.clone(), large];
    let lines: Vec<String> = pieces.iter().map(Value::to_string).collect();
    for many in [Value::from(pieces.to_vec()).to_string(), lines.join("\n\n")] {
        let all = explain(many.as_bytes(), Reading::Lenient);
        let valid: Vec<bool> = all.iter().map(|one| one.valid).collect();
        assert_eq!(valid, [true, false, true]);
        assert_eq!(table(&all[1].findings), ["Error E002 [1]"]);
        assert_eq!(table(&all[2].findings), ["Deviation E002 [2].more"]);
    }
}

#[test]
fn each_line_is_a_piece_and_transcripts_are_found() {
    let mut wrong = ack();
    wrong["accept"] = "yes".into();
    let about = json!({"event": "match", "match_id": "R1M1", "lifecycle": {}});
    let said = json!({"event": "said", "from": "player:P01", "to": "referee:REF01",
        "message_type": "GAME_JOIN_ACK", "message": wrong});
    let all = explain(
        format!("{about}\n{said}\n{{\n").as_bytes(),
        Reading::Lenient,
    );
    let found: Vec<_> = all.iter().map(|one| table(&one.findings)).collect();
    let expected = [
        vec![],
        vec!["Error E002 [1].message.accept"],
        vec!["Error E002 [2]"],
    ];
    assert_eq!(found, expected);
    assert_eq!(all[1].message_type.as_deref(), Some("GAME_JOIN_ACK"));
    // What is written over several lines is one piece.
    let pretty = serde_json::to_string_pretty(&ack()).unwrap();
    assert!(explained(&pretty).valid);
}

#[test]
fn call_must_fit_its_tool() {
    let call = |method: &str, name: Option<&str>| {
        let params = match name {
            Some(name) => json!({"name": name, "arguments": ack()}),
            None => ack(),
        };
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    for (json, found) in [
        (call("mcp_message", None), None),
        (call("GAME_JOIN_ACK", None), None),
        (call("choose_parity", None), Some("Error E002 method")),
        (call("GAME_OVER", None), Some("Error E002 method")),
        (call("foo_bar", None), Some("Deviation E002 method")),
        (
            call("tools/call", Some("choose_parity")),
            Some("Error E002 params.name"),
        ),
        (
            call("tools/call", Some("foo_bar")),
            Some("Deviation E002 params.name"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"foo_bar"}"#.to_owned(),
            Some("Deviation E002 method"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
            None,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"get_standings"}"#.to_owned(),
            None,
        ),
    ] {
        let explanation = explained(&json);
        let expected: Vec<&str> = found.into_iter().collect();
        assert_eq!(table(&explanation.findings), expected, "{json}");
    }
}

#[test]
fn missing_field_is_reported_once_in_the_main_dialect() {
    for name in [
        "GAME_JOIN_ACK",
        "CHOOSE_PARITY_RESPONSE",
        "CHOOSE_PARITY_CALL",
    ] {
        let explanation = explained(&json!({"message_type": name}).to_string());
        assert_eq!(explanation.dialect, Some(Dialect::V2), "{name}");
        let mut places: Vec<_> = explanation.findings.iter().map(|one| &one.path).collect();
        let told = places.len();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), told, "{name}: {:#?}", explanation.findings);
    }
}

#[test]
fn message_can_be_held_to_one_dialect() {
    let mut page = ack();
    page.as_object_mut().unwrap().remove("player_id");
    page.as_object_mut().unwrap().remove("arrival_timestamp");
    let json = page.to_string();
    let held = |dialect| {
        let reading = Reading::Strict;
        explain(json.as_bytes(), Lens { reading, dialect }).remove(0)
    };
    let found_out = held(None);
    assert!(found_out.valid && found_out.dialect == Some(Dialect::V2Api));
    assert!(held(Some(Dialect::V2Api)).valid);
    let main = held(Some(Dialect::V2));
    let missing = ["Error E003 player_id", "Error E003 arrival_timestamp"];
    assert_eq!(main.dialect, Some(Dialect::V2));
    assert_eq!(table(&main.findings), missing);
    assert!(!held(Some(Dialect::V1)).valid);
}

#[test]
fn message_with_a_level_is_not_a_log_line() {
    let mut message = ack();
    message["level"] = "INFO".into();
    assert_eq!(explained(&message.to_string()).kind, "message");
    let line = r#"{"timestamp":"","level":"INFO","message_type":"GAME_JOIN_ACK"}"#;
    assert_eq!(explained(line).kind, "log line");
}

#[test]
fn passed_values_keep_every_digit() {
    let told = |choice: &str| {
        format!(
            r#"{{"protocol":"league.v2","message_type":"GAME_MOVE_RESPONSE","sender":"player:P01",
            "timestamp":"2025-01-15T10:30:00Z","conversation_id":"c","match_id":"R1M1",
            "player_id":"P01","game_type":"nim","move_data":{{"move_type":"take","choice":{choice}}},
            "more":{choice}}}"#
        )
    };
    let explanation = explained(&told("1e999"));
    let out_of_range = "Error E002 move_data.choice";
    assert_eq!(table(&explanation.findings)[0], out_of_range);
    let explanation = explained(&told(r#"[{"a":{"b":1,"b":2}}]"#));
    assert_eq!(
        table(&explanation.findings),
        [
            "Error E002 move_data.choice[0].a",
            "Deviation E002 more",
            "Error E002 more[0].a",
        ]
    );
    assert!(
        explanation.findings[0]
            .detail
            .ends_with("send each name once")
    );
    let long = "123456789012345678901234567890.10";
    let explanation = explained(&told(long));
    assert_eq!(explanation.again.text().matches(long).count(), 2);
}

#[test]
fn foreign_text_is_printed_harmlessly() {
    let json =
        r#"{"jsonrpc":"2.0","id":1,"method":"\u001b[2J","params":{"message_type":"\u001b"}}"#;
    let explanation = explained(json);
    assert_eq!(explanation.method.as_deref(), Some("\\u{1b}[2J"));
    assert_eq!(explanation.message_type.as_deref(), Some("\\u{1b}"));
}
