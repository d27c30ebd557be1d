//! A plain `tools/call`, answered without `rmcp`.
//!
//! A league makes this call thousands of times, and `rmcp` spends most of such an exchange on a
//! task, channels and copies. Only a certainly valid call is taken here; a doubtful one goes to
//! `rmcp`, so that errors have one source.

use std::borrow::Cow;

use bytes::Bytes;
use http::HeaderMap;
use league_protocol::rpc::members::{Kind, Members, members, text};
use league_protocol::rpc::{Call, Era, Id};
use serde_json::value::RawValue;

use crate::offering::ToolAnswer;
use crate::{LEGACY, MODERN};

/// The header that names the revision.
pub(crate) const VERSION_HEADER: &str = "mcp-protocol-version";
/// The header that repeats the method.
pub(crate) const METHOD_HEADER: &str = "mcp-method";
/// The header that repeats the name of a tool or a prompt, or the address of a resource.
pub(crate) const NAME_HEADER: &str = "mcp-name";

/// Where a request says its revision.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// A valid tool call.
pub(crate) struct DirectCall<'c> {
    pub(crate) tool: Cow<'c, str>,
    pub(crate) arguments: Option<&'c RawValue>,
    modern: bool,
}

impl<'c> DirectCall<'c> {
    /// Reads a call; `None` if it is not plain or not certainly valid.
    pub(crate) fn of(headers: &HeaderMap, era: Era, call: &Call<'c>) -> Option<Self> {
        if call.method != "tools/call" {
            return None;
        }
        let params = members(call.params.named().ok()??.get()).ok()?;
        let tool = text(params.get("name")?)?;
        let arguments = params.get("arguments");
        let known = ["name", "arguments", "_meta"];
        let plain = params.iter().all(|(name, _)| known.contains(&name))
            && arguments.is_none_or(|arguments| Kind::of(arguments) == Kind::Object);
        let modern = era == Era::Modern;
        let right = if modern {
            is_modern(headers, &params, &tool)
        } else {
            is_legacy(headers, &params)
        };
        (plain && right).then_some(Self {
            tool,
            arguments,
            modern,
        })
    }

    /// Writes the answer; `server` is who answers, as JSON.
    pub(crate) fn answer(&self, id: &Id<'_>, given: &ToolAnswer, server: &str) -> Bytes {
        let answer = given.answer.get();
        // The answer is in it twice, once with every quotation mark escaped.
        let room = 2 * answer.len() + answer.len() / 4 + server.len() + 256;
        let mut body = Vec::with_capacity(room);
        let mut push = |text: &str| body.extend_from_slice(text.as_bytes());
        push("{\"jsonrpc\":\"2.0\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
        push(&serde_json::to_string(answer).unwrap_or_default());
        push("}],\"structuredContent\":");
        push(answer);
        push(",\"isError\":");
        push(if given.failed { "true" } else { "false" });
        if self.modern {
            push(",\"resultType\":\"complete\",\"_meta\":{");
            push("\"io.modelcontextprotocol/serverInfo\":");
            push(server);
            push("}");
        }
        push("},\"id\":");
        push(id.token());
        push("}");
        body.into()
    }
}

/// Whether the headers repeat the body, and the metadata is whole.
fn is_modern(headers: &HeaderMap, params: &Members<'_>, tool: &str) -> bool {
    let Some(metadata) = params.get("_meta").and_then(|raw| members(raw.get()).ok()) else {
        return false;
    };
    let capabilities = metadata.get(CAPABILITIES_KEY);
    metadata.get(VERSION_KEY).and_then(text).as_deref() == Some(MODERN)
        && capabilities.is_some_and(|raw| Kind::of(raw) == Kind::Object)
        && only(headers, VERSION_HEADER) == Some(MODERN)
        && only(headers, METHOD_HEADER) == Some("tools/call")
        && only(headers, NAME_HEADER) == Some(tool)
}

/// Whether a revision with a handshake is meant, named or by default.
fn is_legacy(headers: &HeaderMap, params: &Members<'_>) -> bool {
    let metadata = params.get("_meta");
    let old = metadata
        .is_none_or(|raw| members(raw.get()).is_ok_and(|metadata| !metadata.has(VERSION_KEY)));
    let known = match only(headers, VERSION_HEADER) {
        Some(version) => LEGACY.contains(&version),
        None => !headers.contains_key(VERSION_HEADER),
    };
    old && known
}

/// The value of a header that is there once.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}
