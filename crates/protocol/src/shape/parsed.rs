//! Texts with a meaning: ids, times, senders, and words from a closed list.

use std::borrow::Cow;
use std::fmt::Display;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::id::{GameType, LeagueId, MatchId, PlayerId, RefereeId};
use crate::lenient::no_zone;
use crate::time::{EXPECTED, TimeError, Timestamp};

use super::{Text, Wire};

/// A text and what it means; the text is kept, so that it goes out as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<'a, T> {
    text: Cow<'a, str>,
    /// What it means.
    pub value: T,
}

impl<'a, T> Parsed<'a, T> {
    /// A value with the text that stands for it.
    pub fn new(text: impl Into<Cow<'a, str>>, value: T) -> Self {
        Self {
            text: text.into(),
            value,
        }
    }

    /// A value with the fixed word that stands for it.
    pub const fn word(word: &'static str, value: T) -> Self {
        Self {
            text: Cow::Borrowed(word),
            value,
        }
    }

    /// The text as it came or goes.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<T: Display> Parsed<'_, T> {
    /// A value whose text is how it is displayed.
    pub fn shown(value: T) -> Self {
        Self {
            text: Cow::Owned(value.to_string()),
            value,
        }
    }
}

impl<T> Serialize for Parsed<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// What a text can mean.
pub trait Vocabulary: Sized {
    /// Reads a text, or notes why it has no meaning.
    fn parse(text: &str, at: &Path<'_>, notes: &mut Notes) -> Option<Self>;

    /// Describes the texts as JSON Schema.
    fn schema(reading: Reading) -> Value;
}

impl<'a, T: Vocabulary> Wire<'a> for Parsed<'a, T> {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let Text(text) = Text::read(raw, at, notes)?;
        T::parse(&text, at, notes).map(|value| Self { text, value })
    }

    fn schema(reading: Reading) -> Value {
        T::schema(reading)
    }
}

macro_rules! id_vocabulary {
    ($($id:ty)*) => {$(
        impl Vocabulary for $id {
            fn parse(text: &str, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
                match Self::new(text) {
                    Ok(id) => Some(id),
                    Err(problem) => {
                        let detail = format!("`{}` is no id: {problem}", excerpt(text));
                        notes.note(Code::InvalidMessage, at, "an id", detail);
                        None
                    }
                }
            }

            fn schema(_: Reading) -> Value {
                json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"})
            }
        }
    )*};
}

macro_rules! id_wire {
    ($($id:ty)*) => {$(
        impl<'a> From<&'a $id> for Parsed<'a, $id> {
            fn from(id: &'a $id) -> Self {
                Self { text: Cow::Borrowed(id.as_str()), value: id.clone() }
            }
        }
    )*};
}

id_wire! { GameType LeagueId MatchId PlayerId RefereeId }
id_vocabulary! { GameType LeagueId MatchId PlayerId RefereeId }

impl Vocabulary for Timestamp {
    fn parse(text: &str, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let at = &at.under("000 §2.4.2");
        match Self::parse(text) {
            Ok(moment) => Some(moment),
            Err(problem @ TimeError::NoZone(moment)) => {
                no_zone(&problem.to_string(), at, notes);
                Some(moment)
            }
            Err(problem @ TimeError::Spelling(moment)) => {
                let detail = no_time(text, &problem);
                notes.forgive(Code::InvalidTimestamp, at, EXPECTED, detail);
                Some(moment)
            }
            Err(problem @ TimeError::NotUtc(_)) => {
                notes.refuse(
                    Code::InvalidTimestamp,
                    at,
                    EXPECTED,
                    no_time(text, &problem),
                );
                None
            }
            Err(problem @ TimeError::NotATime) => {
                notes.note(
                    Code::InvalidTimestamp,
                    at,
                    EXPECTED,
                    no_time(text, &problem),
                );
                None
            }
        }
    }

    fn schema(reading: Reading) -> Value {
        match reading {
            Reading::Strict => utc_schema(reading),
            Reading::Lenient => json!({"anyOf": [
                utc_schema(reading),
                {"type": "string", "pattern": format!("{DAY}T{TIME_OF_DAY}$")},
            ]}),
        }
    }
}

const DAY: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}";
const TIME_OF_DAY: &str = "[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?";

/// What says UTC: as 000 table 3 writes it, or also as others do.
pub(crate) fn utc_schema(reading: Reading) -> Value {
    let pattern = match reading {
        Reading::Strict => format!("{DAY}T{TIME_OF_DAY}(Z|\\+00:00)$"),
        Reading::Lenient => {
            let ends = "(Z|z|\\+00:00Z|[+-]00:?00|\\+00|UTC|GMT)";
            format!("{DAY}[Tt ]{TIME_OF_DAY} ?{ends}$")
        }
    };
    json!({"type": "string", "pattern": pattern})
}

/// Says why a text is no time, and what to send.
pub(crate) fn no_time(text: &str, problem: &TimeError) -> String {
    match problem {
        TimeError::NotUtc(_) | TimeError::NoZone(_) | TimeError::Spelling(_) => problem.to_string(),
        TimeError::NotATime => format!("`{}` is no time: {problem}", excerpt(text)),
    }
}
