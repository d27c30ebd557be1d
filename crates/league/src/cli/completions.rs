//! `league completions`: what a shell needs to complete commands and options.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::{Generator, Shell};

use crate::cli::failure::Failure;
use crate::cli::{Answer, Arguments};

/// Print a script with which a shell completes `league`
///
/// What to do with the script depends on the shell; the examples are the usual places.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league completions bash > ~/.local/share/bash-completion/completions/league
  league completions zsh > ~/.zfunc/_league    with ~/.zfunc in fpath
  league completions fish > ~/.config/fish/completions/league.fish
  source <(league completions bash)            for this session only")]
pub(crate) struct Completions {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let mut command = Arguments::command();
        command.set_bin_name(command.get_name().to_owned());
        command.build();
        self.shell.try_generate(&command, out)?;
        Ok(Answer::Yes)
    }
}
