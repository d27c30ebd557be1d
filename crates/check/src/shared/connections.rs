//! Rules about connections: kept alive, filled slowly, cut off, left idle, many at once.

use crate::prelude::*;
use crate::wire::{Answer, HttpConnection, NoAnswer, Request, RoundTrip};

/// How long a slow caller pauses in the middle of a body.
const PAUSE: Duration = Duration::from_millis(400);
/// How many idle connections are open while another caller is served.
const IDLE_CALLERS: usize = 16;
/// How long an ordinary call may take beside them.
const UNDISTURBED: Duration = Duration::from_secs(5);

pub(super) fn topic() -> Topic {
    topic! { "connections" needs "HTTP-01":
        "CONN-01" Must "RFC 9112 §9.3": "A second call on a kept connection is answered"
            => "keep the connection open, or say `Connection: close` in the answer", steps!(kept);
        "CONN-02" Should "RFC 9112 §9.3.2": "Two calls sent at once on one connection are answered in order"
            => "read the next request from the same connection after answering", steps!(pipelined);
        "CONN-03" Must "RFC 9112 §6.2": "A body that comes in pieces is waited for"
            => "read as many bytes as `Content-Length` says before parsing", steps!(pieces);
        "CONN-04" Should "RFC 9112 §7.1": "A body sent in chunks is understood"
            => "take `Transfer-Encoding: chunked`", steps!(chunked);
        "CONN-05" Must "ruling 17": "Silent callers do not hold up others"
            => "serve each connection in its own task or thread", steps!(idle);
        "CONN-06" Must "ruling 17": "A caller that stops in mid-body does not hold up others"
            => "serve each connection in its own task or thread", steps!(stalled);
        "CONN-07" Must "RFC 9112 §8": "A request cut off in mid-body does no harm"
            => "treat a body that ends early as an error of this request alone", steps!(cut);
        "CONN-08" Must "RFC 9112 §2.2": "Bytes that are not HTTP do no harm"
            => "answer 400 or close that connection, and go on", steps!(garbage);
        "CONN-09" Must "RFC 9112 §9.6": "A caller that closes its half of the connection does no harm"
            => "answer it, or let it go, and serve the next", steps!(half_closed);
    }
}

/// The bytes of an ordinary call.
async fn ordinary(caller: &Caller, id: u64) -> Vec<u8> {
    let stage = &caller.stage;
    let question = stage.question().await;
    let body = stage.frame(&question, id).to_string();
    let headers = stage.headers(Some(&question));
    let headers = borrowed(&headers);
    let request = Request::post(&stage.agent, &headers, body.as_bytes());
    request.bytes(&stage.agent.authority)
}

/// Records what was done to a connection, and the outcome.
fn noted(caller: &Caller, sent: &str, came: Result<Answer, NoAnswer>) -> Result<Answer, Trouble> {
    caller.note(RoundTrip {
        sent: sent.to_owned(),
        came: came.clone(),
        took: Duration::ZERO,
        overheard: None,
    });
    came.map_err(|silence| Trouble::broken(silence.to_string()))
}

/// Waits for an answer on a connection.
async fn heard(line: &mut HttpConnection) -> Result<Answer, NoAnswer> {
    let answer = tokio::time::timeout(PROMPT, line.answer(false)).await;
    answer.unwrap_or(Err(NoAnswer::Late(PROMPT)))
}

async fn answer_to(line: &mut HttpConnection, bytes: &[u8]) -> Result<Answer, NoAnswer> {
    line.send(bytes).await?;
    heard(line).await
}

async fn open(caller: &Caller) -> Result<HttpConnection, Trouble> {
    let line = HttpConnection::open(&caller.stage.agent).await;
    line.map_err(|silence| Trouble::broken(silence.to_string()))
}

async fn say(caller: &Caller, bytes: &[u8], what: &str) -> Result<HttpConnection, Trouble> {
    let mut line = open(caller).await?;
    if let Err(silence) = line.send(bytes).await {
        noted(caller, what, Err(silence))?;
    }
    Ok(line)
}

