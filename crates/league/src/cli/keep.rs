//! `league keep`: runs a bot within limits, and ends it with everything that it started.
//!
//! Not for people: `league player --exec` starts it. See [`crate::agents::bot`].

use std::convert::Infallible;
use std::io::{self, Write};
use std::process::ExitStatus;

use clap::Args;
use rustix::process::{
    Resource, Rlimit, Signal, getppid, getrlimit, kill_current_process_group,
    set_parent_process_death_signal, setrlimit,
};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use crate::agents::bot::{ENDED, LAZY_MEMORY};
use crate::cli::Exit;
use crate::cli::failure::CommandError;

/// Run a bot within limits
#[derive(Debug, Clone, Args)]
pub(crate) struct KeepArgs {
    /// The process that the bot plays for
    #[arg(long)]
    parent: i32,
    /// Memory, in bytes
    #[arg(long)]
    memory: u64,
    /// Time on a processor, in seconds
    #[arg(long)]
    cpu: u64,
    /// Open files
    #[arg(long)]
    files: u64,
    /// The largest file it may write, in bytes
    #[arg(long)]
    file_size: u64,
    /// The bot's program and its arguments
    #[arg(last = true, required = true)]
    words: Vec<String>,
}

impl KeepArgs {
    /// Ends with its whole process group, so it returns only an error.
    pub(crate) fn run(&self) -> Result<Exit, CommandError> {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let kept = { runtime }
            .enable_all()
            .build()
            .and_then(|runtime| runtime.block_on(self.keep()));
        match kept {
            Ok(never) => match never {},
            Err(error) => Err(CommandError::world(
                format!("could not start the bot `{}`", self.words.join(" ")),
                error.to_string(),
                "give a program that can be started, such as `python3 bot.py`",
            )),
        }
    }

    async fn keep(&self) -> io::Result<Infallible> {
        let mut told_to_end = signal(SignalKind::terminate())?;
        set_parent_process_death_signal(Some(Signal::TERM))?;
        if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != self.parent) {
            // The parent is gone already, and no signal will follow.
            return end_group();
        }
        self.take_limits()?;
        let program = self.words.first().map(String::as_str).unwrap_or_default();
        let arguments = self.words.iter().skip(1);
        let mut bot = Command::new(program)
            .args(arguments)
            .env_remove(LAZY_MEMORY)
            .spawn()?;
        tokio::select! {
            _ = told_to_end.recv() => {}
            ended = bot.wait() => tell(ended),
        }
        end_group()
    }

    /// Sets the limits; processes started from here inherit them.
    fn take_limits(&self) -> io::Result<()> {
        for (resource, most) in [
            // Data, not address space: some runtimes reserve far more than they use.
            (Resource::Data, self.memory),
            (Resource::Cpu, self.cpu),
            (Resource::Nofile, self.files),
            (Resource::Fsize, self.file_size),
            (Resource::Core, 0),
        ] {
            let held = getrlimit(resource).maximum;
            let most = Some(held.map_or(most, |held| held.min(most)));
            let limit = Rlimit {
                current: most,
                maximum: most,
            };
            setrlimit(resource, limit)?;
        }
        Ok(())
    }
}

/// Prints how the bot ended; the reader may be gone.
fn tell(ended: io::Result<ExitStatus>) {
    let mut complaints = io::stderr();
    let _ = match ended {
        Ok(status) => writeln!(complaints, "{ENDED}{status}"),
        Err(error) => writeln!(complaints, "the bot is lost: {error}"),
    };
}

/// Ends everything that the bot has started, and this process with it.
fn end_group() -> io::Result<Infallible> {
    kill_current_process_group(Signal::KILL)?;
    Err(io::Error::other("the group could not be ended"))
}
