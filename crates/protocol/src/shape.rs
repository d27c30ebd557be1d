//! Shapes: what a message looks like on the wire, said once.
//!
//! [`shape!`](crate::shape!) takes the fields of a message, each with its type and how much it
//! matters, and gives a struct that is read, checked, written and described by the same list. So
//! the reader, the writer, the JSON Schema and the findings cannot drift apart.
//!
//! A shape is read from the members of an object that was split once. Each field is read on its
//! own, so that one wrong field is one finding and not the end, and what is not known is kept.

mod field;
mod leaf;
mod list;
mod macros;
mod parsed;
mod settled;

pub(crate) use field::Hidden;
pub use field::{Extra, Field, FieldRule, Level};
pub use leaf::{Any, Flag, MAX_TEXT_LENGTH, Number, Round, Secret, Text, Whole};
pub use list::{Dict, List, MAX_ELEMENTS};
pub use parsed::{Parsed, Vocabulary};
pub(crate) use parsed::{no_time, utc_schema};
pub(crate) use settled::settled;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading};
use crate::rpc::members::{Kind, Members, MembersError, members};

/// A value that can stand in a message.
pub trait Wire<'a>: Sized + Serialize {
    /// Reads the value, or notes why it cannot be read.
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self>;

    /// Describes the value as JSON Schema.
    fn schema(reading: Reading) -> Value;
}

/// An object with known fields.
pub trait Shape<'a>: Sized + Serialize {
    /// What the object is, in a sentence.
    const ABOUT: &'static str;
    /// Where it is written.
    const CLAUSE: &'static str;
    /// Its fields, in the order in which they are written.
    const FIELDS: &'static [FieldRule];

    /// Reads the fields; what is unknown goes to `extra`.
    fn take(members: Members<'a>, at: &Path<'_>, notes: &mut Notes) -> Self;
}

/// Splits the object at a place, or notes that there is none.
pub fn object<'a>(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Members<'a>> {
    match members(raw.get()) {
        Ok(members) => Some(members),
        Err(problem) => {
            not_an_object(&problem, at, notes);
            None
        }
    }
}

/// Notes why a value could not be split into members, and what to do.
pub(crate) fn not_an_object(problem: &MembersError, at: &Path<'_>, notes: &mut Notes) {
    let (expected, remedy) = match problem {
        MembersError::NotAnObject { found } => return wrong_kind(at, notes, "an object", *found),
        MembersError::Repeated { .. } => ("an object with each name once", "send each name once"),
        MembersError::TooMany => ("a smaller object", "send fewer members"),
        MembersError::Syntax { .. } => ("an object", "send JSON"),
    };
    let detail = format!("{problem}; {remedy}");
    notes.refuse(Code::InvalidMessage, at, expected, detail);
}

/// Notes a value of the wrong kind.
pub(crate) fn wrong_kind(at: &Path<'_>, notes: &mut Notes, expected: &str, found: Kind) {
    notes.note(
        Code::InvalidMessage,
        at,
        expected,
        format!("found {found}; send {expected}"),
    );
}

/// Describes a shape as JSON Schema; a lenient one asks only for what is needed.
pub fn shape_schema<'a, S: Shape<'a>>(reading: Reading) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for rule in S::FIELDS {
        let mut schema = (rule.schema)(reading);
        if rule.level.null() || reading == Reading::Lenient && !rule.level.needed() {
            schema = or_null(schema);
        }
        if let Value::Object(schema) = &mut schema {
            schema.insert("description".into(), rule.about.trim().into());
        }
        properties.insert(rule.name.into(), schema);
        if rule.level.needed() || reading == Reading::Strict && rule.level.expected() {
            required.push(Value::from(rule.name));
        }
    }
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    if reading == Reading::Strict {
        schema.insert("additionalProperties".into(), false.into());
    }
    schema
}

/// The same, or null.
pub(crate) fn or_null(mut schema: Value) -> Value {
    if let Some(Value::Array(any)) = schema.get_mut("anyOf") {
        any.push(json!({"type": "null"}));
        return schema;
    }
    match schema.get("type") {
        Some(Value::String(kind))
            if schema.get("enum").is_none() && schema.get("const").is_none() =>
        {
            let kind = kind.clone();
            schema["type"] = json!([kind, "null"]);
            schema
        }
        _ if schema.as_object().is_some_and(Map::is_empty) => schema,
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}
