//! Outgoing calls, answers and errors, with members in the order in which 000 prints them.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;
use thiserror::Error;

use super::frame::Era;
use super::frame::Id;
use super::members::{Broken, split};
use crate::finding::excerpt;

/// The largest id that we use: peers that store numbers as floating point lose digits beyond it.
pub const MAX_OWN_ID: u64 = (1 << 53) - 1;

/// The initial capacity for an answer, in bytes.
const USUAL_ANSWER: usize = 512;

/// Why our own message cannot be written.
#[derive(Debug, Error)]
pub enum Unwritable {
    /// The id is beyond [`MAX_OWN_ID`].
    #[error("id `{0}` is too large")]
    Id(u64),
    /// The parameters are JSON, but neither an object nor an array.
    #[error("parameters must be an object or an array")]
    Params,
    /// The parameters have no JSON form.
    #[error("parameters have no JSON form")]
    Json(#[from] serde_json::Error),
}

/// Writes the answer to a call.
///
/// A result that does not have a JSON form becomes an internal error, because each call must be
/// answered. MCP requires an object here, plain JSON-RPC accepts any value: the caller knows which.
#[must_use]
pub fn respond<T: Serialize + ?Sized>(id: &Id<'_>, result: &T) -> Vec<u8> {
    let mut body = Vec::with_capacity(USUAL_ANSWER);
    body.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"result\":");
    if serde_json::to_writer(&mut body, result).is_err() {
        return fail(Some(id), &RpcError::internal_error(), Era::Simple);
    }
    body.extend_from_slice(b",\"id\":");
    body.extend_from_slice(id.token().as_bytes());
    body.push(b'}');
    body
}

/// As [`respond`], with the members of the result beside it as well, for callers that look for them
/// there.
#[must_use]
pub fn respond_both(id: &Id<'_>, result: &RawValue) -> Vec<u8> {
    let mut body = respond(id, result);
    body.pop();
    let members = split(result.get()).unwrap_or_default();
    let own = ["jsonrpc", "id", "result", "error"];
    for (name, value) in members.iter().filter(|(name, _)| !own.contains(name)) {
        let name = serde_json::Value::from(name);
        body.extend_from_slice(format!(",{name}:{value}").as_bytes());
    }
    body.push(b'}');
    body
}

/// Writes an error as the answer to a call, or to a body whose id could not be read.
#[must_use]
pub fn fail(id: Option<&Id<'_>>, error: &RpcError, era: Era) -> Vec<u8> {
    let unread = era.writes_null_ids().then_some("null");
    response("error", &error_object(error), id.map(Id::token).or(unread))
}

/// Writes a call.
///
/// # Errors
///
/// Refuses an id beyond [`MAX_OWN_ID`], and parameters that JSON-RPC does not allow.
pub fn request<T: Serialize + ?Sized>(
    id: u64,
    method: &str,
    params: Option<&T>,
) -> Result<Vec<u8>, Unwritable> {
    if id > MAX_OWN_ID {
        return Err(Unwritable::Id(id));
    }
    let mut text = opening(method, params)?;
    text.push_str(&format!(",\"id\":{id}}}"));
    Ok(text.into_bytes())
}

/// Writes a notification.
///
/// # Errors
///
/// Refuses parameters that JSON-RPC does not allow.
pub fn notify<T: Serialize + ?Sized>(
    method: &str,
    params: Option<&T>,
) -> Result<Vec<u8>, Unwritable> {
    let mut text = opening(method, params)?;
    text.push('}');
    Ok(text.into_bytes())
}

/// Joins the answers to a batch; `None` if the batch held only notifications.
#[must_use]
pub fn batch(answers: &[Vec<u8>]) -> Option<Vec<u8>> {
    if answers.is_empty() {
        return None;
    }
    let mut body = vec![b'['];
    body.extend(answers.join(&b','));
    body.push(b']');
    Some(body)
}

fn opening<T: Serialize + ?Sized>(method: &str, params: Option<&T>) -> Result<String, Unwritable> {
    let mut text = format!("{{\"jsonrpc\":\"2.0\",\"method\":{}", quoted(method));
    if let Some(params) = params {
        let params = serde_json::to_string(params)?;
        if !params.starts_with(['{', '[']) {
            return Err(Unwritable::Params);
        }
        text.push_str(",\"params\":");
        text.push_str(&params);
    }
    Ok(text)
}

fn response(member: &str, value: &str, id: Option<&str>) -> Vec<u8> {
    let id = id.map(|id| format!(",\"id\":{id}")).unwrap_or_default();
    format!("{{\"jsonrpc\":\"2.0\",\"{member}\":{value}{id}}}").into_bytes()
}

fn error_object(error: &RpcError) -> String {
    let RpcError {
        code,
        message,
        data,
    } = error;
    let data = data
        .as_ref()
        .map(|data| format!(",\"data\":{data}"))
        .unwrap_or_default();
    format!("{{\"code\":{code},\"message\":{}{data}}}", quoted(message))
}

