//! Moves values to the places where the schema of their message expects them.

use serde_json::{Map, Value};

use super::forgive;
use super::names::fold;
use super::values::{
    coerced, fits, is_empty, is_flag, is_telling_nothing, object_schema, words as words_of,
};
use crate::finding::{Notes, excerpt};
use crate::lenient::{nearest, synonyms};

/// The most stray values that are considered.
const MAX_STRAYS: usize = 256;
/// How deep the search for stray values goes.
const MAX_STRAY_DEPTH: usize = 6;

/// A value that does not have a place yet.
struct Stray {
    /// The path to the value.
    way: Vec<String>,
    /// The last name of the path, without case and punctuation.
    folded: String,
    value: Value,
}

/// Fits a message to its schema in one pass; `lenient` lists the required fields. Returns whether
/// the message changed.
pub(super) fn fit(
    strict: &Value,
    lenient: &Value,
    message: &mut Map<String, Value>,
    notes: &mut Notes,
) -> bool {
    let before = message.clone();
    let mut strays = Vec::new();
    gather(strict, message, &mut Vec::new(), &mut strays);
    let mut taken = Vec::new();
    object(
        &SchemaPair { strict, lenient },
        message,
        "",
        &strays,
        &mut taken,
        notes,
    );
    for way in taken {
        remove(message, &way);
    }
    *message != before
}

/// Whether a message has only fields that its schema knows.
pub(super) fn is_plain(strict: &Value, message: &Map<String, Value>) -> bool {
    let mut strays = Vec::new();
    gather(strict, message, &mut Vec::new(), &mut strays);
    strays.is_empty()
}

/// The strict schema of an object, and its required fields.
struct SchemaPair<'s> {
    strict: &'s Value,
    lenient: &'s Value,
}

impl<'s> SchemaPair<'s> {
    fn needs(&self, name: &str) -> bool {
        let required = self.lenient["required"].as_array();
        required.is_some_and(|required| required.iter().any(|needed| needed == name))
    }

    /// The required field, if there is exactly one.
    fn only(&self) -> Option<&'s str> {
        match self.lenient["required"].as_array()?.as_slice() {
            [only] => only.as_str(),
            _ => None,
        }
    }

    fn inner(&self, name: &str) -> Option<SchemaPair<'s>> {
        Some(SchemaPair {
            strict: object_schema(&self.strict["properties"][name])?,
            lenient: object_schema(&self.lenient["properties"][name])?,
        })
    }
}

/// Fits one object; returns whether it has all required fields.
fn object(
    wanted: &SchemaPair<'_>,
    object: &mut Map<String, Value>,
    place: &str,
    strays: &[Stray],
    taken: &mut Vec<Vec<String>>,
    notes: &mut Notes,
) -> bool {
    let mut whole = true;
    let properties = wanted.strict["properties"].as_object();
    for (name, schema) in properties.into_iter().flatten() {
        if name == "message_type" || name == "protocol" {
            continue;
        }
        let here = if place.is_empty() {
            name.clone()
        } else {
            format!("{place}.{name}")
        };
        let needed = wanted.needs(name);
        let kept = keep(schema, name, &here, object, needed, notes);
        if !kept && let Some((stray, value)) = choose(name, schema, needed, strays, taken) {
            tell(&here, stray, notes);
            taken.push(stray.way.clone());
            object.insert(name.clone(), value);
        }
        if let Some(inner) = wanted.inner(name) {
            descend(&inner, object, name, &here, strays, taken, notes);
        }
        whole &= !needed || object.contains_key(name);
    }
    whole
}

/// Fits a nested object, or builds it from stray values.
fn descend(
    wanted: &SchemaPair<'_>,
    around: &mut Map<String, Value>,
    name: &str,
    here: &str,
    strays: &[Stray],
    taken: &mut Vec<Vec<String>>,
    notes: &mut Notes,
) {
    match around.get_mut(name) {
        Some(Value::Object(inner)) => {
            object(wanted, inner, here, strays, taken, notes);
        }
        Some(Value::Null) => {}
        Some(bare) => {
            if let Some(only) = wanted.only().filter(|only| is_telling_nothing(only)) {
                let detail = format!("it is the bare value; send it as `{here}.{only}`");
                forgive(notes, here, "an object", detail);
                *bare = Value::Object(Map::from_iter([(only.to_owned(), bare.take())]));
            }
        }
        None => {
            let mut made = Map::new();
            let (mut used, mut told) = (taken.clone(), Notes::new(notes.reading));
            let whole = object(wanted, &mut made, here, strays, &mut used, &mut told);
            if whole && !made.is_empty() {
                around.insert(name.to_owned(), Value::Object(made));
                *taken = used;
                notes.findings.append(&mut told.findings);
            }
        }
    }
}

