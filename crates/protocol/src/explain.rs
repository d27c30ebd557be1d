//! Tells what a piece of JSON is, in which dialect, and what is wrong with it.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::decode::{Decoded, decode};
use crate::dialect::Hints;
use crate::document::Document;
use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading, Severity};
use crate::id::PlayerId;
use crate::rpc;
use crate::rpc::members::{Kind, Members, members, text};
use crate::sender::Dialect;

/// What was found out about one piece of JSON.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// What it is: a message, a request, a response, a log line, ….
    pub kind: &'static str,
    /// The tool it calls, if it is a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The type of the message in it.
    pub message_type: Option<String>,
    /// The dialect of that message.
    pub dialect: Option<Dialect>,
    /// Whether there is no error in it.
    pub valid: bool,
    /// What was found, in order.
    pub findings: Vec<Finding>,
    /// What it says, written again from what was read.
    #[serde(skip)]
    pub again: Value,
}

/// Explains bytes: one piece of JSON, or an array of them.
pub fn explain(bytes: &[u8], reading: Reading) -> Vec<Explanation> {
    let opened = match rpc::open(bytes) {
        Ok(_) => std::str::from_utf8(bytes)
            .ok()
            .and_then(|text| serde_json::from_str(text).ok()),
        Err(broken) => return vec![unreadable(reading, &broken.to_string())],
    };
    let Some(raw): Option<&RawValue> = opened else {
        return vec![unreadable(reading, "the text is not JSON")];
    };
    if Kind::of(raw) != Kind::Array {
        return vec![one(raw, reading)];
    }
    let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    if elements.is_empty() {
        return vec![unreadable(reading, "the array is empty")];
    }
    elements
        .into_iter()
        .map(|element| one(element, reading))
        .collect()
}

fn unreadable(reading: Reading, why: &str) -> Explanation {
    let mut notes = Notes::new(reading);
    let detail = format!("{why}; send a JSON object");
    notes.refuse(
        Code::InvalidMessage,
        &Path::root("000 §1.4"),
        "a JSON object",
        detail,
    );
    finished("nothing readable", notes)
}

fn finished(kind: &'static str, notes: Notes) -> Explanation {
    let valid = notes.first_error().is_none();
    Explanation {
        kind,
        method: None,
        message_type: None,
        dialect: None,
        valid,
        findings: notes.findings,
        again: Value::Null,
    }
}

fn one(raw: &RawValue, reading: Reading) -> Explanation {
    let mut notes = Notes::new(reading);
    let members = match members(raw.get()) {
        Ok(members) => members,
        Err(problem) => return unreadable(reading, &problem.to_string()),
    };
    if members.has("jsonrpc") || members.has("method") || members.has("result") && members.has("id")
    {
        return frame(&members, reading);
    }
    let is_log = members.has("level") && members.has("timestamp");
    if (!members.has("message_type") || is_log)
        && let Some(document) = Document::recognise(&members, &mut notes)
    {
        let again = serde_json::to_value(&document).unwrap_or_default();
        return Explanation {
            again,
            ..finished(document.label(), notes)
        };
    }
    message(raw, reading, "message")
}

fn message(raw: &RawValue, reading: Reading, kind: &'static str) -> Explanation {
    match decode(raw, reading, None) {
        Err(notes) => finished(kind, notes),
        Ok(mut decoded) => {
            // What is said is checked too; the first error of that is among the notes by then.
            let (reader, opponent) = (PlayerId::numbered(1), PlayerId::numbered(2));
            let hints = Hints {
                reader: Some(&reader),
                opponent: Some(&opponent),
                ..Hints::default()
            };
            let understood = decoded.message(&hints);
            let again = written_again(&decoded);
            let message_type = decoded.message_type().map(str::to_owned);
            let dialect = message_type.is_some().then_some(decoded.dialect);
            if let (Err(finding), None) = (understood, decoded.notes.first_error()) {
                decoded.notes.findings.push(finding);
            }
            Explanation {
                message_type,
                dialect,
                again,
                ..finished(kind, decoded.notes)
            }
        }
    }
}

