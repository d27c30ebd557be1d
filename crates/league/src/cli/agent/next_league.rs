//! The league that `league manager --next` plays: a new one with the rules of the last, in which names
//! and ids are kept for its agents, or that one again if it was interrupted. A last league that cannot
//! go on, because its journal is damaged or lacks lines, is followed as if it were over.

use std::ops::ControlFlow;

use league_core::league::{Event, League, LeagueRules, Lever};
use league_core::machine::Machine as _;
use league_protocol::id::LeagueId;

use crate::cli::failure::{CommandError, chain};
use crate::cli::stored::{free_name, last_played};
use crate::storage::record::{Record, is_over};
use crate::storage::replay::known_line;
use crate::storage::root::Root;
use crate::storage::secrets::LeagueKeys;
use crate::storage::store::{Entry, Journal, StoreError};
use crate::storage::verify::leagues;

const WHAT: &str = "could not start the next league";

pub(super) struct NextLeague {
    /// Its rules, before the flags.
    pub(super) rules: LeagueRules,
    /// What it keeps from the last league; nothing if its journal has it already.
    pub(super) kept: Option<Lever>,
}

impl NextLeague {
    /// Finds the league after the one that was played last, which must be over or beyond repair;
    /// `root_flag` is for hints.
    pub(super) fn find(root: &Root, root_flag: &str) -> Result<Self, CommandError> {
        let none = |cause: String| {
            let hint = format!("play the first one with `league manager{root_flag}`");
            CommandError::usage(WHAT, cause, hint)
        };
        let all = leagues(root).map_err(|error| none(chain(&error)))?;
        let newest = |all: &[LeagueId]| all.iter().max_by_key(|id| last_played(root, id)).cloned();
        let last = newest(&all).ok_or_else(|| none("there is no league in this folder".into()))?;
        let stored = read(root, &last)?;
        if !stored.is_whole || is_over(&root.league_journal(&last)) {
            return Ok(Self::after(&stored.league, next_id(root, &last)));
        }
        if stored.took_over {
            let rules = stored.league.rules().clone();
            return Ok(Self { rules, kept: None });
        }
        // It was interrupted before it wrote what it keeps.
        let is_before =
            |id: &LeagueId| base(id) == base(&last) && is_over(&root.league_journal(id));
        let before: Vec<LeagueId> = all.into_iter().filter(is_before).collect();
        match newest(&before).filter(|_| stored.is_empty) {
            Some(before) => {
                let kept = Self::after(&read(root, &before)?.league, last).kept;
                let rules = stored.league.rules().clone();
                Ok(Self { rules, kept })
            }
            None => Err(not_over(root, &last, root_flag)),
        }
    }

    fn after(last: &League, league_id: LeagueId) -> Self {
        Self {
            kept: Some(Lever::TakeOver {
                from: last.rules().league_id.clone(),
                seats: last.kept_seats(),
            }),
            rules: LeagueRules {
                league_id,
                ..last.rules().clone()
            },
        }
    }
}

fn not_over(root: &Root, last: &LeagueId, root_flag: &str) -> CommandError {
    let command = match root.seats(last).exists() {
        true => "league run --resume",
        false => "league manager",
    };
    CommandError::usage(
        WHAT,
        format!("league `{last}` is not over"),
        format!(
            "go on with `{command} --league-id {last}{root_flag}`, and end it early with `league \
             admin end --reason TEXT{root_flag}`"
        ),
    )
}

/// The name of the next league: that of the last one with the next free number.
fn next_id(root: &Root, last: &LeagueId) -> LeagueId {
    let base = LeagueId::new(base(last)).ok();
    free_name(root, base.as_ref().unwrap_or(last))
}

/// The name of a league without its number.
fn base(league: &LeagueId) -> &str {
    let name = league.as_str();
    let numbered = name.rsplit_once('_').filter(|(_, number)| {
        let is_short = number.len() < 4;
        is_short && number.parse::<u32>().is_ok()
    });
    numbered.map_or(name, |(base, _)| base)
}

/// A league as its journal tells it.
struct StoredLeague {
    league: League,
    /// Whether it keeps names of an earlier league.
    took_over: bool,
    /// Whether nothing has happened in it.
    is_empty: bool,
    /// Whether its journal is neither damaged nor lacks lines.
    is_whole: bool,
}

/// Replays the journal of a league with its keys, up to the first damage.
fn read(root: &Root, id: &LeagueId) -> Result<StoredLeague, CommandError> {
    let world = |cause: String| {
        let hint = "see what is wrong with `league verify`";
        CommandError::world(WHAT, cause, hint)
    };
    let mut league = None;
    let mut problem = None;
    let (mut took_over, mut is_empty) = (false, true);
    let known = known_line(root, id);
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
            (Record::Event(event), Some(league)) => {
                if let Event::OrganiserActed { act, .. } = &event {
                    took_over |= matches!(**act, Lever::TakeOver { .. });
                }
                is_empty = false;
                league.apply(&event);
            }
            _ => {}
        }
        match problem.is_some() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    let is_whole = match visited {
        Ok(end) => end.last >= known,
        Err(StoreError::Damaged { .. }) => false,
        Err(error) => return Err(world(chain(&error))),
    };
    match (league, problem) {
        (Some(league), None) => Ok(StoredLeague {
            league,
            took_over,
            is_empty,
            is_whole,
        }),
        (_, problem) => Err(world(
            problem.unwrap_or_else(|| "its journal is empty".to_owned()),
        )),
    }
}
