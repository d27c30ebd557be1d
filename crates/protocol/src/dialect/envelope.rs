//! The members that every message has.

use std::borrow::Cow;

use serde_json::{Value, json};
use smol_str::SmolStr;

use crate::fault::Code;
use crate::finding::{Path, Reading, excerpt};
use crate::sender::Dialect;
use crate::shape::{Codec, Cx, Spelled, Vocabulary, no_time, objects, read_text, utc_schema};
use crate::time::{EXPECTED, TimeError, Timestamp};
use crate::token::AuthToken;

/// The envelope of a message, as far as it could be read.
#[derive(Debug, Clone, Default)]
pub struct Envelope {
    pub protocol: Option<ProtocolName>,
    pub message_type: Option<SmolStr>,
    pub sender: Option<SenderName>,
    pub timestamp: Option<Timestamp>,
    /// Ties the messages of one exchange together.
    pub conversation_id: Option<SmolStr>,
    /// What proves the sender, once it has registered.
    pub auth_token: Option<AuthToken>,
}

objects! {
    /// The fields that every message has.
    pub(crate) ENVELOPE: Envelope = "000 §2.4.1" {
        /// The protocol: `league.v2` or `league.v1`.
        "protocol" [protocol ?] Expected;
        /// The type of the message.
        "message_type" [message_type ?] Needed;
        /// Who says it.
        "sender" [sender ?] Expected;
        /// When it was said, in UTC.
        "timestamp" [timestamp ? as Sent] Expected;
        /// Ties the messages of one exchange together.
        "conversation_id" [conversation_id ?] Expected;
        /// What proves the sender, once it has registered.
        "auth_token" [auth_token ?] Optional;
    }
}

/// The time of a message; unlike a time in a payload it must be valid and in UTC (ruling 6).
struct Sent;

impl Codec<Timestamp> for Sent {
    fn read(
        raw: &serde_json::value::RawValue,
        at: &Path<'_>,
        cx: &mut Cx<'_>,
    ) -> Option<Timestamp> {
        let text = read_text(raw, at, cx)?;
        let at = &at.under("000 §2.4.2");
        let problem = match Timestamp::parse(&text) {
            Ok(moment) => return Some(moment),
            Err(problem) => problem,
        };
        let detail = no_time(&text, &problem);
        if let TimeError::Spelling(moment) = problem {
            cx.forgive(Code::InvalidTimestamp, at, EXPECTED, detail);
            return Some(moment);
        }
        cx.refuse(Code::InvalidTimestamp, at, EXPECTED, detail);
        None
    }

    fn spell(moment: &Timestamp, dialect: Dialect) -> Spelled<'_> {
        Spelled::text(match dialect {
            Dialect::V2 | Dialect::V2Api => moment.to_seconds_text(),
            Dialect::V1 => moment.to_millis_text(),
        })
    }

    fn schema(_: Dialect, reading: Reading) -> Value {
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
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        match text {
            "league.v2" => Some(Self::V2),
            "league.v1" => Some(Self::V1),
            _ => {
                let expected = "`league.v2` or `league.v1`";
                let detail = format!("found `{}`; send {expected}", excerpt(text));
                cx.refuse(
                    Code::VersionMismatch,
                    &at.under("000 §2.10.2"),
                    expected,
                    detail,
                );
                None
            }
        }
    }

    fn text(&self, _: Dialect) -> Cow<'_, str> {
        Cow::Borrowed(self.as_str())
    }

    fn schema(_: Dialect, _: Reading) -> Value {
        json!({"type": "string", "enum": ["league.v2", "league.v1"]})
    }
}

impl ProtocolName {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2 => "league.v2",
            Self::V1 => "league.v1",
        }
    }
}

/// The agent that the field `sender` names.
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
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
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
            cx.note(
                Code::InvalidMessage,
                &at.under("000 §2.4.4"),
                expected,
                detail,
            );
        }
        named
    }

    fn text(&self, _: Dialect) -> Cow<'_, str> {
        match self {
            Self::Manager => Cow::Borrowed("league_manager"),
            Self::Referee(None) => Cow::Borrowed("referee"),
            Self::Referee(Some(name)) => Cow::Owned(format!("referee:{name}")),
            Self::Player(name) => Cow::Owned(format!("player:{name}")),
        }
    }

    fn schema(_: Dialect, reading: Reading) -> Value {
        match reading {
            Reading::Strict => {
                json!({"type": "string", "pattern": "^(league_manager|referee|referee:.+|player[:_].+)$"})
            }
            Reading::Lenient => json!({"type": "string"}),
        }
    }
}
