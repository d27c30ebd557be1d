//! One message: what its members say it is, by the rules of an era.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

use super::era::Era;
use super::error::{RpcError, Status};
use super::id::Id;
use super::members::{Kind, Members, MembersError, text};
use super::open::Element;
use super::outgoing::fail;
use super::reply::{Response, read_response};

/// The longest method name that is taken, in bytes.
pub const MAX_METHOD: usize = 128;

/// One message of a body.
#[derive(Debug, Clone)]
pub enum Frame<'a> {
    /// A request, which is owed exactly one answer.
    Call(Call<'a>),
    /// A request without an id, which gets no answer whatever comes of it.
    Notification(Notification<'a>),
    /// An answer to something that we may have asked.
    Response(Response<'a>),
    /// None of these; the error to answer with is inside.
    Malformed(Malformed<'a>),
}

/// A request that waits for its answer.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The id to answer under.
    pub id: Id<'a>,
    /// The method, unescaped.
    pub method: Cow<'a, str>,
    /// The parameters, unread.
    pub params: Params<'a>,
}

/// A request that waits for nothing.
#[derive(Debug, Clone)]
pub struct Notification<'a> {
    /// The method, unescaped.
    pub method: Cow<'a, str>,
    /// The parameters, unread.
    pub params: Params<'a>,
}

/// A message that is not one, and the error to answer with.
#[derive(Debug, Clone)]
pub struct Malformed<'a> {
    /// The id, if it could be told with certainty.
    pub id: Option<Id<'a>>,
    /// The member at fault; empty for the message as a whole.
    pub place: &'static str,
    /// The error.
    pub error: RpcError,
}

impl Malformed<'_> {
    /// Writes the answer.
    #[must_use]
    pub fn answer(&self, era: Era) -> Vec<u8> {
        fail(self.id.as_ref(), &self.error, era)
    }

    /// Suggests the HTTP status if this was the only message of its body.
    #[must_use]
    pub fn status(&self, era: Era) -> Status {
        self.error.status(era)
    }
}

/// The parameters of a request; prints only of what kind they are.
#[derive(Clone, Copy)]
pub enum Params<'a> {
    /// There are none.
    Absent,
    /// By name: a JSON object.
    Named(&'a RawValue),
    /// By place: a JSON array.
    Placed(&'a RawValue),
}

impl fmt::Debug for Params<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "Absent",
            Self::Named(_) => "Named(…)",
            Self::Placed(_) => "Placed(…)",
        })
    }
}

impl<'a> Params<'a> {
    /// Returns the JSON, if there is any.
    pub fn text(self) -> Option<&'a str> {
        match self {
            Self::Absent => None,
            Self::Named(raw) | Self::Placed(raw) => Some(raw.get()),
        }
    }

    /// Returns the object, or nothing if there are no parameters.
    ///
    /// # Errors
    ///
    /// Parameters by place are answered with this error. Every tool of the league and every method
    /// of MCP names its parameters.
    pub fn named(self) -> Result<Option<&'a RawValue>, RpcError> {
        match self {
            Self::Absent => Ok(None),
            Self::Named(object) => Ok(Some(object)),
            Self::Placed(_) => {
                let message = "`params` is an array. Send an object that names each parameter.";
                Err(RpcError::invalid_params(message))
            }
        }
    }
}

/// Reads one message.
pub(super) fn frame<'a>(element: Element<'a>, era: Era, in_batch: bool) -> Frame<'a> {
    let read = element
        .map_err(|error| unreadable(&error))
        .and_then(|members| {
            if is_response(&members) {
                posted(&members, era)
            } else {
                request(&members, era, in_batch)
            }
        });
    read.unwrap_or_else(Frame::Malformed)
}

/// Tells whether the members are those of a response; a `method` makes anything a request.
fn is_response(members: &Members<'_>) -> bool {
    !members.has("method") && (members.has("result") || members.has("error"))
}

