//! `league referee`.

use std::io::Write;
use std::path::Path;

use clap::Args;
use league_core::referee::{Event, RefereeRules};
use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::sender::Dialect;
use tokio::sync::mpsc::unbounded_channel;

use crate::agents::referee;
use crate::cli::Answer;
use crate::cli::agent::{
    Ground, Joining, Left, Past, Serving, endpoint, listen, membership, not_started, port_of,
    port_taken,
};
use crate::cli::failure::{Failure, bad_config};
use crate::config::{RefereeConfig, breaker_rule, referee_timeouts};
use crate::storage::root::Root;
use crate::storage::secrets::BY_PORT;

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

/// What a referee goes by that nobody named.
fn by_port(port: u16) -> RefereeId {
    let named = referee_id(&format!("{BY_PORT}{port}"));
    named.unwrap_or_else(|_| RefereeId::numbered(1))
}

/// How a referee is left by its journal.
fn left(journal: &Path) -> Option<Left> {
    membership(journal, |event: &Event| match event {
        Event::Enrolled { league_id, .. } => Some(Left::In(league_id.clone())),
        Event::LeagueEnded { .. } => Some(Left::Over),
        _ => None,
    })
}

impl Referee {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        self.joining.run(out, async |ground, out: &mut dyn Write| {
            self.serve(ground, out).await
        })
    }

    async fn serve(&self, ground: Ground, mut out: &mut dyn Write) -> Result<Answer, Failure> {
        let ground = self.joining.settled(ground, "referee")?;
        let known = ground.agents.referees.iter().find(|known| self.is(known));
        let known_id = known.map(|known| known.referee_id.clone());
        let wanted = self.referee_id.clone().or(known_id);
        let label = |slot: &RefereeId| format!("referee `{slot}`");
        let slot = |port| wanted.clone().unwrap_or_else(|| by_port(port));
        let listener = listen(&ground.system, &label(&slot(self.port)), self.port).await?;
        // Of any free port nothing is known before it is taken.
        let slot = slot(port_taken(&listener));
        let label = label(&slot);
        let rules = self.rules(&ground, known, &slot, &listener)?;
        let rules = RefereeRules {
            wanted_id: wanted.map(|id| id.to_string()),
            ..rules
        };
        let mut shared = self.joining.common.shared(&ground.system, None)?;
        if !referee::is_here(&rules.manager.endpoint) {
            shared.roads.allowed = shared.roads.allowed.away_from_manager();
        }
        let league = self.league(&ground, &shared.root, &slot).await;
        let (running, door) = referee::start(&shared, &league, &slot, rules)
            .map_err(|error| not_started(&label, &error, "`--referee-id` or `--port`"))?;
        let serving = Serving {
            pages: None,
            shared,
            running,
            door,
            listener,
            stdio: self.joining.stdio,
            lines: unbounded_channel().1,
        };
        self.joining.stay(ground, serving, &mut out).await
    }

    /// The league whose files it keeps.
    async fn league(&self, ground: &Ground, root: &Root, slot: &RefereeId) -> LeagueId {
        let past = Past {
            root,
            kind: "referee",
            slot: slot.as_str(),
            journal: &|league| root.referee_journal(league, slot),
            left,
        };
        self.joining.league(ground, &past).await
    }

    fn rules(
        &self,
        ground: &Ground,
        known: Option<&RefereeConfig>,
        slot: &RefereeId,
        listener: &tokio::net::TcpListener,
    ) -> Result<RefereeRules, Failure> {
        let defaults = ground.loader.load_referee_defaults().map_err(bad_config)?;
        let name = self.joining.name.clone();
        let name = name.or(known.map(|known| known.display_name.clone()));
        let games = known.map(|known| known.game_types.clone());
        let at_once = known.map(|known| known.max_concurrent_matches);
        let at_once = self.max_matches.or(at_once);
        Ok(RefereeRules {
            display_name: name.unwrap_or_else(|| format!("Referee {slot}")),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wanted_id: None,
            endpoint: endpoint(&ground.system, listener),
            games: games.unwrap_or_else(|| defaults.game_types.clone()),
            max_concurrent: at_once.unwrap_or(defaults.max_concurrent_matches),
            timeouts: referee_timeouts(&ground.system),
            breaker: breaker_rule(&ground.system),
            manager: self.joining.peer(ground, Dialect::V2),
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
