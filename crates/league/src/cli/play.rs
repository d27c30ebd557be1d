//! `league play`: a person takes a seat, in the league of a manager or against our strategies.
//!
//! The player of the person is that of `league player`, or of `league run`; this file starts it and
//! leaves the screen to the terminal.

mod terminal;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::{Args, Parser};
use league_core::strategy::{self, Strategy};
use league_protocol::id::{GameType, PlayerId};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::agents::seat::ExternalSeat;
use crate::cli::agent::{PlayerArgs, check_strategy};
use crate::cli::arguments::{USUAL_MANAGER, game_type, games, manager_url, number};
use crate::cli::failure::{CommandError, chain};
use crate::cli::network::NetworkArgs;
use crate::cli::run::{RunArgs, move_time};
use crate::cli::runtime::runtime;
use crate::cli::{Exit, Output, screen};
use crate::config::DEFAULT_GAME;
use crate::http::client::Client;
use crate::http::endpoint::Endpoint;
use crate::http::tls::Tls;
use crate::wire::ask::{ManagerClient, State};
use terminal::Terminal;

const WHAT: &str = "could not take a seat";
/// The most games against each opponent.
const MAX_GAMES: u64 = 100;

/// Take a seat yourself, in this terminal
///
/// With `--manager` you join that league as a player. Without it you join the league at the usual
/// address if one is open there; else you play against a strategy, and nothing is kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league play                                            against a strategy
  league play --game connect_four --against alpha-beta --games 3
  league play --manager http://192.168.1.10:8000/mcp --bind 0.0.0.0 --name Ada
  printf '3\\n3\\n' | league play --game connect_four --against random --output json")]
pub(crate) struct PlayArgs {
    /// Address of the manager whose league you join, or several with commas between them
    #[arg(long, value_name = "URL", value_parser = manager_url, conflicts_with_all = ["game", "against", "games", "move_time"])]
    manager: Option<Endpoint>,
    #[command(flatten)]
    network: NetworkArgs,
    /// The organiser's code for participants
    #[arg(long, value_name = "CODE", requires = "manager")]
    join_code: Option<String>,
    /// The name that others see
    #[arg(long, value_name = "NAME", default_value = "You")]
    name: String,
    #[arg(
        long,
        value_name = "NAME",
        value_parser = game_type,
        help = format!("The game, if you play against strategies: {} [default: {DEFAULT_GAME}]", games())
    )]
    game: Option<GameType>,
    #[arg(
        long,
        value_name = "A,B,…",
        value_delimiter = ',',
        value_parser = strategy::find,
        help = format!("Your opponents: {} [default: one that knows the game]", strategy::names())
    )]
    against: Vec<&'static Strategy>,
    /// How many games against each [default: 1]
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=MAX_GAMES))]
    games: Option<u32>,
    /// Time for a move, if you play against strategies [default: 2m]
    #[arg(long, value_name = "DURATION", value_parser = move_time)]
    move_time: Option<Duration>,
    #[arg(
        long,
        value_name = "NAME",
        value_parser = strategy::find,
        default_value = "random",
        help = "The strategy that moves when your time is over, or when you leave"
    )]
    fallback: &'static Strategy,
    /// Keep the files of the league, or of your player, in this folder [default: nothing is kept]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Output format: text, or one JSON object a line
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// The arguments of another command.
#[derive(Debug, Parser)]
struct OtherCommand<A: Args> {
    #[command(flatten)]
    arguments: A,
}

