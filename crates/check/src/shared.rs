//! The rules that every kind of agent is held to: HTTP, connections, JSON-RPC, MCP.

mod connections;
mod http;
mod jsonrpc;
mod mcp;

use crate::rule::Topic;

/// The topics that every kind of agent has.
pub(crate) fn topics() -> Vec<Topic> {
    vec![
        http::topic(),
        connections::topic(),
        jsonrpc::answers(),
        jsonrpc::frames(),
        mcp::topic(),
    ]
}
