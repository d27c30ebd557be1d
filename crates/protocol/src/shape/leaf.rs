//! The plain values of messages: texts, numbers, flags, rounds, and JSON that is passed through.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::rpc::members::{Kind, text};
use crate::token::MAX_TOKEN_LENGTH;

use super::{Hidden, Wire, settled, wrong_kind};

/// The longest text that a field may hold, in bytes.
pub const MAX_TEXT_LENGTH: usize = 4_096;

/// A text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Text<'a>(pub Cow<'a, str>);

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl<'a> Wire<'a> for Text<'a> {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let Some(text) = text(raw) else {
            wrong_kind(at, notes, "a string", Kind::of(raw));
            return None;
        };
        if text.len() > MAX_TEXT_LENGTH {
            let detail = format!(
                "the text has {} bytes; send at most {MAX_TEXT_LENGTH}",
                text.len()
            );
            notes.note(Code::InvalidMessage, at, "a shorter text", detail);
            return None;
        }
        Some(Self(text))
    }

    fn schema(_: Reading) -> Value {
        json!({"type": "string", "maxLength": MAX_TEXT_LENGTH})
    }
}

/// A text that never prints itself: a token, or the seed of a draw.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Secret<'a>(pub Cow<'a, str>);

impl std::fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl<'a> Wire<'a> for Secret<'a> {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let Text(text) = Text::read(raw, at, notes)?;
        if text.len() > MAX_TOKEN_LENGTH {
            let detail = format!(
                "the secret has {} bytes; send at most {MAX_TOKEN_LENGTH}",
                text.len()
            );
            notes.note(Code::InvalidMessage, at, "a shorter secret", detail);
            return None;
        }
        Some(Self(text))
    }

    fn schema(_: Reading) -> Value {
        json!({"type": "string", "maxLength": MAX_TOKEN_LENGTH})
    }
}

/// A whole number that is not negative and fits into 32 bits: the league counts nothing higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Whole(pub u32);

impl<'a> Wire<'a> for Whole {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let number = serde_json::from_str(raw.get()).ok();
        if number.is_none() {
            let detail = format!("found `{}`; send a whole number", excerpt(raw.get()));
            let expected = "a whole number from 0 to 4294967295";
            notes.note(Code::InvalidMessage, at, expected, detail);
        }
        number.map(Self)
    }

    fn schema(_: Reading) -> Value {
        json!({"type": "integer", "minimum": 0, "maximum": u32::MAX})
    }
}

/// Any number that 64 bits can hold; written again it has the same value, not the same spelling.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Number(pub serde_json::Number);

impl<'a> Wire<'a> for Number {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let number = serde_json::from_str(raw.get()).ok();
        if number.is_none() {
            wrong_kind(at, notes, "a number", Kind::of(raw));
        }
        number.map(Self)
    }

    fn schema(_: Reading) -> Value {
        json!({"type": "number"})
    }
}

/// Yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Flag(pub bool);

impl<'a> Wire<'a> for Flag {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        match raw.get() {
            "true" => Some(Self(true)),
            "false" => Some(Self(false)),
            _ => {
                wrong_kind(at, notes, "`true` or `false`", Kind::of(raw));
                None
            }
        }
    }

    fn schema(_: Reading) -> Value {
        json!({"type": "boolean"})
    }
}

/// The number of a round, as `1` or as `"ROUND_1"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// As the main document writes it.
    Number(u32),
    /// As the API page writes it.
    Named(u32),
}

impl Round {
    /// Which round, however it was written.
    pub const fn number(self) -> u32 {
        match self {
            Self::Number(number) | Self::Named(number) => number,
        }
    }
}

impl Serialize for Round {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u32(*number),
            Self::Named(number) => serializer.collect_str(&format_args!("ROUND_{number}")),
        }
    }
}

impl<'a> Wire<'a> for Round {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let round = match text(raw) {
            None => serde_json::from_str(raw.get()).ok().map(Self::Number),
            Some(text) => text
                .strip_prefix("ROUND_")
                .filter(|digits| !digits.starts_with(['0', '+']) || *digits == "0")
                .and_then(|digits| digits.parse().ok())
                .map(Self::Named),
        };
        if round.is_none() {
            let detail = format!(
                "found `{}`; send the number of the round",
                excerpt(raw.get())
            );
            notes.note(
                Code::InvalidMessage,
                at,
                "a round: `1` or `\"ROUND_1\"`",
                detail,
            );
        }
        round
    }

    fn schema(_: Reading) -> Value {
        json!({"anyOf": [
            {"type": "integer", "minimum": 0, "maximum": u32::MAX},
            {"type": "string", "pattern": "^ROUND_(0|[1-9][0-9]*)$"},
        ]})
    }
}

/// JSON that is passed through, and prints only what kind it is.
#[derive(Clone)]
pub enum Any<'a> {
    /// As it came.
    Raw(&'a RawValue),
    /// As we have it.
    Value(Cow<'a, Value>),
}

impl std::fmt::Debug for Any<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Raw(raw) => f.debug_tuple("Raw").field(&Hidden(raw)).finish(),
            Self::Value(_) => f.write_str("Value(…)"),
        }
    }
}

impl Any<'_> {
    /// The value, parsed.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Raw(raw) => serde_json::from_str(raw.get()).unwrap_or(Value::Null),
            Self::Value(value) => value.as_ref().clone(),
        }
    }
}

impl<'a> From<&'a Value> for Any<'a> {
    fn from(value: &'a Value) -> Self {
        Self::Value(Cow::Borrowed(value))
    }
}

impl From<Value> for Any<'_> {
    fn from(value: Value) -> Self {
        Self::Value(Cow::Owned(value))
    }
}

impl Serialize for Any<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Raw(raw) => raw.serialize(serializer),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl<'a> Wire<'a> for Any<'a> {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        settled(raw, at, notes).then_some(Self::Raw(raw))
    }

    fn schema(_: Reading) -> Value {
        json!({})
    }
}
