//! `data/leagues/<league_id>/standings.json`: the standings (000 §9.4.1).

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Arc;

use league_core::league::{League, Phase};
use league_core::player::MatchOutcome;
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::message::StandingRow;
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Document, Repository, RepositoryError, SCHEMA_VERSION};
use crate::clock;
use crate::storage::root::Root;

/// The standings of a league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingsDocument {
    pub schema_version: String,
    pub league_id: LeagueId,
    pub last_updated: Timestamp,
    /// The last journal entry that it reflects.
    pub version: u64,
    pub rounds_completed: u32,
    /// How many results in it have a draw that is not proven.
    #[serde(default, skip_serializing_if = "is_none")]
    pub draws_not_proven: u64,
    /// The rows, the leader first.
    pub standings: Vec<StandingEntry>,
}

impl Document for StandingsDocument {
    type Id = LeagueId;

    fn empty(league_id: LeagueId) -> Self {
        Self {
            schema_version: SCHEMA_VERSION.to_owned(),
            league_id,
            last_updated: Timestamp::default(),
            version: 0,
            rounds_completed: 0,
            draws_not_proven: 0,
            standings: Vec::new(),
        }
    }

    fn file(root: &Root, league_id: &LeagueId) -> PathBuf {
        root.standings(league_id)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingEntry {
    /// The rank, from 1; no two rows share a rank.
    pub rank: u32,
    pub player_id: PlayerId,
    /// The name shown to people.
    pub display_name: Arc<str>,
    pub played: u32,
    pub wins: u32,
    pub draws: u32,
    /// Lost matches, including technical losses.
    pub losses: u32,
    pub technical_losses: u32,
    pub points: u32,
    /// Rounds without a match that were paid as a win.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub byes: u32,
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
            byes: 0,
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

/// Reads and replaces the standings of a league.
pub type StandingsRepository = Repository<StandingsDocument>;

impl StandingsRepository {
    /// Adds a result to a player's row, sorts the rows and saves the document.
    ///
    /// This is for other manager programs. The file does not record individual results, so of the
    /// tiebreakers of ruling 20 the direct comparison is omitted. The manager of this crate makes
    /// the whole table from its journal instead.
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

/// The standings of a league that has applied all entries up to `version`, the last one at `at`.
pub(crate) fn standings(league: &League, version: u64, at: Timestamp) -> StandingsDocument {
    StandingsDocument {
        schema_version: SCHEMA_VERSION.to_owned(),
        league_id: league.rules().league_id.clone(),
        last_updated: at,
        version,
        rounds_completed: rounds_completed(league),
        draws_not_proven: league.told_results(),
        standings: league.standings().iter().map(standing_entry).collect(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

fn rounds_completed(league: &League) -> u32 {
    match (league.phase(), league.round()) {
        (Phase::Registering, _) | (_, None) => 0,
        (_, Some(round)) if round.open() == 0 => round.number(),
        (_, Some(round)) => round.number().saturating_sub(1),
    }
}

fn standing_entry(row: &StandingRow) -> StandingEntry {
    StandingEntry {
        rank: row.rank,
        player_id: row.player_id.clone(),
        display_name: Arc::clone(&row.display_name),
        played: row.played,
        wins: row.wins,
        draws: row.draws,
        losses: row.losses,
        technical_losses: row.technical_losses,
        points: row.points,
        byes: row.byes,
    }
}
