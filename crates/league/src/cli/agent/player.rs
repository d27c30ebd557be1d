//! `league player`.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use league::agent::player::{self, Manner};
use league::config::{PlayerConfig, patience};
use league::strategy::{self, Strategy};
use league_core::player::PlayerRules;
use league_protocol::id::PlayerId;
use tokio::sync::mpsc::unbounded_channel;

use super::super::Answer;
use super::super::common::{bad_config, duration, runtime};
use super::super::failure::{Failure, Kind};
use super::{Ground, Joining, Serving, endpoint, listen, not_started, port_of};

/// Run a player: it registers with the manager, comes to its matches and chooses
#[derive(Debug, Clone, Args)]
pub(crate) struct Player {
    #[command(flatten)]
    joining: Joining,
    /// The port to listen on
    #[arg(long, value_name = "N", default_value_t = 8101)]
    port: u16,
    /// The id it would like [default: from config, by its port]
    #[arg(long, value_name = "ID", value_parser = player_id)]
    player_id: Option<PlayerId>,
    /// How it chooses [default: from config]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = strategy::find,
        help = format!("How it chooses, by default as configured: {}", strategy::names())
    )]
    strategy: Option<&'static dyn Strategy>,
    /// Come only to matches that the manager announced
    #[arg(long)]
    strict: bool,
    /// Slow down, so that people can watch: how long it thinks
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "0ms")]
    pace: Duration,
    /// Take all chance from this number
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn player_id(text: &str) -> Result<PlayerId, String> {
    PlayerId::new(text).map_err(|error| error.to_string())
}

impl Player {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let runtime = runtime()?;
        runtime.block_on(self.serve(out))
    }

    async fn serve(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let ground = Ground::find(&self.joining.common)?;
        let known = ground.agents.players.iter().find(|known| self.is(known));
        let known_id = known.map(|known| known.player_id.clone());
        let wanted = self.player_id.clone().or(known_id);
        let slot = wanted
            .clone()
            .or_else(|| player_id(&format!("port-{}", self.port)).ok());
        let slot = slot.unwrap_or_else(|| PlayerId::numbered(1));
        let label = format!("player `{slot}`");
        let listener = listen(&ground.system, &label, self.port).await?;
        let defaults = ground.loader.load_player_defaults().map_err(bad_config)?;
        let name = self.joining.name.clone();
        let name = name.or(known.map(|known| known.display_name.clone()));
        let games = known.map(|known| known.game_types.clone());
        let rules = PlayerRules {
            display_name: name.unwrap_or_else(|| format!("Player {slot}")),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            endpoint: endpoint(&ground.system, &listener),
            games: games.unwrap_or_else(|| defaults.game_types.clone()),
            patience: patience(&ground.system),
            manager: self.joining.peer(&ground),
            wanted_id: wanted.map(|id| id.to_string()),
            strict: self.strict,
            memory: defaults.memory.rule(),
        };
        let configured = known.map_or(&defaults.strategy, |known| &known.strategy);
        let manner = self.manner(configured)?;
        let shared = self.joining.common.shared(&ground.system, self.seed)?;
        let league = self.joining.league(&ground);
        let (running, door) = player::start(&shared, league, &slot, rules, manner)
            .map_err(|error| not_started(&label, &error))?;
        let serving = Serving {
            shared,
            running,
            door,
            listener,
            lines: unbounded_channel().1,
        };
        self.joining.stay(ground, serving, out).await
    }

    fn manner(&self, configured: &str) -> Result<Manner, Failure> {
        Ok(Manner {
            strategy: match self.strategy {
                Some(strategy) => strategy,
                None => strategy::find(configured).map_err(|error| unknown(&error))?,
            },
            pace: self.pace,
        })
    }

    /// Whether an entry of the configuration is about this player.
    fn is(&self, known: &PlayerConfig) -> bool {
        match &self.player_id {
            Some(id) => known.player_id == *id,
            None => port_of(&known.default_endpoint) == Some(self.port),
        }
    }
}

fn unknown(error: &strategy::UnknownStrategy) -> Failure {
    Failure {
        what: "could not start the player".to_owned(),
        cause: error.to_string(),
        hint: "mend `strategy` in config/agents/agents_config.json".to_owned(),
        kind: Kind::Use,
    }
}
