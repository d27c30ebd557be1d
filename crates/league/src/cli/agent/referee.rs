//! `league referee`.

use std::io::Write;

use clap::Args;
use league_core::referee::{Event, RefereeRules};
use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::sender::Dialect;
use tokio::net::TcpListener;

use crate::agents::referee;
use crate::cli::Exit;
use crate::cli::agent::{
    AgentFiles, AgentSetup, JoinArgs, LastLeague, endpoint, last_league, listen, not_started,
    port_of, port_taken,
};
use crate::cli::failure::{CommandError, bad_config};
use crate::config::{RefereeConfig, breaker_rule, referee_timeouts};
use crate::storage::root::Root;
use crate::storage::secrets::BY_PORT;

/// Run a referee, which registers with the manager and runs the matches it is assigned
#[derive(Debug, Clone, Args)]
pub(crate) struct RefereeArgs {
    #[command(flatten)]
    join: JoinArgs,
    /// Port to listen on
    #[arg(long, value_name = "N", default_value_t = 8001)]
    port: u16,
    /// The id it asks for [default: from config, by its port]
    #[arg(long, value_name = "ID", value_parser = referee_id)]
    referee_id: Option<RefereeId>,
    /// How many matches it runs at once [default: from config]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_matches: Option<u32>,
}

fn referee_id(text: &str) -> Result<RefereeId, String> {
    RefereeId::new(text).map_err(|error| error.to_string())
}

/// The name of the files of a referee without an id.
fn by_port(port: u16) -> RefereeId {
    let named = referee_id(&format!("{BY_PORT}{port}"));
    named.unwrap_or_else(|_| RefereeId::numbered(1))
}

impl RefereeArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        self.join.run(out, async |setup, out: &mut dyn Write| {
            self.serve(setup, out).await
        })
    }

    async fn serve(
        &self,
        setup: AgentSetup,
        mut out: &mut dyn Write,
    ) -> Result<Exit, CommandError> {
        let setup = self.join.settled(setup, "referee")?;
        let known = setup.agents.referees.iter().find(|known| self.is(known));
        let known_id = known.map(|known| known.referee_id.clone());
        let wanted = self.referee_id.clone().or(known_id);
        let label = |slot: &RefereeId| format!("referee `{slot}`");
        let slot = |port| wanted.clone().unwrap_or_else(|| by_port(port));
        let listener = listen(&setup.system, &label(&slot(self.port)), self.port).await?;
        // With `--port 0` the port is known only now.
        let slot = slot(port_taken(&listener));
        let rules = RefereeRules {
            wanted_id: wanted.map(|id| id.to_string()),
            ..self.rules(&setup, known, &slot, &listener)?
        };
        let mut shared = self.join.common.shared(&setup.system, None)?;
        if !referee::is_here(&rules.manager.endpoint) {
            shared.outbox.allowed = shared.outbox.allowed.away_from_manager();
        }
        let league = self.league(&setup, &shared.root, &slot).await;
        let started = referee::start(&shared, &league, &slot, rules)
            .map_err(|error| not_started(&label(&slot), &error, "`--referee-id` or `--port`"))?;
        let join = &self.join;
        join.serve(setup, shared, started, listener, &mut out).await
    }

    /// The league whose files it keeps.
    async fn league(&self, setup: &AgentSetup, root: &Root, slot: &RefereeId) -> LeagueId {
        let files = AgentFiles {
            root,
            kind: "referee",
            slot: slot.as_str(),
            journal: &|league| root.referee_journal(league, slot),
            last: |journal| {
                last_league(journal, |event: &Event| match event {
                    Event::Enrolled { league_id, .. } => Some(LastLeague::In(league_id.clone())),
                    Event::LeagueEnded { .. } => Some(LastLeague::Over),
                    _ => None,
                })
            },
        };
        self.join.league(setup, &files).await
    }

    fn rules(
        &self,
        setup: &AgentSetup,
        known: Option<&RefereeConfig>,
        slot: &RefereeId,
        listener: &TcpListener,
    ) -> Result<RefereeRules, CommandError> {
        let defaults = setup.loader.load_referee_defaults().map_err(bad_config)?;
        let name = self.join.name.clone();
        let name = name.or(known.map(|known| known.display_name.clone()));
        let games = known.map(|known| known.game_types.clone());
        let at_once = known.map(|known| known.max_concurrent_matches);
        let at_once = self.max_matches.or(at_once);
        Ok(RefereeRules {
            display_name: name.unwrap_or_else(|| format!("Referee {slot}")),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wanted_id: None,
            endpoint: endpoint(&setup.system, listener),
            games: games.unwrap_or_else(|| defaults.game_types.clone()),
            max_concurrent: at_once.unwrap_or(defaults.max_concurrent_matches),
            timeouts: referee_timeouts(&setup.system),
            breaker: breaker_rule(&setup.system),
            manager: self.join.peer(setup, Dialect::V2),
        })
    }

    /// Whether an entry of the configuration is about this referee.
    fn is(&self, known: &RefereeConfig) -> bool {
        match &self.referee_id {
            Some(id) => known.referee_id == *id,
            None => port_of(&known.endpoint) == Some(self.port),
        }
    }
}
