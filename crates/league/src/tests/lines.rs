//! A router over a pipe: both forms of calling, and whatever else comes down a pipe.

use std::sync::Arc;

use crate::wire::router::{Caller, Router, ToolService};
use league_mcp::Mcp;
use league_protocol::rpc::{self, Call};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, duplex};

/// Repeats the method by which it was called.
struct Echo;

impl ToolService for Echo {
    fn has(&self, method: &str) -> bool {
        method == "echo"
    }

    async fn answer(&self, call: &Call<'_>, _caller: Caller<'_>) -> Vec<u8> {
        rpc::respond(&call.id, &json!({"called": call.method}))
    }

    async fn health(&self) -> Map<String, Value> {
        Map::new()
    }
}

/// Serves every tool of MCP with a greeting.
struct Greeter;

impl ServerHandler for Greeter {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let greeting = ContentBlock::text("Hello.");
        Ok(CallToolResult::success(vec![greeting]).into())
    }
}

/// Sends lines down a pipe and gives all that came back, in the order of their ids.
async fn answers(lines: &[&str]) -> Vec<Value> {
    let router = Arc::new(Router {
        tools: Arc::new(Echo),
        mcp: Mcp::with_sessions(Greeter),
    });
    let (mut near, far) = duplex(1 << 20);
    let (reader, writer) = tokio::io::split(far);
    let serving = tokio::spawn(router.serve_lines(BufReader::new(reader), writer));
    for line in lines {
        near.write_all(line.as_bytes()).await.unwrap();
        near.write_all(b"\n").await.unwrap();
    }
    near.shutdown().await.unwrap();
    let mut said = String::new();
    near.read_to_string(&mut said).await.unwrap();
    serving.await.unwrap().unwrap();
    let mut answers: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    answers.sort_by_key(|answer| answer["id"].to_string());
    answers
}

#[tokio::test]
async fn line_that_is_not_json_gets_an_answer_and_the_pipe_goes_on() {
    let long = format!("\"{}\"", "x".repeat(300 * 1024));
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#;
    let answers = answers(&["{bad", &long, "", call, "[]"]).await;
    let codes: Vec<String> = answers
        .iter()
        .map(|answer| answer["error"]["code"].to_string())
        .collect();
    assert_eq!(answers[0]["result"]["called"], "echo", "{answers:?}");
    assert_eq!(answers.len(), 4, "{answers:?}");
    for code in ["-32700", "-32600"] {
        assert!(codes.iter().any(|found| found == code), "{answers:?}");
    }
    assert!(
        answers[1..].iter().all(|answer| answer["id"].is_null()),
        "{answers:?}"
    );
}

#[tokio::test]
async fn modern_mcp_needs_no_headers_on_a_pipe() {
    let call = json!({
        "jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {
            "name": "greet",
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let answers = answers(&[&call.to_string()]).await;
    assert_eq!(
        answers[0]["result"]["resultType"], "complete",
        "{answers:?}"
    );
}

#[tokio::test]
async fn notification_is_not_answered() {
    let note = r#"{"jsonrpc":"2.0","method":"echo"}"#;
    assert_eq!(answers(&[note]).await, Vec::<Value>::new());
}
