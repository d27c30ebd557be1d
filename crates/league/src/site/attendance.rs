//! Whether anybody plays a league on, or it stands still.
//!
//! Whoever plays a league holds its journal, and the system knows that on the machine where it is
//! played. A copy that is brought up to date from elsewhere is held by nobody, and grows.

use std::path::Path;

use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;
use league_web::model::Stall;

use crate::storage::root::{DEFAULT_ROOT, Root};
use crate::storage::store::holder;

/// How long a journal that nobody holds may be silent, in milliseconds: whoever is started again
/// is given a moment.
const A_MOMENT: u64 = 5_000;
/// How long one may be silent that grew while nobody here held it: it comes from elsewhere, now
/// and then.
const A_WHILE: u64 = 120_000;

/// What was seen so far of those who play a league.
#[derive(Debug, Default)]
pub(super) struct Attendance {
    /// Whether somebody held the journal at the last look.
    held: bool,
    /// How many entries it had then.
    entries: Option<u64>,
    /// When it was last seen to have grown with nobody holding it.
    grew: Option<Timestamp>,
}

impl Attendance {
    /// Looks who holds the journal, whose last entry is the one of this number and moment.
    pub(super) fn look(
        &mut self,
        (root, league): (&Root, &LeagueId),
        (entries, since): (u64, Timestamp),
        now: Timestamp,
    ) -> Option<Stall> {
        let held = holder(&root.league_journal(league)).is_some();
        self.note(held, entries, now);
        self.is_over_waiting(since, now).then(|| Stall {
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
            // What came since somebody held it was written by that one.
            self.grew = Some(now);
        }
    }

    fn is_over_waiting(&self, since: Timestamp, now: Timestamp) -> bool {
        let (from, patience) = match self.grew {
            Some(grew) => (grew, A_WHILE),
            None => (since, A_MOMENT),
        };
        // The clock of another machine may be ahead of ours.
        !self.held && now.as_millis().abs_diff(from.as_millis()) >= patience
    }
}

/// The command that takes up a league that was interrupted, without the flag for its root.
pub(crate) fn resume(root: &Root, league: &LeagueId) -> String {
    if root.seats(league).exists() {
        format!("league run --resume --league-id {league}")
    } else {
        format!("league manager --league-id {league}")
    }
}

/// The flag for the root as a page may show it: nothing of this machine.
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

    /// Whether a league stands still after these looks: who holds it, its entries, when.
    fn stands_still(looks: &[(bool, u64, i64)], last_entry: i64) -> bool {
        let mut seen = Attendance::default();
        let mut now = at(0);
        for (held, entries, seconds) in looks {
            now = at(*seconds);
            seen.note(*held, *entries, now);
        }
        seen.is_over_waiting(at(last_entry), now)
    }

    #[test]
    fn a_league_that_somebody_holds_goes_on_however_silent_it_is() {
        assert!(!stands_still(&[(true, 9, 3_600)], 0));
    }

    #[test]
    fn one_that_nobody_holds_stands_still_after_a_moment() {
        assert!(!stands_still(&[(false, 9, 4)], 0));
        assert!(stands_still(&[(false, 9, 5)], 0));
        assert!(
            stands_still(&[(false, 9, 0)], 3_600),
            "a clock that is ahead"
        );
    }

    #[test]
    fn one_whose_holder_was_killed_stands_still_and_goes_on_with_the_next() {
        let killed = [(true, 9, 0), (false, 12, 1), (false, 12, 7)];
        assert!(stands_still(&killed, 1));
        let resumed = [&killed[..], &[(true, 12, 8)]].concat();
        assert!(!stands_still(&resumed, 1));
    }

    #[test]
    fn one_that_grows_with_nobody_here_is_played_elsewhere_and_waited_for() {
        let copied = [(false, 9, 60), (false, 12, 61)];
        assert!(!stands_still(&copied, 40));
        assert!(!stands_still(
            &[&copied[..], &[(false, 12, 180)]].concat(),
            40
        ));
        assert!(stands_still(
            &[&copied[..], &[(false, 12, 181)]].concat(),
            40
        ));
    }

    #[test]
    fn a_page_shows_nothing_of_the_machine() {
        let shown = |root: &str| shown_root(&Root::new(root));
        assert_eq!(shown("SHARED"), "");
        assert_eq!(shown("class/monday"), " --root class/monday");
        assert_eq!(shown("/home/ada/league"), " --root DIR");
        assert_eq!(shown("it's"), " --root DIR");
    }
}
