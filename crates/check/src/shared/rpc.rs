//! Rules about the answers of JSON-RPC: frames, ids, notifications, the ways to name a call.

use serde_json::json;

use crate::act::{Act, fresh_id};
use crate::habit::Habit;
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::{Question, Stage};

/// The rules.
pub(super) fn topic<S: Stage>() -> Topic<S> {
    Topic {
        name: "JSON-RPC answers",
        rules: rules! {
            "RPC-01" Must "000 §1.4, ruling 13": "An answer is framed as a JSON-RPC response"
                => "answer {\"jsonrpc\": \"2.0\", \"id\": <id of the call>, \"result\": <message>}", framed::<S>;
            "RPC-02" Must "JSON-RPC 2.0 §5": "The answer repeats a whole number as id"
                => "copy `id` from the request into the response", whole_id::<S>;
            "RPC-03" Should "JSON-RPC 2.0 §4": "The answer repeats a text as id"
                => "take `id` as any JSON string or number", text_id::<S>;
            "RPC-04" Should "JSON-RPC 2.0 §5": "The answer repeats a huge id digit by digit"
                => "do not turn `id` into a number of your language", huge_id::<S>;
            "RPC-05" Should "JSON-RPC 2.0 §5": "The answer repeats an id with a fraction"
                => "do not turn `id` into a whole number", fraction_id::<S>;
            "RPC-06" Should "JSON-RPC 2.0 §4": "A call with the id null is answered with the id null"
                => "tell a missing `id` from one that is null", null_id::<S>;
            "RPC-07" Should "JSON-RPC 2.0 §5": "An answer holds either a result or an error"
                => "leave out `error` when there is a `result`, and the other way round", either::<S>;
            "RPC-08" Should "JSON-RPC 2.0 §4.1": "A call without an id is not answered"
                => "answer a notification with HTTP 202 and no body", notification::<S>;
            "RPC-09" Must "JSON-RPC 2.0 §4": "An id that was used before is no reason to refuse"
                => "treat each POST as a call of its own", repeated_id::<S>;
            "RPC-10" Should "JSON-RPC 2.0 §5.1": "An unknown method is the error -32601"
                => "answer unknown methods with a JSON-RPC error of code -32601", unknown_method::<S>;
            "RPC-11" Should "JSON-RPC 2.0 §4.3": "Methods that begin with `rpc.` are not served"
                => "answer them with the error -32601", reserved::<S>;
            "RPC-12" Should "ruling 2": "`ping` is answered"
                => "answer the method `ping` with any result", ping::<S>;
            "RPC-13" Should "ruling 2": "A call may be named by its message type"
                => "look at `params.message_type` if the method is one", by_type::<S>;
            "RPC-14" Should "ruling 2": "A call may be named `mcp_message`"
                => "look at `params.message_type` if the method is `mcp_message`", generic::<S>;
            "RPC-15" Should "JSON-RPC 2.0 §5.1": "An error says nothing about the inside of the agent"
                => "send a short sentence instead of a trace or a path", discreet::<S>;
        },
    }
}

/// The number in whose place an id is written.
const STAND_IN: u64 = 987_654_321_012_345;

/// Calls with an id of any kind, spelled as it is.
async fn with_id<S: Stage>(act: &Act<S>, id: &str) -> Result<Reply, Trouble> {
    let body = act.frame(&act.stage.question().await, STAND_IN).to_string();
    let body = body.replace(&STAND_IN.to_string(), id);
    act.post(body.as_bytes()).await?;
    latest(act)
}

/// What came back last.
fn latest<S: Stage>(act: &Act<S>) -> Result<Reply, Trouble> {
    let last = act.last().map(Reply::read);
    last.ok_or_else(|| Trouble::broken("nothing was said"))
}

async fn framed<S: Stage>(act: &Act<S>) -> Played {
    let reply = act.call(&act.stage.question().await).await?;
    reply.needed()?;
    if !reply.is_framed() {
        return Err(Trouble::forgiven("the message comes bare, without a frame"));
    }
    let version = reply.json.as_ref().and_then(|json| json.get("jsonrpc"));
    hold(version == Some(&json!("2.0")), || {
        "`jsonrpc` is not the text \"2.0\"".to_owned()
    })
}

/// Sees that an id comes back byte for byte.
async fn echoes<S: Stage>(act: &Act<S>, id: &str) -> Played {
    let reply = with_id(act, id).await?;
    if reply.result().is_some() && !reply.is_framed() {
        return Err(Trouble::skipped("answers have no frame, see RPC-01", ""));
    }
    let text = reply.exchange.came.as_ref().map(|answer| answer.text());
    let text = text.unwrap_or_default().replace(": ", ":");
    let found = text.contains(&format!("\"id\":{id}"));
    hold(found, || format!("`\"id\":{id}` is not in the answer"))
}

