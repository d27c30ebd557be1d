//! `data/leagues/<league_id>/rounds.json`: the rounds so far (000 §9.4.2, ruling 30).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use league_protocol::id::{LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, MatchStatus, RoundSummary};
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{RepositoryError, SCHEMA_VERSION, load, save};
use crate::storage::root::Root;

/// The rounds of a league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundsDocument {
    /// The form of the file.
    pub schema_version: String,
    /// Which league.
    pub league_id: LeagueId,
    /// When a round last changed.
    pub last_updated: Timestamp,
    /// The last journal entry that it reflects.
    pub version: u64,
    /// The rounds that have begun, in order.
    pub rounds: Vec<Arc<RoundEntry>>,
}

impl RoundsDocument {
    /// A list without rounds.
    pub fn new(league_id: LeagueId) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            league_id,
            last_updated: Timestamp::default(),
            version: 0,
            rounds: Vec::new(),
        }
    }

    /// One of the rounds.
    pub fn round(&self, round_id: u32) -> Option<&RoundEntry> {
        let mut rounds = self.rounds.iter();
        rounds
            .find(|round| round.round_id == round_id)
            .map(|round| &**round)
    }
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundEntry {
    /// Which round, from 1.
    pub round_id: u32,
    /// How far it is.
    pub status: RoundStatus,
    /// When it began.
    pub started_at: Timestamp,
    /// When every match had its result.
    pub completed_at: Option<Timestamp>,
    /// Its matches in order; in a league of very many, only the latest rounds list them.
    pub matches: Vec<MatchEntry>,
    /// How they ended so far.
    pub summary: RoundSummary,
}

/// How far a round is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RoundStatus {
    /// It is played.
    InProgress,
    /// It is over.
    Completed,
}

/// One match of a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchEntry {
    /// Which match.
    pub match_id: MatchId,
    /// Who sits at seat A.
    #[serde(rename = "player_A_id")]
    pub player_a_id: PlayerId,
    /// Who sits at seat B.
    #[serde(rename = "player_B_id")]
    pub player_b_id: PlayerId,
    /// Who runs it, or ran it; none if nobody could so far.
    pub referee_id: Option<RefereeId>,
    /// How it ended, once it has.
    pub result: Option<ResultEntry>,
}

/// How a match ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultEntry {
    /// Which of the three ways.
    pub status: MatchStatus,
    /// Who won, if anyone did.
    pub winner: Option<PlayerId>,
    /// The points of each.
    pub score: BTreeMap<PlayerId, u32>,
}

impl ResultEntry {
    /// What the list tells of a result.
    pub fn of(result: &MatchResult) -> Self {
        Self {
            status: result.status,
            winner: result.winner.clone(),
            score: result.players.iter().cloned().zip(result.points).collect(),
        }
    }
}

/// Reads and replaces the rounds of a league.
#[derive(Debug, Clone)]
pub struct RoundsRepository {
    league_id: LeagueId,
    file: PathBuf,
}

impl RoundsRepository {
    /// Finds the file below a root.
    pub fn new(root: &Root, league_id: LeagueId) -> Self {
        Self {
            file: root.rounds(&league_id),
            league_id,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Reads the rounds; none if there is no file yet.
    pub fn load(&self) -> Result<RoundsDocument, RepositoryError> {
        let found = load(&self.file)?;
        Ok(found.unwrap_or_else(|| RoundsDocument::new(self.league_id.clone())))
    }

    /// Puts rounds in the place of the former ones.
    pub fn save(&self, rounds: &RoundsDocument) -> Result<(), RepositoryError> {
        save(&self.file, rounds)
    }
}
