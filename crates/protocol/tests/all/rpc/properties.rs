//! What holds for every body there could be.

use std::time::{Duration, Instant};

use league_protocol::rpc::members::members;
use league_protocol::rpc::{self, Era, Frame, Id, Incoming, MAX_DEPTH, RpcError};
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::{ERAS, serve};

/// Reads a body in every way, and checks what must hold of any answer.
fn probe(body: &[u8]) -> Result<(), TestCaseError> {
    for era in ERAS {
        let (status, answer) = serve(body, era);
        prop_assert_eq!(answer.is_empty(), status == 202);
        if !answer.is_empty() {
            // By the grammar alone: an echoed id may be a number that no machine type holds.
            prop_assert!(serde_json::from_str::<&RawValue>(&answer).is_ok());
        }
        let _ = rpc::read_reply(body, 1, era);
    }
    let parsed = serde_json::from_slice::<serde_json::Value>(body).is_ok();
    if rpc::open(body).is_err() && parsed {
        let refused_for_depth = body.iter().filter(|byte| b"[{".contains(byte)).count() > MAX_DEPTH;
        prop_assert!(refused_for_depth);
    }
    Ok(())
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,9})?([eE][-+]?[0-9]{1,3})?",
        any::<String>().prop_map(|text| quoted(&text)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|all| format!("[{}]", all.join(","))),
            prop::collection::btree_map(any::<String>(), inner, 0..4).prop_map(object),
        ]
    })
}

fn object(all: std::collections::BTreeMap<String, String>) -> String {
    let all: Vec<_> = all
        .iter()
        .map(|(name, value)| format!("{}:{value}", quoted(name)))
        .collect();
    format!("{{{}}}", all.join(","))
}

/// A call as its parts: id token, method, parameters.
fn call() -> impl Strategy<Value = (String, String, String)> {
    let id = prop_oneof![
        any::<u128>().prop_map(|number| number.to_string()),
        "[ -~é]{0,20}".prop_map(|text| quoted(&text)),
    ];
    let params = prop::collection::btree_map(any::<String>(), json(), 0..4).prop_map(object);
    (id, "[ -~é]{0,40}", params).prop_filter("`rpc.` is reserved", |(_, method, _)| {
        !method.starts_with("rpc.")
    })
}

fn written((id, method, params): &(String, String, String)) -> String {
    let method = quoted(method);
    format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params},"id":{id}}}"#)
}

/// Text that is nearly a message, so that chance reaches the depths of the reader.
fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\"jsonrpc\":\"2.0\"",
        "\"id\":",
        "\"method\":",
        "\"params\":",
        "\"result\":",
        "\"error\":",
        "\"code\":1",
        "\"message\":\"\"",
        "null",
        "1e2",
        "\\ud83d",
        "\\u0069d",
        "\"m\"",
        " ",
        "\u{feff}",
        "é",
    ]);
    prop::collection::vec(fragment, 0..24).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(body in prop::collection::vec(any::<u8>(), 0..400)) {
        probe(&body)?;
    }

    #[test]
    fn no_nearly_valid_text_causes_a_panic(body in fragments()) {
        probe(body.as_bytes())?;
    }

    #[test]
    fn no_mutated_call_causes_a_panic(
        call in call(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..6),
    ) {
        let mut body = written(&call).into_bytes();
        for (place, byte, change) in changes {
            let at = place.index(body.len());
            match change {
                0 => body[at] = byte,
                1 => body.insert(at, byte),
                _ => body.truncate(at.max(1)),
            }
        }
        probe(&body)?;
    }

    #[test]
    fn every_call_reads_as_it_was_written(call in call()) {
        let body = written(&call);
        for era in ERAS {
            let Incoming::Single(Frame::Call(read)) = rpc::read(body.as_bytes(), era) else {
                return Err(TestCaseError::fail(body));
            };
            prop_assert_eq!(read.id.token(), call.0.as_str());
            prop_assert_eq!(read.method.as_ref(), call.1.as_str());
            let params = read.params.named().unwrap().unwrap();
            prop_assert_eq!(params.get(), call.2.as_str());
            prop_assert!(members(params.get()).is_ok());
        }
    }

    #[test]
    fn every_call_of_ours_is_answered_to_us(
        id in 0..=rpc::MAX_OWN_ID,
        method in "[a-z_/]{1,40}",
        params in prop::collection::btree_map(any::<String>(), any::<i32>(), 0..5),
        message in any::<String>(),
    ) {
        let sent = rpc::request(id, &method, Some(&params)).unwrap();
        let Incoming::Single(Frame::Call(read)) = rpc::read(&sent, Era::Modern) else {
            return Err(TestCaseError::fail("not a call"));
        };
        prop_assert_eq!(&read.id, &Id::number(id));
        prop_assert_eq!(read.method.as_ref(), method.as_str());

        let result = rpc::respond(&read.id, &params);
        let reply = rpc::read_reply(&result, id, Era::Modern).unwrap().unwrap();
        prop_assert_eq!(reply.get(), serde_json::to_string(&params).unwrap());

        let failed = rpc::fail(Some(&read.id), &RpcError::invalid_params(message.clone()), Era::Modern);
        let reply = rpc::read_reply(&failed, id, Era::Modern).unwrap().unwrap_err();
        prop_assert_eq!((reply.code, reply.message.as_ref()), (-32602, message.as_str()));
        prop_assert!(rpc::read_reply(&result, id + 1, Era::Modern).is_err());
    }
}

#[test]
fn deep_nesting_is_refused_at_once() {
    let started = now();
    for bracket in ["[", "{\"a\":", "[{\"a\":"] {
        let body = bracket.repeat(if bracket.len() == 1 { 100_000 } else { 30_000 });
        for era in ERAS {
            assert_eq!(serve(&body, era).0, 400);
        }
        let unscanned = format!("{{\"x\":{body}");
        assert!(members(&unscanned).is_err());
    }
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[test]
fn crowds_of_members_are_refused_at_once() {
    let started = now();
    let twins = format!("{{{}\"\":0}}", "\"\":0,".repeat(50_000));
    assert_eq!(
        members(&twins).unwrap_err(),
        rpc::members::MembersError::TooMany
    );
    let elements = format!("[{}0]", "0,".repeat(130_000));
    assert_eq!(serve(&elements, Era::Simple).0, 400);
    assert!(started.elapsed() < Duration::from_secs(2));
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("every text has a JSON form")
}

#[expect(
    clippy::disallowed_methods,
    reason = "these tests are about how long reading takes"
)]
fn now() -> Instant {
    Instant::now()
}
