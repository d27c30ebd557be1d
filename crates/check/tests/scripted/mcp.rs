//! A player that takes calls by `tools/call` alone is found out, and held to the same rules.

use league_check::listener::{IncomingCall, ScriptedAnswer};
use league_check::verdict::Verdict;
use serde_json::json;

use crate::player::{but, fair, stage};

/// A fair player behind MCP, whose tools declare what they take.
pub(crate) fn behind_mcp(
    heard: &IncomingCall,
    answer: impl Fn(&IncomingCall) -> ScriptedAnswer,
) -> ScriptedAnswer {
    match heard.json["method"].as_str().unwrap_or_default() {
        "initialize" => ScriptedAnswer::Result(json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "heron", "version": "1"},
        })),
        "notifications/initialized" => ScriptedAnswer::Raw(202, String::new()),
        "tools/list" => {
            let tool = |name: &str| {
                let inputs =
                    json!({"type": "object", "properties": {"params": {"type": "object"}}});
                json!({"name": name, "description": name, "inputSchema": inputs})
            };
            ScriptedAnswer::Result(
                json!({"tools": [tool("handle_game_invitation"), tool("choose_parity")]}),
            )
        }
        "tools/call" => match answer(&unwrapped(heard)) {
            ScriptedAnswer::Result(message) => {
                let text = json!({"type": "text", "text": message.to_string()});
                ScriptedAnswer::Result(json!({"content": [text], "isError": false}))
            }
            said => said,
        },
        _ => {
            let error = json!({"code": -32601, "message": "there is no such method"});
            let answer = json!({"jsonrpc": "2.0", "id": heard.json["id"], "error": error});
            ScriptedAnswer::Raw(200, answer.to_string())
        }
    }
}

/// The message, out of the one input that each tool has.
fn unwrapped(heard: &IncomingCall) -> IncomingCall {
    let mut plain = heard.clone();
    let params = &heard.json["params"];
    plain.json["method"] = params["name"].clone();
    plain.json["params"] = params["arguments"]["params"].clone();
    plain
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_behind_mcp_passes_and_a_broken_one_does_not() {
    let fair = stage(|heard| behind_mcp(heard, fair), |_| {}).await;
    assert_eq!(fair.stage.speech(), "mcp");
    let rules = [
        "P-HTTP-01",
        "P-RPC-02",
        "P-JOIN-01",
        "P-JOIN-10",
        "P-PICK-02",
        "P-MCP-02",
    ];
    for id in rules {
        let finding = fair.rule(id).await;
        assert_eq!(finding.verdict, Verdict::Pass, "{id}: {finding:?}");
    }
    let shouts = |heard: &IncomingCall| but(heard, "choose_parity", "parity_choice", "EVEN");
    let broken = stage(move |heard| behind_mcp(heard, shouts), |_| {}).await;
    assert_eq!(broken.verdict("P-PICK-02").await, Verdict::Fail);
}
