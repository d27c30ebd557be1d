//! `league check`: plays every rule of the documents against somebody's agent, as its other side.
//!
//! Everything is spoken and read by the byte; the forgiving reader of the league has no part in it.
//! To add a kind of agent: give it a [`Stage`](stage::Stage) (the agent and its other side, see
//! [`player`]), a list of [`Topic`](rule::Topic)s with one `rule!` a row, begin the list with
//! [`shared::topics`], and name both in `Kind` and in the command.

pub mod act;
pub mod envelope;
pub mod essential;
pub mod habit;
pub mod launch;
pub mod listener;
pub mod manager;
pub mod office;
mod overheard;
pub mod player;
pub mod referee;
pub mod reply;
pub mod report;
pub mod rule;
pub mod run;
pub mod script;
pub mod shared;
pub mod stage;
pub mod verdict;
pub mod wire;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Gives 32 bytes that cannot be guessed, for tokens and seeds.
pub type RandomBytes = Arc<dyn Fn() -> [u8; 32] + Send + Sync>;

/// The address of the agent under check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub address: SocketAddr,
    /// Value of the header `Host`.
    pub authority: Arc<str>,
    /// With its leading slash.
    pub path: Arc<str>,
}

impl Target {
    /// An agent on this machine.
    pub fn local(port: u16) -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, port).into(),
            authority: format!("localhost:{port}").into(),
            path: "/mcp".into(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

/// A kind of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A player.
    Player,
    /// A referee.
    Referee,
    /// A league manager.
    Manager,
}

impl Kind {
    /// The letter that the names of its rules begin with.
    pub const fn letter(self) -> char {
        match self {
            Self::Player => 'P',
            Self::Referee => 'R',
            Self::Manager => 'M',
        }
    }

    /// Its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Referee => "referee",
            Self::Manager => "manager",
        }
    }
}
