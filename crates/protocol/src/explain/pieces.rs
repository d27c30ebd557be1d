//! Splits a text into pieces: one JSON value, an array of them, or one on each line.
//!
//! The size bound of a body applies to each message, not to the whole text.

use serde_json::value::RawValue;

use super::{Explanation, Lens, unreadable};
use crate::rpc::members::{Kind, Members, split, text};
use crate::rpc::{self, Array, Broken};

/// The largest text that is explained, in bytes.
pub const MAX_EXPLAINED: usize = 64 * 1024 * 1024;

/// How many pieces of a text are explained.
pub const MAX_PIECES: usize = 10_000;

/// The default expectation and remedy.
const OBJECT: (&str, &str) = ("a JSON object", "send a JSON object");

/// Explains each piece of a text.
pub(super) fn explained(
    bytes: &[u8],
    lens: Lens,
    one: impl Fn(&RawValue, Lens) -> Explanation,
) -> Vec<Explanation> {
    let single = |raw: &str| match piece(raw) {
        Ok(raw) => one(raw, lens),
        Err(broken) => unreadable(lens.reading, &broken.to_string(), remedy(broken)),
    };
    let whole = match whole(bytes) {
        Ok(whole) => whole,
        Err((why, remedy)) => return vec![unreadable(lens.reading, &why, remedy)],
    };
    let Some(Parts { kept, length }) = parts(whole) else {
        return vec![single(whole)];
    };
    if kept.is_empty() {
        return vec![unreadable(lens.reading, "the array is empty", OBJECT)];
    }
    let numbered = kept.into_iter().enumerate();
    let mut explanations: Vec<_> = numbered
        .map(|(index, raw)| single(raw).numbered(index))
        .collect();
    if length > MAX_PIECES {
        let why =
            format!("there are {length} pieces, and only the first {MAX_PIECES} are looked at");
        let rest = unreadable(lens.reading, &why, ("fewer pieces", "give the rest apart"));
        explanations.push(rest.numbered(MAX_PIECES));
    }
    explanations
}

/// Checks the size and the encoding of a text.
fn whole(bytes: &[u8]) -> Result<&str, (String, (&'static str, &'static str))> {
    if bytes.len() > MAX_EXPLAINED {
        let why = format!("the text is larger than {MAX_EXPLAINED} bytes");
        return Err((why, ("a shorter text", "shorten it")));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Broken::NotUtf8);
    let text = text.map_err(|broken| (broken.to_string(), remedy(broken)))?;
    Ok(text)
}

/// The first pieces of a text, and how many there are.
struct Parts<'p> {
    kept: Vec<&'p str>,
    length: usize,
}

/// The elements of an array, or the lines of a text whose first line is an object; `None` for a
/// single piece.
fn parts(whole: &str) -> Option<Parts<'_>> {
    if whole.trim_start().starts_with('[') {
        let array: Array<'_, MAX_PIECES> = serde_json::from_str(whole).ok()?;
        return Some(Parts {
            kept: array.kept.into_iter().map(RawValue::get).collect(),
            length: array.length,
        });
    }
    let lines = || whole.lines().filter(|line| !line.trim().is_empty());
    let length = lines().count();
    let many = length > 1 && lines().next().is_some_and(is_object);
    many.then(|| Parts {
        kept: lines().take(MAX_PIECES).collect(),
        length,
    })
}

fn is_object(line: &str) -> bool {
    serde_json::from_str::<&RawValue>(line).is_ok_and(|raw| Kind::of(raw) == Kind::Object)
}

/// One piece of JSON, within the bounds of a body.
fn piece(text: &str) -> Result<&RawValue, Broken> {
    rpc::open(text.as_bytes())?;
    serde_json::from_str(text).map_err(|error| Broken::NotJson {
        line: error.line(),
        column: error.column(),
    })
}

/// The expectation and the remedy for an unreadable text.
fn remedy(broken: Broken) -> (&'static str, &'static str) {
    match broken {
        Broken::TooLarge => ("a shorter message", "shorten it"),
        Broken::NotUtf8 | Broken::ByteOrderMark => (
            "UTF-8 without a byte order mark",
            "save it as UTF-8 without a byte order mark",
        ),
        Broken::TooDeep => ("a flatter message", "nest it less deeply"),
        Broken::LoneSurrogate => ("whole characters", "escape both halves, or neither"),
        Broken::NotJson { .. } => ("JSON", "repair it there: a message must be JSON"),
        Broken::Empty => OBJECT,
    }
}

/// A line of an exported match: a message, or the description of the match.
pub(super) enum Line<'l> {
    Said(&'l RawValue),
    Match,
}

impl<'l> Line<'l> {
    /// Recognises the lines of `league export --match ID --output json`.
    pub(super) fn of(raw: &'l RawValue) -> Option<Self> {
        let members: Members<'l> = split(raw.get()).ok()?;
        match members.get("event").and_then(text)?.as_ref() {
            "said" if members.has("from") && members.has("to") => {
                members.get("message").map(Self::Said)
            }
            "match" if members.has("lifecycle") => Some(Self::Match),
            _ => None,
        }
    }
}
