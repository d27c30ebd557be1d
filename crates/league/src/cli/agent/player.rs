//! `league player`.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use league_core::player::{Event, PlayerRules};
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::sender::{CallStyle, Dialect};
use tokio::sync::mpsc::unbounded_channel;

use crate::agents::bot::Bot;
use crate::agents::bot::launch::{self, BotLimits, Launch, LaunchError};
use crate::agents::bot::stderr::shown;
use crate::agents::player::{self, Chooser, PlayStyle};
use crate::agents::strategy::{self, Strategy};
use crate::cli::Answer;
use crate::cli::agent::{
    Ground, Joining, Left, Past, Serving, endpoint, listen, membership, not_started, port_of,
    port_taken,
};
use crate::cli::arguments::{dialect, duration};
use crate::cli::failure::{Failure, Kind, bad_config, chain};
use crate::config::{PlayerConfig, timeouts};
use crate::storage::root::Root;
use crate::storage::secrets::BY_PORT;

/// Run a player: it registers with the manager, comes to its matches and chooses
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league player --port 8102 --strategy markov
  league player --exec \"python3 bot.py\" --name Heron
  league player --manager http://192.168.1.10:8000/mcp --bind 0.0.0.0 --name Heron")]
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
    strategy: Option<&'static Strategy>,
    /// Have a program of yours decide, spoken to in lines over its standard input and output
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["strategy", "seed"])]
    exec: Option<String>,
    /// How the program is spoken to [default: found out]
    #[arg(long, value_enum, value_name = "HOW", requires = "exec")]
    speech: Option<BotSpeech>,
    /// Let the program see this variable of the surroundings; may be given again
    #[arg(long, value_name = "NAME", requires = "exec")]
    pass_env: Vec<String>,
    /// How it speaks, by default as configured: `v2`, `v2-api` or `v1`
    #[arg(long, value_name = "NAME", value_parser = dialect)]
    dialect: Option<Dialect>,
    /// Say what the protocol shows and nothing else, forgive nothing, and come only to matches
    /// that the manager announced
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

/// What a player goes by that nobody named.
fn by_port(port: u16) -> PlayerId {
    let named = player_id(&format!("{BY_PORT}{port}"));
    named.unwrap_or_else(|_| PlayerId::numbered(1))
}

