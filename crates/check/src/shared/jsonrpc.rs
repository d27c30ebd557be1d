//! Rules about JSON-RPC: answers, ids, notifications, names of calls, and malformed frames.

use crate::prelude::*;

/// The nesting depth of JSON that an agent must survive.
const DEEP: usize = 5_000;

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const INVALID_PARAMS: i64 = -32_602;
const UNKNOWN_METHOD: i64 = -32_601;

/// Why an MCP library may refuse an id.
const MCP_IDS: &str = "the agent speaks MCP, whose ids are texts and whole numbers only";

pub(super) fn answers() -> Topic {
    topic! { "JSON-RPC answers" needs "HTTP-01":
        "RPC-01" Must "000 §1.4, ruling 13": "An answer is framed as a JSON-RPC response"
            => "answer {\"jsonrpc\": \"2.0\", \"id\": <id of the call>, \"result\": <message>}",
            Ask::ordinary(), [By(is_framed)];
        "RPC-02" Must "JSON-RPC 2.0 §5": "The answer repeats a whole number as id"
            => "copy `id` from the request into the response",
            with_id("90125"), [By(|it| echoes(it, "90125"))];
        "RPC-03" Should "JSON-RPC 2.0 §4": "The answer repeats a text as id"
            => "take `id` as any JSON string or number",
            with_id("\"call-7\""), [By(|it| echoes(it, "\"call-7\""))];
        "RPC-04" Should "JSON-RPC 2.0 §5": "The answer repeats a huge id digit by digit"
            => "do not turn `id` into a number of your language",
            with_id("18446744073709551616"), [By(|it| echoes(it, "18446744073709551616"))];
        "RPC-05" Should "JSON-RPC 2.0 §5": "The answer repeats an id with a fraction"
            => "do not turn `id` into a whole number",
            with_id("2.5").outside_mcp(MCP_IDS), [By(|it| echoes(it, "2.5"))];
        "RPC-06" Should "JSON-RPC 2.0 §4": "A call with the id null is answered with the id null"
            => "tell a missing `id` from one that is null",
            with_id("null").outside_mcp(MCP_IDS), [By(|it| echoes(it, "null"))];
        "RPC-07" Should "JSON-RPC 2.0 §5": "An answer holds either a result or an error"
            => "leave out `error` when there is a `result`, and the other way round",
            Ask::ordinary(), [By(is_either)];
        "RPC-08" Should "JSON-RPC 2.0 §4.1": "A call without an id is not answered"
            => "answer a notification with HTTP 202 and no body",
            Ask::ordinary().framed(|call| remove(call, &["id"])), [By(is_silent)];
        "RPC-09" Must "JSON-RPC 2.0 §4": "A repeated id is not a reason to refuse"
            => "treat each POST as a call of its own",
            Ask::ordinary().bodies([Body::Id("7"), Body::Id("7")]),
            [By(|it| it.reply().needed().map(drop))];
        "RPC-10" Should "JSON-RPC 2.0 §5.1": "An unknown method is the error -32601"
            => "answer unknown methods with a JSON-RPC error of code -32601",
            Ask::method(|_, _| Question::method("no_such_tool", json!({}))),
            [RpcError(&[UNKNOWN_METHOD])];
        "RPC-11" Should "JSON-RPC 2.0 §4.3": "Methods that begin with `rpc.` are not served"
            => "answer them with the error -32601",
            Ask::method(|_, _| Question::method("rpc.discover", json!({}))),
            [RpcError(&[UNKNOWN_METHOD])];
        "RPC-12" Should "ruling 2": "`ping` is answered"
            => "answer the method `ping` with any result",
            Ask::method(|_, _| Question::method("ping", json!({})))
                .outside_mcp("MCP of 2026-07-28 has no `ping`"),
            [Taken];
        "RPC-13" Should "ruling 2": "A call may be named by its message type"
            => "look at `params.message_type` if the method is one",
            renamed().framed(|call| call["method"] = call["params"]["message_type"].clone()),
            [By(is_taken_by_that_name)];
        "RPC-14" Should "ruling 2": "A call may be named `mcp_message`"
            => "look at `params.message_type` if the method is `mcp_message`",
            renamed().framed(|call| call["method"] = "mcp_message".into()),
            [By(is_taken_by_that_name)];
        "RPC-15" Should "JSON-RPC 2.0 §5.1": "An error says nothing about the inside of the agent"
            => "send a short sentence instead of a trace or a path",
            Ask::ordinary()
                .changed(|call, _| *call = json!({"match_id": {"not": ["an", "id"]}, "message_type": 7})),
            [By(is_discreet)];
    }
}

