//! One log line: its fields, what is kept out of it, and how it is written.

use std::borrow::Cow;

use league_protocol::redact::{is_secret_name, masked as mask};
use league_protocol::time::Timestamp;
use league_protocol::token;
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::config::LogLevel;

/// The longest line, in bytes; of a longer one the data is left out.
pub const LONGEST_LINE: usize = 64 * 1024;
/// How long most lines are at most, in bytes.
const USUAL_LINE: usize = 512;
/// The longest text for people, in characters.
const LONGEST_MESSAGE: usize = 4 * 1024;
/// How deep data is searched for what has to be masked; what lies deeper is left out.
const DEEPEST: usize = 16;

/// One log line.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// When.
    pub timestamp: Timestamp,
    /// How important.
    pub level: LogLevel,
    /// What part of the league speaks: `league_manager`, `referee:REF01`.
    pub component: String,
    /// Which agent.
    pub agent_id: Option<String>,
    /// What kind of thing happened.
    pub event_type: String,
    /// Which message it is about.
    pub message_type: Option<String>,
    /// In which exchange.
    pub conversation_id: Option<String>,
    /// A sentence for people.
    pub message: Option<String>,
    /// All else, by name.
    pub data: Vec<(Cow<'static, str>, Value)>,
}

impl Line {
    /// The line as it is written, with its newline; it holds no other.
    pub fn to_text(&self) -> String {
        let text = self.written(&self.data);
        if text.len() <= LONGEST_LINE {
            return text;
        }
        self.written(&[("left_out_bytes".into(), text.len().into())])
    }

    fn written(&self, data: &[(Cow<'static, str>, Value)]) -> String {
        let mut written = Vec::with_capacity(USUAL_LINE);
        // Nothing in a line can fail to be written.
        let _ = serde_json::to_writer(&mut written, &Written { line: self, data });
        let mut text = escape(String::from_utf8(written).unwrap_or_default());
        text.push('\n');
        text
    }
}

/// A line without what is kept out of it.
struct Written<'l> {
    line: &'l Line,
    data: &'l [(Cow<'static, str>, Value)],
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { line, data } = *self;
        let mut fields = serializer.serialize_struct("Line", 9)?;
        fields.serialize_field("timestamp", &line.timestamp)?;
        fields.serialize_field("level", &line.level)?;
        fields.serialize_field("component", &Text(cut_and_mask(&line.component)))?;
        fields.serialize_field("agent_id", &clean(&line.agent_id))?;
        fields.serialize_field("event_type", &Text(cut_and_mask(&line.event_type)))?;
        fields.serialize_field("message_type", &clean(&line.message_type))?;
        fields.serialize_field("conversation_id", &clean(&line.conversation_id))?;
        fields.serialize_field("message", &clean(&line.message))?;
        fields.serialize_field("data", &Members(data))?;
        fields.end()
    }
}

struct Text<'t>(Cow<'t, str>);

fn clean(text: &Option<String>) -> Option<Text<'_>> {
    text.as_deref().map(cut_and_mask).map(Text)
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

struct Members<'l>(&'l [(Cow<'static, str>, Value)]);

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            members.serialize_entry(&*mask(name), &masked_member(name, value, 0))?;
        }
        members.end()
    }
}

fn cut_and_mask(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_MESSAGE {
        return mask(text);
    }
    let end = text.char_indices().nth(LONGEST_MESSAGE);
    mask(&text[..end.map_or(text.len(), |(end, _)| end)])
}

/// The value of a member as it may be shown.
fn masked_member<'v>(name: &str, value: &'v Value, depth: usize) -> Cow<'v, Value> {
    let secret = is_secret(name);
    match value {
        Value::String(text) if secret => Cow::Owned(Value::String(token::mask(text))),
        Value::Null | Value::Bool(_) => Cow::Borrowed(value),
        _ if secret => Cow::Owned(Value::String("…".to_owned())),
        _ => masked(value, depth + 1),
    }
}

/// Logs are read while matches are played, so a seed is a secret in them, too.
fn is_secret(name: &str) -> bool {
    is_secret_name(name) || name.to_ascii_lowercase().contains("seed")
}

