//! Nothing that a peer sends makes anything but a verdict.

use league_protocol::peer::{EventStream, HttpReply, Inputs, Probe, ProbeStep, read, tool_result};
use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The most questions that a probe can ask.
const MAX_QUESTIONS: usize = 3 + 16;

/// Bodies that look like answers and are broken somewhere.
fn body() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"",
        ",",
        ":",
        "data: ",
        "\n\n",
        "\r\n",
        "null",
        "true",
        "1",
        "-32020",
        "\"jsonrpc\":\"2.0\"",
        "\"id\":1",
        "\"result\":",
        "\"error\":",
        "\"code\":",
        "\"message\":",
        "\"tools\":",
        "\"name\":\"choose_parity\"",
        "\"inputSchema\":",
        "\"properties\":",
        "\"required\":",
        "\"nextCursor\":\"x\"",
        "\"supportedVersions\":[\"2026-07-28\"]",
        "\"protocolVersion\":\"2025-11-25\"",
        "\"structuredContent\":",
        "\"content\":",
        "\"isError\":true",
        "\"resultType\":",
        "\\u0000",
        "é",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn probe_ends_whatever_comes_back(
        bodies in prop::collection::vec((body(), any::<u16>()), 40),
    ) {
        let (mut probe, mut step) = Probe::begin(1);
        let mut asked = 0;
        for (body, status) in &bodies {
            let ProbeStep::Ask(_) = step else { break };
            asked += 1;
            let reply = HttpReply { status: *status, session: Some(body), body: body.as_bytes() };
            step = probe.hear(Some(&reply), 1);
        }
        prop_assert!(matches!(step, ProbeStep::Found(_)));
        prop_assert!(asked <= MAX_QUESTIONS);
    }

    #[test]
    fn no_answer_panics(body in body(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for body in [body.as_bytes(), &bytes] {
            let reply = HttpReply { status: 200, session: None, body };
            let _ = read(&reply, 1).map(|result| tool_result(&result));
            let mut events = EventStream::new(1);
            let _ = (events.hear(body), events.end());
        }
        if let Ok(raw) = serde_json::from_str::<&RawValue>(&body) {
            let _ = tool_result(raw);
        }
    }

    #[test]
    fn no_schema_panics_and_arguments_hold_nothing_new(body in body()) {
        if let Ok(schema) = serde_json::from_str::<Value>(&body) {
            let message = Map::from_iter([("match_id".to_owned(), Value::from("R1M1"))]);
            let shaped = Inputs::of(&schema).shaped(message);
            prop_assert!(shaped.len() <= 1);
        }
    }
}
