//! Who sits down to a new league: as configured, and as the flags say instead.

use crate::agents::arena::Ports;
use crate::agents::strategy::{self, Strategy};
use crate::config::{AgentsConfig, PlayerConfig};
use crate::storage::root::Root;
use league_core::league::LeagueRules;
use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::sender::Dialect;

use super::super::Run;
use super::{Player, Referee, Seats};
use crate::cli::agent::unknown_strategy;
use crate::cli::failure::{Failure, Kind};

/// The most matches that one of our referees plays at once.
const MOST_AT_ONCE: u32 = 64;
/// With fewer players there is nothing to play.
const LEAST_PLAYERS: u32 = 2;

impl Run {
    /// Seats as many as are wanted; whoever is not active in the configuration is passed over.
    pub(super) fn seats(
        &self,
        rules: &LeagueRules,
        agents: &AgentsConfig,
    ) -> Result<Seats, Failure> {
        let (usual_players, usual_referees) = rules.start_when.unwrap_or((4, 2));
        let players = self.players.unwrap_or(usual_players);
        let referees = self.referees.unwrap_or(usual_referees);
        let at_once = (players / 2).div_ceil(referees).clamp(2, MOST_AT_ONCE);
        let known = |id: &PlayerId| agents.players.iter().find(|known| known.player_id == *id);
        let numbered = (1..).map(|number| (number, PlayerId::numbered(number)));
        let taking_part = numbered.filter(|(_, id)| known(id).is_none_or(|known| known.active));
        let dealt = strategy::deal(&self.strategies, &rules.game_type, players as usize);
        let mut seated = Vec::with_capacity(players as usize);
        for ((number, id), dealt) in taking_part.zip(dealt) {
            let place = seated.len();
            let known = known(&id);
            let name = known.map(|known| known.display_name.clone());
            seated.push(Player {
                dialect: self.dialect(place, known),
                name: name.unwrap_or_else(|| format!("Player {number}")),
                strategy: self.strategy(known, dealt, rules)?.name().to_owned(),
                id,
            });
        }
        Ok(Seats {
            referees: referee_seats(agents, referees, at_once),
            players: seated,
            game_type: rules.game_type.clone(),
            pace_ms: self.pace.as_millis() as u64,
            seed: self.seed,
            ports: Ports::default(),
            invited: 0,
        })
    }

    fn dialect(&self, place: usize, known: Option<&PlayerConfig>) -> Dialect {
        let turn = place.checked_rem(self.dialects.len());
        let dealt = turn.and_then(|turn| self.dialects.get(turn).copied());
        let configured = || known.map_or_else(Dialect::default, |known| known.dialect);
        dealt.unwrap_or_else(configured)
    }

    /// How a player chooses: as the flag says, else as configured, else as it is dealt.
    fn strategy(
        &self,
        known: Option<&PlayerConfig>,
        dealt: &'static dyn Strategy,
        rules: &LeagueRules,
    ) -> Result<&'static dyn Strategy, Failure> {
        let configured = known.filter(|_| self.strategies.is_empty());
        let configured = configured.map(|known| strategy::find(&known.strategy));
        let configured = configured
            .transpose()
            .map_err(|error| unknown_strategy(&error))?;
        // One that has no ideas about the game would only leave it to luck.
        let fitting = configured.filter(|strategy| strategy.knows(&rules.game_type));
        Ok(fitting.unwrap_or(dealt))
    }
}

fn referee_seats(agents: &AgentsConfig, referees: u32, at_once: u32) -> Vec<Referee> {
    let known = |id: &RefereeId| {
        let mut known = agents.referees.iter();
        known.find(|known| known.referee_id == *id)
    };
    let numbered = (1..).map(|number| (number, RefereeId::numbered(number)));
    let taking_part = numbered.filter(|(_, id)| known(id).is_none_or(|known| known.active));
    let seat = |(number, id): (u32, RefereeId)| {
        let known = known(&id);
        let name = known.map(|known| known.display_name.clone());
        Referee {
            name: name.unwrap_or_else(|| format!("Referee {number}")),
            max_concurrent: at_once.max(known.map_or(0, |known| known.max_concurrent_matches)),
            id,
        }
    };
    taking_part.take(referees as usize).map(seat).collect()
}

/// Refuses as many players as the league's own file does not let in, or does not begin with.
pub(super) fn check_count(players: u32, rules: &LeagueRules, root: &Root) -> Result<(), Failure> {
    let file = root.league(&rules.league_id);
    let file = file.display();
    let (cause, hint) = if players < LEAST_PLAYERS {
        (
            "one player has nobody to play with".to_owned(),
            "have more with `--players`, or invite others with `--invite URL`",
        )
    } else if players < rules.min_players {
        let least = rules.min_players;
        (
            format!("`{file}`: `participants.min_players` is {least}, and there are {players}"),
            "have more with `--players`, or lower `participants.min_players`",
        )
    } else if players > rules.max_players {
        let most = rules.max_players;
        (
            format!("`{file}`: `participants.max_players` is {most}, and there are {players}"),
            "have fewer with `--players`, or raise `participants.max_players`",
        )
    } else {
        return Ok(());
    };
    Err(Failure {
        what: "could not seat the players".to_owned(),
        cause,
        hint: hint.to_owned(),
        kind: Kind::Use,
    })
}
