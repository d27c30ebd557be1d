//! The rules that every kind of agent is held to: HTTP, JSON-RPC, MCP.

mod frames;
mod mcp;
mod rpc;
mod traffic;
mod transport;

use super::rule::Topic;
use super::stage::Stage;

/// The topics that every kind begins with.
pub fn topics<S: Stage>() -> Vec<Topic<S>> {
    vec![
        transport::topic(),
        traffic::topic(),
        rpc::topic(),
        frames::topic(),
        mcp::topic(),
    ]
}
