//! One log line: its fields, the masking of secrets, and its written form.

use std::borrow::Cow;
use std::fmt::Write as _;

use league_protocol::redact::{is_secret_name, masked as mask};
use league_protocol::time::Timestamp;
use league_protocol::token;
use serde_json::Value;

use crate::config::LogLevel;

/// The maximum length of a line, in bytes; a longer line loses its details.
pub const MAX_LINE: usize = 64 * 1024;
/// The maximum length of a message, in characters.
const MAX_MESSAGE: usize = 4 * 1024;
/// How deep data is searched for secrets; deeper values are omitted.
const MAX_DEPTH: usize = 16;

#[derive(Debug, Clone, Copy)]
pub struct LogLine<'l> {
    pub timestamp: Timestamp,
    pub level: LogLevel,
    /// The component that logs: `league_manager`, `referee:REF01`.
    pub component: &'l str,
    pub agent_id: &'l str,
    /// The kind of event.
    pub event_type: &'l str,
    /// The message it is about.
    pub message_type: Option<&'l str>,
    /// The conversation of that message.
    pub conversation_id: Option<&'l str>,
    /// A short sentence; if it is empty, the line says what happened by its types.
    pub message: &'l str,
    /// All other fields.
    pub details: &'l Details,
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
pub(crate) const OWN_FIELDS: [&str; 8] = [
    "timestamp",
    "component",
    "event_type",
    "level",
    "agent_id",
    "message_type",
    "conversation_id",
    "message",
];

impl LogLine<'_> {
    /// The written line, with its newline; it contains no other newline.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(256 + self.message.len() + self.details.0.len());
        self.write(&mut text, self.details);
        if text.len() > MAX_LINE {
            let mut details = Details::default();
            details.add_number("left_out_bytes", text.len());
            text.clear();
            self.write(&mut text, &details);
        }
        text
    }

    fn write(&self, out: &mut String, Details(details): &Details) {
        let is_flat = self.place == DetailsPlace::Flat;
        // Writing to a text cannot fail.
        let _ = write!(out, r#"{{"timestamp":"{}""#, self.timestamp);
        write_field(out, "component", self.component);
        write_field(out, "event_type", self.event_type);
        write_member(out, "level", "\"");
        out.push_str(self.level.as_str());
        out.push('"');
        write_field(out, "agent_id", self.agent_id);
        for (name, text) in [
            ("message_type", self.message_type),
            ("conversation_id", self.conversation_id),
        ] {
            match text {
                Some(text) => write_field(out, name, text),
                None if is_flat => {}
                None => write_member(out, name, "null"),
            }
        }
        match self.message {
            "" => write_field(out, "message", &self.sentence()),
            message => write_field(out, "message", message),
        }
        out.push_str(match self.place {
            DetailsPlace::Data => r#","data":{"#,
            DetailsPlace::Details => r#","details":{"#,
            DetailsPlace::Flat if details.is_empty() => "",
            DetailsPlace::Flat => ",",
        });
        out.push_str(details);
        out.push_str(if is_flat { "}\n" } else { "}}\n" });
    }

    /// The sentence of a line that was logged without one.
    fn sentence(&self) -> String {
        let words = self.event_type.to_lowercase().replace('_', " ");
        match self.message_type {
            Some(message_type) => format!("{words}: {message_type}"),
            None => words,
        }
    }
}

/// The members of a line besides its own fields, written and without secrets.
#[derive(Debug, Clone, Default)]
pub struct Details(String);

impl Details {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a text; it is masked if its name is that of a secret, or where it looks like one.
    pub fn add_text(&mut self, name: &str, text: &str) {
        self.begin(name);
        match is_secret(name) {
            true => write_text(&mut self.0, &token::mask(text)),
            false => write_text(&mut self.0, &mask(text)),
        }
    }

    pub fn add_number(&mut self, name: &str, number: impl Into<serde_json::Number>) {
        self.begin(name);
        let number = match is_secret(name) {
            true => "\"…\"".to_owned(),
            false => number.into().to_string(),
        };
        self.0.push_str(&number);
    }

    pub fn add(&mut self, name: &str, value: &Value) {
        self.begin(name);
        let text = masked_member(name, value, 0).to_string();
        self.0.push_str(&escape(&text));
    }

