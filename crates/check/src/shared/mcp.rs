//! Rules about the Model Context Protocol, for agents that speak it.

use league_protocol::peer::LEGACY;

use crate::prelude::*;

pub(super) fn topic() -> Topic {
    topic! { "MCP" needs "HTTP-01":
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
            seen!(in_session("tools/call", |caller, call| caller.stage.tool_call(call))),
            [By(|it| hold!(!failed(it) && it.json()["result"]["content"].is_array(),
                 else "the tool failed"))];
        "MCP-05" Should "000 §1.2": "A tool that does not exist is an error"
            => "answer `tools/call` of an unknown tool with an error",
            seen!(in_session("tools/call", |_, _| json!({"name": "no_such_tool", "arguments": {}}))),
            [By(|it| hold!(it.reply().rpc_error().is_some() || failed(it),
                 else "the call of an unknown tool succeeded"))];
    }
}

/// The handshake with an agent that speaks MCP; other agents are skipped.
async fn greeted(caller: &Caller) -> Result<Reply, Trouble> {
    let client = json!({"name": "league-check", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client});
    let reply = call(caller, &JSON, "initialize", &params).await?;
    let speaks = reply.member("protocolVersion").is_some();
    need!(speaks, else "the agent does not speak MCP, and need not")?;
    Ok(reply)
}

/// Calls a method outside of the session in which the agent is called.
async fn call(
    caller: &Caller,
    headers: &[(&str, &str)],
    method: &str,
    params: &Value,
) -> Result<Reply, Trouble> {
    let id = fresh_id();
    let frame = json!({"jsonrpc": "2.0", "method": method, "params": params, "id": id});
    let body = frame.to_string();
    Reply::of(caller.post_with(headers, body.as_bytes(), PROMPT).await)
}

async fn greeting(caller: &Caller) -> Records {
    let reply = greeted(caller).await?;
    Ok(vec![Record::new(caller.stage.kind, Value::Null, reply)])
}

/// Calls a method in a new session.
async fn in_session(
    caller: &Caller,
    method: &str,
    params: fn(&Caller, &Question) -> Value,
) -> Records {
    let question = caller.stage.question().await;
    let greeting = greeted(caller).await?;
    let asked = params(caller, &question);
    let session = greeting.header("mcp-session-id");
    let mut headers = JSON.to_vec();
    headers.push(("MCP-Protocol-Version", LEGACY));
    headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
    let reply = call(caller, &headers, method, &asked).await?;
    let record = Record::new(caller.stage.kind, asked, reply);
    Ok(vec![record.with("tool", question.method)])
}

fn introduces_itself(record: &Record) -> Judgement {
    ["capabilities", "serverInfo"]
        .iter()
        .try_for_each(|name| hold!(record.member(name).is_object(), else "`{name}` is missing"))
}

/// Whether a tool says that it failed.
fn failed(record: &Record) -> bool {
    record.json()["result"]["isError"] == true
}

fn tools(record: &Record) -> Result<&Vec<Value>, Trouble> {
    let reply = record.reply();
    let tools = record.member("tools").as_array();
    tools.ok_or_else(|| Trouble::broken(format!("the answer is {}", reply.describe())))
}

fn lists_the_tool(record: &Record) -> Judgement {
    let wanted = record.fact("tool")?;
    let listed = tools(record)?.iter().any(|tool| tool["name"] == *wanted);
    hold!(listed, else "{wanted} is not in the list")
}

fn describes_tools(record: &Record) -> Judgement {
    tools(record)?.iter().try_for_each(|tool| {
        let told = tool["description"].is_string() && tool["inputSchema"]["type"] == "object";
        hold!(told, else "{} is not described", tool["name"])
    })
}