async fn kept(caller: &Caller) -> Judgement {
    let mut line = say(caller, &ordinary(caller, 1).await, "a call").await?;
    let first = noted(caller, "a call", heard(&mut line).await)?;
    if first.closes() {
        return Ok(());
    }
    let what = "a second call on the same connection";
    let second = answer_to(&mut line, &ordinary(caller, 2).await).await;
    let status = noted(caller, what, second)?.status;
    hold!(status == 200, else "the second call gives {status}")
}

async fn pipelined(caller: &Caller) -> Judgement {
    let mut line = say(caller, &ordinary(caller, 70).await, "a call").await?;
    need!(!noted(caller, "a call", heard(&mut line).await)?.closes(),
        else "each answer ends its connection, as HTTP/1.0 and `Connection: close` have it")?;
    let both = [ordinary(caller, 71).await, ordinary(caller, 72).await].concat();
    let what = "two calls at once on one connection, ids 71 and 72";
    let mut line = say(caller, &both, what).await?;
    for id in [71, 72] {
        let answer = noted(caller, what, heard(&mut line).await)?;
        let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let named = json.get("id");
        hold!(named.is_none() || named == Some(&json!(id)),
            else "the answer to {id} came out of order")?;
    }
    Ok(())
}

async fn pieces(caller: &Caller) -> Judgement {
    let whole = ordinary(caller, 1).await;
    let (first, rest) = whole.split_at(whole.len() - 40);
    let what = "a call whose last 40 bytes come late";
    let mut line = say(caller, first, what).await?;
    tokio::time::sleep(PAUSE).await;
    let came = answer_to(&mut line, rest).await;
    is_answered(noted(caller, what, came)?)
}

async fn chunked(caller: &Caller) -> Judgement {
    let stage = &caller.stage;
    let question = stage.question().await;
    let body = stage.frame(&question, 1).to_string();
    let (path, authority) = (&stage.agent.path, &stage.agent.authority);
    let (first, rest) = body.split_at(20);
    let headers = stage.headers(Some(&question)).into_iter();
    let headers: String = headers
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let chunks = [first, rest, ""].map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len()));
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\n{headers}Transfer-Encoding: chunked\r\n\r\n{}",
        chunks.concat()
    );
    let what = "a call in two chunks";
    let mut line = say(caller, request.as_bytes(), what).await?;
    is_answered(noted(caller, what, heard(&mut line).await)?)
}

fn is_answered(answer: Answer) -> Judgement {
    hold!(answer.status == 200, else "it gives {}", answer.status)
}

async fn idle(caller: &Caller) -> Judgement {
    let mut lines = Vec::new();
    for _ in 0..IDLE_CALLERS {
        lines.push(open(caller).await?);
    }
    undisturbed(caller, "while 16 callers say nothing").await
}

async fn stalled(caller: &Caller) -> Judgement {
    let whole = ordinary(caller, 1).await;
    let begun = &whole[..whole.len() - 40];
    let _line = say(caller, begun, "a call that is not finished").await?;
    undisturbed(caller, "while another call is not finished").await
}

async fn undisturbed(caller: &Caller, when: &str) -> Judgement {
    let question = caller.stage.question().await;
    let reply = caller.call_within(&question, UNDISTURBED).await;
    match reply {
        Ok(reply) => reply.needed().map(drop),
        Err(Trouble::Broken(found)) => Err(Trouble::broken(format!("{when}: {found}"))),
        Err(trouble) => Err(trouble),
    }
}

async fn cut(caller: &Caller) -> Judgement {
    let whole = ordinary(caller, 1).await;
    drop(say(caller, &whole[..whole.len() - 40], "a call cut off").await?);
    caller.still_answers("a call that was cut off").await
}

async fn garbage(caller: &Caller) -> Judgement {
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"[..],
        b"HELLO\r\n\r\n",
        b"\0\0\0\0",
    ] {
        drop(say(caller, bytes, "bytes that are not HTTP").await?);
    }
    caller.still_answers("bytes that are not HTTP").await
}

async fn half_closed(caller: &Caller) -> Judgement {
    let what = "a call, after which nothing more is sent";
    let mut line = say(caller, &ordinary(caller, 1).await, what).await?;
    if line.finish().await.is_ok() {
        // The agent may answer this or not.
        let _ = noted(caller, what, heard(&mut line).await);
    }
    caller.still_answers(what).await
}