    fn begin(&mut self, name: &str) {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        write_text(&mut self.0, &mask(name));
        self.0.push(':');
    }
}

/// Writes a field of the line after others.
fn write_field(out: &mut String, name: &str, text: &str) {
    write_member(out, name, "");
    let end = match text.len() <= MAX_MESSAGE {
        true => None,
        false => text.char_indices().nth(MAX_MESSAGE),
    };
    let text = &text[..end.map_or(text.len(), |(end, _)| end)];
    write_text(out, &mask(text));
}

/// Writes a member whose name needs no escapes.
fn write_member(out: &mut String, name: &str, value: &str) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    out.push_str(value);
}

/// Writes a JSON string.
fn write_text(out: &mut String, text: &str) {
    let is_plain = |byte: u8| matches!(byte, b' '..0x7f) && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
        return;
    }
    out.push_str(&escape(&Value::from(text).to_string()));
}

/// The value of a member, masked if it is secret.
fn masked_member(name: &str, value: &Value, depth: usize) -> Value {
    let secret = is_secret(name);
    match value {
        Value::String(text) if secret => Value::String(token::mask(text)),
        Value::Null | Value::Bool(_) => value.clone(),
        _ if secret => Value::String("…".to_owned()),
        _ => masked(value, depth + 1),
    }
}

/// Logs are read while matches are played, so a seed is secret too.
fn is_secret(name: &str) -> bool {
    let is_seed = |letters: &[u8]| letters.eq_ignore_ascii_case(b"seed");
    is_secret_name(name) || name.as_bytes().windows(4).any(is_seed)
}

fn masked(value: &Value, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return Value::String("…".to_owned());
    }
    match value {
        Value::String(text) => Value::String(mask(text).into_owned()),
        Value::Array(entries) => entries
            .iter()
            .map(|entry| masked(entry, depth + 1))
            .collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let value = masked_member(name, value, depth);
                (mask(name).into_owned(), value)
            });
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
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

    fn line(message: &str, data: Value, place: DetailsPlace) -> String {
        let mut details = Details::default();
        for (name, value) in data.as_object().unwrap() {
            details.add(name, value);
        }
        let line = LogLine {
            timestamp: Timestamp::from_millis(1_736_937_000_000),
            level: LogLevel::Info,
            component: "referee:REF01",
            agent_id: "REF01",
            event_type: "GAME_ERROR",
            message_type: None,
            conversation_id: None,
            message,
            details: &details,
            place,
        };
        line.to_text()
    }

    #[test]
    fn line_has_its_details_where_its_chapter_has_them() {
        let told = json!({"match_id": "R1M1", "timeout_sec": 30});
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
            assert_eq!(line("late", told.clone(), place), format!("{written}\n"));
        }
    }

    #[test]
    fn no_token_reaches_a_line() {
        let token = AuthToken::mint("P01", &[0xab; 32]);
        let secret = "abababababababab";
        let text = line(
            &format!("refused `{0}`, then {0}!", token.reveal()),
            json!({
                "auth_token": token.reveal(),
                "league_secret": [1, 2, 3],
                "nested": [{"provided_token": "hunter2-hunter2"}, token.reveal()],
                "note": format!("x={}", token.reveal()),
            }),
            DetailsPlace::Data,
        );
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
            let text = line(
                &format!("a{letter}b"),
                json!({"name": format!("{letter}")}),
                DetailsPlace::Data,
            );
            assert_eq!(text.lines().count(), 1, "{letter:?}");
            assert!(!text.trim_end_matches('\n').contains(letter), "{letter:?}");
            let read: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["message"], format!("a{letter}b"));
        }
    }

    #[test]
    fn line_is_bounded_whatever_it_is_told() {
        let huge = "é".repeat(1_000_000);
        let text = line(
            &huge,
            json!({"body": huge, "deep": deep(1_000)}),
            DetailsPlace::Data,
        );
        assert!(text.len() <= MAX_LINE, "{}", text.len());
        assert!(text.contains("left_out_bytes"));
        serde_json::from_str::<Value>(&text).unwrap();
    }

    fn deep(levels: usize) -> Value {
        (0..levels).fold(json!("tok-p01-0123456789abcdef"), |inner, _| json!([inner]))
    }
}