/// Quotes a text as a JSON string.
#[expect(
    clippy::unwrap_used,
    reason = "every text has a JSON form, and memory does not refuse it"
)]
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A JSON-RPC error that we answer with.
///
/// The message tells the peer's developer what was wrong and what to send instead. It never holds a
/// path, a secret or the text of an internal failure.
#[derive(Clone)]
pub struct RpcError {
    /// The error code, for programs.
    pub code: i64,
    /// The explanation, for people.
    pub message: Cow<'static, str>,
    /// Further data, in the form that the code defines.
    pub data: Option<Box<RawValue>>,
}

/// Shows only whether there is `data`, because it may repeat what a peer sent.
impl fmt::Debug for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RpcError")
            .field("code", &self.code)
            .field("message", &self.message)
            .field("data", &self.data.as_ref().map(|_| format_args!("…")))
            .finish()
    }
}

impl RpcError {
    /// The body is not JSON that we can parse.
    pub const PARSE_ERROR: i64 = -32700;
    /// The JSON is not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The server failed.
    pub const INTERNAL_ERROR: i64 = -32603;

    /// Makes an error of any code, without `data`.
    pub fn new(code: i64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The body could not be parsed.
    pub fn parse_error(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::PARSE_ERROR, message)
    }

    /// The JSON is not a request.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    /// The method does not exist here.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        let method = excerpt(method);
        Self::new(
            Self::METHOD_NOT_FOUND,
            format!("There is no method `{method}` here."),
        )
    }

    /// The parameters do not fit the method.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// The server failed; the error gives no details.
    #[must_use]
    pub fn internal_error() -> Self {
        let message = "The request was understood but could not be served. Try again later.";
        Self::new(Self::INTERNAL_ERROR, message)
    }

    /// A response was posted that we did not ask for.
    #[must_use]
    pub fn unasked_response() -> Self {
        let message = "This is a response, and nothing was asked. Send a request with a `method`.";
        Self::invalid_request(message)
    }

    /// Adds `data`.
    #[must_use]
    pub fn with_data(self, data: Box<RawValue>) -> Self {
        Self {
            data: Some(data),
            ..self
        }
    }

    /// Suggests the HTTP status for an answer that holds this error alone.
    ///
    /// Only the standard codes are known here; the codes that MCP adds come with statuses of
    /// their own.
    #[must_use]
    pub fn status(&self, era: Era) -> Status {
        match self.code {
            Self::PARSE_ERROR | Self::INVALID_REQUEST => Status::BadRequest,
            Self::METHOD_NOT_FOUND if era == Era::Modern => Status::NotFound,
            _ => Status::Ok,
        }
    }
}

/// A body refused as a whole: none of it was read as a message, so the id is not known.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The error to answer with.
    pub error: RpcError,
    /// The HTTP status to answer under.
    pub status: Status,
}

impl Refusal {
    /// Writes the answer, which is one object even if the body was a batch.
    #[must_use]
    pub fn answer(&self, era: Era) -> Vec<u8> {
        fail(None, &self.error, era)
    }

    /// Refuses a body that is JSON but not a message.
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            error: RpcError::invalid_request(message),
            status: Status::BadRequest,
        }
    }
}

impl From<Broken> for Refusal {
    fn from(broken: Broken) -> Self {
        let message = format!("Not readable: {broken}. Send {}.", remedy(broken));
        match broken {
            Broken::TooLarge => Self {
                error: RpcError::invalid_request(message),
                status: Status::PayloadTooLarge,
            },
            _ => Self {
                error: RpcError::parse_error(message),
                status: Status::BadRequest,
            },
        }
    }
}

fn remedy(broken: Broken) -> &'static str {
    match broken {
        Broken::TooLarge => "a smaller body",
        Broken::NotUtf8 => "JSON encoded as UTF-8",
        Broken::ByteOrderMark => "UTF-8 without one",
        Broken::TooDeep => "a flatter body",
        Broken::LoneSurrogate => "both halves, or the character itself",
        Broken::Empty | Broken::NotJson { .. } => "one JSON-RPC 2.0 object",
    }
}

/// An HTTP status that goes with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// 200: the body is the answer.
    Ok,
    /// 202: accepted, and there is nothing to answer.
    Accepted,
    /// 400: the body holds the error.
    BadRequest,
    /// 404: modern MCP's status for an unknown method.
    NotFound,
    /// 413: the body is over the bound.
    PayloadTooLarge,
    /// 415: the body is not declared as JSON.
    UnsupportedMediaType,
}

impl Status {
    /// Returns the number.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Ok => 200,
            Self::Accepted => 202,
            Self::BadRequest => 400,
            Self::NotFound => 404,
            Self::PayloadTooLarge => 413,
            Self::UnsupportedMediaType => 415,
        }
    }

    /// Suggests the status of a served message or batch: `Accepted` if there is nothing to answer.
    #[must_use]
    pub fn of_answer(answer: Option<&[u8]>) -> Self {
        if answer.is_some() {
            Self::Ok
        } else {
            Self::Accepted
        }
    }
}
