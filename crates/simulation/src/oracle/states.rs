//! Watches the states of agents: they move along the diagram of 000 §2.8.1.

use league_core::league::{AgentState, League};
use league_protocol::sender::Agent;

use super::Oracle;
use crate::report::Invariant;
use crate::{Checked, breach};

impl Oracle {
    pub(super) fn check_states(&mut self, league: &League) -> Checked {
        let players = league.players().iter();
        let agents: Vec<Agent> = players
            .map(|player| Agent::Player(player.id().clone()))
            .chain(
                league
                    .referees()
                    .iter()
                    .map(|referee| Agent::Referee(referee.id().clone())),
            )
            .collect();
        agents
            .iter()
            .try_for_each(|agent| self.check_state(league, agent))
    }

    /// REGISTERED, ACTIVE and SUSPENDED in turn, SHUTDOWN and nothing after.
    pub(super) fn check_state(&mut self, league: &League, agent: &Agent) -> Checked {
        use AgentState::{Active, Registered, Shutdown, Suspended};
        let state = match agent {
            Agent::Player(id) => league.player(id).map(|player| league.player_state(player)),
            Agent::Referee(id) => league
                .referee(id)
                .map(|referee| league.referee_state(referee)),
            Agent::Manager => None,
        };
        let Some(state) = state else {
            return breach(
                Invariant::StatesFollowTheDiagrams,
                format!("`{agent}` is unknown"),
            );
        };
        let before = self.league.states.insert(agent.clone(), state);
        let allowed = match before {
            None => true,
            Some(Registered | Active | Suspended) if state != Registered => true,
            Some(before) => before == state,
        };
        if allowed && !(before == Some(Shutdown) && state != Shutdown) {
            return Ok(());
        }
        let what = format!("`{agent}` goes from {before:?} to {state:?}");
        breach(Invariant::StatesFollowTheDiagrams, what)
    }
}
