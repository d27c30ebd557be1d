//! What a tool answered: a message, a nod, or that it failed.

use serde_json::Value;
use serde_json::value::RawValue;

use super::reply::{Fault, quote};
use crate::rpc;
use crate::rpc::members::{Kind, Members, split, text};

/// What a tool answered.
#[derive(Debug)]
pub enum Told {
    /// A JSON object, which may be a message.
    Message(Box<RawValue>),
    /// Nothing, or words that are no JSON: enough where nothing is owed.
    Nod,
    /// The tool failed, in its own words; they are not checked, only cut.
    Failed(String),
}

/// Reads the result of `tools/call`.
///
/// Structured content comes first, then the first text as JSON. Some libraries put what is no
/// object under `result`, and JSON in a text there; both are taken out.
///
/// # Errors
///
/// Says why it is no result of a tool, or not a complete one.
pub fn told(result: &RawValue) -> Result<Told, Fault> {
    let members = split(result.get()).map_err(|_| Fault::Shapeless)?;
    if let Some(kind) = members.get("resultType") {
        let kind = text(kind).ok_or(Fault::Shapeless)?;
        if kind != "complete" {
            return Err(Fault::Incomplete(quote(&kind)));
        }
    }
    let failed = members.get("isError").map(RawValue::get) == Some("true");
    match object(&members) {
        Some(object) if !failed || is_message(&object) => Ok(Told::Message(object)),
        _ if failed => Ok(Told::Failed(first_text(&members).map_or_else(
            || "the tool does not say why".to_owned(),
            |text| quote(&text),
        ))),
        _ if members.has("content") || members.has("structuredContent") => Ok(Told::Nod),
        _ => Err(Fault::Shapeless),
    }
}

/// The object that a result holds.
fn object(members: &Members<'_>) -> Option<Box<RawValue>> {
    let structured = members.get("structuredContent").and_then(unwrapped);
    structured.or_else(|| parsed(&first_text(members)?))
}

fn is_message(object: &RawValue) -> bool {
    split(object.get()).is_ok_and(|members| members.has("message_type"))
}

/// An object, out of its wrapping if it has one.
fn unwrapped(structured: &RawValue) -> Option<Box<RawValue>> {
    let members = split(structured.get()).ok()?;
    let inner = members.get("result").filter(|_| members.len() == 1);
    match inner.map(|inner| (inner, Kind::of(inner))) {
        Some((inner, Kind::Object)) => Some(inner.to_owned()),
        Some((inner, Kind::String)) => parsed(&text(inner)?),
        Some(_) => None,
        None => Some(structured.to_owned()),
    }
}

/// A text that is one JSON object, within the bounds of a body.
fn parsed(text: &str) -> Option<Box<RawValue>> {
    rpc::open(text.as_bytes()).ok()?;
    let object = RawValue::from_string(text.trim().to_owned()).ok()?;
    (Kind::of(&object) == Kind::Object).then_some(object)
}

fn first_text(members: &Members<'_>) -> Option<String> {
    let parts: Vec<Value> = serde_json::from_str(members.get("content")?.get()).ok()?;
    let mut texts = parts.iter().filter(|part| part["type"] == "text");
    texts.next()?["text"].as_str().map(str::to_owned)
}
