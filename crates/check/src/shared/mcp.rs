//! Rules about the Model Context Protocol, for agents that speak it.

use serde_json::{Value, json};

use crate::act::Act;
use crate::habit::{Habit, REVISION};
use crate::reply::Reply;
use crate::rule::{Played, Topic, Trouble, hold, rules};
use crate::stage::{Question, Stage};

/// The rules.
pub(super) fn topic<S: Stage>() -> Topic<S> {
    Topic {
        name: "MCP",
        rules: rules! {
            "MCP-01" Should "000 §1.2, ruling 2": "`initialize` is answered with a revision and a name"
                => "answer `initialize` with `protocolVersion`, `capabilities` and `serverInfo`", initialize::<S>;
            "MCP-02" Should "000 §1.2.1": "`tools/list` names the tool for an ordinary call"
                => "list every tool that you serve by name", lists::<S>;
            "MCP-03" Should "000 §1.2.1": "Each tool that is listed describes what it takes"
                => "give each tool a `description` and an `inputSchema` of type object", described::<S>;
            "MCP-04" Should "ruling 2": "`tools/call` does the same as a plain call"
                => "serve the tools by `tools/call` with `name` and `arguments` as well", calls::<S>;
            "MCP-05" Should "000 §1.2": "A tool that does not exist is an error"
                => "answer `tools/call` of an unknown tool with an error", unknown_tool::<S>;
        },
    }
}

fn hello() -> Question {
    let client = json!({"name": "league-check", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
    Question::method("initialize", params)
}

/// The session with an agent that speaks MCP; others are left in peace.
async fn greeted<S: Stage>(act: &Act<S>) -> Result<Reply, Trouble> {
    let reply = act.call(&hello()).await?;
    let speaks = reply.member("protocolVersion").is_some();
    if speaks {
        return Ok(reply);
    }
    Err(Trouble::skipped(
        "the agent does not speak MCP, and need not",
        "",
    ))
}

async fn in_session<S: Stage>(act: &Act<S>, method: &str, params: Value) -> Result<Reply, Trouble> {
    let greeting = greeted(act).await?;
    let session = greeting.exchange.came.as_ref().ok();
    let session = session.and_then(|answer| answer.header("mcp-session-id"));
    act.call_in_session(&Question::method(method, params), session)
        .await
}

async fn initialize<S: Stage>(act: &Act<S>) -> Played {
    let reply = greeted(act).await?;
    for name in ["capabilities", "serverInfo"] {
        hold(reply.member(name).is_some_and(Value::is_object), || {
            format!("`{name}` is missing")
        })?;
    }
    Ok(())
}

async fn tools<S: Stage>(act: &Act<S>) -> Result<Vec<Value>, Trouble> {
    let reply = in_session(act, "tools/list", json!({})).await?;
    let tools = reply.member("tools").and_then(Value::as_array).cloned();
    tools.ok_or_else(|| Trouble::broken(format!("the answer is {}", reply.describe())))
}

async fn lists<S: Stage>(act: &Act<S>) -> Played {
    let wanted = act.stage.question().await.method;
    let tools = tools(act).await?;
    hold(
        tools.iter().any(|tool| tool["name"] == wanted.as_str()),
        || format!("`{wanted}` is not in the list"),
    )
}

async fn described<S: Stage>(act: &Act<S>) -> Played {
    for tool in tools(act).await? {
        let told = tool["description"].is_string() && tool["inputSchema"]["type"] == "object";
        hold(told, || format!("{} is not described", tool["name"]))?;
    }
    Ok(())
}

async fn calls<S: Stage>(act: &Act<S>) -> Played {
    let question = act.stage.question().await;
    let params = match act.stage.habit() {
        Habit::Simple => json!({"name": question.method, "arguments": question.params}),
        // A tool may refuse what it does not declare.
        Habit::Mcp { .. } => act.frame(&question, 1)["params"].take(),
    };
    let reply = in_session(act, "tools/call", params).await?;
    let result = reply.raw_result();
    hold(
        result["isError"] != true && result["content"].is_array(),
        || format!("the tool `{}` failed", question.method),
    )
}

async fn unknown_tool<S: Stage>(act: &Act<S>) -> Played {
    let params = json!({"name": "no_such_tool", "arguments": {}});
    let reply = in_session(act, "tools/call", params).await?;
    let failed = reply.rpc_error().is_some() || reply.raw_result()["isError"] == true;
    hold(failed, || {
        "the call of an unknown tool succeeded".to_owned()
    })
}
