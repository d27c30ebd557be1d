//! Rules about HTTP: one request, one answer.

use serde_json::Value;

use crate::act::{Act, JSON, fresh_id};
use crate::habit::Habit;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Stage;
use crate::wire::{Answer, Request};

/// How many bytes a body may have that an agent must not mind.
const ROOMY: usize = 64 * 1024;
/// How many bytes a body has that an agent should refuse.
const OVERSIZE: usize = 300 * 1024;

/// The rules.
pub(super) fn topic<S: Stage>() -> Topic<S> {
    Topic {
        name: "transport",
        rules: rules! {
            "HTTP-01" Must "000 §1.3": "A call posted to the address is answered with HTTP 200"
                => "answer `POST /mcp` with status 200 and a JSON body", posts::<S>;
            "HTTP-02" Should "000 §5.2.1": "The answer is labelled as JSON"
                => "send the header `Content-Type: application/json`", labelled::<S>;
            "HTTP-03" Should "000 §1.3.2": "GET at the address of calls does no harm"
                => "answer anything but POST at `/mcp` with 405", gets::<S>;
            "HTTP-04" Should "000 §1.3.2": "A path that is none is 404"
                => "answer unknown paths with 404", lost::<S>;
            "HTTP-05" Should "001 Health Check Endpoint": "GET /health says that the agent is well"
                => "answer `GET /health` with 200 and a JSON object that holds `status`", healthy::<S>;
            "HTTP-06" Should "RFC 9110 §9.3.2": "HEAD is answered without a body"
                => "let HEAD fall to the same place as GET, and send no body", heads::<S>;
            "HTTP-07" Must "RFC 9110 §5.1": "Names of headers count in any case"
                => "compare names of headers without regard to case", shouted::<S>;
            "HTTP-08" Should "RFC 8259 §11": "A media type with a parameter is JSON all the same"
                => "look only at what stands before the `;` in `Content-Type`", parameter::<S>;
            "HTTP-09" Must "RFC 9110 §12.5.3": "Nothing is compressed that nobody asked for"
                => "compress only if the caller sent `Accept-Encoding`", plain::<S>;
            "HTTP-10" Should "ruling 11": "A body of 64 KiB is read"
                => "take bodies up to 256 KiB", roomy::<S>;
            "HTTP-11" Should "ruling 11": "A body above 256 KiB is 413"
                => "limit bodies to 256 KiB and answer larger ones with 413", oversize::<S>;
            "HTTP-12" Should "ruling 11": "A refusal is a message, and HTTP says 200"
                => "put league errors into the `result`, and keep status 200 for them", refusal::<S>;
        },
    }
}

async fn asked<S: Stage>(act: &Act<S>, headers: &[(&str, &str)]) -> Result<Answer, Trouble> {
    let path = act.agent().path.clone();
    let body = act
        .frame(&act.stage.question().await, fresh_id())
        .to_string();
    let mut headers = headers.to_vec();
    headers.extend(act.stage.habit().headers());
    act.ask(&Request {
        method: "POST",
        path: &path,
        headers: &headers,
        body: body.as_bytes(),
    })
    .await
}

fn fine(answer: &Answer) -> Played {
    hold(answer.status == 200, || {
        format!("the status is {} instead of 200", answer.status)
    })
}

async fn posts<S: Stage>(act: &Act<S>) -> Played {
    let answer = asked(act, &JSON).await?;
    fine(&answer)?;
    let is_json = match act.stage.habit() {
        Habit::Simple => serde_json::from_slice::<Value>(&answer.body).is_ok(),
        // Whoever speaks MCP may answer with a stream of events.
        Habit::Mcp { .. } => act
            .last()
            .is_some_and(|last| Reply::read(last).json.is_some()),
    };
    hold(is_json, || "the body is no JSON".to_owned())
}

async fn labelled<S: Stage>(act: &Act<S>) -> Played {
    let answer = asked(act, &JSON).await?;
    let kind = answer.header("content-type").unwrap_or_default();
    let good = kind.starts_with("application/json") || kind.starts_with("text/event-stream");
    hold(good, || format!("the media type is `{kind}`"))
}

