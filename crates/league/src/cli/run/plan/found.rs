//! The leagues that lie below a root already: which name is free, and which one is taken up.

use crate::storage::record::is_over;
use crate::storage::root::Root;
use crate::storage::store::holder;
use crate::storage::verify::leagues;
use league_protocol::id::LeagueId;

use super::super::Run;
use crate::cli::asking::count;
use crate::cli::failure::{Failure, Kind};
use crate::cli::interrupted::Interrupted;

/// How many leagues of one name are looked through for a free number.
const MOST_LEAGUES: u32 = 100_000;

/// The first name that is free: this one, or with a number.
pub(super) fn free(root: &Root, base: &LeagueId) -> LeagueId {
    let mut league = base.clone();
    for number in 2..MOST_LEAGUES {
        if !root.league_journal(&league).exists() {
            break;
        }
        let Ok(next) = LeagueId::new(format!("{base}_{number}")) else {
            break;
        };
        league = next;
    }
    league
}

impl Run {
    /// The league that `--resume` takes up: the one that is named, else the only one that was
    /// interrupted. One that is running is found too, and refused as that.
    pub(super) fn to_resume(&self, root: &Root) -> Result<LeagueId, Failure> {
        if let Some(named) = &self.league_id {
            return self.named_to_resume(root, named);
        }
        let of_run = |league: &LeagueId| root.seats(league).exists();
        let interrupted = Interrupted::all(root, &self.common.root);
        let (ours, others): (Vec<_>, Vec<_>) =
            interrupted.into_iter().partition(|one| of_run(&one.league));
        let number = count(ours.len() as u64, "league");
        match ours.as_slice() {
            [only] => Ok(only.league.clone()),
            [] => {
                let held = |league: &LeagueId| holder(&root.league_journal(league)).is_some();
                let mut running = leagues(root).unwrap_or_default().into_iter();
                let running = running.find(|league| of_run(league) && held(league));
                running.ok_or_else(|| self.nothing_to_resume(&others))
            }
            several => Err(Failure {
                what: "could not take up a league".to_owned(),
                cause: format!("{number} were interrupted here"),
                hint: format!("name one of them: {}", commands(several)),
                kind: Kind::Use,
            }),
        }
    }

    fn named_to_resume(&self, root: &Root, named: &LeagueId) -> Result<LeagueId, Failure> {
        let flag = self.common.root_flag();
        let (cause, hint) = if !root.league_journal(named).exists() {
            let interrupted = Interrupted::all(root, &self.common.root);
            let hint = match interrupted.as_slice() {
                [] => format!("start it with `league run --league-id {named}{flag}`"),
                some => format!("what was interrupted: {}", commands(some)),
            };
            (
                format!("there is no such league in `{}`", root.as_path().display()),
                hint,
            )
        } else if is_over(&root.league_journal(named)) {
            let hint = format!(
                "look at it with `league serve --league-id {named}{flag}`, or play another with \
                 `league run{flag}`"
            );
            ("it is over".to_owned(), hint)
        } else {
            return Ok(named.clone());
        };
        Err(Failure {
            what: format!("could not take up league `{named}`"),
            cause,
            hint,
            kind: Kind::Use,
        })
    }

    fn nothing_to_resume(&self, others: &[Interrupted]) -> Failure {
        let flag = self.common.root_flag();
        let hint = match others {
            [] => format!("start one with `league run{flag}`"),
            some => format!(
                "agents that are started one by one go on with {}",
                commands(some)
            ),
        };
        Failure {
            what: "could not take up a league".to_owned(),
            cause: "no league of `league run` was interrupted here".to_owned(),
            hint,
            kind: Kind::Use,
        }
    }
}

/// The commands that go on with leagues.
fn commands(leagues: &[Interrupted]) -> String {
    let commands = leagues.iter().map(|one| format!("`{}`", one.resume));
    commands.collect::<Vec<_>>().join(", ")
}