async fn whole_id<S: Stage>(act: &Act<S>) -> Played {
    echoes(act, "90125").await
}

async fn text_id<S: Stage>(act: &Act<S>) -> Played {
    echoes(act, "\"call-7\"").await
}

async fn huge_id<S: Stage>(act: &Act<S>) -> Played {
    echoes(act, "18446744073709551616").await
}

/// Leaves those in peace whose library may refuse an id that MCP does not have.
fn outside_mcp<S: Stage>(act: &Act<S>) -> Played {
    match act.stage.habit() {
        Habit::Simple => Ok(()),
        Habit::Mcp { .. } => {
            let reason = "the agent speaks MCP, whose ids are texts and whole numbers only";
            Err(Trouble::skipped(reason, ""))
        }
    }
}

async fn fraction_id<S: Stage>(act: &Act<S>) -> Played {
    outside_mcp(act)?;
    echoes(act, "2.5").await
}

async fn null_id<S: Stage>(act: &Act<S>) -> Played {
    outside_mcp(act)?;
    echoes(act, "null").await
}

async fn either<S: Stage>(act: &Act<S>) -> Played {
    let reply = act.call(&act.stage.question().await).await?;
    let json = reply.json.clone().unwrap_or_default();
    if !reply.is_framed() {
        return Err(Trouble::skipped("answers have no frame, see RPC-01", ""));
    }
    hold(
        json.get("result").is_some() != json.get("error").is_some(),
        || "both `result` and `error` are there, or neither".to_owned(),
    )
}

async fn notification<S: Stage>(act: &Act<S>) -> Played {
    let mut call = act.frame(&act.stage.question().await, fresh_id());
    if let Some(members) = call.as_object_mut() {
        members.remove("id");
    }
    let answer = act.post(call.to_string().as_bytes()).await?;
    hold(answer.body.is_empty() && answer.status < 300, || {
        format!(
            "HTTP {} with {} bytes came back",
            answer.status,
            answer.body.len()
        )
    })
}

async fn repeated_id<S: Stage>(act: &Act<S>) -> Played {
    for _ in 0..2 {
        with_id(act, "7").await?.needed()?;
    }
    Ok(())
}

/// Sees that a call gets an error of a code.
async fn code<S: Stage>(act: &Act<S>, question: &Question, wanted: i64) -> Played {
    let reply = act.call(question).await?;
    hold(reply.rpc_error() == Some(wanted), || {
        format!(
            "the answer is {} instead of the error {wanted}",
            reply.describe()
        )
    })
}

async fn unknown_method<S: Stage>(act: &Act<S>) -> Played {
    code(act, &Question::method("no_such_tool", json!({})), -32_601).await
}

async fn reserved<S: Stage>(act: &Act<S>) -> Played {
    code(act, &Question::method("rpc.discover", json!({})), -32_601).await
}

async fn ping<S: Stage>(act: &Act<S>) -> Played {
    let reply = act.call(&Question::method("ping", json!({}))).await?;
    let taken = !reply.is_refusal();
    hold(taken, || format!("the answer is {}", reply.describe()))
}

async fn by_type<S: Stage>(act: &Act<S>) -> Played {
    let mut question = act.stage.question().await;
    let kind = question.params["message_type"].as_str();
    question.method = kind.unwrap_or_default().to_owned();
    same_by_another_name(act, &question).await
}

async fn generic<S: Stage>(act: &Act<S>) -> Played {
    let mut question = act.stage.question().await;
    question.method = "mcp_message".to_owned();
    same_by_another_name(act, &question).await
}

async fn same_by_another_name<S: Stage>(act: &Act<S>, question: &Question) -> Played {
    if *act.stage.habit() != Habit::Simple {
        return Err(Trouble::skipped(
            "the agent takes calls by `tools/call`",
            "",
        ));
    }
    if question.params.get("message_type").is_none() {
        return Err(Trouble::skipped("the call has no message type", ""));
    }
    let reply = act.call(question).await?;
    hold(!reply.is_refusal(), || {
        format!(
            "`{}` is answered with {}",
            question.method,
            reply.describe()
        )
    })
}

async fn discreet<S: Stage>(act: &Act<S>) -> Played {
    const INSIDE: [&str; 6] = [
        "Traceback",
        "panicked at",
        "/home/",
        "/usr/",
        "site-packages",
        ".py\"",
    ];
    let mut question = act.stage.question().await;
    question.params = json!({"match_id": {"not": ["an", "id"]}, "message_type": 7});
    let answer = act
        .post(act.frame(&question, fresh_id()).to_string().as_bytes())
        .await?;
    let text = answer.text();
    match INSIDE.iter().find(|inside| text.contains(**inside)) {
        Some(inside) => Err(Trouble::broken(format!("the answer holds `{inside}`"))),
        None => Ok(()),
    }
}