/// The message as it goes out again from what was read of it.
fn written_again(decoded: &Decoded<'_>) -> Value {
    let mut again = serde_json::to_value(&decoded.envelope).unwrap_or_default();
    let rest = match &decoded.body {
        Some(body) => crate::encode::body_value(body),
        None => decoded
            .rest
            .iter()
            .map(|(name, raw)| (name.to_owned(), json_of(raw)))
            .collect(),
    };
    if let Value::Object(again) = &mut again {
        again.extend(rest);
    }
    again
}

fn json_of(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// A JSON-RPC request or response, with the message inside.
fn frame(members: &Members<'_>, reading: Reading) -> Explanation {
    let mut notes = Notes::new(reading);
    let at = Path::root("000 §1.4");
    check_frame(members, &at, &mut notes);
    let method = members
        .get("method")
        .and_then(text)
        .map(|method| method.into_owned());
    let (kind, inner) = match &method {
        Some(_) if members.has("id") => ("JSON-RPC request", "params"),
        Some(_) => ("JSON-RPC notification", "params"),
        None if members.has("error") => ("JSON-RPC error", "error"),
        None => ("JSON-RPC response", "result"),
    };
    let content = members.get(inner).filter(|_| inner != "error");
    let is_message = content
        .filter(|raw| Kind::of(raw) == Kind::Object)
        .filter(|raw| {
            crate::rpc::members::split(raw.get()).is_ok_and(|content| content.has("message_type"))
        });
    let mut explanation = match is_message {
        Some(raw) => message(raw, reading, kind),
        None => Explanation {
            again: content.map(json_of).unwrap_or_default(),
            ..finished(kind, Notes::new(reading))
        },
    };
    for finding in &mut explanation.findings {
        let dot = if finding.path.is_empty() { "" } else { "." };
        finding.path = format!("{inner}{dot}{}", finding.path);
    }
    explanation.again = frame_again(members, inner, explanation.again);
    explanation.findings.splice(0..0, notes.findings);
    let errors = |finding: &Finding| finding.severity == Severity::Error;
    explanation.valid = !explanation.findings.iter().any(errors);
    explanation.method = method;
    explanation
}

fn check_frame(members: &Members<'_>, at: &Path<'_>, notes: &mut Notes) {
    if members.get("jsonrpc").and_then(text).as_deref() != Some("2.0") {
        let detail = "`jsonrpc` is missing or not \"2.0\"; send `\"jsonrpc\": \"2.0\"`";
        notes.forgive(
            Code::InvalidMessage,
            &at.member("jsonrpc", true),
            "`\"2.0\"`",
            detail,
        );
    }
    let method = members.get("method");
    if method.is_some_and(|method| Kind::of(method) != Kind::String) {
        let detail = "`method` must be the name of a tool, as a string";
        notes.refuse(
            Code::InvalidMessage,
            &at.member("method", true),
            "a string",
            detail,
        );
    }
    let id = members.get("id").map(Kind::of);
    if matches!(id, Some(Kind::Object | Kind::Array | Kind::Boolean)) {
        let detail = "`id` must be a number or a string";
        notes.refuse(
            Code::InvalidMessage,
            &at.member("id", true),
            "a number or a string",
            detail,
        );
    }
    if method.is_none() && id.is_none() {
        let detail = "a response names the `id` of its request; add it";
        notes.forgive(
            Code::MissingField,
            &at.member("id", true),
            "the request's id",
            detail,
        );
    }
    let told = members
        .get("error")
        .is_some_and(|error| Kind::of(error) != Kind::Null);
    if told && members.has("result") {
        let detail = "a response has a `result` or an `error`, never both";
        notes.refuse(
            Code::InvalidMessage,
            &at.member("error", true),
            "one of the two",
            detail,
        );
    }
}

fn frame_again(members: &Members<'_>, inner: &str, content: Value) -> Value {
    let entries = members.iter().map(|(name, raw)| {
        let value = if name == inner && inner != "error" {
            content.clone()
        } else {
            json_of(raw)
        };
        (name.to_owned(), value)
    });
    Value::Object(entries.collect())
}
