//! Who says something, and in which dialect.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{PlayerId, RefereeId};

/// The three spellings of the protocol that are spoken in one league.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum Dialect {
    /// `league.v2` as the main document has it.
    #[default]
    #[serde(rename = "v2")]
    V2,
    /// `league.v2` with the spellings of the API page.
    #[serde(rename = "v2-api")]
    V2Api,
    /// `league.v1`: UUIDs, `mcp://` endpoints, one play after the other.
    #[serde(rename = "v1")]
    V1,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::V2, Self::V2Api, Self::V1];

    /// The name used in configuration and reports: `v2`, `v2-api`, `v1`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V2Api => "v2-api",
            Self::V1 => "v1",
        }
    }

    /// Reads the name used in configuration and reports.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == name)
    }

    /// What stands in the field `protocol`.
    pub const fn protocol(self) -> &'static str {
        match self {
            Self::V2 | Self::V2Api => "league.v2",
            Self::V1 => "league.v1",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How an agent says it takes calls, whatever the dialect of the messages in them (ruling 46).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speech {
    /// The method of a call is the name of a tool, and its parameters are the message.
    Simple,
    /// Calls of tools go through MCP, of whichever revision.
    Mcp,
}

impl Speech {
    /// The word in a message: `simple` or `mcp`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Mcp => "mcp",
        }
    }

    /// Reads the word; another one says nothing.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Simple, Self::Mcp]
            .into_iter()
            .find(|speech| speech.as_str() == word)
    }
}

/// An agent that the league knows by id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// The one that keeps the league.
    Manager,
    /// One that runs matches.
    Referee(RefereeId),
    /// One that plays.
    Player(PlayerId),
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manager => f.write_str("league_manager"),
            Self::Referee(id) => write!(f, "referee:{id}"),
            Self::Player(id) => write!(f, "player:{id}"),
        }
    }
}
