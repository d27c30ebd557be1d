//! Everyone that takes part.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use league_protocol::fault::Code;

use super::board::totals;
use super::{Gallery, Observed};
use crate::model::{Agent, Deviation, Failure, Standing};

impl Gallery {
    pub(super) fn agents(&self, observed: &Observed, standings: &[Standing]) -> Vec<Agent> {
        let deviations = totals(observed);
        let counted = |key: &str| deviations.get(key).copied().unwrap_or(0);
        let referee = |referee: &league_core::league::RefereeEntry| {
            let key = format!("referee:{}", referee.id());
            let member = referee.member();
            Agent {
                id: referee.id().to_string(),
                name: member.display_name().to_string(),
                is_referee: true,
                state: self.state(self.league.referee_state(referee), false),
                dialect: member.peer().dialect.as_str(),
                version: member.version().to_owned(),
                latency: observed.latencies.get(&key).copied(),
                technical_losses: self.taken.get(referee.id()).copied().unwrap_or(0),
                deviations: counted(&key),
            }
        };
        let referees = self.league.referees().iter().map(referee);
        let rows: BTreeMap<_, _> = standings.iter().map(|row| (&row.player_id, row)).collect();
        let players = self.league.players().iter();
        let players = players.filter_map(|player| rows.get(player.id()));
        let players = players.map(|row| self.player_agent(observed, row));
        referees.chain(players).collect()
    }

    pub(super) fn player_agent(&self, observed: &Observed, row: &Standing) -> Agent {
        let member = self
            .league
            .player(&row.player_id)
            .map(|player| player.member());
        let key = format!("player:{}", row.player_id);
        Agent {
            id: row.player_id.to_string(),
            name: row.name.clone(),
            is_referee: false,
            state: row.state,
            dialect: member.map_or("", |member| member.peer().dialect.as_str()),
            version: member.map_or_else(String::new, |member| member.version().to_owned()),
            latency: observed.latencies.get(&key).copied(),
            technical_losses: row.technical_losses,
            deviations: row.deviations,
        }
    }

    /// How a player left the protocol, the most frequent first.
    pub(super) fn deviations_of(&self, observed: &Observed, player: &str) -> Vec<Deviation> {
        let key = format!("player:{player}");
        let mut all = observed.deviations.get(&key).cloned().unwrap_or_default();
        all.sort_by_key(|kind| std::cmp::Reverse(kind.count));
        all
    }

    /// What cost a player attempts, the most frequent first; several referees may have noted it.
    pub(super) fn failures_of(&self, observed: &Observed, player: &str) -> Vec<Failure> {
        let mut codes: BTreeMap<Code, Failure> = BTreeMap::new();
        let noted = observed.failures.get(&format!("player:{player}"));
        for failure in noted.into_iter().flatten() {
            match codes.entry(failure.code) {
                Entry::Vacant(free) => {
                    free.insert(failure.clone());
                }
                Entry::Occupied(known) => {
                    let known = known.into_mut();
                    known.count = known.count.saturating_add(failure.count);
                }
            }
        }
        let mut all: Vec<Failure> = codes.into_values().collect();
        all.sort_by_key(|failure| std::cmp::Reverse(failure.count));
        all
    }
}
