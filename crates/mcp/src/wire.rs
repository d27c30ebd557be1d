//! Converts between decoded messages and the bytes of `rmcp`.
//!
//! An id travels around `rmcp`, not through it: the answer carries the id exactly as the caller
//! spelled it.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use league_protocol::rpc::members::{Members, members, split, text};
use league_protocol::rpc::{self, Era, Frame, Id, Params, RpcError};
use serde_json::value::RawValue;

use crate::direct::{METHOD_HEADER, NAME_HEADER, VERSION_HEADER, VERSION_KEY};

/// The id of a message for `rmcp`, which knows texts and 64-bit integers alone.
fn stand_in<'i>(id: &'i Id<'_>) -> &'i str {
    let token = id.token();
    let known = token.starts_with('"') || token.parse::<i64>().is_ok();
    if known { token } else { "0" }
}

/// Why the parameters of a message cannot be passed on: two readers of them must not read
/// different things.
pub(crate) fn ambiguous(frame: &Frame<'_>) -> Option<String> {
    let params = match frame {
        Frame::Call(call) => call.params,
        Frame::Notification(note) => note.params,
        Frame::Response(_) | Frame::Malformed(_) => Params::Absent,
    };
    match params {
        Params::Named(raw) => members(raw.get()).err().map(|error| error.to_string()),
        Params::Placed(_) => Some("`params` must be an object".to_owned()),
        Params::Absent => None,
    }
}

/// Writes a message anew, from the members that were read and nothing else.
pub(crate) fn written(frame: &Frame<'_>) -> Option<Bytes> {
    let body = match frame {
        Frame::Call(call) => {
            let rest = request(&call.method, call.params);
            format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{},{rest}}}",
                stand_in(&call.id)
            )
        }
        Frame::Notification(note) => {
            format!(
                "{{\"jsonrpc\":\"2.0\",{}}}",
                request(&note.method, note.params)
            )
        }
        Frame::Response(response) => {
            let id = response.id.as_ref()?.token();
            let outcome = match &response.outcome {
                Ok(result) => format!("\"result\":{}", result.get()),
                Err(error) => {
                    let message = serde_json::to_string(&error.message).ok()?;
                    format!(
                        "\"error\":{{\"code\":{},\"message\":{message}}}",
                        error.code
                    )
                }
            };
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{outcome}}}")
        }
        Frame::Malformed(_) => return None,
    };
    Some(body.into())
}

fn request(method: &str, params: Params<'_>) -> String {
    let method = serde_json::to_string(method).unwrap_or_default();
    match params {
        Params::Absent => format!("\"method\":{method}"),
        Params::Named(raw) | Params::Placed(raw) => {
            format!("\"method\":{method},\"params\":{}", raw.get())
        }
    }
}

/// Writes the answer to a call.
pub(crate) fn answer(id: &Id<'_>, member: &str, value: &str) -> Bytes {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"{member}\":{value},\"id\":{}}}",
        id.token()
    )
    .into()
}

/// Puts the caller's id onto an answer; other output becomes an error answer.
pub(crate) fn addressed(body: &Bytes, id: Option<&Id<'_>>, era: Era) -> Bytes {
    let read = std::str::from_utf8(body).ok();
    let members = read.and_then(|body| split(body).ok()).unwrap_or_default();
    for member in ["result", "error"] {
        match (members.get(member), id) {
            (Some(raw), Some(id)) => return answer(id, member, raw.get()),
            (Some(_), None) => return body.clone(),
            (None, _) => {}
        }
    }
    let sentence = String::from_utf8_lossy(body);
    let error = RpcError::invalid_request(sentence.into_owned());
    rpc::fail(id, &error, era).into()
}

/// The headers that a message would have over HTTP, for a transport that has none.
///
/// `version` is the revision that a handshake agreed on; a message that names its own needs none.
pub fn bare_headers(frame: &Frame<'_>, version: Option<&str>) -> HeaderMap {
    let (method, params) = match frame {
        Frame::Call(call) => (&*call.method, call.params),
        Frame::Notification(note) => (&*note.method, note.params),
        Frame::Response(_) | Frame::Malformed(_) => return HeaderMap::new(),
    };
    let mut headers = HeaderMap::new();
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    let params = params.named().ok().flatten();
    let params = params.and_then(|raw| members(raw.get()).ok());
    let params = params.unwrap_or_default();
    let own = own_version(&params);
    if let Some(version) = own
        .as_deref()
        .or(version.filter(|_| method != "initialize"))
    {
        set(VERSION_HEADER, version);
    }
    if own.is_some() {
        set(METHOD_HEADER, method);
        let name = params.get(if method == "resources/read" {
            "uri"
        } else {
            "name"
        });
        if let Some(name) = name.and_then(text) {
            set(NAME_HEADER, &name);
        }
    }
    headers
}

fn own_version(params: &Members<'_>) -> Option<String> {
    let metadata: &RawValue = params.get("_meta")?;
    let metadata = members(metadata.get()).ok()?;
    let version = metadata.get(VERSION_KEY).and_then(text)?;
    Some(version.into_owned())
}
