//! `league referee`.

use std::io::Write;

use clap::Args;
use league::agent::referee;
use league::config::{RefereeConfig, breaker_rule, referee_patience};
use league_core::referee::RefereeRules;
use league_protocol::id::RefereeId;

use super::super::Answer;
use super::super::common::{bad_config, runtime};
use super::super::failure::Failure;
use super::super::logging;
use super::super::signal::Signals;
use super::{Joining, Serving, endpoint, greet, listen, not_started, peer, port_of};

/// Run a referee: it registers with the manager and runs the matches that it is given
#[derive(Debug, Clone, Args)]
pub(crate) struct Referee {
    #[command(flatten)]
    joining: Joining,
    /// The port to listen on
    #[arg(long, value_name = "N", default_value_t = 8001)]
    port: u16,
    /// The id it would like [default: from config, by its port]
    #[arg(long, value_name = "ID", value_parser = referee_id)]
    referee_id: Option<RefereeId>,
    /// How many matches it runs at once [default: from config]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_matches: Option<u32>,
}

fn referee_id(text: &str) -> Result<RefereeId, String> {
    RefereeId::new(text).map_err(|error| error.to_string())
}

impl Referee {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let runtime = runtime()?;
        runtime.block_on(self.serve(out))
    }

    async fn serve(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let signals = Signals::new()?;
        let common = &self.joining.common;
        let (loader, system) = common.config()?;
        let logs = logging::begin(common, &system);
        let agents = loader.load_agents().map_err(bad_config)?;
        let defaults = loader.load_referee_defaults().map_err(bad_config)?;
        let known = agents.referees.iter().find(|known| self.is(known));
        let wanted = self
            .referee_id
            .clone()
            .or(known.map(|known| known.referee_id.clone()));
        let slot = wanted
            .clone()
            .or_else(|| referee_id(&format!("port-{}", self.port)).ok());
        let slot = slot.unwrap_or_else(|| RefereeId::numbered(1));
        let label = format!("referee `{slot}`");
        let listener = listen(&system, &label, self.port).await?;
        let name = self.joining.name.clone();
        let name = name.or(known.map(|known| known.display_name.clone()));
        let at_once = known.map(|known| known.max_concurrent_matches);
        let games = known.map(|known| known.game_types.clone());
        let manager = self.joining.manager.as_ref();
        let rules = RefereeRules {
            display_name: name.unwrap_or_else(|| format!("Referee {slot}")),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wanted_id: wanted.map(|id| id.to_string()),
            endpoint: endpoint(&system, &listener),
            games: games.unwrap_or_else(|| defaults.game_types.clone()),
            max_concurrent: self
                .max_matches
                .or(at_once)
                .unwrap_or(defaults.max_concurrent_matches),
            patience: referee_patience(&system),
            breaker: breaker_rule(&system),
            manager: peer(manager.unwrap_or(&agents.league_manager.endpoint)),
        };
        let league = self.joining.league_id.as_ref();
        let league = league.unwrap_or(&system.default_league_id);
        let shared = common.shared(&system, None)?;
        let (running, door) = referee::start(&shared, league, &slot, rules)
            .map_err(|error| not_started(&label, &error))?;
        let address = endpoint(&system, &listener);
        greet(out, common, &running.identity.label(), &address)?;
        let mut quiet = running.quiet.clone();
        let serving = Serving {
            running,
            door,
            listener,
            common,
            out,
            exit_when_done: self.joining.exit_when_done,
        };
        let answer = serving.finishing(signals, &mut quiet).await;
        shared.archivist.finish();
        drop(logs);
        answer
    }

    /// Whether an entry of the configuration is about this referee.
    fn is(&self, known: &RefereeConfig) -> bool {
        match &self.referee_id {
            Some(id) => known.referee_id == *id,
            None => port_of(&known.endpoint) == Some(self.port),
        }
    }
}
