//! A match as lines: its description, then each message.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::storage::documents::{MatchDocument, TranscriptMessage, Verbatim};

/// The longest content of a message that is printed, in characters.
const MAX_CONTENT: usize = 160;

/// The longest text inside a message that is printed, in characters; a time fits.
const MAX_TEXT: usize = 20;

/// Fields that every message has, or that the line shows already.
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

/// Writes a match as text.
pub(crate) fn write_text(document: &MatchDocument, out: &mut impl Write) -> io::Result<()> {
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
        let why = match document.first_line {
            Some(_) => "what was said is in the journal of its referee, which is not here",
            None => "its messages are secret until it is over",
        };
        return writeln!(out, "  {why}");
    }
    writeln!(out)?;
    let widest = |part: fn(&TranscriptMessage) -> &str| {
        let widths = document.transcript.iter().map(part);
        widths.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let (from, to) = (widest(|said| &said.from), widest(|said| &said.to));
    let kind = widest(|said| &said.message_type);
    for said in &document.transcript {
        if said.resumed {
            writeln!(out, "{}  {RESUMED}", time_of_day(said))?;
        }
        let line = format!(
            "{}  {:<from$} → {:<to$}  {:<kind$}  {}",
            time_of_day(said),
            said.from,
            said.to,
            said.message_type,
            content(said),
        );
        writeln!(out, "{}", printable(line.trim_end()))?;
    }
    Ok(())
}

/// Stands before the first message of a referee that was started again.
const RESUMED: &str = "the referee was started again; messages just before this may be missing";

/// Writes a match as JSON, an object a line.
pub(crate) fn write_json(document: &MatchDocument, out: &mut impl Write) -> io::Result<()> {
    let about = json!({
        "event": "match", "league_id": document.league_id, "round_id": document.round_id,
        "match_id": document.match_id, "game_type": document.game_type,
        "referee_id": document.referee_id, "lifecycle": document.lifecycle,
        "result": document.result,
    });
    writeln!(out, "{about}")?;
    for said in &document.transcript {
        let mut object = json!({
            "event": "said", "match_id": document.match_id, "timestamp": said.timestamp,
            "from": said.from, "to": said.to, "message_type": said.message_type,
            "message": said.message,
        });
        if let Some(verbatim) = &said.verbatim {
            object["verbatim"] = json!(verbatim);
        }
        if let Some(seal) = &said.seal {
            object["seal"] = json!(seal);
        }
        if said.resumed {
            object["resumed"] = true.into();
        }
        writeln!(out, "{object}")?;
    }
    Ok(())
}

/// The time of day; a match seldom lasts longer.
fn time_of_day(said: &TranscriptMessage) -> String {
    let text = said.timestamp.to_millis_text();
    let time = text.split_once('T').map_or(&*text, |(_, time)| time);
    time.trim_end_matches('Z').to_owned()
}

/// The fields of a message that the line does not show yet, and the text received if it was
/// repaired or could not be read.
fn content(said: &TranscriptMessage) -> String {
    if said.is_lost() {
        return "its content was hidden when the referee ended; only its hash is known".to_owned();
    }
    let fields = match said.message.value() {
        Value::Object(members) => fields(&members, |name| !KNOWN.contains(&name)),
        _ => String::new(),
    };
    let fields = shortened(&fields, MAX_CONTENT);
    match &said.verbatim {
        Some(verbatim) => format!("{fields} {}", received(verbatim)).trim().to_owned(),
        None => fields,
    }
}

fn received(verbatim: &Verbatim) -> String {
    let text = verbatim.text.as_deref().unwrap_or("…");
    let text = shortened(text, MAX_CONTENT);
    match &verbatim.problem {
        Some(problem) => {
            let problem = shortened(problem, MAX_CONTENT);
            format!("not readable: {problem}; received `{text}`")
        }
        None => format!("(received `{text}`)"),
    }
}

/// The members of an object, plain values before nested ones.
fn fields(members: &Map<String, Value>, wanted: impl Fn(&str) -> bool) -> String {
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
        Value::String(text) => shortened(text, MAX_TEXT),
        Value::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(briefly).collect();
            format!("[{}]", elements.join(" "))
        }
        Value::Object(members) => format!("{{{}}}", fields(members, |_| true)),
    }
}

fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// Escapes characters that move a cursor. Secrets were taken out when the message was stored.
fn printable(line: &str) -> String {
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
    use crate::cli::screen::Screen;

    fn said(message: Value, verbatim: Option<Verbatim>) -> TranscriptMessage {
        TranscriptMessage {
            timestamp: Timestamp::default(),
            from: "player:P01".to_owned(),
            to: "referee:REF01".to_owned(),
            message_type: String::new(),
            message: (&message).into(),
            verbatim,
            seal: None,
            resumed: false,
        }
    }

    #[test]
    fn content_is_one_harmless_line_of_moderate_length() {
        let message = json!({
            "protocol": "league.v2", "match_id": "R1M1",
            "game_result": {"choices": {"P01": "even"}, "drawn_number": 8},
            "note": "\u{1b}[2J\u{202e}\n", "parity_choice": "even",
        });
        assert_eq!(
            printable(&content(&said(message, None))),
            r"note=\u{1b}[2J\u{202e}\n parity_choice=even game_result={drawn_number=8 choices={P01=even}}"
        );
        let long = content(&said(json!({"notes": vec!["ä".repeat(1_000); 100]}), None));
        assert_eq!(long.chars().count(), MAX_CONTENT + 1);
        assert_eq!(content(&said(Value::Null, None)), "");
    }

    #[test]
    fn json_escapes_characters_that_move_a_cursor() {
        let text = "\u{9b}2J\u{202e}nevE\u{7f}";
        let matched = json!({
            "schema_version": "1.0.0", "match_id": "R1M1", "league_id": "spring", "round_id": 1,
            "game_type": "even_odd", "player_A_id": "P01", "player_B_id": "P02",
            "last_updated": Timestamp::default(), "version": 1,
            "lifecycle": {"state": "FINISHED", "attempt": 1, "created_at": Timestamp::default()},
            "transcript": [said(json!({"note": text}), Some(Verbatim {
                text: Some(text.to_owned()), bytes: 9, cut: false, problem: None,
            }))],
        });
        let document: MatchDocument = serde_json::from_value(matched).unwrap();
        let mut out = Vec::new();
        write_json(&document, &mut Screen::new(&mut out)).unwrap();
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
    fn received_text_stands_beside_its_reading() {
        let verbatim = |problem: Option<&str>| Verbatim {
            text: Some("even\u{1b}[2J".to_owned()),
            bytes: 8,
            cut: false,
            problem: problem.map(str::to_owned),
        };
        let mended = said(json!({"parity_choice": "even"}), Some(verbatim(None)));
        assert_eq!(
            printable(&content(&mended)),
            r"parity_choice=even (received `even\u{1b}[2J`)"
        );
        let unread = said(Value::Null, Some(verbatim(Some("it is not JSON"))));
        assert_eq!(
            printable(&content(&unread)),
            r"not readable: it is not JSON; received `even\u{1b}[2J`"
        );
    }
}
