//! Which set of rules a body is read by.

/// The rules that a peer frames its messages by.
///
/// Plain JSON-RPC and the revisions of MCP differ in what an id may be, in whether a body may hold
/// several messages, and in how an error says that it could not read the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Plain JSON-RPC 2.0, where the method is the tool.
    Simple,
    /// MCP up to 2025-03-26, or without a version header: batches are served.
    LegacyWithBatch,
    /// MCP 2025-06-18 and 2025-11-25: batches are gone.
    Legacy,
    /// MCP from 2026-07-28 on: no sessions, no batches, no null ids in either direction.
    Modern,
}

impl Era {
    /// Finds the era of an `MCP-Protocol-Version` header, or nothing if no era has that version.
    #[must_use]
    pub fn of_version(version: &str) -> Option<Self> {
        match version {
            "2024-11-05" | "2025-03-26" => Some(Self::LegacyWithBatch),
            "2025-06-18" | "2025-11-25" => Some(Self::Legacy),
            "2026-07-28" => Some(Self::Modern),
            _ => None,
        }
    }

    /// Tells whether one body may hold several messages.
    #[must_use]
    pub fn takes_batches(self) -> bool {
        matches!(self, Self::Simple | Self::LegacyWithBatch)
    }

    /// Tells whether the rules are those of MCP, of whatever revision.
    #[must_use]
    pub fn is_mcp(self) -> bool {
        self != Self::Simple
    }

    /// Tells whether an error whose request id could not be read says `"id":null`, or has no `id`.
    #[must_use]
    pub fn writes_null_ids(self) -> bool {
        self != Self::Modern
    }
}
