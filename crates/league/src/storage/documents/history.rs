//! `data/players/<player_id>/history.json`: what a player remembers (000 §9.4.4).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use league_core::player::{MatchOutcome, MatchRecord, Statistics};
use league_protocol::id::PlayerId;
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{RepositoryError, SCHEMA_VERSION, load, save};
use crate::storage::root::Root;

/// What a player remembers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryDocument {
    /// The form of the file.
    pub schema_version: String,
    /// Who remembers.
    pub player_id: PlayerId,
    /// When something was last added.
    pub last_updated: Timestamp,
    /// The last journal entry that it reflects.
    pub version: u64,
    /// The sums over all matches.
    pub stats: Statistics,
    /// The latest matches, oldest first.
    pub matches: Vec<Arc<MatchRecord>>,
}

impl HistoryDocument {
    /// A memory with nothing in it.
    pub fn new(player_id: PlayerId) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            player_id,
            last_updated: Timestamp::default(),
            version: 0,
            stats: Statistics::default(),
            matches: Vec::new(),
        }
    }
}

/// Reads and replaces what a player remembers.
#[derive(Debug, Clone)]
pub struct PlayerHistoryRepository {
    player_id: PlayerId,
    file: PathBuf,
}

impl PlayerHistoryRepository {
    /// How many matches [`add_match`](Self::add_match) keeps.
    pub const MOST_MATCHES: usize = 10_000;

    /// Finds the file below a root.
    pub fn new(root: &Root, player_id: PlayerId) -> Self {
        Self {
            file: root.history(&player_id),
            player_id,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Reads the memory; an empty one if there is no file yet.
    pub fn load(&self) -> Result<HistoryDocument, RepositoryError> {
        let found = load(&self.file)?;
        Ok(found.unwrap_or_else(|| HistoryDocument::new(self.player_id.clone())))
    }

    /// Puts a memory in the place of the former one.
    pub fn save(&self, history: &HistoryDocument) -> Result<(), RepositoryError> {
        save(&self.file, history)
    }

    /// Adds a match and saves; for players of one's own that keep no journal.
    ///
    /// The match that is added again changes nothing.
    pub fn add_match(&self, record: MatchRecord) -> Result<HistoryDocument, RepositoryError> {
        let mut history = self.load()?;
        let same = |known: &&Arc<MatchRecord>| {
            known.match_id == record.match_id && known.league_id == record.league_id
        };
        if history.matches.iter().any(|known| same(&known)) {
            return Ok(history);
        }
        count(&mut history.stats, &record);
        history.last_updated = record.at;
        history.version = history.version.saturating_add(1);
        history.matches.push(Arc::new(record));
        let surplus = history.matches.len().saturating_sub(Self::MOST_MATCHES);
        history.matches.drain(..surplus);
        self.save(&history)?;
        Ok(history)
    }
}

fn count(stats: &mut Statistics, record: &MatchRecord) {
    let one_more = |count: &mut u32| *count = count.saturating_add(1);
    one_more(&mut stats.total_matches);
    stats.points = stats.points.saturating_add(u64::from(record.points));
    match record.result {
        MatchOutcome::Win => one_more(&mut stats.wins),
        MatchOutcome::Draw => one_more(&mut stats.draws),
        MatchOutcome::Loss => one_more(&mut stats.losses),
        MatchOutcome::TechnicalLoss => {
            one_more(&mut stats.losses);
            one_more(&mut stats.technical_losses);
        }
    }
}