impl Player {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        self.joining.run(out, async |ground, out: &mut dyn Write| {
            self.serve(ground, out).await
        })
    }

    async fn serve(&self, ground: Ground, mut out: &mut dyn Write) -> Result<Answer, Failure> {
        let mut ground = self.joining.settled(ground, "player")?;
        let known = ground.agents.players.iter().find(|known| self.is(known));
        let known_id = known.map(|known| known.player_id.clone());
        let wanted = self.player_id.clone().or(known_id);
        let label = |slot: &PlayerId| format!("player `{slot}`");
        let slot = |port| wanted.clone().unwrap_or_else(|| by_port(port));
        let listener = listen(&ground.system, &label(&slot(self.port)), self.port).await?;
        // Of any free port nothing is known before it is taken.
        let slot = slot(port_taken(&listener));
        let label = label(&slot);
        let defaults = ground.loader.load_player_defaults().map_err(bad_config)?;
        let name = self.joining.name.clone();
        let name = name.or(known.map(|known| known.display_name.clone()));
        let games = known.map(|known| known.game_types.clone());
        let configured = known.map_or(defaults.dialect, |known| known.dialect);
        let dialect = self.dialect.unwrap_or(configured);
        let rules = PlayerRules {
            display_name: name.unwrap_or_else(|| format!("Player {slot}")),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            endpoint: endpoint(&ground.system, &listener),
            games: games.unwrap_or_else(|| defaults.game_types.clone()),
            timeouts: timeouts(&ground.system),
            manager: self.joining.peer(&ground, dialect),
            wanted_id: wanted.map(|id| id.to_string()),
            strict: self.strict,
            memory: defaults.memory.rule(),
        };
        let configured = known.map_or(&defaults.strategy, |known| &known.strategy);
        let configured = configured.clone();
        let Some(style) = self.style(&configured, &mut ground, &slot).await? else {
            return Ok(Answer::Interrupted);
        };
        let bot = match &style.chooser {
            Chooser::Bot(bot) => Some(Arc::clone(bot)),
            Chooser::Strategy(_) => None,
        };
        let shared = self.joining.common.shared(&ground.system, self.seed)?;
        let league = self.league(&ground, &shared.root, &slot).await;
        let (running, door) = player::start(&shared, &league, &slot, rules, style)
            .map_err(|error| not_started(&label, &error, "`--player-id` or `--port`"))?;
        let serving = Serving {
            pages: None,
            shared,
            running,
            door,
            listener,
            stdio: self.joining.stdio,
            lines: unbounded_channel().1,
        };
        let stayed = self.joining.stay(ground, serving, &mut out).await;
        if let Some(bot) = bot {
            bot.end().await;
        }
        stayed
    }

    /// The league whose files it keeps.
    async fn league(&self, ground: &Ground, root: &Root, slot: &PlayerId) -> LeagueId {
        let past = Past {
            root,
            kind: "player",
            slot: slot.as_str(),
            journal: &|_| root.player_journal(slot),
            left,
        };
        self.joining.league(ground, &past).await
    }

    async fn style(
        &self,
        configured: &str,
        ground: &mut Ground,
        slot: &PlayerId,
    ) -> Result<Option<PlayStyle>, Failure> {
        let chooser = match (&self.exec, self.strategy) {
            (Some(command), _) => match self.bot(command, ground, slot).await? {
                Some(bot) => Chooser::Bot(bot),
                None => return Ok(None),
            },
            (None, Some(strategy)) => Chooser::Strategy(strategy),
            (None, None) => Chooser::Strategy(
                strategy::find(configured).map_err(|error| unknown_strategy(&error))?,
            ),
        };
        Ok(Some(PlayStyle {
            chooser,
            pace: self.pace,
        }))
    }

    /// Starts the bot and waits until it can be spoken to: before that, no clock of the league runs.
    /// Nothing if somebody did not want to wait.
    async fn bot(
        &self,
        command: &str,
        ground: &mut Ground,
        slot: &PlayerId,
    ) -> Result<Option<Arc<Bot>>, Failure> {
        let keeper = std::env::current_exe().map_err(LaunchError::Start);
        let launch = Launch {
            keeper: keeper.map_err(|error| bot_failed(&error))?,
            words: launch::words(command).map_err(|error| bot_failed(&error))?,
            passed: self.pass_env.clone(),
            complaints: self.joining.common.root().bot_complaints(slot),
            limits: BotLimits::of(&ground.system.bots),
        };
        let speech = self.speech.map(BotSpeech::speech);
        let start = Bot::start(launch, slot.to_string(), speech);
        tokio::select! {
            started = start => started.map(Some).map_err(|unstarted| {
                let mut failure = bot_failed(&unstarted.error);
                failure.cause = format!("{}\n  {}", failure.cause, shown(&unstarted.last_lines));
                failure
            }),
            () = ground.signals.interrupted() => Ok(None),
        }
    }

    /// Whether an entry of the configuration is about this player.
    fn is(&self, known: &PlayerConfig) -> bool {
        match &self.player_id {
            Some(id) => known.player_id == *id,
            None => port_of(&known.default_endpoint) == Some(self.port),
        }
    }
}

/// How a bot is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BotSpeech {
    /// JSON-RPC with the name of a tool as the method.
    Simple,
    /// The Model Context Protocol, of any revision.
    Mcp,
}

impl BotSpeech {
    const fn speech(self) -> CallStyle {
        match self {
            Self::Simple => CallStyle::Simple,
            Self::Mcp => CallStyle::Mcp,
        }
    }
}

/// How a player is left by its journal.
fn left(journal: &Path) -> Option<Left> {
    membership(journal, |event: &Event| match event {
        Event::Enrolled { league_id, .. } => Some(Left::In(league_id.clone())),
        Event::LeagueCompleted { .. } => Some(Left::Over),
        _ => None,
    })
}

fn bot_failed(error: &LaunchError) -> Failure {
    let wrong_use = matches!(error, LaunchError::NoCommand(_));
    Failure {
        what: "could not start the bot".to_owned(),
        cause: chain(error),
        hint: match error {
            LaunchError::Silent => {
                "try it by hand: it must answer `{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":0}` with a line"
            }
            _ => "give a program and its arguments, such as `--exec \"python3 bot.py\"`",
        }
        .to_owned(),
        kind: if wrong_use { Kind::Use } else { Kind::World },
    }
}

/// A strategy of the configuration that nobody knows.
pub(crate) fn unknown_strategy(error: &strategy::UnknownStrategy) -> Failure {
    Failure {
        what: "could not start the player".to_owned(),
        cause: error.to_string(),
        hint: "mend `strategy` in config/agents/agents_config.json".to_owned(),
        kind: Kind::Use,
    }
}
