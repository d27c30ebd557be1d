//! The budget of models, and the notes of a player about its model.
//!
//! The notes are lines of one file: a line before each question that a budget bounds, with the most
//! tokens that it may take, a line after it, with its tokens and without its words, and a line for
//! each move with prompts and answers once its match is over, as no choice reaches a file before.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use league_protocol::id::{LeagueId, MatchId};
use serde_json::{Value, json};

use crate::storage::document_writer::{DocumentWriter, Publication};
use crate::storage::model_notes::{self, Spending};

/// The most moves whose matches are not over; one more drops the oldest.
const MAX_OPEN: usize = 2_048;
/// The tokens that the models of one process may take in a league; its seats share them.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    limit: Option<u64>,
    /// What was spent, and what questions that wait for their answers may take at most.
    spent: Mutex<u64>,
    /// Whether it was said that it is spent.
    is_told: AtomicBool,
}

/// The part of a budget that a question may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reserve(u64);

impl Budget {
    /// A budget of so many tokens; `None` for no limit.
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    pub(crate) const fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// Sets aside what a question may take; `None` if the budget does not hold it.
    pub(crate) fn reserve(&self, most: u64) -> Option<Reserve> {
        let mut spent = self.spent();
        let after = spent.saturating_add(most);
        if self.limit.is_some_and(|limit| after > limit) {
            return None;
        }
        *spent = after;
        Some(Reserve(most))
    }

    /// Replaces what was set aside by what the question took.
    pub(crate) fn settle(&self, reserve: Reserve, taken: u64) {
        let mut spent = self.spent();
        *spent = spent.saturating_sub(reserve.0).saturating_add(taken);
    }

    /// Whether nothing was said yet of its being spent; only the first caller says it.
    pub(crate) fn is_news(&self) -> bool {
        !self.is_told.swap(true, Ordering::Relaxed)
    }

    /// Adds what an earlier process spent in this league.
    fn add(&self, tokens: u64) {
        let mut spent = self.spent();
        *spent = spent.saturating_add(tokens);
    }

    fn spent(&self) -> MutexGuard<'_, u64> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The notes of one player.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: PathBuf,
    league: LeagueId,
    writer: DocumentWriter,
    /// The number of the latest question.
    last: AtomicU64,
    /// The moves of matches that are not over, oldest first.
    open: Mutex<VecDeque<(MatchId, Value)>>,
}

impl Ledger {
    /// Opens the notes, and counts what this player spent in the league before.
    pub(crate) fn open(
        file: PathBuf,
        league: LeagueId,
        writer: DocumentWriter,
        budget: &Budget,
    ) -> Self {
        let spending = Spending::read(&file);
        budget.add(spending.in_league(&league));
        Self {
            file,
            league,
            writer,
            last: spending.last.into(),
            open: Mutex::default(),
        }
    }

    /// Writes down what a question may take of a budget, before it is asked; gives its number.
    ///
    /// # Errors
    ///
    /// The notes cannot be written; a question that is asked anyway would be forgotten.
    pub(crate) async fn asking(&self, most: u64) -> io::Result<u64> {
        let number = 1 + self.last.fetch_add(1, Ordering::Relaxed);
        let line = json!({"event": "asking", "question": number, "tokens_spent": most});
        self.write(line).await?;
        Ok(number)
    }

    /// Writes down a question before its answer is used.
    pub(crate) async fn asked(&self, mut line: Value) {
        line["event"] = "asked".into();
        // After a restart the question counts with the most that it may take.
        let _ = self.write(line).await;
    }

    async fn write(&self, mut line: Value) -> io::Result<()> {
        line["league_id"] = self.league.as_str().into();
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || model_notes::append(&file, &line)).await;
        let written = written.map_err(io::Error::other).flatten();
        if let Err(error) = &written {
            let file = self.file.display();
            tracing::error!(
                event_type = "MODEL_NOTES_NOT_WRITTEN",
                "could not write `{file}`: {error}; the tokens of a question are not noted"
            );
        }
        written
    }

    /// Keeps a move until its match is over.
    pub(crate) fn moved(&self, match_id: &MatchId, mut line: Value) {
        line["event"] = "moved".into();
        line["league_id"] = self.league.as_str().into();
        line["match_id"] = json!(match_id);
        let mut open = self.open_moves();
        open.push_back((match_id.clone(), line));
        if open.len() > MAX_OPEN {
            open.pop_front();
        }
    }

    /// A match is over: its moves may be written.
    pub(crate) fn finish(&self, match_id: &MatchId) {
        let mut open = self.open_moves();
        let (over, rest): (VecDeque<_>, _) = open.drain(..).partition(|(id, _)| id == match_id);
        *open = rest;
        drop(open);
        let lines = over.into_iter().map(|(_, line)| Publication::ModelLine {
            file: self.file.clone(),
            line,
        });
        self.writer.publish(lines.collect());
    }

    fn open_moves(&self) -> MutexGuard<'_, VecDeque<(MatchId, Value)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::root::Root;

    #[test]
    fn budget_holds_what_is_spent_and_what_waits() {
        let budget = Budget::new(Some(10));
        let first = budget.reserve(6).unwrap();
        assert_eq!(budget.reserve(5), None, "4 are left");
        budget.settle(first, 1);
        assert!(budget.reserve(9).is_some());
        assert_eq!(budget.reserve(1), None);
        let endless = Budget::new(None);
        assert!(endless.reserve(u64::MAX).is_some() && endless.reserve(u64::MAX).is_some());
    }

    #[tokio::test]
    async fn question_whose_reserve_is_not_written_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let writer = DocumentWriter::new(Root::new(folder.path()));
        // A folder is in the place of the file.
        let file = folder.path().to_owned();
        let league = LeagueId::new("spring").unwrap();
        let ledger = Ledger::open(file, league, writer, &Budget::new(None));
        assert!(ledger.asking(5).await.is_err());
    }

    #[tokio::test]
    async fn spending_is_known_after_a_restart_and_words_wait_for_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let writer = DocumentWriter::new(Root::new(folder.path()));
        let file = folder.path().join("model.jsonl");
        let open = |league: &str, budget: &Budget| {
            let league = LeagueId::new(league).unwrap();
            Ledger::open(file.clone(), league, writer.clone(), budget)
        };
        let budget = Budget::new(None);
        let ledger = open("spring", &budget);
        ledger.asked(json!({"tokens_spent": 4})).await;
        ledger.asked(json!({"tokens_spent": 3})).await;
        let ids = ["R1M1", "R1M2"].map(|id| MatchId::new(id).unwrap());
        for id in &ids {
            ledger.moved(id, json!({"choice": format!("of {id}")}));
        }
        ledger.finish(&ids[0]);
        writer.finish();
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(
            written.contains("of R1M1") && !written.contains("of R1M2"),
            "{written}"
        );
        for (league, spent) in [("spring", 7), ("autumn", 0)] {
            let budget = Budget::new(None);
            open(league, &budget);
            assert_eq!(*budget.spent(), spent, "{league}");
        }
    }
}
