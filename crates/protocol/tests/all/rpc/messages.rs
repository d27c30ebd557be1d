//! Rules 1 to 5 and 9: what a single message looks like.

use league_protocol::rpc::{Era, MAX_METHOD};

use super::{ERAS, SIMPLE_ID, call, error, result, serve, unread};

const NO_VERSION: &str = r#"`jsonrpc` must be the string \"2.0\"."#;
const NO_METHOD: &str = "`method` must be a string that names the method.";

#[test]
fn rule_01_invalid_json_is_a_parse_error() {
    let cases: [(&[u8], &str); 8] = [
        (b"", "the body is empty. Send one JSON-RPC 2.0 object."),
        (
            b" \r\n\t",
            "the body is empty. Send one JSON-RPC 2.0 object.",
        ),
        (
            b"{\"a\":\xff}",
            "the body is not UTF-8. Send JSON encoded as UTF-8.",
        ),
        (
            b"\xef\xbb\xbf{}",
            "the body starts with a byte order mark. Send UTF-8 without one.",
        ),
        (
            b"{\"jsonrpc\":\"2.0\", bad",
            "the body is not JSON at line `1`, column `19`. Send one JSON-RPC 2.0 object.",
        ),
        (
            b"[{},\n x]",
            "the body is not JSON at line `2`, column `2`. Send one JSON-RPC 2.0 object.",
        ),
        (
            b"{} {}",
            "the body is not JSON at line `1`, column `4`. Send one JSON-RPC 2.0 object.",
        ),
        (
            b"\xc2\xa0{}",
            "the body is not JSON at line `1`, column `1`. Send one JSON-RPC 2.0 object.",
        ),
    ];
    for (body, message) in cases {
        for era in ERAS {
            let message = format!("Not readable: {message}");
            let wanted = (400, error(-32700, &message, unread(era)));
            assert_eq!(serve(body, era), wanted, "{body:?}");
        }
    }
}

#[test]
fn rule_02_json_of_another_kind_is_an_invalid_request() {
    let cases = [
        ("1", "a number"),
        (" \"x\" ", "a string"),
        ("null", "null"),
        ("true", "a boolean"),
    ];
    for (body, kind) in cases {
        for era in ERAS {
            let message = format!("A message must be a JSON-RPC 2.0 object, not {kind}.");
            assert_eq!(
                serve(body, era),
                (400, error(-32600, &message, unread(era)))
            );
        }
    }
}

#[test]
fn rule_03_the_version_is_the_string_two_point_zero() {
    for version in [
        "",
        r#""jsonrpc":"1.0","#,
        r#""jsonrpc":2.0,"#,
        r#""jsonrpc":null,"#,
    ] {
        for era in ERAS {
            for (member, id) in [
                (r#","id":7"#, "7"),
                (r#","id":"a""#, r#""a""#),
                ("", unread(era)),
            ] {
                let body = format!(r#"{{{version}"method":"m"{member}}}"#);
                assert_eq!(
                    serve(&body, era),
                    (400, error(-32600, NO_VERSION, id)),
                    "{body}"
                );
            }
        }
    }
    let bad_id = r#"{"method":"m","id":[]}"#;
    assert_eq!(
        serve(bad_id, Era::Simple),
        (400, error(-32600, SIMPLE_ID, "null"))
    );
    let escaped = r#"{"jsonrpc":"\u0032.0","method":"m","id":1}"#;
    assert_eq!(serve(escaped, Era::Simple), (200, result("1")));
}

#[test]
fn rule_04_the_method_is_a_string_that_is_not_reserved() {
    for method in [
        "",
        r#","method":1"#,
        r#","method":null"#,
        r#","method":["m"]"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":7{method}}}"#);
        for era in ERAS {
            assert_eq!(
                serve(&body, era),
                (400, error(-32600, NO_METHOD, "7")),
                "{body}"
            );
        }
    }
    let reserved = r#"{"jsonrpc":"2.0","method":"rpc.discover","id":7}"#;
    let wanted = error(-32601, "There is no method `rpc.discover` here.", "7");
    for (era, status) in ERAS.into_iter().zip([200, 200, 200, 404]) {
        assert_eq!(serve(reserved, era), (status, wanted.clone()));
    }
    let of_length = |length| call("7").replace(r#""m""#, &format!("{:?}", "m".repeat(length)));
    assert_eq!(
        serve(of_length(MAX_METHOD), Era::Simple),
        (200, result("7"))
    );
    let wanted = error(-32600, "`method` is longer than 128 bytes.", "7");
    assert_eq!(serve(of_length(MAX_METHOD + 1), Era::Simple), (400, wanted));
}

#[test]
fn rule_05_params_are_an_object_or_an_array_or_absent() {
    let kinds = [
        ("null", "null"),
        ("1", "a number"),
        (r#""x""#, "a string"),
        ("true", "a boolean"),
    ];
    for (params, kind) in kinds {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"m","params":{params},"id":7}}"#);
        let message =
            format!("`params` must be an object or an array, not {kind}. Or leave it out.");
        for era in ERAS {
            assert_eq!(serve(&body, era), (400, error(-32600, &message, "7")));
        }
    }
    let placed = r#"{"jsonrpc":"2.0","method":"m","params":[1],"id":7}"#;
    let message = "`params` is an array. Send an object that names each parameter.";
    let named = r#"{"jsonrpc":"2.0","method":"m","params":{"a":1},"id":7}"#;
    for era in ERAS {
        assert_eq!(serve(placed, era), (200, error(-32602, message, "7")));
        assert_eq!(serve(named, era), (200, result("7")));
    }
}

#[test]
fn rule_09_a_notification_is_never_answered_but_a_bad_shape_is() {
    for rest in [
        r#""method":"m""#,
        r#""method":"absent""#,
        r#""method":"m","params":[1]"#,
        r#""method":"rpc.x""#,
        r#""method":"initialize""#,
    ] {
        for era in ERAS {
            let body = format!(r#"{{"jsonrpc":"2.0",{rest}}}"#);
            assert_eq!(serve(body, era), (202, String::new()));
        }
    }
    for era in ERAS {
        let shapeless = r#"{"jsonrpc":"2.0","method":1}"#;
        assert_eq!(
            serve(shapeless, era),
            (400, error(-32600, NO_METHOD, unread(era)))
        );
    }
}
