//! Rules about connections: kept, filled slowly, cut, left idle, many at once.

use std::time::Duration;

use serde_json::json;

use crate::act::{Act, PROMPT};
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Stage;
use crate::wire::{Answer, Exchange, Line, Request, Silence};

/// How long a slow caller pauses in mid-body.
const PAUSE: Duration = Duration::from_millis(400);
/// How many callers say nothing while somebody else is served.
const IDLE_CALLERS: usize = 16;
/// How long an ordinary call may take beside them.
const UNDISTURBED: Duration = Duration::from_secs(5);

/// The rules.
pub(super) fn topic<S: Stage>() -> Topic<S> {
    Topic {
        name: "connections",
        rules: rules! {
            "CONN-01" Must "RFC 9112 §9.3": "A second call on a kept connection is answered"
                => "keep the connection open, or say `Connection: close` in the answer", kept::<S>;
            "CONN-02" Should "RFC 9112 §9.3.2": "Two calls sent at once on one connection are answered in order"
                => "read the next request from the same connection after answering", pipelined::<S>;
            "CONN-03" Must "RFC 9112 §6.2": "A body that comes in pieces is waited for"
                => "read as many bytes as `Content-Length` says before parsing", pieces::<S>;
            "CONN-04" Should "RFC 9112 §7.1": "A body sent in chunks is understood"
                => "take `Transfer-Encoding: chunked`", chunked::<S>;
            "CONN-05" Must "ruling 17": "Callers that say nothing hold up nobody else"
                => "serve each connection in its own task or thread", idle::<S>;
            "CONN-06" Must "ruling 17": "A caller that stops in mid-body holds up nobody else"
                => "serve each connection in its own task or thread", stalled::<S>;
            "CONN-07" Must "RFC 9112 §8": "A request cut off in mid-body does no harm"
                => "treat a body that ends early as an error of this request alone", cut::<S>;
            "CONN-08" Must "RFC 9112 §2.2": "Bytes that are no HTTP do no harm"
                => "answer 400 or close that connection, and go on", garbage::<S>;
            "CONN-09" Must "RFC 9112 §9.6": "A caller that closes its half of the connection does no harm"
                => "answer it, or let it go, and serve the next", half_closed::<S>;
        },
    }
}

/// The bytes of an ordinary call.
async fn ordinary<S: Stage>(act: &Act<S>, id: u64) -> Vec<u8> {
    let body = act.frame(&act.stage.question().await, id).to_string();
    let to = act.agent();
    Request {
        method: "POST",
        path: &to.path,
        headers: &act.headers(),
        body: body.as_bytes(),
    }
    .bytes(&to.authority)
}

/// Notes what was done to a connection, and what came of it.
fn noted<S: Stage>(
    act: &Act<S>,
    sent: &str,
    came: Result<Answer, Silence>,
) -> Result<Answer, Trouble> {
    act.note(Exchange {
        sent: sent.to_owned(),
        came: came.clone(),
        took: Duration::ZERO,
        overheard: None,
    });
    came.map_err(|silence| Trouble::broken(silence.to_string()))
}

/// Waits for an answer on a line.
async fn heard(line: &mut Line) -> Result<Answer, Silence> {
    let answer = tokio::time::timeout(PROMPT, line.answer(false)).await;
    answer.unwrap_or(Err(Silence::Late(PROMPT)))
}

async fn open<S: Stage>(act: &Act<S>) -> Result<Line, Trouble> {
    let line = Line::open(act.agent().address).await;
    line.map_err(|silence| Trouble::broken(silence.to_string()))
}

async fn say<S: Stage>(act: &Act<S>, bytes: &[u8], what: &str) -> Result<Line, Trouble> {
    let mut line = open(act).await?;
    if let Err(silence) = line.send(bytes).await {
        noted(act, what, Err(silence))?;
    }
    Ok(line)
}

async fn kept<S: Stage>(act: &Act<S>) -> Played {
    let mut line = say(act, &ordinary(act, 1).await, "a call").await?;
    let first = noted(act, "a call", heard(&mut line).await)?;
    if first.closes() {
        return Ok(());
    }
    let what = "a second call on the same connection";
    let sent = line.send(&ordinary(act, 2).await).await;
    let second = match sent {
        Ok(()) => heard(&mut line).await,
        Err(silence) => Err(silence),
    };
    let second = noted(act, what, second)?;
    hold(second.status == 200, || {
        format!("the second call gives {}", second.status)
    })
}

