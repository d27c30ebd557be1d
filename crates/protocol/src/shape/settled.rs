//! JSON that is passed through: whether everybody who reads it reads the same.

use serde_json::value::RawValue;

use crate::fault::Code;
use crate::finding::{Notes, Path};
use crate::rpc::MAX_DEPTH;
use crate::rpc::members::{Kind, MembersError, split};

/// Whether free JSON means one thing: each name once, each number one that can be held.
///
/// A repeated name is never forgiven, since readers differ in which of the two they take. What
/// cannot be held is forgiven where the message does not hang on it, and counts as not there.
pub(crate) fn settled(raw: &RawValue, at: &Path<'_>, notes: &mut Notes) -> bool {
    within(raw, at, notes, MAX_DEPTH)
}

fn within(raw: &RawValue, at: &Path<'_>, notes: &mut Notes, depth: usize) -> bool {
    match Kind::of(raw) {
        Kind::Object | Kind::Array if depth == 0 => {
            let detail =
                format!("the value nests deeper than {MAX_DEPTH} levels; send a flatter one");
            notes.refuse(Code::InvalidMessage, at, "a flatter value", detail);
            false
        }
        Kind::Object => object(raw, at, notes, depth - 1),
        Kind::Array => array(raw, at, notes, depth - 1),
        Kind::Number => number(raw, at, notes),
        Kind::String | Kind::Boolean | Kind::Null => true,
    }
}

fn object(raw: &RawValue, at: &Path<'_>, notes: &mut Notes, depth: usize) -> bool {
    let split = split(raw.get());
    let problem = match &split {
        Err(problem) => Some(problem.clone()),
        Ok(members) => members.repeated().map(MembersError::repeated),
    };
    if let Some(problem) = problem {
        super::not_an_object(&problem, at, notes);
        return false;
    }
    let mut members = split.into_iter().flatten();
    members.all(|(name, value)| within(value, &at.member(&name, true), notes, depth))
}

fn array(raw: &RawValue, at: &Path<'_>, notes: &mut Notes, depth: usize) -> bool {
    let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    let mut elements = elements.into_iter().enumerate();
    elements.all(|(index, value)| within(value, &at.element(index), notes, depth))
}

fn number(raw: &RawValue, at: &Path<'_>, notes: &mut Notes) -> bool {
    let held = serde_json::from_str::<serde_json::Number>(raw.get()).is_ok();
    if !held {
        let detail = "the number is out of range; send one that a 64-bit float can hold";
        notes.note(Code::InvalidMessage, at, "a number in range", detail);
    }
    held
}
