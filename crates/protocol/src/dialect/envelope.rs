//! The fields that every message has, whatever it says.

use serde_json::{Value, json};
use smol_str::SmolStr;

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::shape;
use crate::shape::{Parsed, Secret, Text, Vocabulary, no_time, utc_schema};
use crate::time::{EXPECTED, TimeError, Timestamp};

shape! {
    /// The fields that every message has.
    Envelope<'a> "000 §2.4.1" {
        /// The protocol: `league.v2` or `league.v1`.
        protocol: Parsed<'a, ProtocolName>, Expected;
        /// The type of the message.
        message_type: Text<'a>, Needed;
        /// Who says it.
        sender: Parsed<'a, SenderName>, Expected;
        /// When it was said, in UTC.
        timestamp: Parsed<'a, Sent>, Expected;
        /// Ties the messages of one exchange together.
        conversation_id: Text<'a>, Expected;
        /// What proves the sender, once it has registered.
        auth_token: Secret<'a>, Optional;
    }
}

/// When a message was sent; unlike a time in a payload it must be one, in UTC (ruling 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent(pub Timestamp);

impl Vocabulary for Sent {
    fn parse(text: &str, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let at = &at.under("000 §2.4.2");
        let problem = match Timestamp::parse(text) {
            Ok(moment) => return Some(Self(moment)),
            Err(problem) => problem,
        };
        let detail = no_time(text, &problem);
        if let TimeError::Spelling(moment) = problem {
            notes.forgive(Code::InvalidTimestamp, at, EXPECTED, detail);
            return Some(Self(moment));
        }
        notes.refuse(Code::InvalidTimestamp, at, EXPECTED, detail);
        None
    }

    fn schema(reading: Reading) -> Value {
        utc_schema(reading)
    }
}

/// The protocol that a message claims to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtocolName {
    /// `league.v2`
    V2,
    /// `league.v1`
    V1,
}

impl Vocabulary for ProtocolName {
    fn parse(text: &str, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        match text {
            "league.v2" => Some(Self::V2),
            "league.v1" => Some(Self::V1),
            _ => {
                let expected = "`league.v2` or `league.v1`";
                let detail = format!("found `{}`; send {expected}", excerpt(text));
                notes.refuse(
                    Code::VersionMismatch,
                    &at.under("000 §2.10.2"),
                    expected,
                    detail,
                );
                None
            }
        }
    }

    fn schema(_: Reading) -> Value {
        json!({"type": "string", "enum": ["league.v2", "league.v1"]})
    }
}

/// Whom the field `sender` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderName {
    /// `league_manager`
    Manager,
    /// `referee:REF01`, or `referee` in `v1`.
    Referee(Option<SmolStr>),
    /// `player:P01`, or `player_001` in `v1`.
    Player(SmolStr),
}

impl Vocabulary for SenderName {
    fn parse(text: &str, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let named = match text {
            "league_manager" => Some(Self::Manager),
            "referee" => Some(Self::Referee(None)),
            _ => match text.split_once([':', '_']) {
                Some(("referee", name)) if !name.is_empty() => {
                    Some(Self::Referee(Some(name.into())))
                }
                Some(("player", name)) if !name.is_empty() => Some(Self::Player(name.into())),
                _ => None,
            },
        };
        if named.is_none() {
            let expected = "`league_manager`, `referee:ID` or `player:ID`";
            let detail = format!("found `{}`; send {expected}", excerpt(text));
            notes.note(
                Code::InvalidMessage,
                &at.under("000 §2.4.4"),
                expected,
                detail,
            );
        }
        named
    }

    fn schema(reading: Reading) -> Value {
        match reading {
            Reading::Strict => {
                json!({"type": "string", "pattern": "^(league_manager|referee|referee:.+|player[:_].+)$"})
            }
            Reading::Lenient => json!({"type": "string"}),
        }
    }
}
