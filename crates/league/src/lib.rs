//! Everything of a league that touches the world: servers, calls, agents, files, pages, commands.
//!
//! The binary of the same name runs [`cli::main`]. Other programs may use [`config`],
//! [`documents`] and [`log`] below a [`root`] (the toolkit of 000 chapter 10), and [`strategy`]. Players
//! and leagues in process need `league-kit` alone.

mod agents;
mod chance;
#[doc(hidden)]
pub mod cli;
mod clock;
pub mod config;
mod http;
pub mod log;
mod site;
mod storage;
#[cfg(test)]
mod tests;
mod wire;

pub use league_core::strategy;
pub use storage::{documents, root};

/// Keeps the page on the toolkit true: its examples are compiled and run with the other tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Toolkit;

/// The same for the page on strategies.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/strategies.md")]
struct StrategyGuide;

/// The server and the router without an agent, for the examples; not a public interface.
#[doc(hidden)]
pub mod server {
    pub use crate::http::server::{Limits, Routes, serve};
    pub use crate::http::transport::Listener;
    pub use crate::wire::record::RejectedCall;
    pub use crate::wire::router::{Caller, Router, ToolService};
}
