//! `league referee`.

use std::io::Write;

use clap::Args;
use league_core::referee::{Event, RefereeRules};
use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::sender::Dialect;
use tokio::sync::mpsc;

use crate::agents::assemble::StartError;
use crate::agents::referee;
use crate::cli::Exit;
use crate::cli::agent::{
    AgentFiles, AgentSetup, JoinArgs, LastLeague, NewJournal, last_league, not_started, port_of,
};
use crate::cli::arguments::{number, port};
use crate::cli::failure::{CommandError, bad_config};
use crate::cli::store::StoreArgs;
use crate::config::{RefereeConfig, breaker_rule, referee_timeouts};
use crate::http::local;
use crate::http::transport::Listener;
use crate::storage::root::Root;
use crate::storage::secrets::BY_PORT;

/// Run a referee, which registers with the manager and runs the matches it is assigned
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league referee
  league referee --manager http://192.168.1.10:8000/mcp --bind 0.0.0.0 --referee-key KEY")]
pub(crate) struct RefereeArgs {
    /// Port to listen on
    #[arg(long, value_name = "N", default_value_t = 8001, value_parser = port)]
    port: u16,
    /// The key that the manager printed
    #[arg(
        long,
        value_name = "KEY",
        env = "LEAGUE_REFEREE_KEY",
        hide_env_values = true
    )]
    referee_key: Option<String>,
    /// The id it asks for [default: config, by its port]
    #[arg(long, value_name = "ID", value_parser = referee_id)]
    referee_id: Option<RefereeId>,
    /// How many matches it runs at once [default: config]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=100_000))]
    matches_at_once: Option<u32>,
    #[command(flatten)]
    join: JoinArgs,
    #[command(flatten)]
    store: StoreArgs,
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
        let mut setup = self.join.settled(setup, "referee")?;
        if self.referee_key.is_some() {
            let security = &mut setup.system.security;
            security.referee_key.clone_from(&self.referee_key);
        }
        let known = setup.agents.referees.iter().find(|known| self.is(known));
        let known_id = known.map(|known| known.referee_id.clone());
        let wanted = self.referee_id.clone().or(known_id);
        let label = |slot: &RefereeId| format!("referee `{slot}`");
        let slot = |port| wanted.clone().unwrap_or_else(|| by_port(port));
        let listener = setup.listen(&label(&slot(self.port)), self.port).await?;
        // With `--port 0` the port is known only now.
        let slot = slot(listener.port());
        let wanted = wanted.map(|id| id.to_string());
        let rules = self.rules(&setup, known, &slot, &listener)?;
        let mut shared = self.join.shared(&setup, None)?;
        shared.store = self.store.of(
            (&setup.system, &setup.tls),
            &shared.chance,
            setup.endpoint(&listener),
        )?;
        let managers = self.join.manager_addresses(&setup);
        if managers.iter().any(|manager| !local::is_own(manager.ip())) {
            shared.outbox.allowed = shared.outbox.allowed.away_from_manager();
        }
        let league = self.league(&setup, &shared.root, &slot).await;
        let journal = NewJournal::at(shared.root.referee_journal(&league, &slot));
        let failed =
            |error: StartError| not_started(&label(&slot), &error, "`--referee-id` or `--port`");
        let key = shared.referee_key(&league);
        let rules = RefereeRules {
            wanted_id: wanted,
            key: Some(key.map_err(failed)?),
            ..rules
        };
        let started = referee::start(&shared, &league, &slot, rules).map_err(failed)?;
        let (_, no_lines) = mpsc::channel(1);
        let agent = (self.join).serve(setup, shared, started, listener, no_lines, &mut out);
        journal.after(agent.await)
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
        self.join
            .league(setup, &files, self.join.health(setup).await)
    }

    fn rules(
        &self,
        setup: &AgentSetup,
        known: Option<&RefereeConfig>,
        slot: &RefereeId,
        listener: &Listener,
    ) -> Result<RefereeRules, CommandError> {
        let defaults = setup.loader.load_referee_defaults().map_err(bad_config)?;
        let name = self.join.name.clone();
        let name = name.or(known.map(|known| known.display_name.clone()));
        let games = known.map(|known| known.game_types.clone());
        let at_once = known.map(|known| known.max_concurrent_matches);
        let at_once = self.matches_at_once.or(at_once);
        Ok(RefereeRules {
            display_name: name.unwrap_or_else(|| format!("Referee {slot}")),
            version: known
                .map_or(&defaults.version, |known| &known.version)
                .clone(),
            wanted_id: None,
            key: None,
            endpoint: setup.endpoint(listener),
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
