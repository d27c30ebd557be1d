//! Rules 10, 11, 14 and 15: answers, codes, posted responses and the content type.

use league_protocol::rpc::{self, Era, Frame, Id, Incoming, RpcError};
use serde_json::value::RawValue;

use super::{error, serve};

#[test]
fn rule_10_an_answer_holds_its_result_or_its_error() {
    let id = Id::number(1);
    assert_eq!(
        rpc::respond(&id, &[1, 2]),
        br#"{"jsonrpc":"2.0","result":[1,2],"id":1}"#
    );
    assert_eq!(
        rpc::respond(&id, &()),
        br#"{"jsonrpc":"2.0","result":null,"id":1}"#
    );
    let data = RawValue::from_string(r#"{"x":1e2}"#.to_owned()).unwrap();
    let failure = RpcError::new(-1, "say \"when\"\n").with_data(data);
    assert_eq!(
        rpc::fail(Some(&id), &failure, Era::Modern),
        br#"{"jsonrpc":"2.0","error":{"code":-1,"message":"say \"when\"\n","data":{"x":1e2}},"id":1}"#,
    );
    let unwritable = std::collections::BTreeMap::from([((1, 2), 3)]);
    let message = "The request was understood but could not be served. Try again later.";
    assert_eq!(
        rpc::respond(&id, &unwritable),
        error(-32603, message, "1").as_bytes()
    );
}

#[test]
fn rule_11_the_five_codes_are_the_standard_ones() {
    let codes = [
        (RpcError::parse_error("x"), -32700),
        (RpcError::invalid_request("x"), -32600),
        (RpcError::method_not_found("x"), -32601),
        (RpcError::invalid_params("x"), -32602),
        (RpcError::internal_error(), -32603),
    ];
    for (made, code) in codes {
        assert_eq!(made.code, code);
    }
    let long = RpcError::method_not_found(&"é".repeat(100)).message;
    assert_eq!(
        long,
        format!("There is no method `{}…` here.", "é".repeat(60))
    );
}

#[test]
fn rule_14_a_posted_response_is_recognised_and_modern_refuses_it() {
    let posted = r#"{"jsonrpc":"2.0","result":{},"id":1}"#;
    for era in [Era::Simple, Era::LegacyWithBatch, Era::Legacy] {
        let Incoming::Single(Frame::Response(response)) = rpc::read(posted.as_bytes(), era) else {
            panic!("not a response")
        };
        assert_eq!(
            (response.id, response.outcome.unwrap().get()),
            (Some(Id::number(1)), "{}")
        );
    }
    let message = "This is a response, and nothing was asked. Send a request with a `method`.";
    assert_eq!(
        serve(posted, Era::Modern),
        (400, error(-32600, message, ""))
    );
    assert_eq!(RpcError::unasked_response().status(Era::Legacy).code(), 400);
    let both = r#"{"jsonrpc":"2.0","result":{},"error":null,"id":1}"#;
    let message = "The posted response is not one: `result` and `error` exclude each other.";
    assert_eq!(
        serve(both, Era::Legacy),
        (400, error(-32600, message, "null"))
    );
}

#[test]
fn rule_15_the_content_type_must_announce_json() {
    for header in [
        "application/json",
        "Application/JSON ; charset=utf-8",
        "application/a.b+json",
        "APPLICATION/a.b+Json",
    ] {
        assert!(rpc::check_content_type(Some(header)).is_ok(), "{header}");
    }
    let message = "The request must carry the header `Content-Type: application/json`.";
    let wrong = [
        "",
        "text/plain",
        "application/jsonx",
        "text/json",
        "application/+json",
        "application/ json",
        "application/a,b+json",
    ];
    for header in wrong.map(Some).into_iter().chain([None]) {
        let refusal = rpc::check_content_type(header).unwrap_err();
        assert_eq!(refusal.status.code(), 415, "{header:?}");
        assert_eq!(
            refusal.answer(Era::Simple),
            error(-32600, message, "null").as_bytes()
        );
    }
}
