//! The server of our agents with a single tool.

use std::sync::Arc;

use league::server::{self, Limits, Routes};
use league::server::{Router, ToolService};
use league_mcp::{About, BoxFuture, Mcp, McpCaller, Offering, Tool, ToolAnswer};
use league_protocol::rpc::{self, Call, Era, RpcError};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::choice::{Choice, Invitation, TOOL};

pub(crate) async fn serve(listener: TcpListener) {
    let chooser = Arc::new(Chooser::default());
    let routes = Routes::default();
    let router = Router {
        tools: Arc::clone(&chooser),
        mcp: Mcp::new(chooser),
    };
    routes.open("", Arc::new(router));
    let end = watch::Sender::new(false);
    server::serve(listener, routes, Limits::default(), end.subscribe()).await;
}

/// Has the one tool.
struct Chooser {
    tools: [Tool; 1],
}

impl Default for Chooser {
    fn default() -> Self {
        let tools = [Tool {
            name: TOOL,
            title: "Choose",
            description: "Chooses even, whatever it is asked.",
            input_schema: Arc::default(),
            output_schema: Arc::default(),
            read_only: true,
            idempotent: true,
        }];
        Self { tools }
    }
}

fn choose(invitation: Option<&RawValue>) -> Option<Choice> {
    let invitation: Invitation = serde_json::from_str(invitation?.get()).ok()?;
    Some(invitation.into())
}

impl ToolService for Chooser {
    fn has(&self, method: &str) -> bool {
        method == TOOL
    }

    async fn answer(&self, call: &Call<'_>, _caller: league::server::Caller<'_>) -> Vec<u8> {
        let named = call.params.named().ok().flatten();
        match choose(named).filter(|_| self.has(&call.method)) {
            Some(choice) => rpc::respond(&call.id, &choice),
            None => {
                let error = RpcError::method_not_found(&call.method);
                rpc::fail(Some(&call.id), &error, Era::Simple)
            }
        }
    }

    async fn health(&self) -> Map<String, Value> {
        Map::new()
    }
}

impl Offering for Chooser {
    fn about(&self) -> About {
        About {
            name: "league-cost".to_owned(),
            title: "What a call costs".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: String::new(),
        }
    }

    fn tools(&self) -> &[Tool] {
        &self.tools
    }

    fn call<'o>(
        &'o self,
        tool: &'o str,
        arguments: Option<&'o RawValue>,
        _caller: McpCaller,
    ) -> BoxFuture<'o, Option<ToolAnswer>> {
        Box::pin(async move {
            let choice = choose(arguments).filter(|_| tool == TOOL)?;
            Some(ToolAnswer {
                answer: to_raw_value(&choice).ok()?,
                failed: false,
            })
        })
    }
}
