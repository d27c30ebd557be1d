//! The command line: one file a command.

mod explain;
mod failure;
mod schema;
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use failure::Failure;

/// A league of agents that meet over MCP and play.
#[derive(Debug, Parser)]
#[command(name = "league", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  league explain message.json              say what a message is and what is wrong with it
  league explain - < message.json          the same from standard input
  league explain --strict --output json -  for machines, forgiving nothing
  league schema GAME_INVITATION            the JSON Schema of a message
  league schema --dialect v1 > v1.json     of every message of a dialect
  league verify SHARED                     work out a league again from its journal";

#[derive(Debug, Subcommand)]
enum Command {
    Explain(explain::Explain),
    Schema(schema::Schema),
    Verify(verify::Verify),
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
}

/// Reads the arguments, runs the command, and tells how it ended.
pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = io::stdout().lock();
    let ended = match &arguments.command {
        Command::Explain(explain) => explain.run(&mut out),
        Command::Schema(schema) => schema.run(&mut out),
        Command::Verify(verify) => verify.run(&mut out),
    };
    match ended.and_then(|answer| out.flush().map(|()| answer).map_err(Failure::from)) {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(failure) => failure.tell(),
    }
}
