//! The words of the other side: messages built by hand, member by member.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use league_protocol::time::{TimeError, Timestamp};
use serde_json::{Value, json};

/// The present moment.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_millis();
    Timestamp::from_millis(i64::try_from(since).unwrap_or(i64::MAX))
}

/// A message of `league.v2` with its envelope.
pub fn message(kind: &str, sender: &str, conversation: &str, says: Value) -> Value {
    let mut message = json!({
        "protocol": "league.v2",
        "message_type": kind,
        "sender": sender,
        "timestamp": now().to_seconds_text(),
        "conversation_id": conversation,
    });
    if let Value::Object(says) = says {
        for (name, value) in says {
            message[name] = value;
        }
    }
    message
}

/// The moment that lies so far ahead.
pub fn in_time(ahead: Duration) -> String {
    let ahead = i64::try_from(ahead.as_millis()).unwrap_or(i64::MAX);
    let then = now().as_millis().saturating_add(ahead);
    Timestamp::from_millis(then).to_seconds_text()
}

/// What is wrong with a time, if anything is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeFault {
    /// It is missing, or no text.
    Missing,
    /// It is no time.
    NoTime,
    /// It has no zone.
    NoZone,
    /// It says UTC in another form.
    Spelling,
    /// It has another offset than UTC.
    Offset,
}

impl TimeFault {
    /// The fault in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "is missing",
            Self::NoTime => "is no time in the form 2025-01-15T10:30:00Z",
            Self::NoZone => "has no zone; UTC is written with Z",
            Self::Spelling => "says UTC in another form than 2025-01-15T10:30:00Z",
            Self::Offset => "has another offset than UTC",
        }
    }
}

/// Looks at a time by the letter of 000 §2.4.2.
///
/// # Errors
///
/// Says what is wrong with it.
pub fn utc(value: Option<&Value>) -> Result<Timestamp, TimeFault> {
    let text = value.and_then(Value::as_str).ok_or(TimeFault::Missing)?;
    Timestamp::parse(text).map_err(|problem| match problem {
        TimeError::NoZone(_) => TimeFault::NoZone,
        TimeError::NotUtc(_) => TimeFault::Offset,
        TimeError::Spelling(_) => TimeFault::Spelling,
        TimeError::NotATime => TimeFault::NoTime,
    })
}
