//! Rule 16, and the era that decides on it.

use league_protocol::rpc::{self, Era, MAX_BATCH};

use super::{call, error, result, serve, unread};

#[test]
fn rule_16_a_batch_is_answered_message_by_message() {
    let no_object = error(
        -32600,
        "A message must be a JSON-RPC 2.0 object, not a number.",
        "null",
    );
    let nested = error(
        -32600,
        "A message must be a JSON-RPC 2.0 object, not an array.",
        "null",
    );
    let silent = r#"{"jsonrpc":"2.0","method":"m"}"#;
    let mixed = format!(r#"[{},{silent},1,[],{}]"#, call("1"), call("\"b\""));
    let cases = [
        (
            "[1,2]".to_owned(),
            200,
            format!("[{no_object},{no_object}]"),
        ),
        (
            mixed,
            200,
            format!("[{},{no_object},{nested},{}]", result("1"), result("\"b\"")),
        ),
        (format!("[{silent},{silent}]"), 202, String::new()),
        (
            "[]".to_owned(),
            400,
            error(
                -32600,
                "The batch is empty. Send at least one message.",
                "null",
            ),
        ),
    ];
    for (body, status, wanted) in cases {
        assert_eq!(
            serve(&body, Era::Simple),
            (status, wanted.clone()),
            "{body}"
        );
        assert_eq!(
            serve(&body, Era::LegacyWithBatch),
            (status, wanted),
            "{body}"
        );
    }
    let full = vec![silent; MAX_BATCH];
    assert_eq!(
        serve(format!("[{}]", full.join(",")), Era::Simple),
        (202, String::new())
    );
    let message = "A batch may hold 64 messages, not 66.";
    let over = format!("[{},1,{silent}]", full.join(","));
    assert_eq!(
        serve(over, Era::Simple),
        (400, error(-32600, message, "null"))
    );
}

#[test]
fn rule_16_later_eras_take_no_batch_and_initialize_is_never_in_one() {
    let message = "Batching is not supported in this protocol version. Send one object per body.";
    for era in [Era::Legacy, Era::Modern] {
        for body in [
            "[]".to_owned(),
            format!("[{}]", call("1")),
            format!("[{}1]", "1,".repeat(99)),
        ] {
            assert_eq!(serve(body, era), (400, error(-32600, message, unread(era))));
        }
    }
    let start = r#"{"jsonrpc":"2.0","method":"initialize","id":1}"#;
    let body = format!("[{start},{}]", call("2"));
    let refused = error(
        -32600,
        "`initialize` must not be part of a batch. Send it alone.",
        "1",
    );
    let wanted = format!("[{refused},{}]", result("2"));
    assert_eq!(serve(body, Era::LegacyWithBatch), (200, wanted));
    assert_eq!(serve(start, Era::LegacyWithBatch), (200, result("1")));
}

#[test]
fn era_is_told_from_the_header_and_the_body() {
    let tool = r#"{"jsonrpc":"2.0","method":"choose_parity","id":1}"#;
    let list = r#"{"jsonrpc":"2.0","method":"tools/list","id":1}"#;
    let start = r#"{"jsonrpc":"2.0","method":"initialize","id":1}"#;
    let modern =
        r#"{"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}}"#;
    let cases = [
        (tool.to_owned(), None, Some(Era::Simple)),
        (format!("[{tool},1]"), None, Some(Era::Simple)),
        (format!("[{tool},{list}]"), None, Some(Era::LegacyWithBatch)),
        (start.to_owned(), None, Some(Era::LegacyWithBatch)),
        (
            list.to_owned(),
            Some("2025-03-26"),
            Some(Era::LegacyWithBatch),
        ),
        (list.to_owned(), Some("2025-06-18"), Some(Era::Legacy)),
        (list.to_owned(), Some("2025-11-25"), Some(Era::Legacy)),
        (list.to_owned(), Some("2026-07-28"), Some(Era::Modern)),
        (list.to_owned(), Some("1999-01-01"), None),
        (format!("[{tool},{modern}]"), None, Some(Era::Modern)),
        (modern.to_owned(), Some("2025-03-26"), Some(Era::Modern)),
        (
            modern.replace("_meta", "\\u005fmeta"),
            None,
            Some(Era::Modern),
        ),
        (tool.to_owned(), Some("2026-07-28"), Some(Era::Modern)),
        ("1".to_owned(), None, Some(Era::Simple)),
    ];
    for (body, version, era) in cases {
        assert_eq!(
            rpc::open(body.as_bytes()).unwrap().era(version),
            era,
            "{body} {version:?}"
        );
    }
}
