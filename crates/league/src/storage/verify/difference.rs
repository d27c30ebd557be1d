//! Finds the first difference between two documents.

use serde::Serialize;
use serde_json::Value;

/// The first difference between two documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    /// The value in the first document, in backticks.
    pub(crate) found: String,
    /// The value in the second document.
    pub(crate) expected: String,
}

/// Finds where `found` first differs from `expected`.
pub(crate) fn first_difference(
    found: &impl Serialize,
    expected: &impl Serialize,
) -> Option<Difference> {
    let (found, expected) = (value(found), value(expected));
    let mut path = String::new();
    let (found, expected) = first(&mut path, Some(&found), Some(&expected))?;
    Some(Difference {
        path: path.trim_start_matches('.').to_owned(),
        found,
        expected,
    })
}

/// The same as a sentence, where one of the two is known to be right.
pub(crate) fn difference(found: &impl Serialize, expected: &impl Serialize) -> Option<String> {
    let Difference {
        path,
        found,
        expected,
    } = first_difference(found, expected)?;
    Some(format!("`{path}` is {found}, expected {expected}"))
}

fn value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).unwrap_or_default()
}

fn first(
    path: &mut String,
    found: Option<&Value>,
    expected: Option<&Value>,
) -> Option<(String, String)> {
    if found == expected {
        return None;
    }
    match (found, expected) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let mut keys = one.keys().chain(other.keys());
            keys.find_map(|key| within(path, &format!(".{key}"), one.get(key), other.get(key)))
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => (0..one.len().max(other.len()))
            .find_map(|at| within(path, &format!("[{at}]"), one.get(at), other.get(at))),
        _ => Some((shown(found), shown(expected))),
    }
}

fn within(
    path: &mut String,
    step: &str,
    found: Option<&Value>,
    expected: Option<&Value>,
) -> Option<(String, String)> {
    let length = path.len();
    path.push_str(step);
    let differs = first(path, found, expected);
    if differs.is_none() {
        path.truncate(length);
    }
    differs
}

/// The maximum length of a shown value.
const MAX_SHOWN: usize = 80;

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "missing".to_owned();
    };
    let text = value.to_string();
    if text.chars().count() <= MAX_SHOWN {
        return format!("`{text}`");
    }
    let beginning: String = text.chars().take(MAX_SHOWN).collect();
    format!("`{beginning}…`")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn first_place_that_differs_is_named() {
        let same = json!({"a": [1, {"b": 2}], "c": null});
        assert_eq!(difference(&same, &same), None);
        for (found, said) in [
            (
                json!({"a": [1, {"b": 3}], "c": null}),
                "`a[1].b` is `3`, expected `2`",
            ),
            (
                json!({"a": [1], "c": null}),
                "`a[1]` is missing, expected `{\"b\":2}`",
            ),
            (
                json!({"a": [1, {"b": 2}]}),
                "`c` is missing, expected `null`",
            ),
        ] {
            assert_eq!(difference(&found, &same).unwrap(), said);
        }
        let long = difference(&json!({"a": "é".repeat(100)}), &json!({})).unwrap();
        assert!(
            long.ends_with("é…`, expected missing") && long.len() < 200,
            "{long}"
        );
    }
}
