//! Messages from the check's side, built by hand, member by member.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use league_protocol::time::Timestamp;
use serde_json::{Value, json};

/// A time with another offset than UTC.
pub const OTHER_OFFSET: &str = "2025-01-15T10:30:00+02:00";

/// The present moment.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_millis();
    Timestamp::from_millis(i64::try_from(since).unwrap_or(i64::MAX))
}

/// A message of `league.v2` with its envelope.
pub fn message(kind: &str, sender: &str, conversation: &str, body: Value) -> Value {
    let mut message = json!({
        "protocol": "league.v2",
        "message_type": kind,
        "sender": sender,
        "timestamp": now().to_seconds_text(),
        "conversation_id": conversation,
    });
    extend(&mut message, body);
    message
}

/// Puts all members of one object into another.
pub fn extend(message: &mut Value, more: Value) {
    if let Value::Object(more) = more {
        for (name, value) in more {
            message[name] = value;
        }
    }
}

/// The time after this delay.
pub fn in_time(ahead: Duration) -> String {
    let ahead = i64::try_from(ahead.as_millis()).unwrap_or(i64::MAX);
    let then = now().as_millis().saturating_add(ahead);
    Timestamp::from_millis(then).to_seconds_text()
}

/// The parity of a number, as a word.
pub fn parity_of(number: u64) -> &'static str {
    if number.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    }
}
