//! A server for the official conformance suite: the service of our agents, and behind it what the
//! suite wants to find there instead of an agent.
//!
//! It prints where it answers, and serves until its standard input ends.

mod scenarios;

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;

use league::server::{Caller, Router, ToolService};
use league::server::{Limits, Routes, serve};
use league_protocol::rpc::{self, Call, Era, RpcError};
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Knows no tool by its name.
struct NoTools;

impl ToolService for NoTools {
    fn has(&self, _method: &str) -> bool {
        false
    }

    async fn answer(&self, call: &Call<'_>, _caller: Caller<'_>) -> Vec<u8> {
        let error = RpcError::method_not_found(&call.method);
        rpc::fail(Some(&call.id), &error, Era::Simple)
    }

    async fn health(&self) -> Map<String, Value> {
        Map::new()
    }
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let service = Router {
        tools: Arc::new(NoTools),
        mcp: scenarios::mcp(),
    };
    let routes = Routes::default();
    routes.open("", Arc::new(service));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    writeln!(io::stdout(), "http://127.0.0.1:{port}/mcp")?;
    let end = watch::Sender::new(false);
    let served = tokio::spawn(serve(listener, routes, Limits::default(), end.subscribe()));
    tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await??;
    end.send_replace(true);
    served.await?;
    Ok(())
}
