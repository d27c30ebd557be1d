//! The rules for every kind of agent: HTTP, connections, JSON-RPC, MCP.

mod connections;
mod http;
mod jsonrpc;
mod mcp;

use crate::rule::Topic;

/// The topics for every kind of agent.
pub(crate) fn topics() -> Vec<Topic> {
    vec![
        http::topic(),
        connections::topic(),
        jsonrpc::answers(),
        jsonrpc::frames(),
        mcp::topic(),
    ]
}
