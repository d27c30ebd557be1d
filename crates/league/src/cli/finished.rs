//! What the files of a league say of its end, for those who come after it.

use crate::storage::documents::{StandingEntry, StandingsRepository};
use crate::storage::record::is_over;
use crate::storage::root::Root;
use crate::wire::ask::{Health, State};
use league_protocol::message::StandingRow;

/// How a league was at its end, if it was last seen like this and is over now.
pub(super) fn last_state(root: &Root, seen: &Health) -> Option<(Health, Vec<StandingRow>)> {
    let league = &seen.league_id;
    let table = StandingsRepository::new(root, league.clone()).load().ok()?;
    let whole = seen.rounds > 0 && table.rounds_completed >= seen.rounds;
    if !whole || !is_over(&root.league_journal(league)) {
        return None;
    }
    let health = Health {
        state: State::Completed,
        round_id: Some(seen.rounds),
        matches_played: seen.matches,
        ..seen.clone()
    };
    Some((health, table.standings.iter().map(row).collect()))
}

fn row(entry: &StandingEntry) -> StandingRow {
    StandingRow {
        rank: entry.rank,
        shared_rank: entry.rank,
        player_id: entry.player_id.clone(),
        display_name: entry.display_name.clone(),
        played: entry.played,
        wins: entry.wins,
        draws: entry.draws,
        losses: entry.losses,
        technical_losses: entry.technical_losses,
        points: entry.points,
    }
}
