//! Reads a peer's answer strictly.
//!
//! The first fault is reported and nothing is forgiven. A lenient reader can take the facts from
//! [`open`](super::open()) and apply [`read_error`] to them.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;
use thiserror::Error;

use super::frame::Id;
use super::frame::{Era, Opened, open};
use super::members::{Broken, Kind, Members, MembersError, members, text};
use crate::finding::excerpt;

/// Reads the answer to our call: the result, or the peer's error.
///
/// An error without an id is accepted too, in the form in which the era marks an unreadable id: the
/// exchange shows which call it answers.
///
/// # Errors
///
/// Returns the first fault because of which the body is not an answer to that call.
pub fn read_reply(
    body: &[u8],
    expected: u64,
    era: Era,
) -> Result<Result<&RawValue, PeerError<'_>>, ReplyFault> {
    let members = match open(body)? {
        Opened::Single(element) => element?,
        Opened::Batch { .. } => return Err(ReplyFault::NotAnObject { found: Kind::Array }),
    };
    let response = read_response(&members, era)?;
    match response.id {
        Some(id) if id != Id::number(expected) => Err(ReplyFault::WrongId {
            expected,
            found: excerpt(id.token()),
        }),
        _ => Ok(response.outcome),
    }
}

/// An answer, not yet compared with the call.
#[derive(Clone)]
pub struct Response<'a> {
    /// The id of the call it answers; only an error may omit it.
    pub id: Option<Id<'a>>,
    /// The result, or the peer's error.
    pub outcome: Result<&'a RawValue, PeerError<'a>>,
}

/// An error that a peer answered with.
#[derive(Clone)]
pub struct PeerError<'a> {
    /// The error code.
    pub code: i64,
    /// The peer's own words, unchecked.
    pub message: Cow<'a, str>,
    /// Further data, in the form that the code defines.
    pub data: Option<&'a RawValue>,
}

/// Hides everything that the peer wrote: a result or an error may hold a token.
impl fmt::Debug for Response<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = self.outcome.as_ref().map(|_| format_args!("…"));
        f.debug_struct("Response")
            .field("id", &self.id)
            .field("outcome", &outcome)
            .finish()
    }
}

/// Shows only the code, because the peer wrote everything else.
impl fmt::Debug for PeerError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code;
        write!(f, "PeerError({code}, …)")
    }
}

/// Why a body is not the expected answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplyFault {
    /// The body is not JSON within our bounds.
    #[error("the reply cannot be read")]
    Broken(#[from] Broken),
    /// The body is JSON of another kind.
    #[error("expected an object, found {found}")]
    NotAnObject {
        /// The kind that was found.
        found: Kind,
    },
    /// The reply, or the error in it, cannot be split into members without repeated names.
    #[error(transparent)]
    Members(MembersError),
    /// There is no `jsonrpc`, or it is not `"2.0"`.
    #[error("`jsonrpc` is not \"2.0\"")]
    Version,
    /// There is a `method`, so this is a request.
    #[error("`method` does not belong into a response")]
    Method,
    /// There is no `id` where there must be one.
    #[error("`id` is missing")]
    IdMissing,
    /// The `id` is of a kind that this era does not use in answers.
    #[error("`id` is not of a kind that a response may have")]
    IdKind,
    /// The `id` belongs to another call.
    #[error("`id` is `{found}`, not `{expected}`")]
    WrongId {
        /// The id that was sent.
        expected: u64,
        /// The token that came back, cut to a length that fits a sentence.
        found: String,
    },
    /// There are both a `result` and an `error`.
    #[error("`result` and `error` exclude each other")]
    Both,
    /// There is neither a `result` nor an `error`.
    #[error("there is neither `result` nor `error`")]
    Neither,
    /// The `result` is not an object, as MCP requires.
    #[error("`result` is {found}, not an object")]
    Result {
        /// The kind that was found.
        found: Kind,
    },
    /// The `error` is not an object.
    #[error("`error` is {found}, not an object")]
    Error {
        /// The kind that was found.
        found: Kind,
    },
    /// The error's `code` is missing or not an integer.
    #[error("`error.code` is not an integer")]
    ErrorCode,
    /// The error's `message` is missing or not a string.
    #[error("`error.message` is not a string")]
    ErrorMessage,
}

