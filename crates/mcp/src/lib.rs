//! The Model Context Protocol, served for an agent of the league.
//!
//! An agent says what it has to offer by the trait [`Offering`], in plain types; [`Mcp`] answers
//! requests about it in the revisions from 2025-03-26 to 2026-07-28. Sockets, limits, the check of
//! `Host` and `Origin` and the reading of JSON-RPC are left to whoever stands at the door.
//!
//! Behind [`Mcp`] works `rmcp`; none of its types is seen outside of this crate.

mod direct;
#[cfg(feature = "fixture")]
pub mod fixture;
mod handler;
mod offering;
mod service;
mod wire;

pub use offering::{
    About, Argument, Caller, Completing, Given, Offering, Origin, Pending, Prompt, PromptFault,
    Read, Resource, Template, Tool,
};
pub use service::{Body, Events, Head, Mcp, Response};
pub use wire::bare_headers;

/// The revision without sessions and handshake.
pub const MODERN: &str = "2026-07-28";

/// The revisions that begin with a handshake, the latest first.
pub const LEGACY: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];
