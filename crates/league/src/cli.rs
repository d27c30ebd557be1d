//! The command line: one file for each command, and a few shared files.

mod admin;
mod agent;
mod arguments;
mod check;
mod db;
mod explain;
mod export;
mod failure;
mod games;
mod help;
mod inquiry;
mod keep;
mod lab;
mod leagues;
mod model;
mod network;
mod new;
mod plan;
mod play;
mod query;
mod run;
mod runtime;
mod scores;
mod screen;
mod serve;
mod store;
mod stored;
mod text;
mod try_player;
mod verify;
mod watch;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{FromArgMatches as _, Parser, Subcommand, ValueEnum};

use failure::CommandError;
use screen::Screen;

pub use text::paragraph;

/// A league of agents that meet over MCP and play.
#[derive(Debug, Parser)]
#[command(name = "league", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<CliCommand>,
    /// Without a command, `league run`.
    #[command(flatten)]
    run: run::RunArgs,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    Run(run::RunArgs),
    Manager(agent::ManagerArgs),
    Referee(agent::RefereeArgs),
    Player(agent::PlayerArgs),
    Admin(admin::AdminArgs),
    Watch(watch::WatchArgs),
    Query(query::QueryArgs),
    Check(check::CheckArgs),
    Play(play::PlayArgs),
    Try(try_player::TryArgs),
    Lab(lab::LabArgs),
    Explain(explain::ExplainArgs),
    Games(games::GamesArgs),
    Plan(plan::PlanArgs),
    Completions(help::CompletionsArgs),
    New(new::NewArgs),
    Leagues(leagues::LeaguesArgs),
    Db(db::DbArgs),
    Verify(verify::VerifyArgs),
    Export(export::ExportArgs),
    Serve(serve::ServeArgs),
    #[command(hide = true)]
    Keep(keep::KeepArgs),
}

/// Output formats of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for programs.
    Json,
}

/// How a command ended, if it did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Done, or the answer is yes.
    Yes,
    /// It ran, and the answer is no.
    No,
    /// Nothing is wrong with a league, but records of it are missing.
    Incomplete,
    /// Interrupted; the last line says how to go on.
    Interrupted,
    /// The manager takes registrations for another league: the same command joins it.
    NextLeague,
}

/// Reads the arguments, runs the command, and exits with its code.
pub fn main() -> ExitCode {
    // Not locked: an agent on a pipe answers from other threads.
    ExitCode::from(run(
        std::env::args_os(),
        &mut io::stdout(),
        &mut io::stderr(),
    ))
}

/// Runs the command of the arguments, the first of which is the program; gives the exit code.
pub(crate) fn run<A: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = A>,
    out: &mut impl Write,
    errors: &mut impl Write,
) -> u8 {
    let (out, errors) = (&mut Screen::new(out), &mut Screen::new(errors));
    let mut command = help::command();
    let read = command.try_get_matches_from_mut(arguments);
    let read = read
        .and_then(|read| Cli::from_arg_matches(&read).map_err(|error| error.format(&mut command)));
    let arguments = match read {
        Ok(arguments) => arguments,
        Err(error) => {
            // There is nothing left to do if even this cannot be printed.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let ended = match arguments.command.as_ref() {
        None => arguments.run.run(out),
        Some(command) => command.run(out),
    };
    match ended.and_then(|answer| out.flush().map(|()| answer).map_err(CommandError::from)) {
        Ok(Exit::Yes) => 0,
        Ok(Exit::No) => 1,
        Ok(Exit::Incomplete) => 4,
        Ok(Exit::Interrupted) => 130,
        Ok(Exit::NextLeague) => run_again(errors),
        Err(failure) => failure.print(errors),
    }
}

/// Runs the command of this process once more, with all that it began ended.
fn run_again(errors: &mut impl Write) -> u8 {
    let program = std::env::current_exe();
    let again = program.map(|program| {
        let mut again = std::process::Command::new(program);
        again.args(std::env::args_os().skip(1));
        again
    });
    #[cfg(unix)]
    let ended = again.and_then(|mut again| {
        use std::os::unix::process::CommandExt as _;
        // It returns only if it fails.
        Err::<u8, _>(again.exec())
    });
    #[cfg(not(unix))]
    let ended = again.and_then(|mut again| again.status()).map(|status| {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        code.unwrap_or(1)
    });
    ended.unwrap_or_else(|error| {
        let _ = writeln!(
            errors,
            "could not join the next league: {error}; start the agent again"
        );
        3
    })
}

impl CliCommand {
    fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        match self {
            Self::Run(run) => run.run(out),
            Self::Manager(manager) => manager.run(out),
            Self::Referee(referee) => referee.run(out),
            Self::Player(player) => player.run(out),
            Self::Admin(admin) => admin.run(out),
            Self::Watch(watch) => watch.run(out),
            Self::Query(query) => query.run(out),
            Self::Check(check) => check.run(out),
            Self::Play(play) => play.run(out),
            Self::Try(tried) => tried.run(out),
            Self::Lab(lab) => lab.run(out),
            Self::Explain(explain) => explain.run(out),
            Self::Games(games) => games.run(out),
            Self::Plan(plan) => plan.run(out),
            Self::Completions(completions) => completions.run(out),
            Self::New(new) => new.run(out),
            Self::Leagues(leagues) => leagues.run(out),
            Self::Db(db) => db.run(out),
            Self::Verify(verify) => verify.run(out),
            Self::Export(export) => export.run(out),
            Self::Serve(serve) => serve.run(out),
            Self::Keep(keep) => keep.run(),
        }
    }
}
