//! Writes the documents under `data/` on a separate thread, so that no actor waits for the disk.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use league_protocol::id::{LeagueId, RefereeId};
use serde_json::Value;

use super::documents::{
    HistoryDocument, MatchDocument, MatchRepository, PlayerHistoryRepository, RepositoryError,
    RoundFile, RoundsDocument, RoundsRepository, StandingsDocument, StandingsRepository,
};
use super::model_notes;
use super::root::Root;
use crate::wire::observed::{self, ObservedDocument};

/// A handle to the thread that writes documents.
#[derive(Debug, Clone)]
pub(crate) struct DocumentWriter {
    orders: Sender<Order>,
    thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

enum Order {
    Write(Box<Publication>),
    Stop,
}

impl DocumentWriter {
    /// Starts the thread for the files below a root.
    pub(crate) fn new(root: Root) -> Self {
        let (orders, due) = channel();
        let thread = std::thread::spawn(move || write(root, &due));
        Self {
            orders,
            thread: Arc::new(Mutex::new(Some(thread))),
        }
    }

    /// Queues documents; each replaces its previous version.
    pub(crate) fn publish(&self, publications: Vec<Publication>) {
        for publication in publications {
            // Documents can be rebuilt from the journal, so nothing is lost if the writer has
            // ended.
            let _ = self.orders.send(Order::Write(Box::new(publication)));
        }
    }

    /// Waits until all queued documents are written.
    pub(crate) fn finish(&self) {
        let _ = self.orders.send(Order::Stop);
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

fn write(root: Root, due: &Receiver<Order>) {
    let mut files = DocumentFiles::new(root);
    while let Ok(Order::Write(publication)) = due.recv() {
        if let Err(error) = files.write(&publication) {
            tracing::error!(event_type = "DOCUMENT_NOT_WRITTEN", "{error}");
        }
    }
}

/// How many files of rounds are kept open.
const MAX_OPEN_ROUNDS: usize = 256;

/// A document to be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Publication {
    Standings(StandingsDocument),
    Rounds(RoundsDocument),
    /// A match in its own file.
    Match(MatchDocument),
    /// A match as a line in the file of its round.
    MatchLine {
        referee: RefereeId,
        document: MatchDocument,
    },
    /// The memory of a player.
    History(HistoryDocument),
    /// The observations of a process about other agents.
    Observed(ObservedDocument),
    /// A line of a player's notes about its language model.
    ModelLine {
        file: PathBuf,
        line: Value,
    },
}

/// Writes documents below a root.
#[derive(Debug)]
pub(crate) struct DocumentFiles {
    root: Root,
    /// The files of rounds that were used lately.
    rounds: BTreeMap<(LeagueId, u32, RefereeId), RoundFile>,
}

impl DocumentFiles {
    pub(crate) fn new(root: Root) -> Self {
        Self {
            root,
            rounds: BTreeMap::new(),
        }
    }

    /// Writes a document unless the file already has this version.
    pub(crate) fn write(&mut self, publication: &Publication) -> Result<(), RepositoryError> {
        match publication {
            Publication::Standings(document) => {
                StandingsRepository::new(&self.root, document.league_id.clone()).save(document)
            }
            Publication::Rounds(document) => {
                RoundsRepository::new(&self.root, document.league_id.clone()).save(document)
            }
            Publication::History(document) => {
                let player = document.player_id.clone();
                PlayerHistoryRepository::new(&self.root, player).save(document)
            }
            Publication::Match(document) => {
                let matches = self.matches(document);
                let attempt = document.lifecycle.attempt;
                let written = matches.version(&document.match_id, attempt);
                if written.is_some_and(|written| written >= document.version) {
                    return Ok(());
                }
                matches.save(document)
            }
            Publication::Observed(document) => observed::write(&self.root, document),
            Publication::MatchLine { referee, document } => self.write_line(referee, document),
            Publication::ModelLine { file, line } => {
                model_notes::append(file, line).map_err(|source| RepositoryError::Unwritable {
                    file: file.clone(),
                    source,
                })
            }
        }
    }

    fn matches(&self, document: &MatchDocument) -> MatchRepository {
        MatchRepository::new(&self.root, document.league_id.clone())
    }

    fn write_line(
        &mut self,
        referee: &RefereeId,
        document: &MatchDocument,
    ) -> Result<(), RepositoryError> {
        let matches = self.matches(document);
        let round = document.round_id;
        let key = (document.league_id.clone(), round, referee.clone());
        let mut lines = match self.rounds.remove(&key) {
            Some(open) => open,
            None => matches.open_round(round, referee)?,
        };
        // After an error the file is opened anew, which ends a line that was cut short.
        lines.add(document)?;
        matches.remove(&document.match_id);
        while self.rounds.len() >= MAX_OPEN_ROUNDS {
            self.rounds.pop_first();
        }
        self.rounds.insert(key, lines);
        Ok(())
    }
}