#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(super) fn frames() -> Topic {
    topic! { "JSON-RPC frames" needs "HTTP-01":
        "FRAME-01" Should "JSON-RPC 2.0 §5.1": "A body that is not JSON is the error -32700"
            => "catch the parser's error and answer -32700 with the id null",
            broken(b"{\"jsonrpc\": \"2.0\", \"method\": "), [RpcError(&[PARSE_ERROR])];
        "FRAME-02" Should "RFC 8259 §8.1": "A body that is not UTF-8 is the error -32700"
            => "read the body as UTF-8 and answer -32700 if it is not",
            broken(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\",\"id\":1}"),
            [RpcError(&[PARSE_ERROR])];
        "FRAME-03" Should "JSON-RPC 2.0 §5.1": "An empty body is the error -32700"
            => "treat an empty body as broken JSON",
            broken(b""), [RpcError(&[PARSE_ERROR, INVALID_REQUEST])];
        "FRAME-04" Should "JSON-RPC 2.0 §5.1": "JSON that is not an object is the error -32600"
            => "answer -32600 to a bare number, text or null",
            broken(b"").bodies([Body::Raw(b"1"), Body::Raw(b"\"x\""), Body::Raw(b"null")]),
            [RpcError(&[INVALID_REQUEST])];
        "FRAME-05" Should "JSON-RPC 2.0 §4": "Another `jsonrpc` than \"2.0\" is the error -32600"
            => "check `jsonrpc` before anything else",
            changed(|call| call["jsonrpc"] = "1.0".into()), [RpcError(&[INVALID_REQUEST])];
        "FRAME-06" Should "JSON-RPC 2.0 §4": "A missing method is the error -32600"
            => "answer -32600 if there is no `method`",
            changed(|call| remove(call, &["method"])), [RpcError(&[INVALID_REQUEST])];
        "FRAME-07" Should "JSON-RPC 2.0 §4": "A method that is not a text is the error -32600"
            => "answer -32600 if `method` is not a string",
            changed(|call| call["method"] = 7.into()), [RpcError(&[INVALID_REQUEST])];
        "FRAME-08" Should "JSON-RPC 2.0 §4.2": "Parameters that are a text are the error -32600"
            => "take an object for `params` and refuse anything else",
            changed(|call| call["params"] = "now".into()),
            [RpcError(&[INVALID_REQUEST, INVALID_PARAMS])];
        "FRAME-09" Should "JSON-RPC 2.0 §4.2": "Parameters in a row are the error -32602"
            => "take an object for `params` and refuse anything else",
            changed(|call| call["params"] = json!([1, 2])),
            [RpcError(&[INVALID_PARAMS, INVALID_REQUEST])];
        "FRAME-10" Should "JSON-RPC 2.0 §4": "An id that is an object is the error -32600"
            => "take a string, a number or null for `id`",
            changed(|call| call["id"] = json!({"of": "call"})), [RpcError(&[INVALID_REQUEST])];
        "FRAME-11" Should "JSON-RPC 2.0 §8": "Unknown members of a frame are passed over"
            => "ignore members of the frame that you do not know",
            Ask::ordinary().framed(|call| call["trace"] = json!({"span": 1})), [Taken];
        "FRAME-12" Should "JSON-RPC 2.0 §6": "An empty batch is one error -32600"
            => "answer `[]` with a single error object",
            broken(b"[]"), [RpcError(&[INVALID_REQUEST])];
        "FRAME-13" Should "JSON-RPC 2.0 §6": "A batch of two is answered with two, or refused as a whole"
            => "answer an array with an array, or with one error -32600",
            Ask::ordinary().framed(in_a_batch),
            [By(|it| hold!(it.json()["error"]["code"] == INVALID_REQUEST
                 || it.json().as_array().map(Vec::len) == Some(2),
                 else "neither two answers nor one refusal came"))];
        "FRAME-14" Should "RFC 8259 §4": "A frame with two methods is not played twice"
            => "parse the body once, and refuse names that come twice",
            Ask::ordinary()
                .bodies([Body::Text(|call| call.replacen('{', "{\"method\":\"no_such_tool\",", 1))])
                .survives("a frame with two methods");
        "FRAME-15" Must "ruling 11": "JSON that is nested very deep does no harm"
            => "limit the depth of what you parse",
            Ask::ordinary().bodies([Body::Text(|_| nested())])
                .survives("JSON that is nested very deep").may_be_silent();
        "FRAME-16" Should "JSON-RPC 2.0 §5": "An unsolicited answer does no harm"
            => "refuse frames that have a `result` and no `method`",
            Ask::ordinary()
                .bodies([Body::Raw(b"{\"id\":12,\"jsonrpc\":\"2.0\",\"result\":{\"status\":\"ok\"}}")])
                .survives("an unsolicited answer"),
            [By(|it| hold!(!it.reply().is_framed() || it.reply().result().is_none(),
                 else "it was answered with a result"))];
    }
}

