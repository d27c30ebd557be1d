//! Rules 12 and 13: members are read once, and everything has a bound.

use league_protocol::rpc::members::{MAX_MEMBERS, MembersError, members, split};
use league_protocol::rpc::{Era, MAX_BODY, MAX_DEPTH};

use super::{call, error, result, serve};

#[test]
fn rule_12_unknown_members_are_ignored_and_repeated_ones_refused() {
    let unknown = r#"{"jsonrpc":"2.0","method":"m","id":1,"result":0,"":{"a":[]},"Method":"x"}"#;
    assert_eq!(serve(unknown, Era::Modern), (200, result("1")));
    let cases = [
        (r#""method":"a","method":"b","id":1"#, "method", "1"),
        (r#""method":"a","\u006dethod":"a","id":1"#, "method", "1"),
        (r#""method":"a","id":1,"id":1"#, "id", "null"),
        (r#""method":"a","id":1,"x":0,"x":0"#, "x", "1"),
        (r#""method":"a","x":0,"x":0"#, "x", "null"),
    ];
    for (rest, name, id) in cases {
        let body = format!(r#"{{"jsonrpc":"2.0",{rest}}}"#);
        let message = format!("Member `{name}` appears more than once. Send each member once.");
        assert_eq!(serve(body, Era::Simple), (400, error(-32600, &message, id)));
    }
}

#[test]
fn rule_12_the_split_keeps_order_spelling_and_a_bound() {
    let raw = " {\"b\": 1.0 ,\"\\u0061\":[ 1 ]} ";
    let found = members(raw).unwrap();
    let listed: Vec<_> = found
        .iter()
        .map(|(name, value)| (name, value.get()))
        .collect();
    assert_eq!(listed, [("b", "1.0"), ("a", "[ 1 ]")]);
    let repeated = r#"{"a":1,"a":2}"#;
    assert_eq!(
        members(repeated).unwrap_err(),
        MembersError::Repeated { name: "a".into() }
    );
    let kept = split(repeated).unwrap();
    assert_eq!(
        (kept.len(), kept.count("a"), kept.get("a").unwrap().get()),
        (2, 2, "1")
    );
    let crowd = |count: usize| {
        let all: Vec<_> = (0..count).map(|n| format!("\"{n}\":0")).collect();
        format!("{{{}}}", all.join(","))
    };
    assert_eq!(members(&crowd(MAX_MEMBERS)).unwrap().len(), MAX_MEMBERS);
    assert_eq!(
        members(&crowd(MAX_MEMBERS + 1)).unwrap_err(),
        MembersError::TooMany
    );
    for count in [2, 16, 17, MAX_MEMBERS - 1] {
        let twice = crowd(count).replacen('{', "{\"1\":0,", 1);
        let name = "1".to_owned();
        assert_eq!(
            members(&twice).unwrap_err(),
            MembersError::Repeated { name },
            "{count}"
        );
    }
    let message = "The message cannot be read: the object has more than 256 members.";
    let wanted = (400, error(-32600, message, "null"));
    assert_eq!(serve(crowd(MAX_MEMBERS + 1), Era::Simple), wanted);
}

#[test]
fn rule_13_size_and_depth_are_bounded() {
    let padded = |length: usize| format!("{}{}", call("1"), " ".repeat(length - call("1").len()));
    assert_eq!(serve(padded(MAX_BODY), Era::Simple), (200, result("1")));
    let message = "Not readable: the body is larger than 262144 bytes. Send a smaller body.";
    assert_eq!(
        serve(padded(MAX_BODY + 1), Era::Simple),
        (413, error(-32600, message, "null"))
    );

    let nested = |depth: usize| {
        let value = format!("{}{}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        format!(r#"{{"jsonrpc":"2.0","method":"m","x":{value},"id":1}}"#)
    };
    assert_eq!(serve(nested(MAX_DEPTH), Era::Simple), (200, result("1")));
    let message = "Not readable: the body nests deeper than 32 levels. Send a flatter body.";
    assert_eq!(
        serve(nested(MAX_DEPTH + 1), Era::Simple),
        (400, error(-32700, message, "null"))
    );
    let brackets_in_text = call(&format!(r#""\"\\\"{}""#, "[{".repeat(64)));
    assert_eq!(serve(brackets_in_text, Era::Simple).0, 200);
    let nothing_escaped = call(&format!("\"{}\"", "[{".repeat(64)));
    assert_eq!(serve(nothing_escaped, Era::Simple).0, 200);
    let many_but_flat = nested(2).replace("[]", &format!("[{}0]", "[],".repeat(64)));
    assert_eq!(serve(many_but_flat, Era::Simple), (200, result("1")));
}

#[test]
fn rule_13_characters_and_numbers_are_those_of_json() {
    let extra = |value: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"x":{value}}},"id":1}}"#)
    };
    let halves = [
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud800\ud800""#,
        r#""\uD83Dx""#,
        r#""\ud83d\n""#,
    ];
    let message = "Not readable: a string holds a `\\\\u` escape that is half of a surrogate pair. \
                   Send both halves, or the character itself.";
    for half in halves {
        assert_eq!(
            serve(extra(half), Era::Simple),
            (400, error(-32700, message, "null")),
            "{half}"
        );
    }
    for whole in [
        r#""\ud83d\ude00""#,
        r#""\\ud800""#,
        r#""\\\\ud800""#,
        "1e400",
    ] {
        assert_eq!(
            serve(extra(whole), Era::Simple),
            (200, result("1")),
            "{whole}"
        );
    }
    for value in [
        "NaN",
        "Infinity",
        "-Infinity",
        "01",
        "1.",
        "'x'",
        "\"\n\"",
        r#""\x""#,
        "[1,]",
    ] {
        let (status, body) = serve(extra(value), Era::Simple);
        assert_eq!(status, 400, "{value}");
        assert!(body.contains("-32700"), "{value}: {body}");
    }
}
