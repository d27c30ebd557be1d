//! `league player`.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use league_core::player::{Event, PlayerRules};
use league_protocol::id::{GameType, LeagueId, PlayerId};
use league_protocol::sender::{CallStyle, Dialect};
use league_protocol::token::AuthToken;
use tokio::sync::mpsc;

use crate::agents::assemble::Shared;
use crate::agents::bot::Bot;
use crate::agents::bot::launch::{self, BotLimits, Launch, LaunchError};
use crate::agents::bot::stderr::shown;
use crate::agents::model::{Budget, ModelSeat};
use crate::agents::player::{self, Chooser, PlayStyle, ResultLines};
use crate::agents::seat::ExternalSeat;
use crate::cli::agent::{
    AgentFiles, AgentSetup, JoinArgs, LastLeague, NewJournal, last_league, not_started, port_of,
};
use crate::cli::arguments::{dialect, duration, player_id, port, seed};
use crate::cli::failure::{CommandError, bad_config, chain};
use crate::cli::model::{ModelArgs, find_model, for_models};
use crate::cli::{Exit, Output};
use crate::config::{PlayerConfig, timeouts};
use crate::http::endpoint::Endpoint;
use crate::storage::root::Root;
use crate::storage::secrets::{BY_PORT, place_of_agent};
use crate::wire::ask::{Health, State};
use league_core::strategy::{self, Strategy};

/// Run a player, which registers with the manager and plays its matches
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league player --port 8102 --strategy markov
  league player --exec \"python3 bot.py\" --name Heron
  league player --llm local/llama3.2 --name Heron
  league player --manager http://192.168.1.10:8000/mcp --bind 0.0.0.0 --name Heron")]
pub(crate) struct PlayerArgs {
    /// A strategy of `league games NAME` chooses the moves
    #[arg(long, value_name = "NAME", value_parser = strategy::find)]
    strategy: Option<&'static Strategy>,
    /// Your program chooses them, in lines over standard input and output
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["strategy", "seed"])]
    exec: Option<String>,
    /// A language model chooses them: `MODEL` or `PROVIDER/MODEL`
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["strategy", "exec"])]
    llm: Option<String>,
    /// Port to listen on
    #[arg(long, value_name = "N", default_value_t = 8101, value_parser = port)]
    port: u16,
    #[command(flatten)]
    join: JoinArgs,
    /// The id it asks for [default: config, by its port]
    #[arg(long, value_name = "ID", value_parser = player_id)]
    player_id: Option<PlayerId>,
    /// The organiser's code for participants [default: config]
    #[arg(long, value_name = "CODE")]
    join_code: Option<String>,
    /// An MCP client that shows this code chooses the moves
    #[arg(long, value_name = "CODE", value_parser = seat_code, conflicts_with_all = ["strategy", "exec", "llm"])]
    assistant: Option<AuthToken>,
    #[command(flatten)]
    models: ModelArgs,
    /// How to call the program
    #[arg(long, value_enum, value_name = "HOW", requires = "exec")]
    speech: Option<BotSpeech>,
    /// Pass this environment variable to the program; repeat it
    #[arg(long, value_name = "NAME", requires = "exec")]
    pass_env: Vec<String>,
    /// Its dialect: `v2`, `v2-api` or `v1` [default: config]
    #[arg(long, value_name = "NAME", value_parser = dialect)]
    dialect: Option<Dialect>,
    /// Tolerate no deviation, and no match that was not announced
    #[arg(long)]
    strict: bool,
    /// Slow down to be watched: how long it thinks
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "0ms")]
    pace: Duration,
    /// All randomness comes from N
    #[arg(long, value_name = "N", value_parser = seed)]
    seed: Option<u64>,
}

/// The shortest code of a seat, in characters.
const MIN_SEAT_CODE: usize = 8;

/// The name of the files of a player without an id.
fn by_port(port: u16) -> PlayerId {
    let named = player_id(&format!("{BY_PORT}{port}"));
    named.unwrap_or_else(|_| PlayerId::numbered(1))
}

