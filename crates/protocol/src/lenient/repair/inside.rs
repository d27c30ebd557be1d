//! Locates the message inside the received JSON.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::names;
use crate::finding::{Notes, Path, Reading};
use crate::shape::settled;

/// How many layers of wrapping are searched.
const MAX_STRAY_DEPTH: usize = 6;
/// The longest complaint that is quoted, in characters.
const MAX_COMPLAINT: usize = 200;
/// The members of a JSON-RPC response.
const FRAME: [&str; 4] = ["jsonrpc", "id", "result", "error"];
/// Frame members that are not part of the message.
const MARKS: [&str; 2] = ["jsonrpc", "id"];
/// The member in which MCP puts metadata; it is never part of a message.
const ABOUT: &str = "_meta";

/// A message, and the place where it was found.
pub(super) struct MessagePlace {
    pub(super) message: Map<String, Value>,
    /// The path to the message; `None` if it is where it belongs.
    pub(super) place: Option<String>,
    /// The text of an error that overrides the message, whatever stands beside it.
    pub(super) refusal: Option<String>,
}

/// Finds the message: the outermost object that names its type, or else the whole content without
/// its frame.
pub(super) fn find(content: Value) -> Option<MessagePlace> {
    let Value::Object(mut outermost) = opened(content, 0) else {
        return None;
    };
    let refusal = outermost.get("error").and_then(words);
    let framed = is_frame(&outermost);
    unmark(&mut outermost);
    if let Some((place, message)) = typed(&outermost, "", 0) {
        // In a response the message belongs under `result`.
        let at_home = place.is_empty() || (place == "result" && framed);
        let mut message = message.clone();
        message.remove(ABOUT);
        unmark(&mut message);
        let refusal = refusal.or_else(|| message.get("error").and_then(words));
        return Some(MessagePlace {
            place: (!at_home).then_some(place),
            refusal: refusal.filter(|_| !tells_of_an_error(&message)),
            message,
        });
    }
    Some(MessagePlace {
        message: unframed(outermost, framed),
        place: None,
        refusal,
    })
}

/// Whether a message reports an error, in more detail than the frame around it.
fn tells_of_an_error(message: &Map<String, Value>) -> bool {
    let named = names::take_type(&mut message.clone());
    named.is_some_and(|(_, said)| names::is_type(&said) && names::fold(&said).ends_with("error"))
}

/// Whether an object has only the members of a frame.
fn is_frame(object: &Map<String, Value>) -> bool {
    object.keys().all(|name| FRAME.contains(&name.as_str()))
}

/// Whether the `id` of an object is a call id: it is a number beside a result.
fn is_marked(object: &Map<String, Value>) -> bool {
    let numbered = object.get("id").is_some_and(Value::is_number);
    object.contains_key("jsonrpc") || numbered && object.contains_key("result")
}

/// Removes the frame members of a response.
fn unmark(object: &mut Map<String, Value>) {
    if is_marked(object) {
        object.retain(|name, _| !MARKS.contains(&name.as_str()));
    }
}

/// The content of a response, if the object is one.
fn unframed(mut outermost: Map<String, Value>, framed: bool) -> Map<String, Value> {
    let mut message = match outermost.get_mut("result").map(Value::take) {
        Some(Value::Object(result)) if framed => result,
        Some(mut other) => {
            if let Some(result) = other.as_object_mut() {
                result.remove(ABOUT);
            }
            outermost.insert("result".to_owned(), other);
            outermost
        }
        None => outermost,
    };
    message.remove(ABOUT);
    message
}

/// The outermost object that names its type, and the path to it.
fn typed<'v>(
    object: &'v Map<String, Value>,
    place: &str,
    depth: usize,
) -> Option<(String, &'v Map<String, Value>)> {
    if names::names_a_type(object) {
        return Some((place.to_owned(), object));
    }
    if depth >= MAX_STRAY_DEPTH {
        return None;
    }
    object.iter().find_map(|(name, value)| {
        let place = match place {
            "" => name.clone(),
            place => format!("{place}.{name}"),
        };
        typed(value.as_object()?, &place, depth + 1)
    })
}

/// Unwraps every object that is encoded as a string or is the only element of a list.
fn opened(value: Value, depth: usize) -> Value {
    if depth > MAX_STRAY_DEPTH {
        return value;
    }
    match value {
        Value::Object(object) => {
            let opened = object
                .into_iter()
                .map(|(name, value)| (name, opened(value, depth + 1)));
            Value::Object(opened.collect())
        }
        Value::Array(elements) => match <[Value; 1]>::try_from(elements) {
            Ok([element @ (Value::Object(_) | Value::String(_))]) if holds(&element) => {
                opened(element, depth + 1)
            }
            Ok([element]) => Value::Array(vec![element]),
            // With several elements it is unclear which one is meant.
            Err(elements) => Value::Array(elements),
        },
        Value::String(text) if text.trim_start().starts_with('{') => match parsed(&text) {
            Some(inner @ Value::Object(_)) => opened(inner, depth + 1),
            _ => Value::String(text),
        },
        other => other,
    }
}

fn holds(value: &Value) -> bool {
    match value {
        Value::String(text) => text.trim_start().starts_with('{'),
        value => value.is_object(),
    }
}

/// Parses JSON and rejects repeated names, because the intended value would be ambiguous.
pub(super) fn parsed(text: &str) -> Option<Value> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    let mut notes = Notes::new(Reading::Strict);
    settled(raw, &Path::root("ruling 13"), &mut notes);
    notes.findings.is_empty().then_some(())?;
    serde_json::from_str(text).ok()
}

/// The text of a peer that complains instead of answering.
pub(super) fn complaint(message: &Map<String, Value>) -> Option<String> {
    if names::names_a_type(message) {
        return None;
    }
    words(message.get("error").or_else(|| message.get("detail"))?)
}

/// The text of an error; `None` if the value means that there is no error.
fn words(error: &Value) -> Option<String> {
    let text = match error {
        Value::Null | Value::Bool(false) => return None,
        Value::String(text) if text.trim().is_empty() => return None,
        Value::String(text) => text.clone(),
        Value::Object(members) => match members.get("message").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => error.to_string(),
        },
        other => other.to_string(),
    };
    Some(crate::finding::harmless(&text, MAX_COMPLAINT))
}

pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
