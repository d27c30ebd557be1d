//! Agents that answer on standard input and output, as assistants launch them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::end_to_end::ground::Ground;
use crate::end_to_end::process::eventually;

/// An agent on a pipe.
struct Piped {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Piped {
    fn start(ground: &Ground, agent: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_league"))
            .args([agent, "--stdio", "--port", "0", "--root", ground.root()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn say(&mut self, line: &str) -> Value {
        let mut input = self.input.as_ref().unwrap();
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let answer = self.say(&call.to_string());
        assert_eq!(answer["id"], 7, "{answer}");
        answer
    }

    /// Hangs up, and sees that it ends by itself.
    fn hang_up(mut self) {
        drop(self.input.take());
        let ended = eventually(|| self.child.try_wait().unwrap());
        assert_eq!(ended.and_then(|status| status.code()), Some(0));
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn assistant_follows_a_manager_over_a_pipe() {
    let ground = Ground::new();
    let mut manager = Piped::start(&ground, "manager");
    let hello = manager.call(
        "initialize",
        &json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }),
    );
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello}");
    let tools = manager.call("tools/list", &json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    assert!(tools.iter().any(|tool| tool["name"] == "get_standings"));
    let table = manager.call("tools/call", &json!({"name": "get_standings"}));
    let table = &table["result"]["structuredContent"];
    assert_eq!(table["message_type"], "LEAGUE_QUERY_RESPONSE", "{table}");
    let read = manager.call("resources/read", &json!({"uri": "league://standings"}));
    let read = &read["result"]["contents"][0]["uri"];
    assert_eq!(read, "league://standings");
    manager.hang_up();
}

#[test]
fn player_on_a_pipe_takes_both_forms_and_survives_nonsense() {
    let ground = Ground::new();
    let mut player = Piped::start(&ground, "player");
    let simple = player.call("get_player_state", &json!({}));
    assert_eq!(simple["result"]["state"], "INIT", "{simple}");
    let broken = player.say("this is no JSON");
    assert_eq!(broken["error"]["code"], -32700, "{broken}");
    assert_eq!(broken["id"], Value::Null);
    let modern = player.call(
        "tools/call",
        &json!({
            "name": "get_player_state", "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }),
    );
    assert_eq!(modern["result"]["resultType"], "complete", "{modern}");
    player.hang_up();
}
