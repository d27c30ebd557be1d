//! What is found in a reply, and what is said of one in which nothing is.

use league_protocol::finding::{Notes, Reading};
use league_protocol::lenient::reply;

fn told(body: &str, reading: Reading) -> (Option<String>, String) {
    let mut notes = Notes::new(reading);
    let found = reply(body.as_bytes(), 7, &mut notes).map(|raw| raw.get().to_owned());
    let lines = notes.findings.iter();
    let lines = lines.map(|f| format!("{:?} {}: {}", f.severity, f.path, f.detail));
    (found, lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_kindness_is_noted_and_a_strict_reader_has_none() {
    let message = r#"{"message_type":"X"}"#;
    for (body, noted) in [
        (message.to_owned(), &[""][..]),
        (format!(r#"{{"result":{message}}}"#), &["jsonrpc", "id"]),
        (
            format!(r#"{{"jsonrpc":"1.0","id":7,"result":{message}}}"#),
            &["jsonrpc"],
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":8,"result":{message}}}"#),
            &["id"],
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":"7","result":{message}}}"#),
            &["id"],
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":null,"result":{message}}}"#),
            &["id"],
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","id":7,"error":null,"result":{message}}}"#),
            &["error"],
        ),
    ] {
        let (found, lines) = told(&body, Reading::Lenient);
        assert_eq!(found.as_deref(), Some(message), "{body}");
        let places: Vec<_> = lines
            .lines()
            .map(|line| line.split(':').next().unwrap())
            .collect();
        let noted: Vec<_> = noted.iter().map(|at| format!("Deviation {at}")).collect();
        assert_eq!(places, noted, "{body}");
        assert_eq!(told(&body, Reading::Strict).0, None, "{body}");
    }
}

#[test]
fn message_wrapped_as_mcp_does_is_found() {
    for result in [
        r#"{"message_type":"X"}"#,
        r#"{"structuredContent":{"message_type":"X"},"content":[]}"#,
        r#"{"content":[{"type":"text","text":"{\"message_type\":\"X\"}"}]}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#);
        let (found, lines) = told(&body, Reading::Strict);
        assert_eq!(found.as_deref(), Some(r#"{"message_type":"X"}"#));
        assert_eq!(lines, "");
    }
}

#[test]
fn refusal_names_cause_place_and_remedy() {
    let mut lines = Vec::new();
    for body in [
        "",
        "\u{feff}{}",
        "nonsense",
        "[]",
        "7",
        "{}",
        r#"{"a":1,"a":1}"#,
        r#"{"error":{"code":-32000,"message":"no \u001b[2J seat for tok-p01-abcdef"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":"x","message":""}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"x","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""},"result":{}}"#,
    ] {
        let (found, told) = told(body, Reading::Lenient);
        assert_eq!(found, None, "{body}");
        lines.push(told);
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    Error : the reply cannot be read: the body is empty; send one JSON-RPC 2.0 object
    Error : the reply cannot be read: the body starts with a byte order mark; send one JSON-RPC 2.0 object
    Error : the reply cannot be read: the body is not JSON at line `1`, column `2`; send one JSON-RPC 2.0 object
    Error : expected an object, found an array; send one JSON-RPC 2.0 object
    Error : expected an object, found a number; send one JSON-RPC 2.0 object
    Deviation jsonrpc: `jsonrpc` is not "2.0"; send `"jsonrpc": "2.0"`
    Error : there is neither `result` nor `error`; send one of the two
    Error a: member `a` appears more than once; send each name once
    Deviation jsonrpc: `jsonrpc` is not "2.0"; send `"jsonrpc": "2.0"`
    Deviation id: `id` is missing; repeat the `id` of the request
    Error error: the agent refused with the JSON-RPC error -32000: no \u{1b}[2J seat for tok-p01-…
    Error error: `error` is null, not an object; send an object with the number `code` and the text `message`
    Error error.code: `error.code` is not an integer; send an object with the number `code` and the text `message`
    Error method: `method` does not belong into a response; leave it out
    Error error: `result` and `error` exclude each other; send one of the two
    "#);
}