/// An ordinary call with an id in this exact spelling.
fn with_id(id: &'static str) -> Ask {
    Ask::ordinary().bodies([Body::Id(id)])
}

/// An ordinary call under another name, for agents that take calls by the name of a tool.
fn renamed() -> Ask {
    Ask::ordinary().outside_mcp("the agent takes calls by `tools/call`")
}

fn broken(body: &'static [u8]) -> Ask {
    let ask = Ask::ordinary().bodies([Body::Raw(body)]);
    ask.survives("a broken frame")
}

fn changed(change: fn(&mut Value)) -> Ask {
    Ask::ordinary().framed(change).survives("a broken frame")
}

fn in_a_batch(call: &mut Value) {
    let mut both = [call.clone(), call.clone()];
    both[0]["id"] = 1.into();
    both[1]["id"] = 2.into();
    *call = json!(both);
}

fn nested() -> String {
    let nested = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{nested}}}")
}

fn is_framed(record: &Record) -> Judgement {
    let reply = record.reply();
    reply.needed()?;
    if !reply.is_framed() {
        return Err(Trouble::forgiven("the message comes bare, without a frame"));
    }
    let version = reply.json.as_ref().and_then(|json| json.get("jsonrpc"));
    hold!(version == Some(&json!("2.0")), else "`jsonrpc` is not the text \"2.0\"")
}

/// Checks that an id comes back byte for byte.
fn echoes(record: &Record, id: &str) -> Judgement {
    let reply = record.reply();
    need!(reply.result().is_none() || reply.is_framed(),
        else "answers have no frame, see RPC-01")?;
    let text = reply.text().replace(": ", ":");
    hold!(text.contains(&format!("\"id\":{id}")), else "`\"id\":{id}` is not in the answer")
}

fn is_either(record: &Record) -> Judgement {
    let reply = record.reply();
    let json = reply.json.clone().unwrap_or_default();
    need!(reply.is_framed(), else "answers have no frame, see RPC-01")?;
    hold!(json.get("result").is_some() != json.get("error").is_some(),
        else "both `result` and `error` are there, or neither")
}

fn is_silent(record: &Record) -> Judgement {
    let reply = record.reply();
    let (status, length) = (reply.status(), reply.text().len());
    hold!(length == 0 && status < 300, else "HTTP {status} with {length} bytes came back")
}

fn is_taken_by_that_name(record: &Record) -> Judgement {
    need!(record.asked.get("message_type").is_some(), else "the call has no message type")?;
    Taken.judge(record)
}

fn is_discreet(record: &Record) -> Judgement {
    const INSIDE: [&str; 6] = [
        "Traceback",
        "panicked at",
        "/home/",
        "/usr/",
        "site-packages",
        ".py\"",
    ];
    let text = record.reply().text();
    let shown = INSIDE.iter().find(|inside| text.contains(**inside));
    hold!(shown.is_none(), else "the answer holds `{}`", shown.unwrap_or(&""))
}
