//! Request ids, kept as the JSON token that was sent, and the ids of a stream's pending calls.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde_json::value::RawValue;

use super::frame::Era;
use super::members::Kind;
use super::outgoing::RpcError;

/// The longest id that is accepted, in bytes of its JSON token.
pub const MAX_ID: usize = 256;

/// A request's id, spelled as its sender spelled it.
///
/// Two ids are equal if their spellings are: `1`, `1.0`, `"1"` and `"\u0031"` are four ids. An
/// answer must repeat the id, and only the same bytes are the same to every reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// Makes one of our own ids.
    #[must_use]
    pub fn number(number: u64) -> Id<'static> {
        Id(Cow::Owned(number.to_string()))
    }

    /// Accepts a token as an id if the era allows it.
    ///
    /// Plain JSON-RPC takes strings, numbers and null; MCP takes strings and whole numbers.
    ///
    /// # Errors
    ///
    /// Returns the error to answer with, which then cannot carry the id.
    pub fn read(value: &'a RawValue, era: Era) -> Result<Self, RpcError> {
        let token = value.get();
        if token.len() > MAX_ID {
            let message = format!("`id` is longer than {MAX_ID} bytes. Send a shorter one.");
            return Err(RpcError::invalid_request(message));
        }
        let allowed = match Kind::of(value) {
            Kind::String => true,
            Kind::Number => !era.is_mcp() || is_whole(token),
            Kind::Null => !era.is_mcp(),
            Kind::Object | Kind::Array | Kind::Boolean => false,
        };
        if !allowed {
            let wanted = if era.is_mcp() {
                "a string or a whole number"
            } else {
                "a string or a number"
            };
            return Err(RpcError::invalid_request(format!("`id` must be {wanted}.")));
        }
        Ok(Self(Cow::Borrowed(token)))
    }

    /// Returns the JSON token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.0
    }

    /// Copies the token, so that the id outlives the body it came in.
    #[must_use]
    pub fn into_owned(self) -> Id<'static> {
        Id(Cow::Owned(self.0.into_owned()))
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whether a JSON number is whole, judged by its digits alone.
///
/// `1e2` is `100` and `15e-1` is `1.5`; computing the value would lose digits of longer numbers.
fn is_whole(token: &str) -> bool {
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return true;
    }
    // The place of the last significant digit: 0 for ones, -1 for tenths. Both lengths are within
    // `MAX_ID`, so neither cast nor difference can overflow.
    let place = (digits.len() - significant.len()) as i64 - fraction.len() as i64;
    match exponent.parse::<i64>() {
        Ok(exponent) => exponent.saturating_add(place) >= 0,
        Err(_) => !exponent.starts_with('-'),
    }
}

/// How many calls of one stream may be pending at once.
pub const MAX_IN_FLIGHT: usize = 1024;

/// The ids of a stream's unanswered calls.
#[derive(Debug, Clone, Default)]
pub struct InFlight {
    ids: BTreeSet<String>,
}

impl InFlight {
    /// Registers a call.
    ///
    /// # Errors
    ///
    /// Returns the error to answer with if the id is in use, or if too many calls are pending.
    pub fn begin(&mut self, id: &Id<'_>) -> Result<(), RpcError> {
        if self.ids.contains(&key(id)) {
            let message = "`id` is in use by a call that still waits. Send another id.";
            return Err(RpcError::invalid_request(message));
        }
        if self.ids.len() >= MAX_IN_FLIGHT {
            let message = format!("{MAX_IN_FLIGHT} calls wait already. Wait for an answer first.");
            return Err(RpcError::invalid_request(message));
        }
        self.ids.insert(key(id));
        Ok(())
    }

    /// Removes a call that was answered.
    pub fn end(&mut self, id: &Id<'_>) {
        self.ids.remove(&key(id));
    }
}

/// Normalises the escapes of a string id; numbers stay as they are.
fn key(id: &Id<'_>) -> String {
    match serde_json::from_str::<String>(id.token()) {
        Ok(text) => format!("\"{text}"),
        Err(_) => id.token().to_owned(),
    }
}