fn unreadable<'a>(error: &MembersError) -> Malformed<'a> {
    let message = match error {
        MembersError::NotAnObject { found } => {
            format!("A message must be a JSON-RPC 2.0 object, not {found}.")
        }
        other => format!("The message cannot be read: {other}."),
    };
    Malformed {
        id: None,
        place: "",
        error: RpcError::invalid_request(message),
    }
}

/// Reads a response that was posted to us; modern MCP has no use for one.
fn posted<'a>(members: &Members<'a>, era: Era) -> Result<Frame<'a>, Malformed<'a>> {
    let refuse = |error| Malformed {
        id: None,
        place: "",
        error,
    };
    if era == Era::Modern {
        return Err(refuse(RpcError::unasked_response()));
    }
    let response = read_response(members, era).map_err(|fault| {
        refuse(RpcError::invalid_request(format!(
            "The posted response is not one: {fault}."
        )))
    })?;
    Ok(Frame::Response(response))
}

fn request<'a>(
    members: &Members<'a>,
    era: Era,
    in_batch: bool,
) -> Result<Frame<'a>, Malformed<'a>> {
    let id = match members.count("id") {
        1 => members.get("id").map(|id| Id::read(id, era)).transpose(),
        _ => Ok(None),
    };
    let id = id.map_err(|error| Malformed {
        id: None,
        place: "id",
        error,
    })?;
    match named_parts(members).and_then(|parts| check_method(parts, id.is_some(), era, in_batch)) {
        Err((place, error)) => Err(Malformed { id, place, error }),
        Ok((method, params)) => Ok(match id {
            Some(id) => Frame::Call(Call { id, method, params }),
            None => Frame::Notification(Notification { method, params }),
        }),
    }
}

type Parts<'a> = (Cow<'a, str>, Params<'a>);
/// What is wrong, and with which member.
type Misplaced = (&'static str, RpcError);

/// Reads everything but the id, in the order in which a person would mend it.
fn named_parts<'a>(members: &Members<'a>) -> Result<Parts<'a>, Misplaced> {
    let refused = |place, message: String| Err((place, RpcError::invalid_request(message)));
    if let Some(name) = members.repeated() {
        let name = super::error::excerpt(name);
        let message = format!("Member `{name}` appears more than once. Send each member once.");
        return refused("", message);
    }
    if members.get("jsonrpc").and_then(text).as_deref() != Some("2.0") {
        let message = "`jsonrpc` must be the string \"2.0\".".to_owned();
        return refused("jsonrpc", message);
    }
    let Some(method) = members.get("method").and_then(text) else {
        let message = "`method` must be a string that names the method.".to_owned();
        return refused("method", message);
    };
    if method.len() > MAX_METHOD {
        let message = format!("`method` is longer than {MAX_METHOD} bytes.");
        return refused("method", message);
    }
    let params = params(members).map_err(|error| ("params", error))?;
    Ok((method, params))
}

fn params<'a>(members: &Members<'a>) -> Result<Params<'a>, RpcError> {
    let Some(params) = members.get("params") else {
        return Ok(Params::Absent);
    };
    match Kind::of(params) {
        Kind::Object => Ok(Params::Named(params)),
        Kind::Array => Ok(Params::Placed(params)),
        found => {
            let message =
                format!("`params` must be an object or an array, not {found}. Or leave it out.");
            Err(RpcError::invalid_request(message))
        }
    }
}

/// Turns away the calls that no method may answer; a notification of that kind has no answer at all
/// and is passed on, to be ignored as any unknown one.
fn check_method<'a>(
    parts: Parts<'a>,
    is_call: bool,
    era: Era,
    in_batch: bool,
) -> Result<Parts<'a>, Misplaced> {
    let method = parts.0.as_ref();
    if is_call && method.starts_with("rpc.") {
        return Err(("method", RpcError::method_not_found(method)));
    }
    if is_call && in_batch && era.is_mcp() && method == "initialize" {
        let message = "`initialize` must not be part of a batch. Send it alone.";
        return Err(("method", RpcError::invalid_request(message)));
    }
    Ok(parts)
}
