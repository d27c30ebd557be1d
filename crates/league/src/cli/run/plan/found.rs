//! The leagues that lie below a root already, by the name that a new one would have.

use league::root::Root;
use league_protocol::id::LeagueId;

use crate::cli::finished::is_over;

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
