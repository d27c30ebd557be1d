//! One log line: its fields, the masking of secrets, and its written form.

use std::borrow::Cow;

use league_protocol::redact::{is_secret_name, masked as mask};
use league_protocol::time::Timestamp;
use league_protocol::token;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::config::LogLevel;

/// The maximum length of a line, in bytes; a longer line loses its data.
pub const MAX_LINE: usize = 64 * 1024;
/// A length that most lines do not exceed, in bytes.
const LINE_CAPACITY: usize = 512;
/// The maximum length of a message, in characters.
const MAX_MESSAGE: usize = 4 * 1024;
/// How deep data is searched for secrets; deeper values are omitted.
const MAX_DEPTH: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    pub timestamp: Timestamp,
    pub level: LogLevel,
    /// The component that logs: `league_manager`, `referee:REF01`.
    pub component: String,
    pub agent_id: String,
    /// The kind of event.
    pub event_type: String,
    /// The message it is about.
    pub message_type: Option<String>,
    /// The conversation of that message.
    pub conversation_id: Option<String>,
    /// A short sentence.
    pub message: String,
    /// All other fields, by name.
    pub details: Vec<(Cow<'static, str>, Value)>,
    pub place: DetailsPlace,
}

/// Where a line has its details: the documents have three forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DetailsPlace {
    /// In `data`, as in the logs of agents (000 §5.10).
    Data,
    /// In `details`, as in the logs of a league and of the system (000 §9.5.1).
    Details,
    /// Beside the other fields, as the logger of the toolkit writes them (000 §10.6).
    Flat,
}

/// The fields that a line has besides its details.
const OWN_FIELDS: [&str; 8] = [
    "timestamp",
    "component",
    "event_type",
    "level",
    "agent_id",
    "message_type",
    "conversation_id",
    "message",
];

impl LogLine {
    /// The sentence of a line that was logged without one.
    pub(crate) fn sentence(event_type: &str, message_type: Option<&str>) -> String {
        let words = event_type.to_lowercase().replace('_', " ");
        match message_type {
            Some(message_type) => format!("{words}: {message_type}"),
            None => words,
        }
    }

    /// The written line, with its newline; it contains no other newline.
    pub fn to_text(&self) -> String {
        let text = self.written();
        if text.len() <= MAX_LINE {
            return text;
        }
        let details = vec![("left_out_bytes".into(), text.len().into())];
        Self {
            details,
            ..self.clone()
        }
        .written()
    }

    fn written(&self) -> String {
        let mut written = Vec::with_capacity(LINE_CAPACITY);
        // Serialising a line cannot fail.
        let _ = serde_json::to_writer(&mut written, self);
        let text = String::from_utf8(written).unwrap_or_default();
        let mut text = escape(&text).into_owned();
        text.push('\n');
        text
    }
}

impl Serialize for LogLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_flat = self.place == DetailsPlace::Flat;
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry("timestamp", &self.timestamp)?;
        line.serialize_entry("component", &cut_and_mask(&self.component))?;
        line.serialize_entry("event_type", &cut_and_mask(&self.event_type))?;
        line.serialize_entry("level", &self.level)?;
        line.serialize_entry("agent_id", &cut_and_mask(&self.agent_id))?;
        for (name, text) in [
            ("message_type", &self.message_type),
            ("conversation_id", &self.conversation_id),
        ] {
            if text.is_some() || !is_flat {
                line.serialize_entry(name, &text.as_deref().map(cut_and_mask))?;
            }
        }
        line.serialize_entry("message", &cut_and_mask(&self.message))?;
        match self.place {
            DetailsPlace::Data => line.serialize_entry("data", &Members(&self.details))?,
            DetailsPlace::Details => line.serialize_entry("details", &Members(&self.details))?,
            DetailsPlace::Flat => {
                for (name, value) in Members(&self.details).masked() {
                    if !OWN_FIELDS.contains(&&*name) {
                        line.serialize_entry(&name, &value)?;
                    }
                }
            }
        }
        line.end()
    }
}

struct Members<'m>(&'m [(Cow<'static, str>, Value)]);

impl<'m> Members<'m> {
    fn masked(&self) -> impl Iterator<Item = (Cow<'m, str>, Cow<'m, Value>)> + use<'m> {
        let members = self.0.iter();
        members.map(|(name, value)| (mask(name), masked_member(name, value, 0)))
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.masked())
    }
}

