//! Replies of peers, and the calls that they answer.

use league_protocol::rpc::{self, Broken, Era, MAX_OWN_ID, ReplyFault, Unwritable};

/// Reads a reply to call 7 and shows what came of it.
fn read(body: &str, era: Era) -> String {
    match rpc::read_reply(body.as_bytes(), 7, era) {
        Ok(Ok(result)) => format!("result {result}"),
        Ok(Err(error)) => format!("error {} {} {:?}", error.code, error.message, error.data),
        Err(fault) => format!("{}: {fault}", fault.field()),
    }
}

#[test]
fn reply_is_a_result_or_an_error() {
    let cases = [
        (r#"{"jsonrpc":"2.0","result":1e2,"id":7}"#, "result 1e2"),
        (
            r#"{"jsonrpc":"2.0","result":null,"id":7,"extra":{}}"#,
            "result null",
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"\u0061"},"id":7}"#,
            "error -1 a None",
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"},"id":null}"#,
            "error -32700 ? None",
        ),
    ];
    for (body, wanted) in cases {
        assert_eq!(read(body, Era::Simple), wanted, "{body}");
    }
    let body = br#"{"jsonrpc":"2.0","error":{"code":1,"message":"","data":[ 1.0 ]},"id":7}"#;
    let error = rpc::read_reply(body, 7, Era::Modern).unwrap().unwrap_err();
    assert_eq!(error.data.unwrap().get(), "[ 1.0 ]");
}