impl PlayArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let passing = match &self.keep {
            Some(_) => None,
            None => Some(tempfile::tempdir().map_err(|error| {
                let hint = "free space on the disk, or choose a folder with `--keep`";
                CommandError::world(WHAT, chain(&error), hint)
            })?),
        };
        let passing = passing.as_ref().map(TempDir::path);
        let root = self.keep.as_deref().or(passing).unwrap_or(Path::new("."));
        let root = root.display().to_string();
        let manager = self.found_manager()?;
        let seat = Arc::new(ExternalSeat::for_person(self.fallback));
        if self.output == Output::Text {
            let how = match &manager {
                Some(manager) => format!("you join the league at {manager} as {}", self.name),
                None => format!("{}: you play as {}", self.game(), self.name),
            };
            writeln!(out, "{how}; `?` tells the rules, Ctrl-D leaves")?;
            out.flush()?;
        }
        let (ended, over) = watch::channel(false);
        let names = match &manager {
            Some(_) => Vec::new(),
            None => self.opponents()?,
        };
        let opponents: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        let opponents = opponents.join(",");
        let terminal = Terminal::new(Arc::clone(&seat), self.output, names);
        let screen = thread::spawn(move || terminal.show(over));
        let exit = match manager {
            Some(manager) => self.join(&manager, &root, seat),
            None => self.against(&opponents, &root, seat),
        };
        ended.send_replace(true);
        let shown = screen.join().unwrap_or(Ok(()));
        let exit = exit?;
        shown?;
        Ok(exit)
    }

    fn game(&self) -> String {
        let named = self.game.as_ref().map(ToString::to_string);
        named.unwrap_or_else(|| DEFAULT_GAME.to_owned())
    }

    /// The strategies that play against the person, by the ids that they get.
    fn opponents(&self) -> Result<Vec<(PlayerId, String)>, CommandError> {
        let game = game_type(&self.game());
        let game = game.map_err(|wrong| CommandError::usage(WHAT, wrong, "see `league games`"))?;
        for opponent in &self.against {
            check_strategy(opponent, Some(&game), WHAT)?;
        }
        let chosen = match self.against.is_empty() {
            true => strategy::deal(&game, 1),
            false => self.against.clone(),
        };
        let ids = (1..).map(PlayerId::numbered);
        let names = chosen.iter().map(|strategy| strategy.name.to_owned());
        Ok(ids.zip(names).collect())
    }

    /// The manager that was named, else the one at the usual address if its league is open.
    fn found_manager(&self) -> Result<Option<String>, CommandError> {
        if let Some(named) = &self.manager {
            return Ok(Some(named.to_string()));
        }
        let is_local = self.game.is_some() || !self.against.is_empty();
        if is_local || self.games.is_some() || self.move_time.is_some() {
            return Ok(None);
        }
        let Ok(client) = ManagerClient::new(USUAL_MANAGER, Client::trusting(Tls::default().trust))
        else {
            return Ok(None);
        };
        let health = runtime()?.block_on(client.health());
        let is_open = health.is_ok_and(|health| health.state == State::Registering);
        Ok(is_open.then(|| USUAL_MANAGER.to_owned()))
    }

    /// Joins the league of a manager.
    fn join(
        &self,
        manager: &str,
        root: &str,
        seat: Arc<ExternalSeat>,
    ) -> Result<Exit, CommandError> {
        let mut words = vec![
            "league",
            "--manager",
            manager,
            "--port",
            "0",
            "--name",
            &self.name,
            "--root",
            root,
            "--exit-when-done",
            "--quiet",
        ];
        if let Some(code) = &self.join_code {
            words.extend(["--join-code", code]);
        }
        let mut player: PlayerArgs = read(&words)?;
        player.person = Some(seat);
        player.on(&self.network).run(&mut io::sink())
    }

    /// Plays a league against strategies in this process, on free ports.
    fn against(
        &self,
        opponents: &str,
        root: &str,
        seat: Arc<ExternalSeat>,
    ) -> Result<Exit, CommandError> {
        let game = self.game();
        let players = (opponents.split(',').count() + 1).to_string();
        let legs = self.games.unwrap_or(1).to_string();
        let fallback = self.fallback.name;
        let time = self.move_time.map(|time| format!("{}ms", time.as_millis()));
        let mut words = vec![
            "league",
            "--root",
            root,
            "--ports",
            "auto",
            "--game",
            &game,
            "--players",
            &players,
            "--people",
            "1",
            "--referees",
            "1",
            "--strategies",
            opponents,
            "--legs",
            &legs,
            "--fallback",
            fallback,
            "--quiet",
        ];
        if let Some(time) = &time {
            words.extend(["--move-time", time]);
        }
        let mut run: RunArgs = read(&words)?;
        run.person = Some((self.name.clone(), seat));
        run.run(&mut screen::Screen::new(io::sink()))
    }
}

/// Reads the arguments of another command.
fn read<A: Args>(words: &[&str]) -> Result<A, CommandError> {
    let read = OtherCommand::try_parse_from(words);
    let read = read.map_err(|error| {
        let wrong = error.to_string();
        let wrong = wrong.lines().next().unwrap_or_default().to_owned();
        CommandError::usage(WHAT, wrong, "see `league play --help`")
    })?;
    Ok(read.arguments)
}