async fn pipelined<S: Stage>(act: &Act<S>) -> Played {
    let mut line = say(act, &ordinary(act, 70).await, "a call").await?;
    if noted(act, "a call", heard(&mut line).await)?.closes() {
        return Err(Trouble::skipped(
            "each answer ends its connection, as HTTP/1.0 and `Connection: close` have it",
            "",
        ));
    }
    let both = [ordinary(act, 71).await, ordinary(act, 72).await].concat();
    let what = "two calls at once on one connection, ids 71 and 72";
    let mut line = say(act, &both, what).await?;
    for id in [71, 72] {
        let answer = noted(act, what, heard(&mut line).await)?;
        let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let named = json.get("id");
        hold(named.is_none() || named == Some(&json!(id)), || {
            format!("the answer to {id} came out of order")
        })?;
    }
    Ok(())
}

async fn pieces<S: Stage>(act: &Act<S>) -> Played {
    let whole = ordinary(act, 1).await;
    let (first, rest) = whole.split_at(whole.len() - 40);
    let what = "a call whose last 40 bytes come late";
    let mut line = say(act, first, what).await?;
    tokio::time::sleep(PAUSE).await;
    let came = match line.send(rest).await {
        Ok(()) => heard(&mut line).await,
        Err(silence) => Err(silence),
    };
    let answer = noted(act, what, came)?;
    hold(answer.status == 200, || {
        format!("it gives {}", answer.status)
    })
}

async fn chunked<S: Stage>(act: &Act<S>) -> Played {
    let body = act.frame(&act.stage.question().await, 1).to_string();
    let to = act.agent();
    let (first, rest) = body.split_at(20);
    let headers = act.headers().into_iter();
    let headers: String = headers
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let request = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\n{headers}Transfer-Encoding: chunked\r\n\r\n\
         {:x}\r\n{first}\r\n{:x}\r\n{rest}\r\n0\r\n\r\n",
        to.path,
        to.authority,
        first.len(),
        rest.len()
    );
    let what = "a call in two chunks";
    let mut line = say(act, request.as_bytes(), what).await?;
    let answer = noted(act, what, heard(&mut line).await)?;
    hold(answer.status == 200, || {
        format!("it gives {}", answer.status)
    })
}

async fn idle<S: Stage>(act: &Act<S>) -> Played {
    let mut lines = Vec::new();
    for _ in 0..IDLE_CALLERS {
        lines.push(open(act).await?);
    }
    undisturbed(act, "while 16 callers say nothing").await
}

async fn stalled<S: Stage>(act: &Act<S>) -> Played {
    let whole = ordinary(act, 1).await;
    let _line = say(
        act,
        &whole[..whole.len() - 40],
        "a call that is not finished",
    )
    .await?;
    undisturbed(act, "while another call is not finished").await
}

async fn undisturbed<S: Stage>(act: &Act<S>, when: &str) -> Played {
    let question = act.stage.question().await;
    let reply = act.call_within(&question, UNDISTURBED).await;
    match reply {
        Ok(reply) => reply.needed().map(drop),
        Err(Trouble::Broken(mut evidence)) => {
            evidence.found = format!("{when}: {}", evidence.found);
            Err(Trouble::Broken(evidence))
        }
        Err(trouble) => Err(trouble),
    }
}

async fn cut<S: Stage>(act: &Act<S>) -> Played {
    let whole = ordinary(act, 1).await;
    drop(say(act, &whole[..whole.len() - 40], "a call cut off").await?);
    act.still_answers("a call that was cut off").await
}

async fn garbage<S: Stage>(act: &Act<S>) -> Played {
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"[..],
        b"HELLO\r\n\r\n",
        b"\0\0\0\0",
    ] {
        drop(say(act, bytes, "bytes that are no HTTP").await?);
    }
    act.still_answers("bytes that are no HTTP").await
}

async fn half_closed<S: Stage>(act: &Act<S>) -> Played {
    let what = "a call, after which nothing more is sent";
    let mut line = say(act, &ordinary(act, 1).await, what).await?;
    if line.finish().await.is_ok() {
        // Whether it is still answered is left to the agent.
        let _ = noted(act, what, heard(&mut line).await);
    }
    act.still_answers(what).await
}
