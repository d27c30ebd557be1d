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

/// How an agent takes calls, whatever the dialect of the messages in them (ruling 46).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Speech {
    /// It says so itself: the method is the name of a tool, and the parameters are the message.
    Simple,
    /// Calls of tools go through MCP, of whichever revision.
    Mcp,
    /// Nobody said so, but it calls others like this (ruling 49).
    Habit(Form),
}

impl Speech {
    /// The word in a message: `simple`, `mcp`, or that of a [`Form`].
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Mcp => "mcp",
            Self::Habit(form) => form.as_str(),
        }
    }

    /// Reads the word; another one says nothing.
    pub fn parse(word: &str) -> Option<Self> {
        let said = [Self::Simple, Self::Mcp].into_iter();
        let mut all = said.chain(Form::ALL.into_iter().map(Self::Habit));
        all.find(|speech| speech.as_str() == word)
    }
}

impl From<Speech> for String {
    fn from(speech: Speech) -> Self {
        speech.as_str().to_owned()
    }
}

impl TryFrom<String> for Speech {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Self::parse(&word).ok_or_else(|| format!("`{word}` is no way to take calls"))
    }
}

/// How a call in the simplified form is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Form {
    /// What the method is.
    pub naming: Naming,
    /// Where the message is.
    pub nesting: Nesting,
}

/// What the method of a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Naming {
    /// The name of a tool, as the documents have it.
    #[default]
    Tool,
    /// The type of the message.
    Type,
    /// One word for all messages: `mcp_message`.
    Generic,
}

/// Where in the parameters of a call the message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Nesting {
    /// The parameters are the message, as the documents have it.
    #[default]
    Bare,
    /// Under `message`.
    Message,
    /// Under `arguments`.
    Arguments,
}

impl Form {
    /// Every form, the likeliest first.
    pub const ALL: [Self; 9] = [
        Self::of(Naming::Tool, Nesting::Bare),
        Self::of(Naming::Type, Nesting::Bare),
        Self::of(Naming::Generic, Nesting::Bare),
        Self::of(Naming::Tool, Nesting::Message),
        Self::of(Naming::Type, Nesting::Message),
        Self::of(Naming::Generic, Nesting::Message),
        Self::of(Naming::Tool, Nesting::Arguments),
        Self::of(Naming::Type, Nesting::Arguments),
        Self::of(Naming::Generic, Nesting::Arguments),
    ];
    /// How many forms are tried on an agent of which nothing is known.
    pub const TRIED: usize = 7;

    /// A form of these two.
    pub const fn of(naming: Naming, nesting: Nesting) -> Self {
        Self { naming, nesting }
    }

    /// The word in a message: `tool`, `type.message`, ….
    pub const fn as_str(self) -> &'static str {
        match (self.naming, self.nesting) {
            (Naming::Tool, Nesting::Bare) => "tool",
            (Naming::Tool, Nesting::Message) => "tool.message",
            (Naming::Tool, Nesting::Arguments) => "tool.arguments",
            (Naming::Type, Nesting::Bare) => "type",
            (Naming::Type, Nesting::Message) => "type.message",
            (Naming::Type, Nesting::Arguments) => "type.arguments",
            (Naming::Generic, Nesting::Bare) => "generic",
            (Naming::Generic, Nesting::Message) => "generic.message",
            (Naming::Generic, Nesting::Arguments) => "generic.arguments",
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_take_calls_is_read_as_it_is_written() {
        let habits = Form::ALL.map(Speech::Habit);
        for speech in [Speech::Simple, Speech::Mcp].into_iter().chain(habits) {
            let written = serde_json::to_string(&speech).expect("it is a word");
            let read: Speech = serde_json::from_str(&written).expect("it was written so");
            assert_eq!(read, speech, "{written}");
        }
        for naming in [Naming::Tool, Naming::Type, Naming::Generic] {
            for nesting in [Nesting::Bare, Nesting::Message, Nesting::Arguments] {
                assert!(Form::ALL.contains(&Form::of(naming, nesting)));
            }
        }
    }
}