impl PlayerArgs {
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
        let mut setup = self.join.settled(setup, "player")?;
        if self.join_code.is_some() {
            setup.system.security.join_code.clone_from(&self.join_code);
        }
        let known = setup.agents.players.iter().find(|known| self.is(known));
        let known = known.cloned();
        let known_id = || known.as_ref().map(|known| known.player_id.clone());
        let wanted = self.player_id.clone().or_else(known_id);
        let label = |slot: &PlayerId| format!("player `{slot}`");
        let slot = |port| wanted.clone().unwrap_or_else(|| by_port(port));
        let defaults = setup.loader.load_player_defaults().map_err(bad_config)?;
        let known = known.as_ref();
        let preferred = known.map_or(&defaults.preferred_leagues, |it| &it.preferred_leagues);
        setup = self.bound(setup, preferred, &slot(self.port)).await?;
        let listener = setup.listen(&label(&slot(self.port)), self.port).await?;
        // With `--port 0` the port is known only now.
        let slot = slot(listener.port());
        let named = || known.map(|known| known.display_name.clone());
        let name = self.join.name.clone().or_else(named);
        let version = known.map_or(&defaults.version, |known| &known.version);
        let games = known.map_or(&defaults.game_types, |known| &known.game_types);
        let configured = known.map_or(defaults.dialect, |known| known.dialect);
        let health = self.join.health(&setup).await;
        let rules = PlayerRules {
            display_name: name.unwrap_or_else(|| format!("Player {slot}")),
            version: version.clone(),
            endpoint: setup.endpoint(&listener),
            games: self.games(games),
            timeouts: timeouts(&setup.system),
            manager: self.join.peer(&setup, self.dialect.unwrap_or(configured)),
            wanted_id: wanted.map(|id| id.to_string()),
            join_code: setup.system.security.join_code(),
            strict: self.strict,
            memory: defaults.memory.rule(),
            human: false,
        };
        let strategy = known.map_or(&defaults.strategy, |known| &known.strategy);
        let game = health.as_ref().map(|health| health.game_type.clone());
        let game = game.as_ref();
        let shared = self.join.shared(&setup, self.seed)?;
        let league = self.league(&setup, &shared.root, &slot, health);
        let place = (&shared, &league, &slot);
        let Some(chooser) = self.chooser(strategy, &mut setup, place, game).await? else {
            return Ok(Exit::Interrupted);
        };
        if self.join.common.talks() {
            warn_of_random(out, &chooser, game)?;
        }
        let bot = chooser.bot().cloned();
        let journal = NewJournal::at(shared.root.player_journal(&slot));
        let (style, lines) = self.style(chooser);
        let started = player::start(&shared, &league, &slot, rules, style)
            .map_err(|error| not_started(&label(&slot), &error, "`--player-id` or `--port`"))?;
        let agent = (self.join).serve(setup, shared, started, listener, lines, &mut out);
        let exit = journal.after(agent.await);
        if let Some(bot) = bot {
            bot.end().await;
        }
        exit
    }

    /// How it plays, and the lines of its results.
    fn style(&self, chooser: Chooser) -> (PlayStyle, mpsc::Receiver<String>) {
        let is_json = self.join.common.output == Output::Json;
        let absence = chooser.bot().map(|bot| bot.absence()).unwrap_or_default();
        let (results, lines) = ResultLines::new(is_json, absence);
        let style = PlayStyle {
            chooser,
            pace: self.pace,
            results: Some(results).filter(|_| is_json || !self.join.common.quiet),
        };
        (style, lines)
    }

    /// The games that it offers to play; a named strategy may know only some.
    fn games(&self, usual: &[GameType]) -> Vec<GameType> {
        let known = self.strategy.map_or(&[][..], |strategy| strategy.games);
        if known.is_empty() {
            return usual.to_vec();
        }
        let known = known.iter().filter_map(|game| GameType::new(*game).ok());
        known.collect()
    }

    /// The setup with the manager of the league that the player prefers.
    async fn bound(
        &self,
        mut setup: AgentSetup,
        preferred: &[LeagueId],
        slot: &PlayerId,
    ) -> Result<AgentSetup, CommandError> {
        let Some(manager) = self.preferred(&setup, preferred, slot).await? else {
            return Ok(setup);
        };
        Arc::make_mut(&mut setup.agents).league_manager.endpoint = manager;
        self.join.settled(setup, "player")
    }

    /// The manager of the first preferred league that takes the player: registration is open, or
    /// the player is in it already. A manager that does not answer yet is waited for if no other
    /// takes it; `None` if nothing is preferred, or a flag names the manager.
    async fn preferred(
        &self,
        setup: &AgentSetup,
        preferred: &[LeagueId],
        slot: &PlayerId,
    ) -> Result<Option<String>, CommandError> {
        if preferred.is_empty() || self.join.manager.is_some() {
            return Ok(None);
        }
        let root = self.join.common.root();
        let (mut silent, mut found) = (None, Vec::new());
        for league in preferred {
            let config = setup.loader.load_league(league).map_err(bad_config)?;
            let usual = || setup.agents.league_manager.endpoint.clone();
            let manager = config.manager_endpoint.clone().unwrap_or_else(usual);
            let Some(health) = JoinArgs::health_of(setup, Endpoint::parse(&manager).ok()).await
            else {
                silent = silent.or(Some(manager));
                continue;
            };
            let tokens = place_of_agent(&root, league, "player", slot.as_str());
            let is_open = health.state == State::Registering || tokens.exists();
            if health.league_id == *league && is_open {
                return Ok(Some(manager));
            }
            found.push(format!("{manager} holds `{}`", health.league_id));
        }
        silent.map(Some).ok_or_else(|| {
            let cause = format!("no preferred league takes it: {}", found.join(", "));
            let hint = "correct `preferred_leagues` in the configuration, or name the manager with \
                        `--manager`";
            CommandError::world("could not start the player", cause, hint)
        })
    }

    /// The league whose files it keeps.
    fn league(
        &self,
        setup: &AgentSetup,
        root: &Root,
        slot: &PlayerId,
        manager: Option<Health>,
    ) -> LeagueId {
        let files = AgentFiles {
            root,
            kind: "player",
            slot: slot.as_str(),
            journal: &|_| root.player_journal(slot),
            last: |journal| {
                last_league(journal, |event: &Event| match event {
                    Event::Enrolled { league_id, .. } => Some(LastLeague::In(league_id.clone())),
                    Event::LeagueCompleted { .. } => Some(LastLeague::Over),
                    _ => None,
                })
            },
        };
        self.join.league(setup, &files, manager)
    }

    /// What chooses the moves; `None` if the start of a bot was interrupted. Refuses a named
    /// strategy that does not know the game of the manager's league.
    async fn chooser(
        &self,
        configured: &str,
        setup: &mut AgentSetup,
        place: (&Shared, &LeagueId, &PlayerId),
        game: Option<&GameType>,
    ) -> Result<Option<Chooser>, CommandError> {
        if let Some(command) = &self.exec {
            return Ok(self.bot(command, setup, place.2).await?.map(Chooser::Bot));
        }
        if let Some(code) = &self.assistant {
            return self.assistant_seat(code, setup).map(Some);
        }
        if let Some(name) = self.model_name(configured)? {
            return self.model(name, setup, place).map(Some);
        }
        let strategy = match self.strategy {
            Some(strategy) => {
                let what = "could not start the player";
                check_strategy(strategy, game, what)?;
                strategy
            }
            None => strategy::find(configured).map_err(|error| unknown_strategy(&error))?,
        };
        Ok(Some(Chooser::Strategy(strategy)))
    }

    /// The language model that chooses: of the flag, else `llm:MODEL` of the configuration.
    fn model_name<'n>(&'n self, configured: &'n str) -> Result<Option<&'n str>, CommandError> {
        let configured = configured.strip_prefix("llm:");
        let configured = configured.filter(|_| self.strategy.is_none());
        let named = self.llm.as_deref().or(configured);
        match named {
            None if self.models.is_given() => Err(for_models("could not start the player")),
            named => Ok(named),
        }
    }

    /// A seat for an assistant that shows this code.
    fn assistant_seat(
        &self,
        code: &AuthToken,
        setup: &mut AgentSetup,
    ) -> Result<Chooser, CommandError> {
        self.models.settle(&mut setup.system.models);
        let fallback = strategy::find(&setup.system.models.fallback);
        let fallback = fallback.map_err(|error| unknown_strategy(&error))?;
        let seat = ExternalSeat::for_assistant(code, fallback);
        Ok(Chooser::External(Arc::new(seat)))
    }

    /// A seat for a language model.
    fn model(
        &self,
        name: &str,
        setup: &mut AgentSetup,
        (shared, league, slot): (&Shared, &LeagueId, &PlayerId),
    ) -> Result<Chooser, CommandError> {
        let models = &mut setup.system.models;
        self.models.settle(models);
        let model = find_model(name, models)?;
        let budget = Arc::new(Budget::new(models.budget_tokens));
        let seat = ModelSeat::new(model, budget, shared, (league, slot));
        Ok(Chooser::Model(Arc::new(seat)))
    }

    /// Starts the bot and waits until it answers: no timeout of the league runs before that.
    /// Returns `None` if the start was interrupted.
    async fn bot(
        &self,
        command: &str,
        setup: &mut AgentSetup,
        slot: &PlayerId,
    ) -> Result<Option<Arc<Bot>>, CommandError> {
        let keeper = std::env::current_exe().map_err(LaunchError::Start);
        let launch = Launch {
            keeper: keeper.map_err(|error| bot_failed(&error, None))?,
            words: launch::words(command).map_err(|error| bot_failed(&error, None))?,
            passed: self.pass_env.clone(),
            stderr: self.join.common.root().bot_complaints(slot),
            limits: BotLimits::of(&setup.system.bots),
        };
        let speech = self.speech.map(BotSpeech::speech);
        let start = Bot::start(launch, slot.to_string(), speech);
        tokio::select! {
            started = start => started.map(Some).map_err(|unstarted| {
                let last_words = shown(&unstarted.last_lines);
                let failed = bot_failed(&unstarted.error, unstarted.missing);
                failed.with_cause(|cause| format!("{cause}\n  {last_words}"))
            }),
            () = setup.signals.interrupted() => Ok(None),
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

/// How to call a bot.
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

/// Reads the code of a seat: not so short that it is guessed.
fn seat_code(text: &str) -> Result<AuthToken, String> {
    match text.chars().count() >= MIN_SEAT_CODE {
        true => Ok(AuthToken::new(text)),
        false => Err(format!(
            "give a code of at least {MIN_SEAT_CODE} characters"
        )),
    }
}

/// Says that the player moves at random because its strategy does not know the game.
fn warn_of_random(
    out: &mut dyn Write,
    chooser: &Chooser,
    game: Option<&GameType>,
) -> io::Result<()> {
    match (chooser, game) {
        (Chooser::Strategy(strategy), Some(game)) if !strategy.knows(game) => writeln!(
            out,
            "strategy `{}` does not know `{game}`, so the player moves at random; choose another \
             with `--strategy`: {}",
            strategy.name,
            strategy::names_for(game)
        ),
        _ => Ok(()),
    }
}

fn bot_failed(error: &LaunchError, missing: Option<String>) -> CommandError {
    let usual = match error {
        LaunchError::Silent => {
            "try it by hand: it must answer `{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":0}` \
             with a line"
        }
        _ => "give a program and its arguments, such as `--exec \"python3 bot.py\"`",
    };
    let wrong_use = matches!(error, LaunchError::NoCommand(_));
    let hint = missing.unwrap_or_else(|| usual.to_owned());
    CommandError::world("could not start the bot", chain(error), hint).usage_if(wrong_use)
}

/// Refuses a strategy that does not know the game.
pub(crate) fn check_strategy(
    strategy: &Strategy,
    game: Option<&GameType>,
    what: &str,
) -> Result<(), CommandError> {
    match game {
        Some(game) if !strategy.knows(game) => Err(CommandError::usage(
            what,
            format!(
                "strategy `{}` does not know the game `{game}`",
                strategy.name
            ),
            format!("choose one of {}", strategy::names_for(game)),
        )),
        _ => Ok(()),
    }
}

/// The configuration names an unknown strategy.
pub(crate) fn unknown_strategy(error: &strategy::UnknownStrategy) -> CommandError {
    let hint = "correct `strategy` in config/agents/agents_config.json";
    CommandError::usage("could not start the player", error.to_string(), hint)
}
