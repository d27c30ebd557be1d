//! The command line: one file a command.

mod agent;
mod arguments;
mod check;
mod completions;
mod explain;
mod failure;
mod inquiry;
mod keep;
mod leagues;
mod network;
mod new;
mod query;
mod replay;
mod report;
mod run;
mod runtime;
mod schema;
mod scores;
mod serve;
mod start;
mod step;
mod text;
mod verify;
mod watch;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use failure::Failure;

pub use text::paragraph;

/// A league of agents that meet over MCP and play.
#[derive(Debug, Parser)]
#[command(
    name = "league",
    version,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Without a command a league is run.
    #[command(flatten)]
    run: run::Run,
}

const EXAMPLES: &str = "\
Examples:
  league                                   play a league of four, and print the table
  league run --players 8 --pace 3s --web   more players, slow enough to watch
  league run --resume                      go on with a league that was interrupted
  league watch                             the live table of a running league
  league query stats --player P01          ask a running manager
  league check http://localhost:8101/mcp   play every rule against a player, and report
  league explain message.json              say what a message is and what is wrong with it
  league explain - < message.json          the same from standard input
  league explain --strict --output json -  for machines, forgiving nothing
  league schema GAME_INVITATION            the JSON Schema of a message
  league schema --dialect v1 > v1.json     of every message of a dialect
  league new player --lang python          a player of your own to start from
  league completions bash                  what a shell needs to complete these commands
  league verify SHARED                     work out a league again from its journal
  league replay SHARED --match R1M1        what was said in a match
  league serve SHARED                      the pages of a league that is over, or a copy
  league report SHARED -o league.html      the league as one page to send around";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Manager(agent::Manager),
    Referee(agent::Referee),
    Player(agent::Player),
    Start(start::Start),
    Step(step::Step),
    Watch(watch::Watch),
    Query(query::Query),
    Check(check::Check),
    Explain(explain::Explain),
    Schema(schema::Schema),
    Completions(completions::Completions),
    New(new::New),
    Verify(verify::Verify),
    Replay(replay::Replay),
    Serve(serve::Serve),
    Report(report::Report),
    #[command(hide = true)]
    Keep(keep::Keep),
}

/// How a command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line, for machines.
    Json,
}

/// How a command ended, if nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Done, or yes.
    Yes,
    /// It ran, and the answer is no.
    No,
    /// Interrupted, and the last line says how to go on.
    Interrupted,
}

/// Reads the arguments, runs the command, and exits with its code.
pub fn main() -> ExitCode {
    // Not locked: an agent on a pipe answers there from other threads.
    ExitCode::from(run(
        std::env::args_os(),
        &mut io::stdout(),
        &mut io::stderr(),
    ))
}

/// Runs the command that the arguments name, the first of which is the program; gives its code.
pub(crate) fn run<A: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = A>,
    out: &mut impl Write,
    errors: &mut impl Write,
) -> u8 {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nothing is left to be done if even this cannot be printed.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let ended = match arguments.command.as_ref() {
        None => arguments.run.run(out),
        Some(command) => command.run(out),
    };
    match ended.and_then(|answer| out.flush().map(|()| answer).map_err(Failure::from)) {
        Ok(Answer::Yes) => 0,
        Ok(Answer::No) => 1,
        Ok(Answer::Interrupted) => 130,
        Err(failure) => failure.print(errors),
    }
}

impl Command {
    fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        match self {
            Self::Run(run) => run.run(out),
            Self::Manager(manager) => manager.run(out),
            Self::Referee(referee) => referee.run(out),
            Self::Player(player) => player.run(out),
            Self::Start(start) => start.run(out),
            Self::Step(step) => step.run(out),
            Self::Watch(watch) => watch.run(out),
            Self::Query(query) => query.run(out),
            Self::Check(check) => check.run(out),
            Self::Explain(explain) => explain.run(out),
            Self::Schema(schema) => schema.run(out),
            Self::Completions(completions) => completions.run(out),
            Self::New(new) => new.run(out),
            Self::Verify(verify) => verify.run(out),
            Self::Replay(replay) => replay.run(out),
            Self::Serve(serve) => serve.run(out),
            Self::Report(report) => report.run(out),
            Self::Keep(keep) => keep.run(),
        }
    }
}
