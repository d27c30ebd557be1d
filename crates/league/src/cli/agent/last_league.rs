//! The last league of a folder, which `league manager --next` goes on from: its rules, and the agents
//! whose names and ids the next league keeps.

use std::ops::ControlFlow;

use league_core::league::{Event, League};
use league_core::machine::Machine as _;
use league_protocol::id::LeagueId;

use crate::cli::failure::{CommandError, chain};
use crate::cli::leagues::{free_name, last_played};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::secrets::LeagueKeys;
use crate::storage::store::{Entry, Journal};
use crate::storage::verify::leagues;

const WHAT: &str = "could not start the next league";

pub(super) struct LastLeague {
    pub(super) league: League,
}

impl LastLeague {
    /// Reads the league that was played last; it must be over.
    pub(super) fn find(root: &Root) -> Result<Self, CommandError> {
        let none = |cause: String| {
            let hint = "play the first one with `league manager`, without `--next`";
            CommandError::usage(WHAT, cause, hint)
        };
        let all = leagues(root).map_err(|error| none(chain(&error)))?;
        let last = all.into_iter().max_by_key(|id| last_played(root, id));
        let last = last.ok_or_else(|| none("there is no league in this folder".to_owned()))?;
        let league = read(root, &last)?;
        if !league.is_over() {
            return Err(CommandError::usage(
                WHAT,
                format!("league `{last}` is not over"),
                format!(
                    "go on with `league manager --league-id {last}`, or end it with `league admin end`"
                ),
            ));
        }
        Ok(Self { league })
    }

    /// The name of the next league: that of the last one with the next free number.
    pub(super) fn next_id(&self, root: &Root) -> LeagueId {
        let last = &self.league.rules().league_id;
        let (base, number) = last
            .as_str()
            .rsplit_once('_')
            .unwrap_or((last.as_str(), ""));
        let is_numbered = number.len() < 4 && number.parse::<u32>().is_ok();
        let base = LeagueId::new(base).ok().filter(|_| is_numbered);
        free_name(root, base.as_ref().unwrap_or(last))
    }
}

/// Replays the journal of a league with its keys.
fn read(root: &Root, id: &LeagueId) -> Result<League, CommandError> {
    let world = |cause: String| {
        let hint = "see what is wrong with `league verify`";
        CommandError::world(WHAT, cause, hint)
    };
    let mut league = None;
    let mut problem = None;
    let visited = Journal::read(&root.league_journal(id), |entry: Entry<Record<Event>>| {
        match (entry.fact, &mut league) {
            (Record::Opened(opening), _) => {
                let keys = LeagueKeys::of(root, id, opening.secret.as_deref());
                let rules = opening.rules;
                match (keys, rules) {
                    (Ok(keys), Some(rules)) => league = League::new(rules, keys.secrets).ok(),
                    (Err(error), _) => problem = Some(chain(&error)),
                    (_, None) => problem = Some("its journal holds no rules".to_owned()),
                }
            }
            (Record::Event(event), Some(league)) => league.apply(&event),
            _ => {}
        }
        match problem.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    visited.map_err(|error| world(chain(&error)))?;
    match (league, problem) {
        (Some(league), None) => Ok(league),
        (_, problem) => Err(world(
            problem.unwrap_or_else(|| "its journal is empty".to_owned()),
        )),
    }
}
