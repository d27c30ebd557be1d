//! `league completions`: a script for a shell that completes commands and options.

use std::io::Write;

use clap::Args;
use clap_complete::{Generator, Shell};

use crate::cli::failure::CommandError;
use crate::cli::{Exit, help};

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
        let mut command = help::command();
        command.set_bin_name(command.get_name().to_owned());
        command.build();
        self.shell.try_generate(&command, out)?;
        Ok(Exit::Yes)
    }
}