fn cut_and_mask(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_MESSAGE {
        return mask(text);
    }
    let end = text.char_indices().nth(MAX_MESSAGE);
    mask(&text[..end.map_or(text.len(), |(end, _)| end)])
}

/// The value of a member, masked if it is secret.
fn masked_member<'v>(name: &str, value: &'v Value, depth: usize) -> Cow<'v, Value> {
    let secret = is_secret(name);
    match value {
        Value::String(text) if secret => Cow::Owned(Value::String(token::mask(text))),
        Value::Null | Value::Bool(_) => Cow::Borrowed(value),
        _ if secret => Cow::Owned(Value::String("…".to_owned())),
        _ => masked(value, depth + 1),
    }
}

/// Logs are read while matches are played, so a seed is secret too.
fn is_secret(name: &str) -> bool {
    is_secret_name(name) || name.to_ascii_lowercase().contains("seed")
}

fn masked(value: &Value, depth: usize) -> Cow<'_, Value> {
    if depth > MAX_DEPTH {
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

/// Escapes characters that could command a terminal, break a line or change the text direction; line
/// ends and tabs stay. JSON means the same afterwards, because these occur only inside its strings.
pub fn escape(text: &str) -> Cow<'_, str> {
    let harmful = |letter: char| {
        matches!(letter,
            '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}'
            | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let plain = |byte: u8| matches!(byte, b' '..0x7f | b'\n' | b'\t');
    if text.bytes().all(plain) || !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let ends_line = letter == '\r' && letters.peek() == Some(&'\n');
        if harmful(letter) && !ends_line {
            safe.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            safe.push(letter);
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use league_protocol::token::AuthToken;
    use serde_json::json;

    fn line(message: &str, data: Value) -> LogLine {
        let Value::Object(data) = data else {
            panic!("data are members");
        };
        LogLine {
            timestamp: Timestamp::from_millis(1_736_937_000_000),
            level: LogLevel::Info,
            component: "referee:REF01".to_owned(),
            agent_id: "REF01".to_owned(),
            event_type: "GAME_ERROR".to_owned(),
            message_type: None,
            conversation_id: None,
            message: message.to_owned(),
            details: data
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
            place: DetailsPlace::Data,
        }
    }

    #[test]
    fn line_has_its_details_where_its_chapter_has_them() {
        let told = line("late", json!({"match_id": "R1M1", "timeout_sec": 30}));
        let own = concat!(
            r#"{"timestamp":"2025-01-15T10:30:00.000Z","component":"referee:REF01","#,
            r#""event_type":"GAME_ERROR","level":"INFO","agent_id":"REF01","#,
        );
        let null = r#""message_type":null,"conversation_id":null,"#;
        let details = r#""match_id":"R1M1","timeout_sec":30"#;
        for (place, written) in [
            (
                DetailsPlace::Data,
                format!(r#"{own}{null}"message":"late","data":{{{details}}}}}"#),
            ),
            (
                DetailsPlace::Details,
                format!(r#"{own}{null}"message":"late","details":{{{details}}}}}"#),
            ),
            (
                DetailsPlace::Flat,
                format!(r#"{own}"message":"late",{details}}}"#),
            ),
        ] {
            let line = LogLine {
                place,
                ..told.clone()
            };
            assert_eq!(line.to_text(), format!("{written}\n"));
        }
    }

    #[test]
    fn flat_detail_replaces_no_field_of_the_line() {
        let line = LogLine {
            place: DetailsPlace::Flat,
            ..line(
                "late",
                json!({"timestamp": "never", "component": "another"}),
            )
        };
        let text = line.to_text();
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["component"], "referee:REF01");
        assert_eq!(text.matches("component").count(), 1, "{text}");
        assert!(!text.contains("never"), "{text}");
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
    fn line_is_bounded_whatever_it_is_told() {
        let huge = "é".repeat(1_000_000);
        let text = line(&huge, json!({"body": huge, "deep": deep(1_000)})).to_text();
        assert!(text.len() <= MAX_LINE, "{}", text.len());
        assert!(text.contains("left_out_bytes"));
        serde_json::from_str::<Value>(&text).unwrap();
    }

    fn deep(levels: usize) -> Value {
        (0..levels).fold(json!("tok-p01-0123456789abcdef"), |inner, _| json!([inner]))
    }
}
