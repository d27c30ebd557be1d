//! Converts a value to the type that its schema asks for, if the conversion is unambiguous.

use serde_json::{Number, Value};

use super::names::{fold, listed};

/// Words that mean yes, folded.
const YES: &str = "true yes y ok okay accept accepted ready success joined join registered confirmed ack \
    acknowledged approved agreed";
/// Words that mean yes only where yes or no was asked, folded: a registration that was received is
/// not accepted by that.
const YES_TO_A_QUESTION: &str = "received readytoplay accepting joining participating playing here present \
    available";
/// Words that mean no, folded.
const NO: &str =
    "false no n decline declined reject rejected refuse refused denied failed busy unavailable";

/// Whether a value has the type that a schema asks for; decoders check patterns and lengths.
pub(super) fn fits(schema: &Value, value: &Value) -> bool {
    if let Some(choices) = choices(schema) {
        return choices.iter().any(|choice| fits(choice, value));
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.contains(value);
    }
    if let Some(word) = schema.get("const") {
        return word == value;
    }
    match &schema["type"] {
        Value::String(kind) => is(kind, value),
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .any(|kind| is(kind, value)),
        _ => true,
    }
}

/// Converts a value to the type that a schema asks for.
pub(super) fn coerced(schema: &Value, value: &Value) -> Option<Value> {
    if fits(schema, value) && !is_empty(value) {
        return Some(value.clone());
    }
    if let Some(inner) = alone(value).filter(|_| object_schema(schema).is_none()) {
        return coerced(schema, inner);
    }
    if let Some(choices) = choices(schema) {
        return choices
            .iter()
            .filter(|choice| choice["type"] != "null")
            .find_map(|choice| coerced(choice, value));
    }
    if let Some(words) = words(schema) {
        return word(&words, value);
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    kinds.iter().find_map(|kind| match *kind {
        "boolean" => yes_or_no(value).map(Value::Bool),
        "integer" | "number" => number(value),
        "string" => text(value),
        "array" => list(&schema["items"], value),
        "object" => object(value),
        _ => None,
    })
}

/// Generic names, folded, that add no meaning to the single value under them.
const PLAIN: &str = "value choice move answer parity paritychoice result content text";

/// The only value of a wrapper object such as `{"value": "even"}`.
fn alone(value: &Value) -> Option<&Value> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    let (name, inner) = object.iter().next()?;
    is_telling_nothing(name).then_some(inner)
}

/// Whether a name is so generic that it adds nothing to its value.
pub(super) fn is_telling_nothing(name: &str) -> bool {
    listed(PLAIN, &fold(name))
}

/// Whether a value means that there is no value.
pub(super) fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

/// The words that a schema allows, if it allows only words.
pub(super) fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(choices) = choices(schema) {
        return choices.iter().find_map(words);
    }
    let listed = schema["enum"].as_array()?.iter();
    let words: Vec<&str> = listed.filter_map(Value::as_str).collect();
    (!words.is_empty()).then_some(words)
}

/// Whether a schema asks for a boolean.
pub(super) fn is_flag(schema: &Value) -> bool {
    match choices(schema) {
        Some(choices) => choices.iter().any(is_flag),
        None => match &schema["type"] {
            Value::Array(kinds) => kinds.iter().any(|kind| kind == "boolean"),
            kind => kind == "boolean",
        },
    }
}

/// The object that a schema describes, if it describes one.
pub(super) fn object_schema(schema: &Value) -> Option<&Value> {
    match choices(schema) {
        Some(choices) => choices.iter().find_map(object_schema),
        None => schema["properties"].is_object().then_some(schema),
    }
}

fn choices(schema: &Value) -> Option<&Vec<Value>> {
    schema["anyOf"].as_array().or(schema["oneOf"].as_array())
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// Matches a word regardless of case and punctuation, or as a synonym of yes or no.
fn word(words: &[&str], value: &Value) -> Option<Value> {
    let said = match value {
        Value::String(said) => fold(said),
        Value::Bool(said) => said.to_string(),
        _ => return None,
    };
    let same = words.iter().find(|word| fold(word) == said);
    let meaning = |side: &str| {
        let said = listed(side, &said);
        words.iter().find(|word| said && listed(side, &fold(word)))
    };
    let found = same.or_else(|| meaning(YES)).or_else(|| meaning(NO));
    found.map(|&word| word.into())
}

fn yes_or_no(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(said) => Some(*said),
        Value::Number(number) => match number.as_i64() {
            Some(1) => Some(true),
            Some(0) => Some(false),
            _ => None,
        },
        Value::String(said) => {
            let said = fold(said);
            let yes = listed(YES, &said) || listed(YES_TO_A_QUESTION, &said);
            (yes || listed(NO, &said)).then_some(yes)
        }
        _ => None,
    }
}

/// A whole number, written as a string or with a zero fraction.
fn number(value: &Value) -> Option<Value> {
    let whole = match value {
        Value::String(text) => text.trim().parse::<i64>().ok()?,
        Value::Number(number) => {
            let number = number.as_f64()?;
            let text = format!("{number:.0}");
            let whole = text.parse::<i64>().ok()?;
            text.parse::<f64>().ok().filter(|same| same == &number)?;
            whole
        }
        _ => return None,
    };
    Some(Value::Number(Number::from(whole)))
}

/// A number as a string; some agents use numbers as ids.
fn text(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

/// Makes a list from a single item, or from a comma-separated string.
fn list(items: &Value, value: &Value) -> Option<Value> {
    let elements: Vec<Value> = match value {
        Value::String(text) => text.split(',').map(|part| part.trim().into()).collect(),
        Value::Object(_) | Value::Array(_) | Value::Null => return None,
        one => vec![one.clone()],
    };
    let elements: Option<Vec<Value>> = elements
        .iter()
        .map(|element| coerced(items, element))
        .collect();
    elements.map(Value::Array)
}

/// An object encoded as a string.
fn object(value: &Value) -> Option<Value> {
    let parsed: Value = serde_json::from_str(value.as_str()?).ok()?;
    parsed.is_object().then_some(parsed)
}
