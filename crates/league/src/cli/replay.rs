//! `league replay`: the files of a league made again from its journals, or what was said in a match.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use league_protocol::id::{LeagueId, MatchId};
use serde_json::{Map, Value, json};

use crate::cli::arguments::league_id;
use crate::cli::failure::{Failure, Kind, bad_config, chain};
use crate::cli::text::count;
use crate::cli::{Answer, Output};
use crate::log::escape;
use crate::storage::documents::{
    MatchDocument, MatchRepository, RepositoryError, TranscriptMessage, Verbatim,
};
use crate::storage::files::leagues_below;
use crate::storage::replay::{Rebuilt, ReplayError, rebuild};
use crate::storage::root::{DEFAULT_ROOT, Root};

/// Make the files under data/ again from the journals, or step through a match
///
/// What stands in the files is not looked at, the journals are only read. With --match nothing is
/// made: it prints what was said in that match, message by message.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league replay SHARED
  league replay SHARED --league-id league_2025_even_odd
  league replay --match R1M1
  league replay --match R1M1 --output json | jq .message")]
pub(crate) struct Replay {
    /// The root of the league's files
    #[arg(default_value = DEFAULT_ROOT, conflicts_with = "root")]
    dir: PathBuf,
    /// The same, as the other commands take it
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// One league only; without it every league below the root
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// Print what was said in this match
    #[arg(long = "match", value_name = "ID", value_parser = match_id)]
    match_id: Option<MatchId>,
    /// How to print
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
}

fn match_id(text: &str) -> Result<MatchId, String> {
    MatchId::new(text).map_err(|error| error.to_string())
}

impl Replay {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let root = Root::new(self.root.as_ref().unwrap_or(&self.dir));
        let chosen = self.chosen(&root)?;
        if let Some(match_id) = &self.match_id {
            return self.step(&root, &chosen, match_id, out);
        }
        for league in &chosen {
            let rebuilt = rebuild(&root, league).map_err(|error| self.not_rebuilt(error.into()))?;
            self.tell(league, &rebuilt, out)?;
        }
        Ok(Answer::Yes)
    }

    /// The leagues that are meant, at least one.
    fn chosen(&self, root: &Root) -> Result<Vec<LeagueId>, Failure> {
        if let Some(league) = &self.league_id {
            return Ok(vec![league.clone()]);
        }
        let found = leagues_below(root).map_err(|error| self.not_rebuilt(error.into()))?;
        if found.is_empty() {
            let cause = format!(
                "there is no league below `{}`",
                self.root.as_ref().unwrap_or(&self.dir).display()
            );
            return Err(self.wrong(cause, "name the folder that holds `data/leagues`"));
        }
        Ok(found)
    }

    fn tell(
        &self,
        league: &LeagueId,
        rebuilt: &Rebuilt,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        /// The table and the rounds.
        const OF_THE_LEAGUE: u64 = 2;
        let Rebuilt {
            entries,
            matches,
            players,
        } = rebuilt;
        let files = OF_THE_LEAGUE + matches + players;
        if self.output == Output::Json {
            let object = json!({
                "league_id": league, "files": files, "entries": entries,
                "matches": matches, "players": players,
            });
            writeln!(out, "{object}")?;
        } else {
            let (files, entries) = (count(files, "file"), count(*entries, "line"));
            let (matches, players) = (count(*matches, "match"), count(*players, "player"));
            writeln!(
                out,
                "{league}: {files} made again from {entries} of journal: table, rounds, {matches}, {players}"
            )?;
        }
        out.flush()?;
        Ok(())
    }

    /// Prints what was said in a match.
    fn step(
        &self,
        root: &Root,
        chosen: &[LeagueId],
        match_id: &MatchId,
        out: &mut impl Write,
    ) -> Result<Answer, Failure> {
        let [league] = chosen else {
            let names: Vec<String> = chosen.iter().map(|id| format!("`{id}`")).collect();
            let cause = format!("there are several leagues: {}", names.join(", "));
            return Err(self.wrong(cause, "name one with `--league-id`"));
        };
        let matches = MatchRepository::new(root, league.clone());
        let document = matches
            .load(match_id)
            .map_err(|error| self.unread(&error))?;
        let Some(document) = document else {
            let cause = format!("there is no match `{match_id}` in league `{league}`");
            let hint = "see its matches in `rounds.json`; `league replay` makes the files again";
            return Err(self.wrong(cause, hint));
        };
        match self.output {
            Output::Text => print_text(&document, out)?,
            Output::Json => print_json(&document, out)?,
        }
        Ok(match document.transcript.is_empty() {
            true => Answer::No,
            false => Answer::Yes,
        })
    }

    fn what(&self) -> String {
        format!(
            "could not replay `{}`",
            self.root.as_ref().unwrap_or(&self.dir).display()
        )
    }

    fn wrong(&self, cause: String, hint: &str) -> Failure {
        Failure {
            what: self.what(),
            cause,
            hint: hint.to_owned(),
            kind: Kind::Use,
        }
    }

    fn unread(&self, error: &RepositoryError) -> Failure {
        let hint = match error {
            RepositoryError::WrongForm { .. } => "make the files again with `league replay`",
            _ => "check the disk and the permissions",
        };
        Failure {
            what: self.what(),
            cause: chain(error),
            hint: hint.to_owned(),
            kind: Kind::World,
        }
    }

    fn not_rebuilt(&self, error: ReplayError) -> Failure {
        let cause = chain(&error);
        let (hint, kind) = match error {
            ReplayError::NoJournal(_) => (
                "name the folder that holds `data/leagues`, or another `--league-id`".to_owned(),
                Kind::Use,
            ),
            ReplayError::Journal(store) => (store.hint(), Kind::World),
            ReplayError::Config(config) => return bad_config(config),
            ReplayError::NoRules(_) | ReplayError::Rules { .. } => (
                "restore the journal from a copy; `league verify` shows what is wrong".to_owned(),
                Kind::World,
            ),
            ReplayError::Repository(_) | ReplayError::Folder { .. } => {
                ("check the disk and the permissions".to_owned(), Kind::World)
            }
        };
        Failure {
            what: self.what(),
            cause,
            hint,
            kind,
        }
    }
}

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
pub(crate) fn print_text(document: &MatchDocument, out: &mut impl Write) -> io::Result<()> {
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
    let widest = |part: fn(&TranscriptMessage) -> &str| {
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
pub(crate) fn print_json(document: &MatchDocument, out: &mut impl Write) -> io::Result<()> {
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
fn time_of_day(said: &TranscriptMessage) -> String {
    let text = said.timestamp.to_millis_text();
    let time = text.split_once('T').map_or(&*text, |(_, time)| time);
    time.trim_end_matches('Z').to_owned()
}

/// What a message says besides what stands in the line already, in one line, and what was really
/// said if it was read as that or not at all.
fn content(said: &TranscriptMessage) -> String {
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

    fn said(message: Value, verbatim: Option<Verbatim>) -> TranscriptMessage {
        TranscriptMessage {
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
