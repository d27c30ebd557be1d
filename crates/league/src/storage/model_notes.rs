//! The notes of a player about its language model: a JSON object a line, in a file with a bound.
//!
//! If the file is full, the oldest notes make room; the tokens of their questions stay as a sum.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use league_protocol::id::{LeagueId, MatchId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::documents::{append_line, for_each_line};
use super::files;

/// The longest file of notes, in bytes. A full file is cut to half of it.
pub(crate) const MAX_NOTES: u64 = 8 * 1024 * 1024;

/// Writes a note at the end of the file.
pub(crate) fn append(file: &Path, note: &Value) -> io::Result<()> {
    append_bounded(file, note, MAX_NOTES)
}

fn append_bounded(file: &Path, note: &Value, max: u64) -> io::Result<()> {
    /// One writer at a time, as a full file is replaced.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    append_line(file, note)?;
    if fs::metadata(file)?.len() > max {
        make_room(file, max / 2)?;
    }
    Ok(())
}

/// Keeps the latest notes, and the sums of the others.
fn make_room(file: &Path, kept: u64) -> io::Result<()> {
    let text = fs::read(file)?;
    let first = text
        .len()
        .saturating_sub(usize::try_from(kept).unwrap_or(usize::MAX));
    let first = text[first..]
        .iter()
        .position(|byte| *byte == b'\n')
        .map(|end| first + end + 1);
    let (old, latest) = text.split_at(first.unwrap_or(text.len()));
    let mut spending = Spending::default();
    for line in old.split(|byte| *byte == b'\n') {
        if let Ok(note) = serde_json::from_slice(line) {
            spending.add(note);
        }
    }
    let mut text = spending.notes();
    text.extend_from_slice(latest);
    files::replace(file, &text)
}

/// The tokens that a player spent on its model, by its notes.
#[derive(Debug, Default)]
pub(crate) struct Spending {
    answered: BTreeMap<LeagueId, u64>,
    /// The most that each question without an answer may have taken, by its number.
    open: BTreeMap<u64, (LeagueId, u64)>,
    /// The number of the latest question.
    pub(crate) last: u64,
}

/// A note, as far as it tells of tokens.
#[derive(Deserialize)]
struct SpendingNote {
    event: String,
    league_id: LeagueId,
    #[serde(default)]
    question: u64,
    #[serde(default)]
    tokens_spent: u64,
}

impl Spending {
    /// Reads the notes of a file, if there is one.
    pub(crate) fn read(file: &Path) -> Self {
        let mut spending = Self::default();
        if let Err(error) = for_each_line(file, |note| spending.add(note)) {
            tracing::warn!(event_type = "MODEL_NOTES_NOT_READ", "{error}");
        }
        spending
    }

    /// All that was spent in a league. A question that a crash interrupted counts in full.
    pub(crate) fn in_league(&self, league: &LeagueId) -> u64 {
        let open = self.open.values().filter(|(of, _)| of == league);
        let answered = self.answered.get(league).copied().unwrap_or(0);
        open.fold(answered, |sum, (_, most)| sum.saturating_add(*most))
    }

    fn add(&mut self, note: SpendingNote) {
        let (number, tokens) = (note.question, note.tokens_spent);
        match &*note.event {
            "asking" => {
                self.open.insert(number, (note.league_id, tokens));
            }
            "asked" | "spent" => {
                self.open.remove(&number);
                let sum = self.answered.entry(note.league_id).or_default();
                *sum = sum.saturating_add(tokens);
            }
            _ => return,
        }
        self.last = self.last.max(number);
    }

    /// The same as lines of a file.
    fn notes(&self) -> Vec<u8> {
        let line = |event: &str, league: &LeagueId, number: u64, tokens: u64| {
            let note = json!({
                "event": event, "league_id": league, "question": number, "tokens_spent": tokens,
            });
            format!("{note}\n").into_bytes()
        };
        let sums = self.answered.iter();
        let sums = sums.map(|(league, sum)| line("spent", league, self.last, *sum));
        let open = self.open.iter();
        let open = open.map(|(number, (league, most))| line("asking", league, *number, *most));
        sums.chain(open).flatten().collect()
    }
}

/// A move of a model, with the questions that led to it.
#[derive(Debug, Deserialize)]
pub(crate) struct MoveNote {
    event: String,
    league_id: LeagueId,
    match_id: MatchId,
    pub(crate) turn: u32,
    pub(crate) questions: Vec<QuestionNote>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct QuestionNote {
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) thoughts: String,
    pub(crate) answer: String,
    pub(crate) problem: Option<String>,
}

/// The moves of a match, oldest first; none from a file that is far too large.
pub(crate) fn moves_of(file: &Path, league: &LeagueId, match_id: &MatchId) -> Vec<MoveNote> {
    let mut found = Vec::new();
    if fs::metadata(file).is_ok_and(|file| file.len() <= 2 * MAX_NOTES) {
        // A page can do without notes that cannot be read.
        let _ = for_each_line(file, |note: MoveNote| {
            if note.event == "moved" && (&note.league_id, &note.match_id) == (league, match_id) {
                found.push(note);
            }
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_file_forgets_the_oldest_words_and_no_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("model.jsonl");
        let league = LeagueId::new("spring").unwrap();
        let (mut largest, max) = (0, 4_000);
        // Question 1 never gets its answer.
        for number in 1..=300_u64 {
            let mut note = json!({
                "event": "asking", "league_id": league, "question": number, "tokens_spent": 50,
            });
            append_bounded(&file, &note, max).unwrap();
            if number > 1 {
                note["event"] = "asked".into();
                note["tokens_spent"] = 2.into();
                append_bounded(&file, &note, max).unwrap();
            }
            let moved = json!({
                "event": "moved", "league_id": league, "match_id": format!("R1M{number}"), "turn": 1,
                "questions": [], "reasoning": "long ".repeat(20),
            });
            append_bounded(&file, &moved, max).unwrap();
            largest = largest.max(fs::metadata(&file).unwrap().len());
        }
        assert!(largest <= max, "{largest}");
        let spending = Spending::read(&file);
        assert_eq!(spending.in_league(&league), 50 + 299 * 2);
        assert_eq!(spending.last, 300);
        let moves = |id: &str| moves_of(&file, &league, &MatchId::new(id).unwrap()).len();
        assert_eq!((moves("R1M300"), moves("R1M1")), (1, 0));
    }
}