impl ReplyFault {
    /// Names the field at fault; the reply as a whole is `$`.
    #[must_use]
    pub fn field(&self) -> &str {
        match self {
            Self::Broken(_) | Self::NotAnObject { .. } | Self::Neither => "$",
            Self::Members(MembersError::Repeated { name }) => name,
            Self::Members(_) => "$",
            Self::Version => "jsonrpc",
            Self::Method => "method",
            Self::IdMissing | Self::IdKind | Self::WrongId { .. } => "id",
            Self::Result { .. } => "result",
            Self::Both | Self::Error { .. } => "error",
            Self::ErrorCode => "error.code",
            Self::ErrorMessage => "error.message",
        }
    }
}

impl From<MembersError> for ReplyFault {
    fn from(error: MembersError) -> Self {
        match error {
            MembersError::NotAnObject { found } => Self::NotAnObject { found },
            other => Self::Members(other),
        }
    }
}

/// Reads members that were split from a response.
///
/// # Errors
///
/// Returns the first fault because of which they are not a response.
pub fn read_response<'a>(members: &Members<'a>, era: Era) -> Result<Response<'a>, ReplyFault> {
    if let Some(name) = members.repeated() {
        return Err(MembersError::repeated(name).into());
    }
    if members.get("jsonrpc").and_then(text).as_deref() != Some("2.0") {
        return Err(ReplyFault::Version);
    }
    if members.has("method") {
        return Err(ReplyFault::Method);
    }
    let outcome = match (members.get("result"), members.get("error")) {
        (Some(_), Some(_)) => return Err(ReplyFault::Both),
        (None, None) => return Err(ReplyFault::Neither),
        (Some(result), None) => Ok(checked_result(result, era)?),
        (None, Some(error)) => Err(read_error(error)?),
    };
    Ok(Response {
        id: response_id(members, era, outcome.is_err())?,
        outcome,
    })
}

/// Reads an error object.
///
/// # Errors
///
/// Refuses an error without an integer `code` and a `message`, and one with repeated members.
pub fn read_error(error: &RawValue) -> Result<PeerError<'_>, ReplyFault> {
    let found = Kind::of(error);
    if found != Kind::Object {
        return Err(ReplyFault::Error { found });
    }
    let members = members(error.get()).map_err(inside_error)?;
    let code = members.get("code").and_then(|code| code.get().parse().ok());
    let message = members.get("message").and_then(text);
    Ok(PeerError {
        code: code.ok_or(ReplyFault::ErrorCode)?,
        message: message.ok_or(ReplyFault::ErrorMessage)?,
        data: members.get("data"),
    })
}

/// Names a repeated member by its path from the reply.
fn inside_error(fault: MembersError) -> MembersError {
    match fault {
        MembersError::Repeated { name } => MembersError::Repeated {
            name: format!("error.{name}"),
        },
        other => other,
    }
}

fn checked_result(result: &RawValue, era: Era) -> Result<&RawValue, ReplyFault> {
    match Kind::of(result) {
        found if era.is_mcp() && found != Kind::Object => Err(ReplyFault::Result { found }),
        _ => Ok(result),
    }
}

/// Reads a response's id. Our ids are never null, so null means that the peer could not read ours.
///
/// MCP lets such an error omit the id since 2025-11-25, and modern MCP does not allow null.
fn response_id<'a>(
    members: &Members<'a>,
    era: Era,
    is_error: bool,
) -> Result<Option<Id<'a>>, ReplyFault> {
    match members.get("id") {
        None if is_error && matches!(era, Era::Legacy | Era::Modern) => Ok(None),
        None => Err(ReplyFault::IdMissing),
        Some(id) if Kind::of(id) == Kind::Null => {
            if is_error && era.writes_null_ids() {
                Ok(None)
            } else {
                Err(ReplyFault::IdKind)
            }
        }
        Some(id) => Id::read(id, era).map(Some).map_err(|_| ReplyFault::IdKind),
    }
}
