//! Rules about frames that are none: broken JSON, wrong members, batches.

use serde_json::{Value, json};

use crate::act::{Act, fresh_id};
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::Stage;

/// How deep the JSON is nested that an agent must survive.
const DEEP: usize = 5_000;

const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const INVALID_PARAMS: i64 = -32_602;

/// The rules.
pub(super) fn topic<S: Stage>() -> Topic<S> {
    Topic {
        name: "JSON-RPC frames",
        rules: rules! {
            "FRAME-01" Should "JSON-RPC 2.0 §5.1": "A body that is no JSON is the error -32700"
                => "catch the parser's error and answer -32700 with the id null", broken_json::<S>;
            "FRAME-02" Should "RFC 8259 §8.1": "A body that is no UTF-8 is the error -32700"
                => "read the body as UTF-8 and answer -32700 if it is none", no_utf8::<S>;
            "FRAME-03" Should "JSON-RPC 2.0 §5.1": "An empty body is the error -32700"
                => "treat an empty body as broken JSON", empty::<S>;
            "FRAME-04" Should "JSON-RPC 2.0 §5.1": "JSON that is no object is the error -32600"
                => "answer -32600 to a bare number, text or null", no_object::<S>;
            "FRAME-05" Should "JSON-RPC 2.0 §4": "Another `jsonrpc` than \"2.0\" is the error -32600"
                => "check `jsonrpc` before anything else", version::<S>;
            "FRAME-06" Should "JSON-RPC 2.0 §4": "A missing method is the error -32600"
                => "answer -32600 if there is no `method`", no_method::<S>;
            "FRAME-07" Should "JSON-RPC 2.0 §4": "A method that is no text is the error -32600"
                => "answer -32600 if `method` is no string", numeric_method::<S>;
            "FRAME-08" Should "JSON-RPC 2.0 §4.2": "Parameters that are a text are the error -32600"
                => "take an object for `params` and refuse anything else", text_params::<S>;
            "FRAME-09" Should "JSON-RPC 2.0 §4.2": "Parameters in a row are the error -32602"
                => "take an object for `params` and refuse anything else", array_params::<S>;
            "FRAME-10" Should "JSON-RPC 2.0 §4": "An id that is an object is the error -32600"
                => "take a string, a number or null for `id`", object_id::<S>;
            "FRAME-11" Should "JSON-RPC 2.0 §8": "Unknown members of a frame are passed over"
                => "ignore members of the frame that you do not know", unknown_member::<S>;
            "FRAME-12" Should "JSON-RPC 2.0 §6": "An empty batch is one error -32600"
                => "answer `[]` with a single error object", empty_batch::<S>;
            "FRAME-13" Should "JSON-RPC 2.0 §6": "A batch of two is answered with two, or refused as a whole"
                => "answer an array with an array, or with one error -32600", batch::<S>;
            "FRAME-14" Should "RFC 8259 §4": "A frame with two methods is not played twice"
                => "parse the body once, and refuse names that come twice", doubled::<S>;
            "FRAME-15" Must "ruling 11": "JSON that is nested very deep does no harm"
                => "limit the depth of what you parse", deep::<S>;
            "FRAME-16" Should "JSON-RPC 2.0 §5": "An answer that nobody asked for does no harm"
                => "refuse frames that have a `result` and no `method`", stray::<S>;
        },
    }
}

/// Posts bytes and sees that an error of one of these codes comes back, and no harm is done.
async fn refused<S: Stage>(act: &Act<S>, body: &[u8], codes: &[i64]) -> Played {
    let posted = act.post(body).await;
    let sent = act.last();
    act.still_answers("a frame that is none").await?;
    posted?;
    let Some(reply) = sent.map(Reply::read) else {
        return Err(Trouble::broken("nothing was said"));
    };
    let code = reply.rpc_error();
    if code.is_some_and(|code| codes.contains(&code)) {
        return Ok(());
    }
    let wanted = codes.first().copied().unwrap_or_default();
    let found = format!(
        "the answer is {} instead of the error {wanted}",
        reply.describe()
    );
    Err(Trouble::broken(found).about(&reply.exchange))
}

/// An ordinary frame that was changed.
async fn changed<S: Stage>(act: &Act<S>, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut call = act.frame(&act.stage.question().await, fresh_id());
    change(&mut call);
    call.to_string().into_bytes()
}

fn without(call: &mut Value, name: &str) {
    if let Some(members) = call.as_object_mut() {
        members.remove(name);
    }
}

