//! Rules 6 to 8: what an id may be, and how it comes back.

use league_protocol::rpc::{Era, Id, InFlight, MAX_ID, MAX_IN_FLIGHT};
use serde_json::value::RawValue;

use super::{ERAS, SIMPLE_ID, call, error, result, serve, unread};

const MCP_ID: &str = "`id` must be a string or a whole number.";

#[test]
fn rule_06_ids_are_strings_or_numbers_and_each_era_has_its_exceptions() {
    for id in ["{}", "[]", "[1]", "true", "false"] {
        assert_eq!(
            serve(call(id), Era::Simple),
            (400, error(-32600, SIMPLE_ID, "null")),
            "{id}"
        );
    }
    for id in [
        "null",
        "1.5",
        "15e-1",
        "1e-99999999999999999999",
        "0.5",
        "-2.25e1",
    ] {
        assert_eq!(serve(call(id), Era::Simple), (200, result(id)), "{id}");
        for era in [Era::LegacyWithBatch, Era::Legacy, Era::Modern] {
            assert_eq!(
                serve(call(id), era),
                (400, error(-32600, MCP_ID, unread(era))),
                "{id}"
            );
        }
    }
    for id in [
        "0.0e-9",
        "1.50e1",
        "10e-1",
        "1e99999999999999999999",
        "1.0",
        "-0.0",
    ] {
        assert_eq!(serve(call(id), Era::Modern), (200, result(id)), "{id}");
    }
    let longest = format!(r#""{}""#, "i".repeat(MAX_ID - 2));
    assert_eq!(serve(call(&longest), Era::Modern), (200, result(&longest)));
    let message = "`id` is longer than 256 bytes. Send a shorter one.";
    let too_long = format!(r#""{}""#, "i".repeat(MAX_ID - 1));
    assert_eq!(
        serve(call(&too_long), Era::Simple),
        (400, error(-32600, message, "null"))
    );
}

#[test]
fn rule_07_ids_are_echoed_byte_for_byte() {
    let ids = [
        "18446744073709551616",
        "1e2",
        "-0",
        "1",
        "\"1\"",
        r#""\u0031""#,
        "\"\"",
        "1E+2",
        "0",
        "-9223372036854775809",
        r#""\ud83d\ude00""#,
        "\"😀\"",
        r#""a\/b\n""#,
        r#""\"}""#,
    ];
    for id in ids {
        for era in ERAS {
            assert_eq!(serve(call(id), era), (200, result(id)));
            let spaced = format!("{{\"id\" :\t{id} \n,\"jsonrpc\":\"2.0\",\"method\":\"absent\"}}");
            let wanted = error(-32601, "There is no method `absent` here.", id);
            assert_eq!(serve(spaced, era).1, wanted);
        }
    }
    assert_eq!(serve(call("1.5"), Era::Simple), (200, result("1.5")));
}

#[test]
fn rule_08_an_id_may_repeat_except_while_it_waits_in_one_stream() {
    let body = format!("[{},{}]", call("1"), call("1"));
    for era in [Era::Simple, Era::LegacyWithBatch] {
        assert_eq!(
            serve(&body, era),
            (200, format!("[{},{}]", result("1"), result("1")))
        );
    }
    let token = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let (plain, escaped, number) = (token("\"1\""), token(r#""\u0031""#), token("1"));
    let id = |raw| Id::read(raw, Era::Modern).unwrap();
    let mut waiting = InFlight::default();
    waiting.begin(&id(&plain)).unwrap();
    waiting.begin(&id(&number)).unwrap();
    let refused = waiting.begin(&id(&escaped)).unwrap_err();
    assert_eq!(refused.code, -32600);
    assert_eq!(
        refused.message,
        "`id` is in use by a call that still waits. Send another id."
    );
    waiting.end(&id(&plain));
    waiting.begin(&id(&escaped)).unwrap();
    for number in 2..MAX_IN_FLIGHT as u64 {
        waiting.begin(&Id::number(number)).unwrap();
    }
    assert_eq!(
        waiting.begin(&Id::number(u64::MAX)).unwrap_err().code,
        -32600
    );
}
