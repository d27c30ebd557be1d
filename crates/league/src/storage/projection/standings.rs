//! The table as a document.

use std::sync::Arc;

use league_core::league::{League, Phase};
use league_protocol::message::StandingRow;
use league_protocol::time::Timestamp;

use crate::storage::documents::{SCHEMA_VERSION, StandingEntry, StandingsDocument};

/// The table of a league that has taken in all entries up to `version`, the last one at `at`.
pub(crate) fn standings(league: &League, version: u64, at: Timestamp) -> StandingsDocument {
    StandingsDocument {
        schema_version: SCHEMA_VERSION.to_owned(),
        league_id: league.rules().league_id.clone(),
        last_updated: at,
        version,
        rounds_completed: rounds_completed(league),
        standings: league.standings().iter().map(entry).collect(),
    }
}

fn rounds_completed(league: &League) -> u32 {
    match (league.phase(), league.round()) {
        (Phase::Registering, _) | (_, None) => 0,
        (_, Some(round)) if round.open() == 0 => round.number(),
        (_, Some(round)) => round.number().saturating_sub(1),
    }
}

fn entry(row: &StandingRow) -> StandingEntry {
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
    }
}
