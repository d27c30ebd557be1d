//! `data/players/<player_id>/history.json`: the memory of a player (000 §9.4.4).

use std::path::PathBuf;
use std::sync::Arc;

use league_core::player::{MatchOutcome, MatchRecord, Player, Statistics};
use league_protocol::id::PlayerId;
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Document, Repository, RepositoryError, SCHEMA_VERSION};
use crate::storage::root::Root;

/// The memory of a player.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistoryDocument {
    pub schema_version: String,
    pub player_id: PlayerId,
    pub last_updated: Timestamp,
    /// The last journal entry that it reflects.
    pub version: u64,
    /// The totals over all matches.
    pub stats: Statistics,
    /// The latest matches, oldest first.
    pub matches: Vec<Arc<MatchRecord>>,
}

impl Document for HistoryDocument {
    type Id = PlayerId;

    fn empty(player_id: PlayerId) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            player_id,
            last_updated: Timestamp::default(),
            version: 0,
            stats: Statistics::default(),
            matches: Vec::new(),
        }
    }

    fn file(root: &Root, player_id: &PlayerId) -> PathBuf {
        root.history(player_id)
    }
}

/// Reads and replaces the memory of a player.
pub type PlayerHistoryRepository = Repository<HistoryDocument>;

impl PlayerHistoryRepository {
    /// How many matches [`add_match`](Self::add_match) keeps.
    pub const MAX_MATCHES: usize = 10_000;

    /// Adds a match and saves the document; for other player programs, which keep no journal.
    ///
    /// Adding the same match again changes nothing.
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
        let surplus = history.matches.len().saturating_sub(Self::MAX_MATCHES);
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

/// The memory of a player that has applied all entries up to `version`, the last one at `at`;
/// `None` until it has an id.
pub(crate) fn history(player: &Player, version: u64, at: Timestamp) -> Option<HistoryDocument> {
    Some(HistoryDocument {
        schema_version: SCHEMA_VERSION.to_owned(),
        player_id: player.player_id()?.clone(),
        last_updated: at,
        version,
        stats: *player.memory().statistics(),
        matches: player.memory().history().map(Arc::clone).collect(),
    })
}
