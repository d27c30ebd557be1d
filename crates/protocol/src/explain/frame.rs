//! Explains JSON-RPC requests and responses, and the messages inside.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading, Severity, excerpt};
use crate::lenient::{InnerMessage, response};
use crate::message::types_taken;
use crate::rpc::members::{Members, split, text};
use crate::rpc::{Era, Frame, Incoming, Opened, Params};
use crate::schema::is_message_type;
use crate::sender::CallStyle;
use crate::shape::settled;
use crate::tools;

use super::{Again, Explanation, Lens, message};

/// Whether the members are those of a frame; a message that stands beside them is flat, not framed.
pub(super) fn is_frame(members: &Members<'_>) -> bool {
    let framed = ["jsonrpc", "method"].iter().any(|name| members.has(name));
    let answers = members.has("result") || members.has("error") && members.has("id");
    let flat = members.has("message_type") && inner_message(members).is_none();
    (framed || answers) && !flat
}

fn inner_message<'a>(members: &Members<'a>) -> Option<InnerMessage<'a>> {
    let inner = inner(members);
    let framed = members.has("jsonrpc") || members.has("method") || !members.has("message_type");
    framed.then(|| InnerMessage::inside(members.get(inner)?, inner))?
}

/// The member that holds the content of a frame.
fn inner(members: &Members<'_>) -> &'static str {
    if members.has("method") {
        "params"
    } else {
        "result"
    }
}

/// Explains a frame and the message in it.
pub(super) fn explained(members: &Members<'_>, lens: Lens) -> Explanation {
    let mut notes = Notes::new(lens.reading);
    let kind = kind(members);
    check(members, &mut notes);
    let inner = inner(members);
    let found = inner_message(members);
    let mut explanation = match &found {
        Some(found) => message(&found.message, lens, kind).placed(found.place),
        None => without_message(members, kind, lens.reading),
    };
    check_tool(members, explanation.message_type.as_deref(), &mut notes);
    let content = found.filter(|found| found.place == inner);
    let content = content.map(|_| explanation.again.text().to_owned());
    explanation.again = Again::of(&WrittenFrame(
        members,
        inner,
        content.and_then(raw).as_deref(),
    ));
    explanation.findings.splice(0..0, notes.findings);
    let errors = |finding: &Finding| finding.severity == Severity::Error;
    explanation.valid = !explanation.findings.iter().any(errors);
    explanation.method = members
        .get("method")
        .and_then(text)
        .map(|name| excerpt(&name));
    explanation
}

fn kind(members: &Members<'_>) -> &'static str {
    let refused = members.has("error") && !members.has("result");
    match (members.has("method"), members.has("id")) {
        (true, true) => "JSON-RPC request",
        (true, false) => "JSON-RPC notification",
        (false, _) if refused => "JSON-RPC error",
        (false, _) => "JSON-RPC response",
    }
}

/// Checks the frame by the rules of the frame readers.
fn check(members: &Members<'_>, notes: &mut Notes) {
    if !members.has("method") {
        response(members, None, notes);
        return;
    }
    let opened = Opened::Single(Ok(members.clone()));
    let era = opened.era(None).unwrap_or(Era::Simple);
    let params = match opened.read(era) {
        Incoming::Single(Frame::Call(call)) => call.params,
        Incoming::Single(Frame::Notification(notification)) => notification.params,
        Incoming::Single(Frame::Malformed(malformed)) => {
            return refuse(malformed.place, &malformed.error.message, notes);
        }
        Incoming::Single(Frame::Response(_)) | Incoming::Batch(_) | Incoming::Refused(_) => {
            Params::Absent
        }
    };
    if let Err(error) = params.named() {
        refuse("params", &error.message, notes);
    }
}

fn refuse(place: &str, message: &str, notes: &mut Notes) {
    let root = Path::root("000 §1.4");
    let at = root.member(place, true);
    let at = if place.is_empty() { &root } else { &at };
    let detail = message.trim_end_matches('.');
    notes.refuse(Code::InvalidMessage, at, "a JSON-RPC 2.0 request", detail);
}

/// A frame without a message: an error for a tool of the league, allowed for all others.
fn without_message(members: &Members<'_>, kind: &'static str, reading: Reading) -> Explanation {
    let mut notes = Notes::new(reading);
    let root = Path::root("000 §2.4.1");
    if let Some(content) = members.get(inner(members)) {
        settled(content, &root.member(inner(members), false), &mut notes);
    }
    if let Some(place) = owed(members) {
        let at = root.member(place, true);
        let detail = "the tool needs a message, and `message_type` is missing; add it";
        notes.refuse(Code::MissingField, &at, "the type of the message", detail);
    }
    Explanation::new(kind, notes)
}

/// The place of a required message that is missing.
fn owed(members: &Members<'_>) -> Option<&'static str> {
    let method = members.get("method").and_then(text)?;
    if tools::takes_message(&method) {
        return Some("params.message_type");
    }
    let params = split(members.get("params")?.get()).ok()?;
    let tool = params.get("name").and_then(text)?;
    let called = method == "tools/call" && tools::takes_message(&tool);
    called.then_some("params.arguments.message_type")
}

fn raw(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}

/// A frame as it is written again, with its content as it was read.
struct WrittenFrame<'f>(&'f Members<'f>, &'f str, Option<&'f RawValue>);

impl Serialize for WrittenFrame<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(members, inner, content) = self;
        let mut map = serializer.serialize_map(None)?;
        for (name, raw) in members.iter() {
            let content = content.filter(|_| name == *inner);
            map.serialize_entry(name, content.unwrap_or(raw))?;
        }
        map.end()
    }
}

/// Notes an unknown tool, and refuses a message that the tool does not take.
fn check_tool(members: &Members<'_>, message_type: Option<&str>, notes: &mut Notes) {
    let Some((tool, place)) = called_tool(members) else {
        return;
    };
    let root = Path::root("ruling 2");
    let at = root.member(place, false);
    let takes = taken(&tool);
    let known = takes.is_some()
        || tools::find(&tool).is_some()
        || matches!(&*tool, "ping" | CallStyle::GENERIC_METHOD);
    if !known {
        let detail = format!(
            "no agent has a tool `{}`; name the tool that takes the message, or its type",
            excerpt(&tool)
        );
        return notes.forgive(Code::InvalidMessage, &at, "the name of a tool", detail);
    }
    let (Some(takes), Some(found)) = (takes, message_type.filter(|found| is_message_type(found)))
    else {
        return;
    };
    if !takes.contains(&found) {
        let expected = format!("`{}`", takes.join("` or `"));
        let detail = format!("`{}` takes {expected}, not `{found}`", excerpt(&tool));
        notes.refuse(Code::InvalidMessage, &at, expected, detail);
    }
}

/// The called tool and the member that names it; other MCP methods do not call a tool.
fn called_tool(members: &Members<'_>) -> Option<(String, &'static str)> {
    let method = members.get("method").and_then(text)?;
    if method == "tools/call" {
        let params = split(members.get("params")?.get()).ok()?;
        let name = params.get("name").and_then(text)?.into_owned();
        return Some((name, "params.name"));
    }
    let of_mcp = method == "initialize" || method.contains('/') || method.starts_with("rpc.");
    (!of_mcp).then(|| (method.into_owned(), "method"))
}

/// The messages that a tool takes, in all dialects; a message type used as a tool takes itself.
fn taken(tool: &str) -> Option<Vec<&str>> {
    if is_message_type(tool) {
        return Some(vec![tool]);
    }
    tools::takes_message(tool).then(|| types_taken(tool))
}
