//! `league play`: a league of `league run` with one seat for a person, who plays on its page.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use clap::{Args, Parser};
use league_core::strategy::{self, Strategy};

use crate::cli::Exit;
use crate::cli::agent::check_strategy;
use crate::cli::arguments::{CommonArgs, GameArgs, port};
use crate::cli::failure::CommandError;
use crate::cli::run::RunArgs;

/// Take a seat yourself: prints the link to your page, opens it, and plays strategies against you
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league play --game connect_four
  league play --game rock_paper_scissors --against markov,bayesian --name Ada")]
pub(crate) struct PlayArgs {
    #[command(flatten)]
    game: GameArgs,
    /// Your opponents, strategies of `league games NAME` [default: one]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = strategy::find)]
    against: Vec<&'static Strategy>,
    /// The name that others see
    #[arg(long, value_name = "NAME", default_value = "You")]
    name: String,
    /// Port of the page [default: any free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = port)]
    port: u16,
    /// Only print the link
    #[arg(long)]
    no_open: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// The person for whom a league is played.
#[derive(Debug, Clone)]
pub(crate) struct Person {
    name: String,
    /// The port of the page; 0 for any.
    pub(crate) port: u16,
    /// Whether a browser is to show the page.
    opens: bool,
}

impl Person {
    /// The link of a seat, with the name, so that the page takes the seat at once.
    pub(crate) fn link(&self, joining: &str) -> String {
        let letter = |byte: u8| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        let name: String = self.name.bytes().map(letter).collect();
        format!("{joining}&name={name}")
    }

    /// Shows the page in a browser, if the person is likely to sit before one. The link is printed
    /// too, so that a failure does no harm.
    pub(crate) fn show(&self, link: &str) {
        let browser = browser().filter(|_| self.opens && io::stdout().is_terminal());
        if let Some(browser) = browser {
            let _ = Command::new(browser)
                .arg(link)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
        }
    }
}

/// The arguments of `league run`.
#[derive(Debug, Parser)]
struct Run {
    #[command(flatten)]
    arguments: RunArgs,
}

impl PlayArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        const WHAT: &str = "could not take a seat";
        let game = &self.game.game;
        for opponent in &self.against {
            check_strategy(opponent, Some(game), WHAT)?;
        }
        let opponents = match self.against.is_empty() {
            true => strategy::deal(game, 1),
            false => self.against.clone(),
        };
        let players = (opponents.len() + 1).to_string();
        let names: Vec<&str> = opponents.iter().map(|opponent| opponent.name).collect();
        let names = names.join(",");
        let words = [
            ["run", "--people=1", "--referees=1", "--ports=auto"],
            ["--game", game.as_str(), "--players", &players],
        ];
        let words = words.concat().into_iter().chain(["--strategies", &names]);
        let run = Run::try_parse_from(words).map_err(|error| {
            CommandError::usage(WHAT, error.to_string(), "see `league play --help`")
        })?;
        let person = Person {
            name: self.name.clone(),
            port: self.port,
            opens: !self.no_open,
        };
        let mut run = run.arguments;
        run.common = self.common.clone();
        run.person = Some(person);
        run.run(out)
    }
}

/// The program that opens a page on this desktop, if there is a desktop.
fn browser() -> Option<OsString> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if cfg!(target_os = "macos") {
        return Some("open".into());
    }
    let has_screen = given("DISPLAY").or_else(|| given("WAYLAND_DISPLAY"));
    given("BROWSER").or_else(|| has_screen.map(|_| "xdg-open".into()))
}
