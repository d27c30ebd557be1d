//! Agents: their identity, their dialect, and how they take calls.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{PlayerId, RefereeId};

/// The three spellings of the protocol that agents of one league may use.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub enum Dialect {
    /// `league.v2` as in the main document.
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

    /// The value of the field `protocol`.
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

/// How an agent takes calls, whatever the dialect of the messages in them (rulings 46 and 49).
///
/// An agent declares `Simple` or `Mcp`. The other styles are never declared: they are layouts of a
/// plain JSON-RPC call that the agent used itself, or that it was found to understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum CallStyle {
    /// The method names the tool, and `params` is the message.
    Simple,
    /// Tools are called through MCP, in any revision.
    Mcp,
    /// The layout of `Simple`, not declared.
    Tool,
    /// The method is the type of the message.
    Type,
    /// The method is `mcp_message` for all messages.
    Generic,
    /// As `Tool`, with the message in `params.message`.
    ToolMessage,
    TypeMessage,
    GenericMessage,
    /// As `Tool`, with the message in `params.arguments`.
    ToolArguments,
    TypeArguments,
    GenericArguments,
}

impl CallStyle {
    /// The layouts of plain calls, the likeliest first.
    pub const LAYOUTS: [Self; 9] = [
        Self::Tool,
        Self::Type,
        Self::Generic,
        Self::ToolMessage,
        Self::TypeMessage,
        Self::GenericMessage,
        Self::ToolArguments,
        Self::TypeArguments,
        Self::GenericArguments,
    ];
    /// How many layouts are tried on an unknown agent.
    pub const TRIED: usize = 7;
    /// The method that is used for all messages.
    pub const GENERIC_METHOD: &str = "mcp_message";

    /// The name used in messages, journals and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Mcp => "mcp",
            Self::Tool => "tool",
            Self::Type => "type",
            Self::Generic => "generic",
            Self::ToolMessage => "tool.message",
            Self::TypeMessage => "type.message",
            Self::GenericMessage => "generic.message",
            Self::ToolArguments => "tool.arguments",
            Self::TypeArguments => "type.arguments",
            Self::GenericArguments => "generic.arguments",
        }
    }

    /// Parses the name; `None` for an unknown one.
    pub fn parse(word: &str) -> Option<Self> {
        let declared = [Self::Simple, Self::Mcp].into_iter();
        declared
            .chain(Self::LAYOUTS)
            .find(|style| style.as_str() == word)
    }

    /// The layout of a plain call of this method, which may be the type of a message, with the
    /// message in this member of `params`.
    pub fn of_call(method: &str, is_type: bool, holder: Option<&str>) -> Self {
        let column = match method {
            Self::GENERIC_METHOD => 2,
            _ => usize::from(is_type),
        };
        let row = match holder {
            None => 0,
            Some("message") => 1,
            Some(_) => 2,
        };
        Self::LAYOUTS[3 * row + column]
    }

    /// The member of `params` that holds the message; `None` if `params` is the message.
    pub const fn holder(self) -> Option<&'static str> {
        match self {
            Self::Simple | Self::Mcp | Self::Tool | Self::Type | Self::Generic => None,
            Self::ToolMessage | Self::TypeMessage | Self::GenericMessage => Some("message"),
            Self::ToolArguments | Self::TypeArguments | Self::GenericArguments => Some("arguments"),
        }
    }

    /// The method of a plain call of a tool, with a message of a type.
    pub const fn method<'m>(self, tool: &'m str, message_type: &'m str) -> &'m str {
        match self {
            Self::Type | Self::TypeMessage | Self::TypeArguments => message_type,
            Self::Generic | Self::GenericMessage | Self::GenericArguments => Self::GENERIC_METHOD,
            Self::Simple | Self::Mcp | Self::Tool | Self::ToolMessage | Self::ToolArguments => tool,
        }
    }
}

impl From<CallStyle> for String {
    fn from(style: CallStyle) -> Self {
        style.as_str().to_owned()
    }
}

impl TryFrom<String> for CallStyle {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Self::parse(&word).ok_or_else(|| format!("`{word}` is not a call style"))
    }
}

/// An agent that the league knows by id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// The league manager.
    Manager,
    /// A referee, which runs matches.
    Referee(RefereeId),
    /// A player.
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
    fn call_styles_are_read_as_they_are_written() {
        let declared = [CallStyle::Simple, CallStyle::Mcp].into_iter();
        for style in declared.chain(CallStyle::LAYOUTS) {
            let written = serde_json::to_string(&style).expect("it is a word");
            let read: CallStyle = serde_json::from_str(&written).expect("it was written so");
            assert_eq!(read, style, "{written}");
        }
    }

    #[test]
    fn layouts_are_told_from_calls_that_are_written_in_them() {
        for style in CallStyle::LAYOUTS {
            let method = style.method("choose_parity", "CHOOSE_PARITY_CALL");
            let is_type = method == "CHOOSE_PARITY_CALL";
            assert_eq!(CallStyle::of_call(method, is_type, style.holder()), style);
        }
    }
}