async fn broken_json<S: Stage>(act: &Act<S>) -> Played {
    refused(act, b"{\"jsonrpc\": \"2.0\", \"method\": ", &[PARSE_ERROR]).await
}

async fn no_utf8<S: Stage>(act: &Act<S>) -> Played {
    let body = b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\xfe\",\"id\":1}";
    refused(act, body, &[PARSE_ERROR]).await
}

async fn empty<S: Stage>(act: &Act<S>) -> Played {
    refused(act, b"", &[PARSE_ERROR, INVALID_REQUEST]).await
}

async fn no_object<S: Stage>(act: &Act<S>) -> Played {
    for body in [&b"1"[..], b"\"x\"", b"null"] {
        refused(act, body, &[INVALID_REQUEST]).await?;
    }
    Ok(())
}

async fn version<S: Stage>(act: &Act<S>) -> Played {
    let body = changed(act, |call| call["jsonrpc"] = "1.0".into()).await;
    refused(act, &body, &[INVALID_REQUEST]).await
}

async fn no_method<S: Stage>(act: &Act<S>) -> Played {
    let body = changed(act, |call| without(call, "method")).await;
    refused(act, &body, &[INVALID_REQUEST]).await
}

async fn numeric_method<S: Stage>(act: &Act<S>) -> Played {
    let body = changed(act, |call| call["method"] = 7.into()).await;
    refused(act, &body, &[INVALID_REQUEST]).await
}

async fn text_params<S: Stage>(act: &Act<S>) -> Played {
    let body = changed(act, |call| call["params"] = "now".into()).await;
    refused(act, &body, &[INVALID_REQUEST, INVALID_PARAMS]).await
}

async fn array_params<S: Stage>(act: &Act<S>) -> Played {
    let body = changed(act, |call| call["params"] = json!([1, 2])).await;
    refused(act, &body, &[INVALID_PARAMS, INVALID_REQUEST]).await
}

async fn object_id<S: Stage>(act: &Act<S>) -> Played {
    let body = changed(act, |call| call["id"] = json!({"of": "call"})).await;
    refused(act, &body, &[INVALID_REQUEST]).await
}

async fn unknown_member<S: Stage>(act: &Act<S>) -> Played {
    let body = changed(act, |call| call["trace"] = json!({"span": 1})).await;
    act.post(&body).await?;
    let reply = act.last().map(Reply::read);
    let taken = reply.as_ref().is_some_and(|reply| !reply.is_refusal());
    hold(taken, || {
        let answer = reply.map(|reply| reply.describe()).unwrap_or_default();
        format!("the answer is {answer}")
    })
}

async fn empty_batch<S: Stage>(act: &Act<S>) -> Played {
    refused(act, b"[]", &[INVALID_REQUEST]).await
}

async fn batch<S: Stage>(act: &Act<S>) -> Played {
    let first = act.frame(&act.stage.question().await, 1);
    let second = act.frame(&act.stage.question().await, 2);
    let answer = act
        .post(json!([first, second]).to_string().as_bytes())
        .await?;
    let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let refused = json["error"]["code"] == INVALID_REQUEST;
    let both = json.as_array().is_some_and(|answers| answers.len() == 2);
    hold(refused || both, || {
        "neither two answers nor one refusal came".to_owned()
    })
}

async fn doubled<S: Stage>(act: &Act<S>) -> Played {
    let body = changed(act, |_| {}).await;
    let body = String::from_utf8(body).unwrap_or_default();
    let body = body.replacen('{', "{\"method\":\"no_such_tool\",", 1);
    let posted = act.post(body.as_bytes()).await;
    act.still_answers("a frame with two methods").await?;
    posted.map(drop)
}

async fn deep<S: Stage>(act: &Act<S>) -> Played {
    let nested = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{nested}}}");
    // Whatever it answers is as good as anything else, if only it lives.
    let _ = act.post(body.as_bytes()).await;
    act.still_answers("JSON that is nested very deep").await
}

async fn stray<S: Stage>(act: &Act<S>) -> Played {
    let body = json!({"jsonrpc": "2.0", "id": 12, "result": {"status": "ok"}});
    let posted = act.post(body.to_string().as_bytes()).await;
    let reply = act.last().map(Reply::read);
    act.still_answers("an answer that nobody asked for").await?;
    posted?;
    let framed = reply.filter(|reply| reply.is_framed());
    let taken = framed.is_some_and(|reply| reply.result().is_some());
    hold(!taken, || "it was answered with a result".to_owned())
}
