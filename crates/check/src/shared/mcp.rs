//! Rules about the Model Context Protocol, for agents that speak it.

use serde_json::{Value, json};

use crate::caller::Caller;
use crate::habit::{Habit, REVISION};
use crate::record::Expect::By;
use crate::record::{Record, Statement};
use crate::reply::Reply;
use crate::rule::{Judgement, Topic, Trouble, hold, rules, seen};
use crate::stage::Question;

pub(super) fn topic() -> Topic {
    Topic {
        name: "MCP",
        rules: rules! {
            "MCP-01" Should "000 §1.2, ruling 2": "`initialize` is answered with a revision and a name"
                => "answer `initialize` with `protocolVersion`, `capabilities` and `serverInfo`",
                seen!(greeting()), [By(introduces_itself)];
            "MCP-02" Should "000 §1.2.1": "`tools/list` names the tool for an ordinary call"
                => "list every tool that you serve by name",
                seen!(in_session("tools/list", |_, _| json!({}))), [By(lists_the_tool)];
            "MCP-03" Should "000 §1.2.1": "Each tool that is listed describes what it takes"
                => "give each tool a `description` and an `inputSchema` of type object",
                seen!(in_session("tools/list", |_, _| json!({}))), [By(describes_tools)];
            "MCP-04" Should "ruling 2": "`tools/call` does the same as a plain call"
                => "serve the tools by `tools/call` with `name` and `arguments` as well",
                seen!(in_session("tools/call", as_tool)), [By(succeeds)];
            "MCP-05" Should "000 §1.2": "A tool that does not exist is an error"
                => "answer `tools/call` of an unknown tool with an error",
                seen!(in_session("tools/call", |_, _| json!({"name": "no_such_tool", "arguments": {}}))),
                [By(fails)];
        },
    }
}

/// The handshake with an agent that speaks MCP; other agents are skipped.
async fn greeted(caller: &Caller) -> Result<Reply, Trouble> {
    let client = json!({"name": "league-check", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client});
    let reply = caller.call(&Question::method("initialize", params)).await?;
    match reply.member("protocolVersion") {
        Some(_) => Ok(reply),
        None => Err(Trouble::skipped(
            "the agent does not speak MCP, and need not",
            "",
        )),
    }
}

async fn greeting(caller: &Caller) -> Result<Vec<Record>, Trouble> {
    let said = Statement::Reply(greeted(caller).await?);
    Ok(vec![Record::new(caller.stage.kind, Value::Null, said)])
}

/// Calls a method in a new session.
async fn in_session(
    caller: &Caller,
    method: &str,
    params: fn(&Caller, &Question) -> Value,
) -> Result<Vec<Record>, Trouble> {
    let question = caller.stage.question().await;
    let greeting = greeted(caller).await?;
    let asked = Question::method(method, params(caller, &question));
    let reply = caller
        .call_in_session(&asked, greeting.header("mcp-session-id"))
        .await?;
    let record = Record::new(caller.stage.kind, asked.params, Statement::Reply(reply));
    Ok(vec![record.with("tool", question.method)])
}

fn as_tool(caller: &Caller, question: &Question) -> Value {
    match caller.stage.habit() {
        Habit::Simple => json!({"name": question.method, "arguments": question.params}),
        // A tool may refuse undeclared inputs.
        Habit::Mcp { .. } => caller.frame(question, 1)["params"].take(),
    }
}

fn introduces_itself(record: &Record) -> Judgement {
    ["capabilities", "serverInfo"].iter().try_for_each(|name| {
        hold(record.member(name).is_object(), || {
            format!("`{name}` is missing")
        })
    })
}

fn tools(record: &Record) -> Result<&Vec<Value>, Trouble> {
    let reply = record.reply()?;
    let tools = record.member("tools").as_array();
    tools.ok_or_else(|| Trouble::broken(format!("the answer is {}", reply.describe())))
}

fn lists_the_tool(record: &Record) -> Judgement {
    let wanted = record.fact("tool")?;
    let listed = tools(record)?.iter().any(|tool| tool["name"] == *wanted);
    hold(listed, || format!("{wanted} is not in the list"))
}

fn describes_tools(record: &Record) -> Judgement {
    tools(record)?.iter().try_for_each(|tool| {
        let told = tool["description"].is_string() && tool["inputSchema"]["type"] == "object";
        hold(told, || format!("{} is not described", tool["name"]))
    })
}

fn succeeds(record: &Record) -> Judgement {
    let result = record.reply()?.raw_result();
    hold(
        result["isError"] != true && result["content"].is_array(),
        || "the tool failed".to_owned(),
    )
}

fn fails(record: &Record) -> Judgement {
    let reply = record.reply()?;
    let failed = reply.rpc_error().is_some() || reply.raw_result()["isError"] == true;
    hold(failed, || {
        "the call of an unknown tool succeeded".to_owned()
    })
}
