//! The JSON of a message as the record of its match keeps it: members sorted by name, without white
//! space and without secrets.
//!
//! Messages with the same content have the same text, so a hash of the text can be checked later,
//! by other programs too.

use std::borrow::Cow;

use league_protocol::redact::{hidden, is_secret_name, masked};
use league_protocol::rpc::members::split;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Members that hold the commitment, the seed and the shares of a draw, and proofs of players. Their
/// numbers stay, however long: they are published after the match and verified.
const OF_THE_DRAW: [&str; 8] = [
    "draw_commitment",
    "commitment",
    "draw_seed",
    "seed",
    "nonce",
    "nonces",
    "proof",
    "join_proof",
];

/// Rewrites the JSON of a message: removes members whose name is or contains a secret, and masks
/// values that look like secrets. `None` if it is not JSON, or an object has too many members.
pub(crate) fn canonical(message: &RawValue) -> Option<String> {
    let mut out = String::with_capacity(message.get().len());
    write(&mut out, message, false)?;
    Some(out)
}

#[derive(Deserialize)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

#[derive(Deserialize)]
struct Elements<'e>(#[serde(borrow)] Vec<&'e RawValue>);

fn write(out: &mut String, value: &RawValue, is_of_draw: bool) -> Option<()> {
    let json = value.get();
    match json.as_bytes().first()? {
        b'{' => write_object(out, json),
        b'[' => {
            let Elements(elements) = serde_json::from_str(json).ok()?;
            out.push('[');
            for (place, element) in elements.into_iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                write(out, element, is_of_draw)?;
            }
            out.push(']');
            Some(())
        }
        b'"' => {
            let Text(text) = serde_json::from_str(json).ok()?;
            let is_number = || text.bytes().all(|sign| sign.is_ascii_hexdigit());
            let shown = match is_of_draw && is_number() {
                true => Cow::Borrowed(&*text),
                false => hidden(&text),
            };
            write_text(out, &shown);
            Some(())
        }
        b'-' | b'0'..=b'9' => {
            // Whole numbers have one spelling; others get theirs from the library.
            match json.bytes().all(|digit| digit.is_ascii_digit()) && json.len() < 19 {
                true => out.push_str(json),
                false => {
                    let number: Value = serde_json::from_str(json).ok()?;
                    out.push_str(&number.to_string());
                }
            }
            Some(())
        }
        _ => {
            out.push_str(json);
            Some(())
        }
    }
}

/// Of members with the same name the last stays, as most readers have it.
fn write_object(out: &mut String, json: &str) -> Option<()> {
    let members = split(json).ok()?;
    let mut sorted: Vec<(&str, &RawValue)> = members
        .iter()
        .filter(|(name, _)| !is_secret_name(name) && masked(name) == *name)
        .collect();
    sorted.sort_by_key(|(name, _)| *name);
    out.push('{');
    let mut rest = sorted.into_iter().peekable();
    let mut is_first = true;
    while let Some((name, value)) = rest.next() {
        if rest.peek().is_some_and(|(next, _)| *next == name) {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.push(',');
        }
        write_text(out, name);
        out.push(':');
        write(out, value, OF_THE_DRAW.contains(&name))?;
    }
    out.push('}');
    Some(())
}

/// Writes a JSON string.
fn write_text(out: &mut String, text: &str) {
    let is_plain = |byte: u8| byte >= b' ' && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;

    fn of(json: &str) -> Option<String> {
        canonical(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn members_are_sorted_and_the_last_of_a_name_stays() {
        let spelled = r#" {"b": [1, {"z":1.50,"a":-0}, 1E2], "a":"\u0041\n\"", "b" :2, "":null} "#;
        assert_eq!(
            of(spelled.trim()).unwrap(),
            r#"{"":null,"a":"A\n\"","b":2}"#
        );
        let nested = r#"[ {"b":true , "a":[ ]}, -0, 1E2, 18446744073709551616, {} ]"#;
        let value: Value = serde_json::from_str(nested).unwrap();
        assert_eq!(of(nested).unwrap(), value.to_string());
    }

    #[test]
    fn secrets_are_left_out_and_numbers_of_the_draw_stay() {
        let number = "ab".repeat(32);
        let message = json!({
            "auth_token": "tok-p01-0123456789abcdef",
            "note": "tok-p01-0123456789abcdef",
            "other": number,
            "draw": {"seed": number, "nonces": [number, "tok-p01-0123456789abcdef"]},
        });
        let kept = of(&message.to_string()).unwrap();
        assert!(
            !kept.contains("0123456789") && !kept.contains("auth_token"),
            "{kept}"
        );
        assert_eq!(kept.matches(&number).count(), 2, "{kept}");
    }

    #[test]
    fn object_with_too_many_members_is_not_kept() {
        let many: serde_json::Map<String, Value> =
            (0..1_000).map(|n| (format!("n{n}"), n.into())).collect();
        assert_eq!(of(&Value::from(many).to_string()), None);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-z \\\\\"é\n]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map("[a-d]{0,2}", inner, 0..5)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        /// The hash of a record is computed by other programs from a parsed message.
        #[test]
        fn text_is_that_of_the_parsed_value(value in values()) {
            let spaced = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(of(&spaced).unwrap(), value.to_string());
            prop_assert_eq!(canonical(&to_raw_value(&value).unwrap()).unwrap(), value.to_string());
        }
    }
}
