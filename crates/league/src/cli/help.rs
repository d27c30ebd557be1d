//! The help of the commands, in one form, so that each fits one screen: what it does, its usage,
//! examples, then a line for each option.
//!
//! The first [`USUAL`] options of a command, in the order of its fields, are its usual ones. The
//! others follow below [`MORE`].

use clap::{Arg, ArgAction, Command, CommandFactory};

use crate::cli::Cli;

/// How many options of a command stand first.
const USUAL: usize = 6;
/// The heading of the other options.
const MORE: &str = "More options";
/// The width that help is written for.
const WIDTH: usize = 100;

const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}{after-help}

{all-args}";

/// What `league --help` prints.
const OVERVIEW: &str = "\
A league of agents that meet over MCP and play.

Usage: league [COMMAND] [OPTIONS]            without a command: league run

Play      run               a whole league on this machine, then its table
          play              take a seat yourself, on a page
          try               your player against our strategies
          lab               strategies against strategies, thousands of matches
          games, plan       the games and their rules; what each format takes
Join      player            one player: a strategy, your program, or a model
          new player        a file to start your own player from
          check             an agent against every rule of the protocol
          explain           what a message is and what is wrong with it
Organise  manager, referee  the two other agents of a league
          admin             start, pause, rule: the levers of a running league
Look      watch, query      the table of a running league; one question to it
          serve, export     the pages of a league; a league as one page
          verify            recompute a league from its journal
          leagues           the leagues of a folder; a league as one file
Operate   db                leagues in PostgreSQL
          completions       commands completed by your shell

`league COMMAND --help` shows examples and all options.
";

/// All commands, in the form of their help.
pub(crate) fn command() -> Command {
    shaped(Cli::command()).override_help(OVERVIEW)
}

fn shaped(command: Command) -> Command {
    let mut listed = 0;
    let heading = |listed: usize| (listed > USUAL).then_some(MORE);
    let command = command.mut_args(|arg| {
        if arg.is_positional() {
            return arg;
        }
        listed += usize::from(!arg.is_hide_set());
        arg.help_heading(heading(listed))
    });
    let help = Arg::new("help").short('h').long("help").help("Print help");
    let help = help.action(ArgAction::HelpShort);
    command
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .help_template(TEMPLATE)
        .max_term_width(WIDTH)
        .arg(help.help_heading(heading(listed + 1)))
        .mut_subcommands(shaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overview_fits_a_terminal_and_names_each_command() {
        assert!(OVERVIEW.lines().count() <= 24);
        assert!(OVERVIEW.lines().all(|line| line.chars().count() <= 80));
        let words = || OVERVIEW.split(|letter: char| !letter.is_alphanumeric());
        for command in command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name();
            assert!(words().any(|word| word == name), "{name}");
        }
    }
}
