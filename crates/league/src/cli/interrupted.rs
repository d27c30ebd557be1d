//! The leagues below a root that are not over and that nobody plays.

use std::path::Path;
use std::time::SystemTime;

use crate::site::resume;
use crate::storage::record::is_over;
use crate::storage::root::Root;
use crate::storage::store::holder;
use crate::storage::verify::leagues;
use league_protocol::id::LeagueId;

use super::common::root_flag;

/// A league that was interrupted.
pub(super) struct Interrupted {
    /// Which.
    pub(super) league: LeagueId,
    /// The command that goes on with it.
    pub(super) resume: String,
}

impl Interrupted {
    /// Looks whether a league is not over and nobody plays it on this machine; `dir` is its root
    /// as it was named.
    pub(super) fn look(root: &Root, dir: &Path, league: LeagueId) -> Option<Self> {
        let journal = root.league_journal(&league);
        let stands = holder(&journal).is_none() && !is_over(&journal);
        stands.then(|| Self {
            resume: format!("{}{}", resume(root, &league), root_flag(dir)),
            league,
        })
    }

    /// All of a root, the one that was played last first.
    pub(super) fn all(root: &Root, dir: &Path) -> Vec<Self> {
        let mut all = leagues(root).unwrap_or_default();
        all.sort_by_key(|league| std::cmp::Reverse(last_played(root, league)));
        let all = all.into_iter();
        all.filter_map(|league| Self::look(root, dir, league))
            .collect()
    }
}

/// When something happened last in a league.
pub(super) fn last_played(root: &Root, league: &LeagueId) -> SystemTime {
    let file = std::fs::metadata(root.league_journal(league));
    let changed = file.and_then(|file| file.modified());
    changed.unwrap_or(SystemTime::UNIX_EPOCH)
}
