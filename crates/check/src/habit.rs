//! How the agent under check takes calls: by the name of a tool, or by MCP's `tools/call`.
//!
//! Only the framing of a call differs; its message is the same for both.

use std::collections::BTreeMap;

use league_protocol::peer::Inputs;
use serde_json::{Value, json};

use super::caller::{JSON, PROMPT};
use super::reply::Reply;
use super::stage::Question;
use super::wire::{Request, exchange};
use crate::Target;

/// The MCP revision that the check offers.
pub const REVISION: &str = "2025-11-25";

/// How an agent takes calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Habit {
    /// The method is the tool.
    #[default]
    Simple,
    /// The method is `tools/call`.
    Mcp {
        /// The session, if the agent keeps one.
        session: Option<String>,
        /// The inputs of each tool.
        inputs: BTreeMap<String, Inputs>,
    },
}

impl Habit {
    /// Tries an ordinary call, and a handshake if the agent does not understand the call.
    pub async fn find(agent: &Target, question: &Question) -> Self {
        let plain = said(agent, &frame(&question.method, &question.params), None).await;
        if plain.is_some_and(|reply| reply.result().is_some()) {
            return Self::Simple;
        }
        let client = json!({"name": "league-check", "version": env!("CARGO_PKG_VERSION")});
        let hello = json!({
            "protocolVersion": REVISION, "capabilities": {}, "clientInfo": client,
        });
        let Some(greeting) = said(agent, &frame("initialize", &hello), None).await else {
            return Self::Simple;
        };
        if greeting.member("protocolVersion").is_none() {
            return Self::Simple;
        }
        let answer = greeting.trip.came.as_ref().ok();
        let session = answer.and_then(|answer| answer.header("mcp-session-id"));
        let session = session.map(str::to_owned);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        said(agent, &ready, session.as_deref()).await;
        let listed = said(agent, &frame("tools/list", &json!({})), session.as_deref()).await;
        let tools = listed.as_ref().and_then(|reply| reply.member("tools"));
        let tools = tools.and_then(Value::as_array).into_iter().flatten();
        let inputs = tools.filter_map(|tool| {
            let name = tool["name"].as_str()?.to_owned();
            Some((name, Inputs::of(&tool["inputSchema"])))
        });
        Self::Mcp {
            inputs: inputs.collect(),
            session,
        }
    }

    /// The name used in the report.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Mcp { .. } => "mcp",
        }
    }

    pub const fn is_mcp(&self) -> bool {
        matches!(self, Self::Mcp { .. })
    }

    /// Whether the agent keeps a session for us.
    pub const fn has_session(&self) -> bool {
        matches!(
            self,
            Self::Mcp {
                session: Some(_),
                ..
            }
        )
    }

    /// The frame of a call.
    pub fn frame(&self, question: &Question, id: &Value) -> Value {
        let Question { method, params, .. } = question;
        let (method, params) = match self {
            Self::Mcp { inputs, .. } if question.is_tool => {
                let message = params.as_object().cloned().unwrap_or_default();
                let arguments = match inputs.get(method) {
                    Some(inputs) => inputs.shaped(message),
                    None => message,
                };
                (
                    "tools/call",
                    json!({"name": method, "arguments": arguments}),
                )
            }
            _ => (method.as_str(), params.clone()),
        };
        json!({"jsonrpc": "2.0", "method": method, "params": params, "id": id})
    }

    /// The headers of a call, besides the common ones.
    pub fn headers(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Simple => Vec::new(),
            Self::Mcp { session, .. } => in_session(session.as_deref()),
        }
    }
}

/// The headers of a session.
pub fn in_session(session: Option<&str>) -> Vec<(&str, &str)> {
    let mut headers = vec![("MCP-Protocol-Version", REVISION)];
    headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
    headers
}

fn frame(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params, "id": 1})
}

async fn said(agent: &Target, frame: &Value, session: Option<&str>) -> Option<Reply> {
    let mut headers = JSON.to_vec();
    headers.extend(
        session
            .into_iter()
            .flat_map(|session| in_session(Some(session))),
    );
    let body = frame.to_string();
    let request = Request {
        method: "POST",
        path: &agent.path,
        headers: &headers,
        body: body.as_bytes(),
    };
    let exchange = exchange(agent, &request, PROMPT).await;
    exchange.came.is_ok().then(|| Reply::read(exchange))
}
