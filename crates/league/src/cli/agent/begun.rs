//! What the flags of a manager say against how its league began.

use std::ops::ControlFlow;

use crate::storage::record::{Opening, Record};
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal};
use league_core::league::{Event, LeagueRules};
use league_protocol::id::LeagueId;
use league_protocol::message::Mode;

use super::super::failure::{Failure, Kind};
use super::manager::{LABEL, Manager};

impl Manager {
    /// Refuses a flag that would not count, as the league began otherwise.
    pub(super) fn check_begun(&self, root: &Root, wanted: &LeagueRules) -> Result<(), Failure> {
        let league = &wanted.league_id;
        let begun = opening(root, league);
        match begun.and_then(|begun| self.contradiction(&begun, wanted)) {
            None => Ok(()),
            Some((flag, began)) => Err(Failure {
                what: format!("could not start {LABEL}"),
                cause: format!("league `{league}` began {began}, so `{flag}` does not count"),
                hint: "leave the flag out to go on with it, or name another league with \
                       `--league-id`"
                    .to_owned(),
                kind: Kind::Use,
            }),
        }
    }

    /// The first flag that says otherwise, and how the league began instead.
    fn contradiction(&self, begun: &Opening, wanted: &LeagueRules) -> Option<(String, String)> {
        let rules = begun.rules.as_ref()?;
        let (players, referees) = rules.start_when.unwrap_or((0, 0));
        let counts = rules.start_when != wanted.start_when;
        let differs = |flag: &str, wanted: Option<String>, began: String| {
            let wanted = wanted.filter(|wanted| *wanted != began)?;
            let began = format!("with `{flag} {began}`");
            Some((format!("{flag} {wanted}"), began))
        };
        let text = |number: Option<u32>| number.map(|number| number.to_string());
        // Where it begins by hand, nobody counts referees.
        let counted = self.referees.filter(|_| counts && players > 0);
        let awaited = self.players.filter(|_| counts);
        differs("--players", text(awaited), players.to_string())
            .or_else(|| differs("--referees", text(counted), referees.to_string()))
            .or_else(|| {
                let game = self.game.as_ref().map(ToString::to_string);
                differs("--game", game, rules.game_type.to_string())
            })
            .or_else(|| {
                let manual = self.manual && rules.mode != Mode::Manual;
                manual.then(|| ("--manual".to_owned(), "without `--manual`".to_owned()))
            })
            .or_else(|| {
                let seed = self.seed.filter(|_| !begun.reproducible)?;
                Some((format!("--seed {seed}"), "without `--seed`".to_owned()))
            })
    }
}

/// How a league began, if it has.
fn opening(root: &Root, league: &LeagueId) -> Option<Opening> {
    let journal = root.league_journal(league);
    let mut opening = None;
    let read = Journal::read(&journal, |entry: Entry<Record<Event>>| {
        if let Record::Opened(opened) = entry.fact {
            opening = Some(*opened);
        }
        ControlFlow::Break(())
    });
    // Whatever is wrong with it is told when it is opened to be written.
    read.ok().and(opening)
}