/// Replies that are none, each with the field at fault and the reason.
const FAULTS: &[(&str, &str)] = &[
    ("[]", "$: expected an object, found an array"),
    ("7", "$: expected an object, found a number"),
    ("{}", "jsonrpc: `jsonrpc` is not \"2.0\""),
    (
        r#"{"message_type":"X"}"#,
        "jsonrpc: `jsonrpc` is not \"2.0\"",
    ),
    (
        r#"{"jsonrpc":"2.0","id":7}"#,
        "$: there is neither `result` nor `error`",
    ),
    (
        r#"{"jsonrpc":"2.0","result":1,"error":null,"id":7}"#,
        "error: `result` and `error` exclude each other",
    ),
    (
        r#"{"jsonrpc":"2.0","method":"m","result":1,"id":7}"#,
        "method: `method` does not belong into a response",
    ),
    (r#"{"jsonrpc":"2.0","result":1}"#, "id: `id` is missing"),
    (
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#,
        "id: `id` is missing",
    ),
    (
        r#"{"jsonrpc":"2.0","result":1,"id":8}"#,
        "id: `id` is `8`, not `7`",
    ),
    (
        r#"{"jsonrpc":"2.0","result":1,"id":"7"}"#,
        "id: `id` is `\"7\"`, not `7`",
    ),
    (
        r#"{"jsonrpc":"2.0","result":1,"id":7.0}"#,
        "id: `id` is `7.0`, not `7`",
    ),
    (
        r#"{"jsonrpc":"2.0","result":1,"id":null}"#,
        "id: `id` is not of a kind that a response may have",
    ),
    (
        r#"{"jsonrpc":"2.0","result":1,"id":[7]}"#,
        "id: `id` is not of a kind that a response may have",
    ),
    (
        r#"{"jsonrpc":"2.0","error":null,"id":7}"#,
        "error: `error` is null, not an object",
    ),
    (
        r#"{"jsonrpc":"2.0","error":"E","id":7}"#,
        "error: `error` is a string, not an object",
    ),
    (
        r#"{"jsonrpc":"2.0","error":{"code":1.0,"message":""},"id":7}"#,
        "error.code: `error.code` is not an integer",
    ),
    (
        r#"{"jsonrpc":"2.0","error":{"code":"1","message":""},"id":7}"#,
        "error.code: `error.code` is not an integer",
    ),
    (
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":null},"id":7}"#,
        "error.message: `error.message` is not a string",
    ),
    (
        r#"{"jsonrpc":"2.0","error":{"code":1,"code":2,"message":""},"id":7}"#,
        "error.code: member `error.code` appears more than once",
    ),
    (
        r#"{"jsonrpc":"2.0","result":1,"id":7,"id":7}"#,
        "id: member `id` appears more than once",
    ),
    ("{", "$: the reply cannot be read"),
];

#[test]
fn reply_that_is_none_is_refused_by_its_field() {
    for (body, wanted) in FAULTS {
        assert_eq!(read(body, Era::Simple), *wanted, "{body}");
    }
    let oversized = vec![b' '; rpc::MAX_BODY + 1];
    let fault = rpc::read_reply(&oversized, 7, Era::Simple).unwrap_err();
    assert_eq!(fault, ReplyFault::Broken(Broken::TooLarge));
}

#[test]
fn mcp_replies_hold_objects_and_have_their_own_way_to_lose_an_id() {
    let number = r#"{"jsonrpc":"2.0","result":1,"id":7}"#;
    let null = r#"{"jsonrpc":"2.0","error":{"code":1,"message":""},"id":null}"#;
    let absent = r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#;
    let object = r#"{"jsonrpc":"2.0","result":{},"id":7}"#;
    let (lost, missing) = (
        "id: `id` is not of a kind that a response may have",
        "id: `id` is missing",
    );
    let cases = [
        (Era::Simple, "result 1", "error 1  None", missing),
        (
            Era::LegacyWithBatch,
            "result: `result` is a number, not an object",
            "error 1  None",
            missing,
        ),
        (
            Era::Legacy,
            "result: `result` is a number, not an object",
            "error 1  None",
            "error 1  None",
        ),
        (
            Era::Modern,
            "result: `result` is a number, not an object",
            lost,
            "error 1  None",
        ),
    ];
    for (era, of_number, of_null, of_absent) in cases {
        assert_eq!(read(number, era), of_number);
        assert_eq!(read(null, era), of_null);
        assert_eq!(read(absent, era), of_absent);
        assert_eq!(read(object, era), "result {}");
    }
}

#[test]
fn calls_are_written_as_the_protocol_prints_them() {
    let params = std::collections::BTreeMap::from([("match_id", "R1M1")]);
    assert_eq!(
        rpc::request(MAX_OWN_ID, "choose_parity", Some(&params)).unwrap(),
        br#"{"jsonrpc":"2.0","method":"choose_parity","params":{"match_id":"R1M1"},"id":9007199254740991}"#,
    );
    assert_eq!(
        rpc::notify("a\"b", Some(&[1])).unwrap(),
        br#"{"jsonrpc":"2.0","method":"a\"b","params":[1]}"#,
    );
    assert_eq!(
        rpc::notify("m", None::<&()>).unwrap(),
        br#"{"jsonrpc":"2.0","method":"m"}"#
    );
    assert!(matches!(
        rpc::notify("m", Some(&())),
        Err(Unwritable::Params)
    ));
    assert!(matches!(
        rpc::request(1, "m", Some("text")),
        Err(Unwritable::Params)
    ));
    let too_large = rpc::request(MAX_OWN_ID + 1, "m", None::<&()>);
    assert!(matches!(
        too_large,
        Err(Unwritable::Id(9_007_199_254_740_992))
    ));
    let unwritable = std::collections::BTreeMap::from([((1, 2), 3)]);
    assert!(matches!(
        rpc::notify("m", Some(&unwritable)),
        Err(Unwritable::Json(_))
    ));
}

#[test]
fn printing_for_programmers_shows_nothing_that_came_over_the_wire() {
    let secret = "tok-p01-0123456789abcdef";
    let result = format!(r#"{{"jsonrpc":"2.0","result":{{"auth_token":"{secret}"}},"id":7}}"#);
    let error = format!(
        r#"{{"jsonrpc":"2.0","error":{{"code":1,"message":"{secret}","data":"{secret}"}},"id":7}}"#
    );
    for body in [&result, &error] {
        let Ok(rpc::Opened::Single(Ok(members))) = rpc::open(body.as_bytes()) else {
            panic!("{body}");
        };
        let printed = format!("{:?}", rpc::read_response(&members, Era::Simple));
        assert!(
            printed.contains("Response") && !printed.contains(secret),
            "{printed}"
        );
    }
    let peer = rpc::read_reply(error.as_bytes(), 7, Era::Simple)
        .unwrap()
        .unwrap_err();
    assert_eq!(format!("{peer:?}"), "PeerError(1, …)");
    let own = rpc::RpcError {
        data: Some(serde_json::value::to_raw_value(secret).unwrap()),
        ..rpc::RpcError::internal_error()
    };
    let printed = format!("{own:?}");
    assert!(
        printed.contains("-32603") && !printed.contains(secret),
        "{printed}"
    );
}