fn masked(value: &Value, depth: usize) -> Cow<'_, Value> {
    if depth > DEEPEST {
        return Cow::Owned(Value::String("…".to_owned()));
    }
    match value {
        Value::String(text) => match mask(text) {
            Cow::Borrowed(_) => Cow::Borrowed(value),
            Cow::Owned(text) => Cow::Owned(Value::String(text)),
        },
        Value::Array(entries) => {
            let entries = entries.iter().map(|entry| masked(entry, depth + 1));
            Cow::Owned(entries.map(Cow::into_owned).collect())
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let value = masked_member(name, value, depth);
                (mask(name).into_owned(), value.into_owned())
            });
            Cow::Owned(Value::Object(members.collect()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Cow::Borrowed(value),
    }
}

/// Writes what could break a line, or turn it around on a screen, by its number. In a JSON text
/// such characters stand inside of strings only.
pub fn escape(text: String) -> String {
    let harmful = |letter: char| {
        matches!(letter,
            '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let plain = text.is_ascii() && !text.contains('\u{7f}');
    if plain || !text.contains(harmful) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if harmful(letter) {
            safe.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            safe.push(letter);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use league_protocol::token::AuthToken;
    use serde_json::json;

    fn line(message: &str, data: Value) -> Line {
        let Value::Object(data) = data else {
            panic!("data are members");
        };
        Line {
            timestamp: Timestamp::from_millis(1_736_937_000_000),
            level: LogLevel::Info,
            component: "referee:REF01".to_owned(),
            agent_id: Some("REF01".to_owned()),
            event_type: "GAME_ERROR".to_owned(),
            message_type: None,
            conversation_id: None,
            message: Some(message.to_owned()),
            data: data
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
        }
    }

    #[test]
    fn a_line_carries_the_fields_of_both_chapters() {
        let text = line("late", json!({"match_id": "R1M1", "timeout_sec": 30})).to_text();
        assert_eq!(
            text,
            concat!(
                r#"{"timestamp":"2025-01-15T10:30:00.000Z","level":"INFO","#,
                r#""component":"referee:REF01","agent_id":"REF01","event_type":"GAME_ERROR","#,
                r#""message_type":null,"conversation_id":null,"message":"late","#,
                r#""data":{"match_id":"R1M1","timeout_sec":30}}"#,
                "\n"
            )
        );
    }

    #[test]
    fn no_token_reaches_a_line() {
        let token = AuthToken::mint("P01", &[0xab; 32]);
        let secret = "abababababababab";
        let told = line(
            &format!("refused `{0}`, then {0}!", token.reveal()),
            json!({
                "auth_token": token.reveal(),
                "league_secret": [1, 2, 3],
                "nested": [{"provided_token": "hunter2-hunter2"}, token.reveal()],
                "note": format!("x={}", token.reveal()),
            }),
        );
        let text = told.to_text();
        assert!(
            !text.contains(secret) && !text.contains("hunter2"),
            "{text}"
        );
        assert!(!text.contains("[1,2,3]"), "{text}");
        assert_eq!(text.matches("tok-p01-…").count(), 5, "{text}");
    }

    #[test]
    fn no_text_breaks_a_line_or_turns_it_around() {
        for letter in [
            '\n', '\r', '\u{2028}', '\u{202e}', '\u{0}', '\u{85}', '\u{feff}',
        ] {
            let text = line(&format!("a{letter}b"), json!({"name": format!("{letter}")})).to_text();
            assert_eq!(text.lines().count(), 1, "{letter:?}");
            assert!(!text.trim_end_matches('\n').contains(letter), "{letter:?}");
            let read: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["message"], format!("a{letter}b"));
        }
    }

    #[test]
    fn a_line_is_bounded_whatever_it_is_told() {
        let huge = "é".repeat(1_000_000);
        let text = line(&huge, json!({"body": huge, "deep": deep(1_000)})).to_text();
        assert!(text.len() <= LONGEST_LINE, "{}", text.len());
        assert!(text.contains("left_out_bytes"));
        serde_json::from_str::<Value>(&text).unwrap();
    }

    fn deep(levels: usize) -> Value {
        (0..levels).fold(json!("tok-p01-0123456789abcdef"), |inner, _| json!([inner]))
    }
}
