//! Detects a stalled league: unfinished, and no process holds its journal.
//!
//! The process that plays a league locks its journal. A copy that is synchronised from another
//! machine is not locked, but grows.

use std::path::Path;

use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;
use league_web::model::Stall;

use crate::storage::root::{DEFAULT_ROOT, Root};
use crate::storage::store::holder;

/// How long an unlocked journal may be silent, in milliseconds: time to restart a process.
const RESTART_GRACE: u64 = 5_000;
/// How long a journal may be silent that grew without a lock: it is a copy from elsewhere.
const COPY_GRACE: u64 = 120_000;

#[derive(Debug, Default)]
pub(crate) struct StallDetector {
    /// Whether the journal was locked at the last check.
    held: bool,
    /// The entries at the last check.
    entries: Option<u64>,
    /// When it was last seen to have grown without a lock.
    grew: Option<Timestamp>,
}

impl StallDetector {
    /// Checks a journal by the number and time of its last entry.
    pub(crate) fn check(
        &mut self,
        (root, league): (&Root, &LeagueId),
        (entries, since): (u64, Timestamp),
        now: Timestamp,
    ) -> Option<Stall> {
        let held = holder(&root.league_journal(league)).is_some();
        self.note(held, entries, now);
        self.is_stalled(since, now).then(|| Stall {
            since,
            resume: format!("{}{}", resume(root, league), shown_root(root)),
        })
    }

    fn note(&mut self, held: bool, entries: u64, now: Timestamp) {
        let before = self.entries.replace(entries);
        let grew = before.is_some_and(|before| before < entries);
        let was_held = std::mem::replace(&mut self.held, held);
        if held {
            self.grew = None;
        } else if grew && !was_held {
            // Entries since the last lock were written by its holder.
            self.grew = Some(now);
        }
    }

    fn is_stalled(&self, since: Timestamp, now: Timestamp) -> bool {
        let (from, grace) = match self.grew {
            Some(grew) => (grew, COPY_GRACE),
            None => (since, RESTART_GRACE),
        };
        // The clock of another machine may be ahead of ours.
        !self.held && now.as_millis().abs_diff(from.as_millis()) >= grace
    }
}

/// The command that resumes a league, without the flag for its root.
pub(crate) fn resume(root: &Root, league: &LeagueId) -> String {
    if root.seats(league).exists() {
        format!("league run --resume --league-id {league}")
    } else {
        format!("league manager --league-id {league}")
    }
}

/// The flag for the root. A page must not reveal paths of this machine.
fn shown_root(root: &Root) -> String {
    let path = root.as_path();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    match path.to_str() {
        Some(DEFAULT_ROOT) => String::new(),
        Some(text) if Path::new(text).is_relative() && text.chars().all(plain) => {
            format!(" --root {text}")
        }
        _ => " --root DIR".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_800_000_000_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(NOON + seconds * 1_000)
    }

    /// Whether a league is stalled after these checks: locked, entries, seconds.
    fn stalls(checks: &[(bool, u64, i64)], last_entry: i64) -> bool {
        let mut detector = StallDetector::default();
        let mut now = at(0);
        for (held, entries, seconds) in checks {
            now = at(*seconds);
            detector.note(*held, *entries, now);
        }
        detector.is_stalled(at(last_entry), now)
    }

    #[test]
    fn locked_league_is_not_stalled() {
        assert!(!stalls(&[(true, 9, 3_600)], 0));
    }

    #[test]
    fn unlocked_league_stalls_after_the_restart_grace() {
        assert!(!stalls(&[(false, 9, 4)], 0));
        assert!(stalls(&[(false, 9, 5)], 0));
        assert!(stalls(&[(false, 9, 0)], 3_600), "a clock that is ahead");
    }

    #[test]
    fn league_of_a_killed_process_stalls_until_it_is_resumed() {
        let killed = [(true, 9, 0), (false, 12, 1), (false, 12, 7)];
        assert!(stalls(&killed, 1));
        let resumed = [&killed[..], &[(true, 12, 8)]].concat();
        assert!(!stalls(&resumed, 1));
    }

    #[test]
    fn growing_copy_stalls_after_the_copy_grace() {
        let copied = [(false, 9, 60), (false, 12, 61)];
        assert!(!stalls(&copied, 40));
        assert!(!stalls(&[&copied[..], &[(false, 12, 180)]].concat(), 40));
        assert!(stalls(&[&copied[..], &[(false, 12, 181)]].concat(), 40));
    }

    #[test]
    fn root_flag_reveals_no_absolute_path() {
        let shown = |root: &str| shown_root(&Root::new(root));
        assert_eq!(shown("SHARED"), "");
        assert_eq!(shown("class/monday"), " --root class/monday");
        assert_eq!(shown("/home/ada/league"), " --root DIR");
        assert_eq!(shown("it's"), " --root DIR");
    }
}
