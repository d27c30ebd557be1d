//! What was said in a match, message by message.

use std::io::{self, Write};

use crate::log::escape;
use crate::storage::documents::MatchDocument;
use crate::storage::record::{Said, Verbatim};
use serde_json::{Map, Value, json};

/// The longest content of a message that is shown, in characters.
const LONGEST_CONTENT: usize = 160;

/// The longest text inside a message that is shown, in characters; a time fits.
const LONGEST_TEXT: usize = 20;

/// What stands in every message, or in the line already.
const KNOWN: [&str; 8] = [
    "protocol",
    "message_type",
    "sender",
    "timestamp",
    "conversation_id",
    "league_id",
    "round_id",
    "match_id",
];

/// Prints a match for people.
pub(super) fn print_text(document: &MatchDocument, out: &mut impl Write) -> io::Result<()> {
    let MatchDocument {
        league_id,
        match_id,
        round_id,
        game_type,
        ..
    } = document;
    writeln!(
        out,
        "{match_id} · round {round_id} of {league_id} · {game_type}"
    )?;
    let referee = document.referee_id.as_ref();
    let referee = referee.map_or_else(|| "unknown".to_owned(), ToString::to_string);
    let (state, attempt) = (document.lifecycle.state, document.lifecycle.attempt);
    writeln!(
        out,
        "  referee {referee}, attempt {attempt}, {}",
        state.as_str()
    )?;
    if document.transcript.is_empty() {
        return writeln!(out, "  nothing is told of it before it is over");
    }
    writeln!(out)?;
    let widest = |part: fn(&Said) -> &str| {
        let widths = document.transcript.iter().map(part);
        widths.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let (from, to) = (widest(|said| &said.from), widest(|said| &said.to));
    let kind = widest(|said| &said.message_type);
    for said in &document.transcript {
        let line = format!(
            "{}  {:<from$} → {:<to$}  {:<kind$}  {}",
            time_of_day(said),
            said.from,
            said.to,
            said.message_type,
            content(said),
        );
        writeln!(out, "{}", harmless(line.trim_end()))?;
    }
    Ok(())
}

/// Prints a match for machines: what it is, then each message. Letters that move a cursor are
/// written by their number, which is the same JSON.
pub(super) fn print_json(document: &MatchDocument, out: &mut impl Write) -> io::Result<()> {
    let about = json!({
        "event": "match", "league_id": document.league_id, "round_id": document.round_id,
        "match_id": document.match_id, "game_type": document.game_type,
        "referee_id": document.referee_id, "lifecycle": document.lifecycle,
        "result": document.result,
    });
    writeln!(out, "{}", escape(about.to_string()))?;
    for said in &document.transcript {
        let mut object = json!({
            "event": "said", "match_id": document.match_id, "timestamp": said.timestamp,
            "from": said.from, "to": said.to, "message_type": said.message_type,
            "message": said.message,
        });
        if let Some(verbatim) = &said.verbatim {
            object["verbatim"] = json!(verbatim);
        }
        writeln!(out, "{}", escape(object.to_string()))?;
    }
    Ok(())
}

/// The time of day; a match seldom lasts longer.
fn time_of_day(said: &Said) -> String {
    let text = said.timestamp.to_millis_text();
    let time = text.split_once('T').map_or(&*text, |(_, time)| time);
    time.trim_end_matches('Z').to_owned()
}

/// What a message says besides what stands in the line already, in one line, and what was really
/// said if it was read as that or not at all.
fn content(said: &Said) -> String {
    let told = match &said.message {
        Value::Object(members) => told(members, |name| !KNOWN.contains(&name)),
        _ => String::new(),
    };
    let told = shortened(&told, LONGEST_CONTENT);
    match &said.verbatim {
        Some(verbatim) => format!("{told} {}", really(verbatim)).trim().to_owned(),
        None => told,
    }
}

fn really(verbatim: &Verbatim) -> String {
    let text = verbatim.text.as_deref().unwrap_or("…");
    let text = shortened(text, LONGEST_CONTENT);
    match &verbatim.problem {
        Some(problem) => {
            let problem = shortened(problem, LONGEST_CONTENT);
            format!("not read: {problem}; it said `{text}`")
        }
        None => format!("(it said `{text}`)"),
    }
}

/// The members of an object, what is plain before what has parts.
fn told(members: &Map<String, Value>, wanted: impl Fn(&str) -> bool) -> String {
    let wanted = members.iter().filter(|(name, _)| wanted(name));
    let (nested, plain): (Vec<_>, Vec<_>) =
        wanted.partition(|(_, value)| value.is_object() || value.is_array());
    let all = plain.into_iter().chain(nested);
    let all: Vec<String> = all
        .map(|(name, value)| format!("{name}={}", briefly(value)))
        .collect();
    all.join(" ")
}

fn briefly(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => shortened(text, LONGEST_TEXT),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(briefly).collect();
            format!("[{}]", elements.join(" "))
        }
        Value::Object(members) => format!("{{{}}}", told(members, |_| true)),
    }
}

fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// Players choose their words, and some words move a cursor.
fn harmless(line: &str) -> String {
    let mut shown = String::new();
    for letter in line.chars() {
        match letter {
            '"' | '\'' | '\\' => shown.push(letter),
            _ => shown.extend(letter.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use league_protocol::time::Timestamp;

    use super::*;

    fn said(message: Value, verbatim: Option<Verbatim>) -> Said {
        Said {
            timestamp: Timestamp::default(),
            from: "player:P01".to_owned(),
            to: "referee:REF01".to_owned(),
            message_type: String::new(),
            message,
            verbatim,
        }
    }

    #[test]
    fn the_content_is_one_harmless_line_of_moderate_length() {
        let message = json!({
            "protocol": "league.v2", "match_id": "R1M1",
            "game_result": {"choices": {"P01": "even"}, "drawn_number": 8},
            "note": "\u{1b}[2J\u{202e}\n", "parity_choice": "even",
        });
        assert_eq!(
            harmless(&content(&said(message, None))),
            r"note=\u{1b}[2J\u{202e}\n parity_choice=even game_result={drawn_number=8 choices={P01=even}}"
        );
        let long = content(&said(json!({"notes": vec!["ä".repeat(1_000); 100]}), None));
        assert_eq!(long.chars().count(), LONGEST_CONTENT + 1);
        assert_eq!(content(&said(Value::Null, None)), "");
    }

    #[test]
    fn for_machines_no_letter_moves_a_cursor_and_each_has_its_value() {
        let text = "\u{9b}2J\u{202e}nevE\u{7f}";
        let matched = json!({
            "schema_version": "1.0.0", "match_id": "R1M1", "league_id": "spring", "round_id": 1,
            "game_type": "even_odd", "last_updated": Timestamp::default(), "version": 1,
            "lifecycle": {"state": "FINISHED", "attempt": 1, "created_at": Timestamp::default()},
            "transcript": [said(json!({"note": text}), Some(Verbatim {
                text: Some(text.to_owned()), bytes: 9, cut: false, problem: None,
            }))],
        });
        let document: MatchDocument = serde_json::from_value(matched).unwrap();
        let mut out = Vec::new();
        print_json(&document, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        let raw = out
            .chars()
            .filter(|letter| text.contains(*letter) && !letter.is_ascii_graphic());
        assert_eq!(raw.count(), 0, "{out}");
        let told: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
        assert_eq!(told["message"]["note"], text);
        assert_eq!(told["verbatim"]["text"], text);
    }

    #[test]
    fn what_was_really_said_stands_beside_what_it_was_read_as() {
        let verbatim = |problem: Option<&str>| Verbatim {
            text: Some("even\u{1b}[2J".to_owned()),
            bytes: 8,
            cut: false,
            problem: problem.map(str::to_owned),
        };
        let mended = said(json!({"parity_choice": "even"}), Some(verbatim(None)));
        assert_eq!(
            harmless(&content(&mended)),
            r"parity_choice=even (it said `even\u{1b}[2J`)"
        );
        let unread = said(Value::Null, Some(verbatim(Some("it is no JSON"))));
        assert_eq!(
            harmless(&content(&unread)),
            r"not read: it is no JSON; it said `even\u{1b}[2J`"
        );
    }
}
