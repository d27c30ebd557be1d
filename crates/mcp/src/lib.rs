//! The Model Context Protocol, served for an agent of the league.
//!
//! An agent lists its tools, resources and prompts by the trait [`Offering`], in plain types;
//! [`Mcp`] serves them in the revisions from 2025-03-26 to 2026-07-28. Sockets, limits, the check
//! of `Host` and `Origin` and the decoding of JSON-RPC are left to the HTTP server.
//!
//! [`Mcp`] is built on `rmcp`; none of its types leaves this crate.

mod direct;
mod handler;
mod offering;
mod service;
mod wire;

pub use offering::{
    About, Argument, BoxFuture, Completing, McpCaller, Offering, Origin, Prompt, PromptFault,
    Resource, ResourceText, Template, Tool, ToolAnswer,
};
pub use service::{Events, Mcp, McpResponse, RequestHead, ResponseBody};
pub use wire::bare_headers;

/// The revision without sessions and handshake.
pub const MODERN: &str = "2026-07-28";

/// The revisions that begin with a handshake, the latest first.
pub const LEGACY: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
