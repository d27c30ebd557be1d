//! Where in what came the message is.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::names;
use crate::finding::{Notes, Path, Reading};
use crate::shape::settled;

/// How deep a message may be wrapped.
const DEEPEST: usize = 6;
/// The longest complaint that is repeated, in characters.
const LONGEST_COMPLAINT: usize = 200;
/// What a frame has.
const FRAME: [&str; 4] = ["jsonrpc", "id", "result", "error"];
/// What of a frame tells nothing of the message in it, and must not be taken for a part of it.
const MARKS: [&str; 2] = ["jsonrpc", "id"];
/// What MCP says about a message, and never in it.
const ABOUT: &str = "_meta";

/// A message, and inside what it was found.
pub(super) struct Found {
    pub(super) message: Map<String, Value>,
    /// The way to it; `None` if it is where it belongs.
    pub(super) place: Option<String>,
    /// The words by which it is taken back: an error counts whatever stands beside it.
    pub(super) refusal: Option<String>,
}

/// Finds the message: the object that names its type, the outermost of several, else all that came
/// but for its frame.
pub(super) fn find(content: Value) -> Option<Found> {
    let Value::Object(mut outermost) = opened(content, 0) else {
        return None;
    };
    let refusal = outermost.get("error").and_then(words);
    let framed = is_frame(&outermost);
    unmark(&mut outermost);
    if let Some((place, message)) = typed(&outermost, "", 0) {
        // In a response, that is where it belongs.
        let at_home = place.is_empty() || (place == "result" && framed);
        let mut message = message.clone();
        message.remove(ABOUT);
        unmark(&mut message);
        let refusal = refusal.or_else(|| message.get("error").and_then(words));
        return Some(Found {
            place: (!at_home).then_some(place),
            refusal: refusal.filter(|_| !tells_of_an_error(&message)),
            message,
        });
    }
    Some(Found {
        message: unframed(outermost, framed),
        place: None,
        refusal,
    })
}

/// Whether a message is one about an error, which says more than the frame around it.
fn tells_of_an_error(message: &Map<String, Value>) -> bool {
    let named = names::take_type(&mut message.clone());
    named.is_some_and(|(_, said)| names::is_type(&said) && names::fold(&said).ends_with("error"))
}

/// Whether an object has nothing but what belongs to a frame.
fn is_frame(object: &Map<String, Value>) -> bool {
    object.keys().all(|name| FRAME.contains(&name.as_str()))
}

/// Whether the `id` of an object is that of a call: numbers are, beside a result.
fn is_marked(object: &Map<String, Value>) -> bool {
    let numbered = object.get("id").is_some_and(Value::is_number);
    object.contains_key("jsonrpc") || numbered && object.contains_key("result")
}

/// Takes away what marks a response.
fn unmark(object: &mut Map<String, Value>) {
    if is_marked(object) {
        object.retain(|name, _| !MARKS.contains(&name.as_str()));
    }
}

/// The content of a response, where what came is one.
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

/// The outermost object that names its type, and the way to it.
fn typed<'v>(
    object: &'v Map<String, Value>,
    place: &str,
    depth: usize,
) -> Option<(String, &'v Map<String, Value>)> {
    if names::names_a_type(object) {
        return Some((place.to_owned(), object));
    }
    if depth >= DEEPEST {
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

/// A value with every object laid open that is inside a text, or alone in a list.
fn opened(value: Value, depth: usize) -> Value {
    if depth > DEEPEST {
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
            // Of several elements none is the one that is meant.
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

/// JSON in which no object has a name twice: of two values nobody knows which is meant.
pub(super) fn parsed(text: &str) -> Option<Value> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    let mut notes = Notes::new(Reading::Strict);
    settled(raw, &Path::root("ruling 13"), &mut notes);
    notes.findings.is_empty().then_some(())?;
    serde_json::from_str(text).ok()
}

/// The words of a peer that complains instead of answering.
pub(super) fn complaint(message: &Map<String, Value>) -> Option<String> {
    if names::names_a_type(message) {
        return None;
    }
    words(message.get("error").or_else(|| message.get("detail"))?)
}

/// The words of an error; nothing if it says that there is none.
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
    Some(crate::finding::harmless(&text, LONGEST_COMPLAINT))
}

/// Whether a value says nothing.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
