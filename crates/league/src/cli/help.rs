//! The help of the commands, and their completion by a shell. Help has one form, so that each fits
//! one screen: what the command does, its usage, examples, then a line for each option.
//!
//! A command with more than [`FEW`] options lists the first [`USUAL`] of them, in the order of its
//! fields, as its usual ones, and the others below [`MORE`].

use std::io::Write;

use clap::{Arg, ArgAction, Args, Command, CommandFactory};
use clap_complete::{Generator, Shell};

use crate::cli::failure::CommandError;
use crate::cli::{Cli, Exit};

/// How many options a command lists in one piece.
const FEW: usize = 10;
/// How many options stand first if there are more.
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

Usage: league COMMAND [OPTIONS]              without a command: `league run`

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
    let is_listed = |arg: &Arg| !arg.is_positional() && !arg.is_hide_set();
    let help = Arg::new("help").short('h').long("help").help("Print help");
    let command = command
        .disable_help_flag(true)
        .disable_help_subcommand(true)
        .help_template(TEMPLATE)
        .max_term_width(WIDTH)
        .arg(help.action(ArgAction::HelpShort));
    let options = command.get_arguments().filter(|arg| is_listed(arg)).count();
    let mut listed = 0;
    let command = command.mut_args(|arg| {
        listed += usize::from(is_listed(&arg));
        let is_other = is_listed(&arg) && options > FEW && listed > USUAL;
        if is_other {
            arg.help_heading(MORE)
        } else {
            arg
        }
    });
    command.mut_subcommands(shaped)
}

/// Print a script that lets a shell complete `league`
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league completions bash > ~/.local/share/bash-completion/completions/league
  league completions zsh > ~/.zfunc/_league    with ~/.zfunc in fpath
  league completions fish > ~/.config/fish/completions/league.fish
  source <(league completions bash)            for this session only")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let mut command = command();
        command.set_bin_name(command.get_name().to_owned());
        command.build();
        self.shell.try_generate(&command, out)?;
        Ok(Exit::Yes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_LINES: usize = 50;
    const MAX_EXAMPLES: usize = 4;

    /// What is wrong with the help of a command.
    fn faults(help: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let lines = help.lines().count();
        if lines > MAX_LINES {
            faults.push(format!("it has {lines} lines"));
        }
        let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1);
        let examples = examples.take_while(|line| !line.is_empty()).count();
        if !(1..=MAX_EXAMPLES).contains(&examples) {
            faults.push(format!("it has {examples} lines of examples"));
        }
        let sections = help.split("\n\n").skip(3).flat_map(str::lines);
        let is_continued = |line: &&str| line.starts_with("          ") && !line.contains("  --");
        for line in sections.filter(is_continued) {
            faults.push(format!("`{}` needs a shorter sentence", line.trim()));
        }
        faults
    }

    fn all() -> Command {
        let mut all = command().term_width(WIDTH);
        all.build();
        all
    }

    #[test]
    fn help_of_each_command_fits_one_screen_and_has_examples() {
        let mut all = all();
        let commands = all.get_subcommands_mut();
        let mut commands: Vec<_> = commands.filter(|command| !command.is_hide_set()).collect();
        let mut found = Vec::new();
        while let Some(command) = commands.pop() {
            let help = command.render_help().to_string();
            let faults = faults(&help).into_iter();
            let name = command.get_bin_name().unwrap_or_default().to_owned();
            found.extend(faults.map(|fault| format!("{name}: {fault}")));
            // The levers are taught by the examples of `league admin`.
            if name != "league admin" {
                commands.extend(command.get_subcommands_mut());
            }
        }
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn overview_fits_a_terminal_and_names_each_command() {
        assert!(OVERVIEW.lines().count() <= 24);
        assert!(OVERVIEW.lines().all(|line| line.chars().count() <= 80));
        let words = || OVERVIEW.split(|letter: char| !letter.is_alphanumeric());
        for command in all().get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name();
            assert!(words().any(|word| word == name), "{name}");
        }
    }
}
