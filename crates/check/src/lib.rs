//! The conformance check: plays every rule of the protocol against an agent, as its other side.
//!
//! The rules send and read at the level of bytes; only the [`trial`] matches and the form of a
//! registration are read as a league reads them. A rule is a row ([`rule`]) of an [`exchange`] and of the expectations about its
//! [`record`]. To add a rule, add a row; a test checks that each row can fail.

pub mod caller;
pub mod exchange;
pub mod fake_manager;
pub mod launch;
pub mod listener;
pub mod manager;
pub mod player;
mod quote;
pub mod record;
pub mod referee;
pub mod registration;
pub mod rehearsal;
pub mod reply;
pub mod report;
pub mod rule;
pub mod script;
mod shared;
pub mod stage;
pub mod trial;
pub mod verdict;
pub mod wire;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rule::Topic;
use wire::BeginTls;

/// The vocabulary in which rules are written.
pub(crate) mod prelude {
    pub(crate) use std::sync::Arc;
    pub(crate) use std::time::Duration;

    pub(crate) use serde_json::{Value, json};

    pub(crate) use crate::caller::*;
    pub(crate) use crate::exchange::*;
    pub(crate) use crate::record::Expect::*;
    pub(crate) use crate::record::*;
    pub(crate) use crate::reply::Reply;
    pub(crate) use crate::rule::*;
    pub(crate) use crate::script::*;
    pub(crate) use crate::stage::*;
}

/// Returns 32 unpredictable bytes, for tokens and seeds.
pub type RandomBytes = Arc<dyn Fn() -> [u8; 32] + Send + Sync>;

/// Locks shared state; a rule that panicked while it held the lock does not stop the others.
pub(crate) fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address of the agent under check.
#[derive(Debug, Clone)]
pub struct Target {
    pub address: SocketAddr,
    /// Value of the header `Host`.
    pub authority: Arc<str>,
    /// With its leading slash.
    pub path: Arc<str>,
    /// What begins TLS; `None` for plain HTTP.
    pub tls: Option<BeginTls>,
}

impl Target {
    /// An agent on this machine.
    pub fn local(port: u16) -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, port).into(),
            authority: format!("localhost:{port}").into(),
            path: "/mcp".into(),
            tls: None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.tls.as_ref().map_or("http", |_| "https");
        write!(f, "{scheme}://{}{}", self.authority, self.path)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentKind {
    Player,
    Referee,
    Manager,
}

impl AgentKind {
    /// The first letter of its rule ids.
    pub const fn letter(self) -> char {
        match self {
            Self::Player => 'P',
            Self::Referee => 'R',
            Self::Manager => 'M',
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Referee => "referee",
            Self::Manager => "manager",
        }
    }

    /// All rules for agents of this kind, in the order in which they are played; for players the
    /// rules of `league.v2`.
    pub fn topics(self) -> Vec<Topic> {
        match self {
            Self::Player => player::topics(),
            Self::Referee => referee::topics(),
            Self::Manager => manager::topics(),
        }
    }
}
