//! One log line: its fields, what is kept out of it, and how it is written.

use league_protocol::time::Timestamp;
use league_protocol::token;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::LogLevel;

/// The longest line, in bytes; of a longer one the data is left out.
pub const LONGEST_LINE: usize = 64 * 1024;
/// The longest text for people, in characters.
const LONGEST_MESSAGE: usize = 4 * 1024;
/// How deep data is searched for what has to be masked; what lies deeper is left out.
const DEEPEST: usize = 16;
/// What a random part of a token has at least, in characters.
const SHORTEST_SECRET: usize = 16;
/// Words in the names of members whose values are masked.
const SECRET_NAMES: [&str; 3] = ["token", "secret", "seed"];

/// One log line.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// All else.
    pub data: Map<String, Value>,
}

impl Line {
    /// The line as it is written, with its newline; it holds no other.
    pub fn to_text(&self) -> String {
        let text = written(&self.cleaned());
        if text.len() <= LONGEST_LINE {
            return text;
        }
        let mut short = self.cleaned();
        short.data = Map::from_iter([("left_out_bytes".to_owned(), text.len().into())]);
        written(&short)
    }

    fn cleaned(&self) -> Self {
        let clean = |text: &Option<String>| text.as_deref().map(cut_and_mask);
        Self {
            timestamp: self.timestamp,
            level: self.level,
            component: cut_and_mask(&self.component),
            agent_id: clean(&self.agent_id),
            event_type: cut_and_mask(&self.event_type),
            message_type: clean(&self.message_type),
            conversation_id: clean(&self.conversation_id),
            message: clean(&self.message),
            data: masked_members(&self.data, 0),
        }
    }
}

fn written(line: &Line) -> String {
    let mut text = escape(&serde_json::to_string(line).unwrap_or_default());
    text.push('\n');
    text
}

fn cut_and_mask(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST_MESSAGE);
    mask(&text[..end.map_or(text.len(), |(end, _)| end)])
}

fn masked_members(members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
    let members = members.iter();
    members
        .map(|(name, value)| {
            let lower = name.to_ascii_lowercase();
            let secret = SECRET_NAMES.iter().any(|word| lower.contains(word));
            let value = match value {
                Value::String(text) if secret => Value::String(token::mask(text)),
                Value::Null | Value::Bool(_) => value.clone(),
                _ if secret => Value::String("…".to_owned()),
                _ => masked(value, depth + 1),
            };
            (mask(name), value)
        })
        .collect()
}

fn masked(value: &Value, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::String("…".to_owned());
    }
    match value {
        Value::String(text) => Value::String(mask(text)),
        Value::Array(entries) => entries
            .iter()
            .map(|entry| masked(entry, depth + 1))
            .collect(),
        Value::Object(members) => Value::Object(masked_members(members, depth)),
        _ => value.clone(),
    }
}

/// Masks every token inside a text: `tok-<owner>-<secret>`, with `-` or `_` between.
fn mask(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("tok") {
        let (before, from) = rest.split_at(start);
        clean.push_str(before);
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let end = from.find(|letter| !is_part(letter)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        clean.push_str(&mask_word(word));
        rest = after;
    }
    clean.push_str(rest);
    clean
}

fn mask_word(word: &str) -> String {
    let mut parts = word.splitn(3, ['-', '_']);
    match (parts.next(), parts.next(), parts.next()) {
        (Some("tok"), Some(_), Some(secret)) if secret.len() >= SHORTEST_SECRET => {
            token::mask(word)
        }
        _ => word.to_owned(),
    }
}

/// Writes what could break a line, or turn it around on a screen, by its number. In a JSON text
/// such characters stand inside of strings only.
fn escape(text: &str) -> String {
    let harmful = |letter: char| {
        matches!(letter,
            '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    if !text.contains(harmful) {
        return text.to_owned();
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
            data,
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
    fn ordinary_words_stay() {
        let told = "token tok-ens took-over stock tok-p01-short tok";
        assert_eq!(mask(told), told);
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
