//! The leagues that lie below a root already, by the name that a new one would have.

use std::fs;

use league::root::Root;
use league_protocol::id::LeagueId;

/// How many leagues of one name are looked through for a free number.
const MOST_LEAGUES: u32 = 100_000;

/// The leagues of one name below a root.
pub(super) struct Found {
    /// The first name that is free.
    pub(super) free: LeagueId,
    /// The last one that was begun and not ended.
    pub(super) unfinished: Option<LeagueId>,
}

impl Found {
    /// Looks through all numbers of a name, or at this one league alone.
    pub(super) fn look(root: &Root, base: &LeagueId, alone: bool) -> Self {
        let mut unfinished = None;
        let mut league = base.clone();
        for number in 2..MOST_LEAGUES {
            if !root.league_journal(&league).exists() {
                break;
            }
            if !is_over(root, &league) {
                unfinished = Some(league.clone());
            }
            if alone {
                break;
            }
            let Ok(next) = LeagueId::new(format!("{base}_{number}")) else {
                break;
            };
            league = next;
        }
        Self {
            free: league,
            unfinished,
        }
    }
}

/// Whether a league's journal ends with its end.
fn is_over(root: &Root, league: &LeagueId) -> bool {
    let Ok(text) = fs::read_to_string(root.league_journal(league)) else {
        return false;
    };
    // Something may come after the end, such as a report that contradicts.
    text.contains("{\"event\":{\"league_completed\"")
}
