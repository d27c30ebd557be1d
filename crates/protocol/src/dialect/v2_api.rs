//! `league.v2` with the spellings of the API page.
//!
//! The page spells nine messages its own way; they are listed in [`page`]. All others are those
//! of the main document, with their rounds written as `"ROUND_1"` (ruling 8).

pub mod page;
mod rounds;
mod say;
mod understand;
pub mod words;

pub use say::say;
pub use understand::understand;

use serde::ser::SerializeMap;
use serde_json::{Map, Value};

use crate::finding::{Notes, Reading};
use crate::rpc::members::Members;
use crate::shape::Extra;

use super::v2;

/// The body of a message.
#[derive(Debug, Clone)]
pub enum Body<'a> {
    /// A message that the API page spells its own way.
    Page(page::Body<'a>),
    /// A message that is spelled as in the main document.
    Main(v2::Body<'a>),
}

impl<'a> Body<'a> {
    /// The message types of this dialect.
    pub const TYPES: &'static [&'static str] = &[
        "REFEREE_REGISTER_REQUEST",
        "REFEREE_REGISTER_RESPONSE",
        "LEAGUE_REGISTER_REQUEST",
        "LEAGUE_REGISTER_RESPONSE",
        "ROUND_ANNOUNCEMENT",
        "ROUND_COMPLETED",
        "LEAGUE_COMPLETED",
        "GAME_INVITATION",
        "GAME_JOIN_ACK",
        "CHOOSE_PARITY_CALL",
        "CHOOSE_PARITY_RESPONSE",
        "GAME_MOVE_CALL",
        "GAME_MOVE_RESPONSE",
        "GAME_OVER",
        "MATCH_RESULT_REPORT",
        "LEAGUE_STANDINGS_UPDATE",
        "LEAGUE_ERROR",
        "GAME_ERROR",
        "LEAGUE_QUERY",
        "LEAGUE_QUERY_RESPONSE",
        "START_MATCH",
        "START_MATCH_ACK",
        "QUERY_STANDINGS_REQUEST",
        "QUERY_STANDINGS_RESPONSE",
    ];

    /// Reads the body of a message; gives the members back if this dialect has no such type.
    pub fn read(
        message_type: &str,
        members: Members<'a>,
        notes: &mut Notes,
    ) -> Result<Self, Members<'a>> {
        if page::Body::TYPES.contains(&message_type) {
            page::Body::read(message_type, members, notes).map(Self::Page)
        } else {
            v2::Body::read(message_type, members, notes).map(Self::Main)
        }
    }

    /// The message type as it is written.
    pub fn message_type(&self) -> &'static str {
        match self {
            Self::Page(body) => body.message_type(),
            Self::Main(body) => body.message_type(),
        }
    }

    /// What is not known in the body.
    pub fn extra(&self) -> &Extra<'a> {
        match self {
            Self::Page(body) => body.extra(),
            Self::Main(body) => body.extra(),
        }
    }

    /// Where the message is written.
    pub fn clause(&self) -> &'static str {
        match self {
            Self::Page(body) => body.clause(),
            Self::Main(body) => body.clause(),
        }
    }

    /// Writes the members into an object that is being written.
    pub fn write_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        match self {
            Self::Page(body) => body.write_members(map),
            Self::Main(body) => body.write_members(map),
        }
    }

    /// What a message is about and how its body is described as JSON Schema.
    pub fn schema(
        message_type: &str,
        reading: Reading,
    ) -> Option<(&'static str, &'static str, Map<String, Value>)> {
        page::Body::schema(message_type, reading)
            .or_else(|| v2::Body::schema(message_type, reading))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_those_of_both_documents_each_once() {
        let mut both = [v2::Body::TYPES, page::Body::TYPES].concat();
        both.sort_unstable();
        both.dedup();
        let mut listed = Body::TYPES.to_vec();
        listed.sort_unstable();
        assert_eq!(listed, both);
    }
}
