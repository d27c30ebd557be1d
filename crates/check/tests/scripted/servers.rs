//! Players behind other people's servers: HTTP/1.0, and answers that come as events.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use league_check::listener::{IncomingCall, ScriptedAnswer};
use league_check::verdict::Verdict;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::mcp::behind_mcp;
use crate::player::{Played, fair, staged};

/// What a server writes before each answer, besides its length.
#[derive(Debug, Clone, Copy)]
struct Server {
    head: &'static str,
    /// Whether it reads the next request from the same connection.
    keeps: bool,
    /// Whether answers are events of a stream.
    streams: bool,
}

/// Python's `http.server`, as it is without a word.
const OLD: Server = Server {
    head: "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n",
    keeps: false,
    streams: false,
};
/// FastMCP, as it is without a word.
const EVENTS: Server = Server {
    head: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n",
    keeps: true,
    streams: true,
};

type Script = Arc<dyn Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync>;

impl Server {
    /// A stage with a player behind this server.
    async fn play(
        self,
        script: impl Fn(&IncomingCall) -> ScriptedAnswer + Send + Sync + 'static,
    ) -> Played {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let script: Script = Arc::new(script);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(self.converse(stream, Arc::clone(&script)));
            }
        });
        staged(port, |_| {}).await
    }

    async fn converse(self, stream: TcpStream, script: Script) {
        let mut stream = BufReader::new(stream);
        while let Some(heard) = hear(&mut stream).await {
            let body = match script(&heard) {
                ScriptedAnswer::Result(result) => {
                    json!({"jsonrpc": "2.0", "id": heard.json["id"], "result": result}).to_string()
                }
                ScriptedAnswer::Raw(_, body) => body,
                ScriptedAnswer::Late(..) | ScriptedAnswer::Nothing => return,
            };
            let body = match self.streams {
                true => format!("event: message\r\ndata: {body}\r\n\r\n"),
                false => body,
            };
            let head = self.head;
            let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            if stream.write_all(answer.as_bytes()).await.is_err() || !self.keeps {
                return;
            }
        }
    }
}

/// Reads a request.
async fn hear(stream: &mut BufReader<TcpStream>) -> Option<IncomingCall> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let line = line.strip_suffix("\r\n")?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(told) = line.strip_prefix("content-length: ") {
            length = told.parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(IncomingCall {
        at: Instant::now(),
        method: "POST".to_owned(),
        path: "/mcp".to_owned(),
        headers: hyper::HeaderMap::new(),
        json: serde_json::from_slice(&body).unwrap_or_default(),
        body: body.into(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_http_1_0_may_close_after_each_answer() {
    let old = OLD.play(fair).await;
    assert_eq!(old.verdict("P-CONN-01").await, Verdict::Pass);
    let both = old.rule("P-CONN-02").await;
    assert_eq!(both.verdict, Verdict::Skipped, "{both:?}");
    for head in [
        "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n",
        "HTTP/1.1 200 OK\r\n",
    ] {
        let lying = Server { head, ..OLD }.play(fair).await;
        assert_eq!(lying.verdict("P-CONN-01").await, Verdict::Fail, "{head}");
    }
}

/// What FastMCP makes of the answer of a tool that gives a text.
fn as_text(said: ScriptedAnswer) -> ScriptedAnswer {
    match said {
        ScriptedAnswer::Result(mut result) => {
            if let Some(text) = result.pointer("/content/0/text").cloned() {
                result["structuredContent"] = json!({"result": text});
            }
            ScriptedAnswer::Result(result)
        }
        said => said,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_of_fastmcp_that_answers_with_events_and_texts_passes() {
    let fair = EVENTS.play(|heard| as_text(behind_mcp(heard, fair))).await;
    assert_eq!(fair.stage.speech(), "mcp");
    for id in ["P-HTTP-01", "P-RPC-02", "P-JOIN-01", "P-PICK-02"] {
        let finding = fair.rule(id).await;
        assert_eq!(finding.verdict, Verdict::Pass, "{id}: {finding:?}");
    }
    for id in ["P-RPC-05", "P-RPC-06"] {
        let finding = fair.rule(id).await;
        assert_eq!(finding.verdict, Verdict::Skipped, "{id}: {finding:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_no_answer_to_a_plain_call() {
    let plain = EVENTS.play(fair).await;
    assert_eq!(plain.stage.speech(), "simple");
    assert_eq!(plain.verdict("P-HTTP-01").await, Verdict::Fail);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_calls_of_matches_at_once_have_the_same_id() {
    let ids: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&ids);
    let player = EVENTS
        .play(move |heard| {
            if heard.json["method"] == "tools/call" {
                seen.lock().unwrap().push(heard.json["id"].clone());
            }
            behind_mcp(heard, fair)
        })
        .await;
    ids.lock().unwrap().clear();
    assert_eq!(player.verdict("P-CROWD-01").await, Verdict::Pass);
    let ids = ids.lock().unwrap();
    let different: BTreeSet<String> = ids.iter().map(Value::to_string).collect();
    assert!(ids.len() > 5, "{ids:?}");
    assert_eq!(different.len(), ids.len(), "{ids:?}");
}
