//! `data/leagues/<league_id>/standings.json`: the table (000 §9.4.1).

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use league_core::player::MatchOutcome;
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{RepositoryError, SCHEMA_VERSION, load, save};
use crate::clock;
use crate::storage::root::Root;

/// The table of a league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingsDocument {
    /// The form of the file.
    pub schema_version: String,
    /// Which league.
    pub league_id: LeagueId,
    /// When the table last changed.
    pub last_updated: Timestamp,
    /// The last journal entry that it reflects.
    pub version: u64,
    /// How many rounds are over.
    pub rounds_completed: u32,
    /// The rows from first to last.
    pub standings: Vec<StandingEntry>,
}

impl StandingsDocument {
    /// A table with nobody in it.
    pub fn new(league_id: LeagueId) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            league_id,
            last_updated: Timestamp::default(),
            version: 0,
            rounds_completed: 0,
            standings: Vec::new(),
        }
    }
}

/// One player's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingEntry {
    /// 1, 2, 3, 4: no two rows share one.
    pub rank: u32,
    /// Who.
    pub player_id: PlayerId,
    /// The name that people see.
    pub display_name: Arc<str>,
    /// Matches played.
    pub played: u32,
    /// Matches won.
    pub wins: u32,
    /// Matches drawn.
    pub draws: u32,
    /// Matches lost, technical losses among them.
    pub losses: u32,
    /// Matches lost by not playing.
    pub technical_losses: u32,
    /// Points.
    pub points: u32,
}

impl StandingEntry {
    fn new(player_id: PlayerId) -> Self {
        Self {
            rank: 0,
            display_name: Arc::from(player_id.as_str()),
            player_id,
            played: 0,
            wins: 0,
            draws: 0,
            losses: 0,
            technical_losses: 0,
            points: 0,
        }
    }

    fn add(&mut self, result: MatchOutcome, points: u32) {
        let one_more = |count: &mut u32| *count = count.saturating_add(1);
        one_more(&mut self.played);
        self.points = self.points.saturating_add(points);
        match result {
            MatchOutcome::Win => one_more(&mut self.wins),
            MatchOutcome::Draw => one_more(&mut self.draws),
            MatchOutcome::Loss => one_more(&mut self.losses),
            MatchOutcome::TechnicalLoss => {
                one_more(&mut self.losses);
                one_more(&mut self.technical_losses);
            }
        }
    }
}

/// Reads and replaces the table of a league.
#[derive(Debug, Clone)]
pub struct StandingsRepository {
    league_id: LeagueId,
    file: PathBuf,
}

impl StandingsRepository {
    /// Finds the file below a root.
    pub fn new(root: &Root, league_id: LeagueId) -> Self {
        Self {
            file: root.standings(&league_id),
            league_id,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Reads the table; an empty one if there is no file yet.
    pub fn load(&self) -> Result<StandingsDocument, RepositoryError> {
        let found = load(&self.file)?;
        Ok(found.unwrap_or_else(|| StandingsDocument::new(self.league_id.clone())))
    }

    /// Puts a table in the place of the former one.
    pub fn save(&self, standings: &StandingsDocument) -> Result<(), RepositoryError> {
        save(&self.file, standings)
    }

    /// Adds a result to a player's row, orders the rows anew and saves.
    ///
    /// This is for managers of one's own. The file does not know who beat whom, so that of the
    /// order of ruling 20 the comparison in pairs is left out. The manager of this crate makes the
    /// whole table from its journal instead.
    pub fn update_player(
        &self,
        player_id: &PlayerId,
        result: MatchOutcome,
        points: u32,
    ) -> Result<StandingsDocument, RepositoryError> {
        let mut document = self.load()?;
        let rows = &mut document.standings;
        let found = rows.iter().position(|row| row.player_id == *player_id);
        let place = found.unwrap_or_else(|| {
            rows.push(StandingEntry::new(player_id.clone()));
            rows.len() - 1
        });
        rows[place].add(result, points);
        order(rows);
        document.version = document.version.saturating_add(1);
        document.last_updated = clock::now();
        self.save(&document)?;
        Ok(document)
    }
}

fn order(rows: &mut [StandingEntry]) {
    rows.sort_by_cached_key(|row| {
        let difference = i64::from(row.draws) - i64::from(row.losses);
        let id = row.player_id.as_str();
        let standing = (row.points, row.wins, difference);
        (Reverse(standing), id.len(), id.to_owned())
    });
    for (rank, row) in (1..).zip(rows) {
        row.rank = rank;
    }
}