async fn at<S: Stage>(act: &Act<S>, method: &str, path: &str) -> Result<Answer, Trouble> {
    act.ask(&Request {
        method,
        path,
        headers: &[("Accept", "application/json"), ("Connection", "close")],
        body: b"",
    })
    .await
}

async fn gets<S: Stage>(act: &Act<S>) -> Played {
    let path = act.agent().path.clone();
    let answer = at(act, "GET", &path).await?;
    hold((400..500).contains(&answer.status), || {
        format!("GET gives {} instead of 405", answer.status)
    })?;
    act.still_answers("a GET").await
}

async fn lost<S: Stage>(act: &Act<S>) -> Played {
    let answer = at(act, "GET", "/no/such/place").await?;
    hold(answer.status == 404, || {
        format!("an unknown path gives {} instead of 404", answer.status)
    })
}

async fn healthy<S: Stage>(act: &Act<S>) -> Played {
    let path = act.agent().path.replace("/mcp", "/health");
    let answer = at(act, "GET", &path).await?;
    fine(&answer)?;
    let health: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    hold(health["status"].is_string(), || {
        "the answer holds no `status`".to_owned()
    })
}

async fn heads<S: Stage>(act: &Act<S>) -> Played {
    let answer = at(act, "HEAD", "/health").await?;
    hold(answer.status < 500, || {
        format!("HEAD gives {}", answer.status)
    })?;
    act.still_answers("a HEAD").await
}

async fn shouted<S: Stage>(act: &Act<S>) -> Played {
    let headers = [
        ("CONTENT-TYPE", "application/json"),
        ("aCCept", "application/json, text/event-stream"),
    ];
    fine(&asked(act, &headers).await?)
}

async fn parameter<S: Stage>(act: &Act<S>) -> Played {
    let headers = [
        ("Content-Type", "application/json; charset=utf-8"),
        ("Accept", "application/json, text/event-stream"),
    ];
    fine(&asked(act, &headers).await?)
}

async fn plain<S: Stage>(act: &Act<S>) -> Played {
    let answer = asked(act, &JSON).await?;
    let coding = answer.header("content-encoding").unwrap_or("identity");
    hold(coding == "identity", || {
        format!("the body is coded as `{coding}`")
    })
}

/// A call with a member that takes much room.
async fn padded<S: Stage>(act: &Act<S>, size: usize) -> String {
    let mut question = act.stage.question().await;
    question.params["padding"] = "x".repeat(size).into();
    // A tool of MCP would lose what it does not declare, so the frame is padded as well.
    let mut frame = act.frame(&question, fresh_id());
    if frame["params"].get("padding").is_none() {
        frame["params"]["_meta"] = "x".repeat(size).into();
    }
    frame.to_string()
}

async fn roomy<S: Stage>(act: &Act<S>) -> Played {
    let body = padded(act, ROOMY).await;
    let answer = act.post(body.as_bytes()).await?;
    fine(&answer)
}

async fn oversize<S: Stage>(act: &Act<S>) -> Played {
    let body = padded(act, OVERSIZE).await;
    let answer = act.post(body.as_bytes()).await;
    act.still_answers("a body of 300 KiB").await?;
    let status = answer?.status;
    hold(status == 413, || {
        format!("the status is {status} instead of 413")
    })
}

async fn refusal<S: Stage>(act: &Act<S>) -> Played {
    let mut question = act.stage.question().await;
    question.params["timestamp"] = "2025-01-15T10:30:00+02:00".into();
    let body = act.frame(&question, fresh_id()).to_string();
    let answer = act.post(body.as_bytes()).await?;
    let status = answer.status;
    let reply = act.last().map(Reply::read);
    if reply.is_some_and(|reply| !reply.is_refusal()) {
        return Err(Trouble::skipped("it refused nothing that was tried", ""));
    }
    hold(status == 200, || {
        format!("the refusal comes with HTTP {status}")
    })
}