/// Keeps a value that fits or can be converted; returns whether the place is filled.
fn keep(
    schema: &Value,
    name: &str,
    here: &str,
    object: &mut Map<String, Value>,
    needed: bool,
    notes: &mut Notes,
) -> bool {
    let Some(value) = object.get(name) else {
        return false;
    };
    if is_empty(value) {
        if !value.is_null() {
            let detail = "it is empty; send a value or leave it out".to_owned();
            forgive(notes, here, "a value", detail);
            object.remove(name);
            return false;
        }
        if needed && !fits(schema, value) {
            object.remove(name);
        }
        return object.contains_key(name);
    }
    if fits(schema, value) {
        return true;
    }
    if let Some(right) = coerced(schema, value) {
        // The note does not quote the value: it may be a choice that must stay hidden.
        let expected = wanted(schema);
        let detail = format!("it is not written as it should be; send {expected}");
        forgive(notes, here, &expected, detail);
        object.insert(name.to_owned(), right);
        return true;
    }
    !needed
}

/// Finds the single value that belongs to a place.
///
/// The exact name takes precedence over synonyms; several synonyms must agree.
fn choose<'s>(
    name: &str,
    schema: &Value,
    needed: bool,
    strays: &'s [Stray],
    taken: &[Vec<String>],
) -> Option<(&'s Stray, Value)> {
    let named = |fits: &dyn Fn(&str) -> bool| {
        let free = strays.iter().filter(|stray| !taken.contains(&stray.way));
        let named = free.filter(|stray| fits(&stray.folded));
        let found: Vec<(&Stray, Value)> = named
            .filter_map(|stray| Some((stray, coerced(schema, &stray.value)?)))
            .collect();
        (!found.is_empty()).then_some(found)
    };
    let folded = fold(name);
    let words: Vec<String> = synonyms(name).map(fold).collect();
    let near = |stray: &str| nearest(stray, std::iter::once(folded.as_str())).is_some();
    let telling = needed && (words_of(schema).is_some() || is_flag(schema));
    let akin = |stray: &str| {
        let own = stray.contains(&folded) || words.iter().any(|word| stray.contains(word));
        telling && own && !OTHERS.iter().any(|other| stray.contains(other))
    };
    // The first rule that finds anything decides, even if its values contradict each other.
    let found = named(&|stray| stray == folded)
        .or_else(|| named(&|stray| words.iter().any(|word| word == stray)))
        .or_else(|| named(&near))
        .or_else(|| named(&akin))?;
    single(found)
}

/// Name parts that refer to another player or to another time.
const OTHERS: [&str; 6] = ["opponent", "other", "their", "last", "previous", "history"];

/// The first of several equal values; `None` if they differ.
fn single(found: Vec<(&Stray, Value)>) -> Option<(&Stray, Value)> {
    let mut found = found.into_iter();
    let (stray, value) = found.next()?;
    let agreed = found.all(|(_, other)| other == value);
    agreed.then_some((stray, value))
}

/// Collects all values of a message that do not have a place in its schema.
fn gather(
    schema: &Value,
    object: &Map<String, Value>,
    way: &mut Vec<String>,
    into: &mut Vec<Stray>,
) {
    for (name, value) in object {
        if into.len() >= MAX_STRAYS || way.len() >= MAX_STRAY_DEPTH {
            return;
        }
        way.push(name.clone());
        let known = schema["properties"].get(name);
        match (known, value) {
            (Some(known), Value::Object(inner)) => {
                let known = object_schema(known).unwrap_or(&Value::Null);
                if known.is_object() {
                    gather(known, inner, way, into);
                }
            }
            (Some(_), _) => {}
            (None, value) => {
                let value = value.clone();
                into.push(Stray {
                    way: way.clone(),
                    folded: fold(name),
                    value,
                });
                if let Some(Value::Object(inner)) = object.get(name) {
                    gather(&Value::Null, inner, way, into);
                }
            }
        }
        way.pop();
    }
}

fn remove(message: &mut Map<String, Value>, way: &[String]) {
    match way {
        [] => {}
        [name] => {
            message.remove(name);
        }
        [name, rest @ ..] => {
            if let Some(Value::Object(inner)) = message.get_mut(name) {
                remove(inner, rest);
            }
        }
    }
}

fn tell(here: &str, stray: &Stray, notes: &mut Notes) {
    let found = excerpt(&stray.way.join("."));
    let detail = format!("found as `{found}`; send it as `{here}`");
    forgive(notes, here, &format!("`{here}`"), detail);
}

/// Describes briefly what a schema asks for.
fn wanted(schema: &Value) -> String {
    match words_of(schema) {
        Some(words) => format!("`{}`", words.join("` or `")),
        None if is_flag(schema) => "`true` or `false`".to_owned(),
        None => "a value of the kind that its schema names".to_owned(),
    }
}
