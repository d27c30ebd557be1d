//! Rules about HTTP: one request, one answer.

use crate::prelude::*;
use crate::wire::Request;

/// The size of a body that an agent must accept, in bytes.
const ROOMY: usize = 64 * 1024;
/// The size of a body that an agent should refuse, in bytes.
const OVERSIZE: usize = 300 * 1024;

const SHOUTED: [(&str, &str); 2] = [
    ("CONTENT-TYPE", "application/json"),
    ("aCCept", "application/json, text/event-stream"),
];
const WITH_PARAMETER: [(&str, &str); 2] = [
    ("Content-Type", "application/json; charset=utf-8"),
    ("Accept", "application/json, text/event-stream"),
];

pub(super) fn topic() -> Topic {
    topic! { "transport" needs "HTTP-01":
        "HTTP-01" Must "000 §1.3": "A call posted to the address is answered with HTTP 200"
            => "answer `POST /mcp` with status 200 and a JSON body",
            Ask::ordinary(), [Status(200), By(is_json)];
        "HTTP-02" Should "000 §5.2.1": "The answer is labelled as JSON"
            => "send the header `Content-Type: application/json`",
            Ask::ordinary(), [By(is_labelled)];
        "HTTP-03" Should "000 §1.3.2": "GET at the address of calls does no harm"
            => "answer anything but POST at `/mcp` with 405",
            seen!(at("GET", |stage| stage.agent.path.to_string(), Some("a GET"))),
            [By(|it| hold!((400..500).contains(&it.status()),
                 else "GET gives {} instead of 405", it.status()))];
        "HTTP-04" Should "000 §1.3.2": "An unknown path is 404"
            => "answer unknown paths with 404",
            seen!(at("GET", |_| "/no/such/place".to_owned(), None)), [Status(404)];
        "HTTP-05" Should "001 Health Check Endpoint": "GET /health says that the agent is well"
            => "answer `GET /health` with 200 and a JSON object that holds `status`",
            seen!(at("GET", health, None)),
            [Status(200),
             By(|it| hold!(it.json()["status"].is_string(), else "the answer holds no `status`"))];
        "HTTP-06" Should "RFC 9110 §9.3.2": "HEAD is answered without a body"
            => "let HEAD fall to the same place as GET, and send no body",
            seen!(at("HEAD", |_| "/health".to_owned(), Some("a HEAD"))),
            [By(|it| hold!(it.status() < 500, else "HEAD gives {}", it.status()))];
        "HTTP-07" Must "RFC 9110 §5.1": "Names of headers count in any case"
            => "compare names of headers without regard to case",
            Ask::ordinary().headers(&SHOUTED), [Status(200)];
        "HTTP-08" Should "RFC 8259 §11": "A media type with a parameter is JSON all the same"
            => "look only at what stands before the `;` in `Content-Type`",
            Ask::ordinary().headers(&WITH_PARAMETER), [Status(200)];
        "HTTP-09" Must "RFC 9110 §12.5.3": "Answers are not compressed unless asked for"
            => "compress only if the caller sent `Accept-Encoding`",
            Ask::ordinary(), [By(is_plain)];
        "HTTP-10" Should "ruling 11": "A body of 64 KiB is read"
            => "take bodies up to 256 KiB",
            Ask::ordinary().framed(|frame| pad(frame, ROOMY)), [Status(200)];
        "HTTP-11" Should "ruling 11": "A body above 256 KiB is 413"
            => "limit bodies to 256 KiB and answer larger ones with 413",
            Ask::ordinary().framed(|frame| pad(frame, OVERSIZE)).survives("a body of 300 KiB"),
            [Status(413)];
        "HTTP-12" Should "ruling 11": "A refusal is a message, and HTTP says 200"
            => "put league errors into the `result`, and keep status 200 for them",
            Ask::ordinary().with("timestamp", OTHER_OFFSET)
                .unless(Reply::is_taken, "it refused nothing that was tried"), [Status(200)];
    }
}

fn health(stage: &Stage) -> String {
    stage.agent.path.replace("/mcp", "/health")
}

/// Requests a path with a method.
async fn at(
    caller: &Caller,
    method: &str,
    path: fn(&Stage) -> String,
    survives: Option<&str>,
) -> Records {
    let request = Request {
        method,
        path: &path(&caller.stage),
        headers: &[("Accept", "application/json"), ("Connection", "close")],
        body: b"",
    };
    let trip = caller.send(&request, PROMPT).await;
    answered(&trip)?;
    if let Some(what) = survives {
        caller.still_answers(what).await?;
    }
    Ok(vec![Record::new(
        caller.stage.kind,
        Value::Null,
        Reply::read(trip),
    )])
}

fn is_json(record: &Record) -> Judgement {
    let reply = record.reply();
    let body = reply.trip.came.as_ref().map(|answer| &answer.body);
    // An MCP agent may answer with a stream of events.
    let good = match record.fact("mcp")? == true {
        true => reply.json.is_some(),
        false => body.is_ok_and(|body| serde_json::from_slice::<Value>(body).is_ok()),
    };
    hold!(good, else "the body is not JSON")
}

fn is_labelled(record: &Record) -> Judgement {
    let kind = record.reply().header("content-type").unwrap_or_default();
    let good = kind.starts_with("application/json") || kind.starts_with("text/event-stream");
    hold!(good, else "the media type is `{kind}`")
}

fn is_plain(record: &Record) -> Judgement {
    let coding = record.reply().header("content-encoding");
    let coding = coding.unwrap_or("identity");
    hold!(coding == "identity", else "the body is coded as `{coding}`")
}

/// Pads a frame to a size; an MCP tool would drop an undeclared member.
fn pad(frame: &mut Value, size: usize) {
    let padding = "x".repeat(size);
    match frame["method"] == "tools/call" {
        true => frame["params"]["_meta"]["padding"] = padding.into(),
        false => frame["params"]["padding"] = padding.into(),
    }
}
