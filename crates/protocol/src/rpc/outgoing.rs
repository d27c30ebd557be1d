//! What we send: members in the order that 000 prints them, ids spelled as they came.

use serde::Serialize;
use thiserror::Error;

use super::era::Era;
use super::error::RpcError;
use super::id::Id;

/// The largest id of our own: beyond it, peers that count in floating point lose the last digit.
pub const MAX_OWN_ID: u64 = (1 << 53) - 1;

/// Room for an answer of the usual size, in bytes.
const USUAL_ANSWER: usize = 512;

/// Why a message of ours cannot be written.
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
/// A result that has no JSON form is answered as an internal error, for a call is always answered.
/// MCP wants an object here, plain JSON-RPC takes anything: the caller knows which it answers.
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
/// Refuses an id beyond [`MAX_OWN_ID`], and parameters that JSON-RPC has no place for.
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
/// Refuses parameters that JSON-RPC has no place for.
pub fn notify<T: Serialize + ?Sized>(
    method: &str,
    params: Option<&T>,
) -> Result<Vec<u8>, Unwritable> {
    let mut text = opening(method, params)?;
    text.push('}');
    Ok(text.into_bytes())
}

/// Joins the answers to a batch; if all of it were notifications, there is nothing to send.
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

/// Quotes a text as JSON does.
#[expect(
    clippy::unwrap_used,
    reason = "every text has a JSON form, and memory does not refuse it"
)]
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
