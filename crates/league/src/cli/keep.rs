//! `league keep`: stands between a league and a bot, holds its limits, and ends all of it.
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

use crate::cli::Answer;
use crate::cli::failure::{Failure, Kind};

/// Hold a bot within its limits
#[derive(Debug, Clone, Args)]
pub(crate) struct Keep {
    /// The process that the bot plays for
    #[arg(long)]
    parent: i32,
    /// Memory that it fills, in bytes
    #[arg(long)]
    memory: u64,
    /// Time on a processor, in seconds
    #[arg(long)]
    cpu: u64,
    /// Open files
    #[arg(long)]
    files: u64,
    /// The largest file that it writes, in bytes
    #[arg(long)]
    file_size: u64,
    /// The bot's program and its arguments
    #[arg(last = true, required = true)]
    words: Vec<String>,
}

impl Keep {
    /// Ends with the whole group, so that nothing is ever returned but a failure.
    pub(crate) fn run(&self) -> Result<Answer, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let kept = { runtime }
            .enable_all()
            .build()
            .and_then(|runtime| runtime.block_on(self.keep()));
        match kept {
            Ok(never) => match never {},
            Err(error) => Err(Failure {
                what: format!("could not start the bot `{}`", self.words.join(" ")),
                cause: error.to_string(),
                hint: "give a program that can be started, such as `python3 bot.py`".to_owned(),
                kind: Kind::World,
            }),
        }
    }

    async fn keep(&self) -> io::Result<Infallible> {
        let mut told_to_end = signal(SignalKind::terminate())?;
        set_parent_process_death_signal(Some(Signal::TERM))?;
        if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != self.parent) {
            // Whoever started us is gone already, and no signal will tell.
            return end_group();
        }
        self.take_limits()?;
        let program = self.words.first().map(String::as_str).unwrap_or_default();
        let arguments = self.words.iter().skip(1);
        let mut bot = Command::new(program).args(arguments).spawn()?;
        tokio::select! {
            _ = told_to_end.recv() => {}
            ended = bot.wait() => tell(ended),
        }
        end_group()
    }

    /// Takes the limits; whatever is started from here has them too.
    fn take_limits(&self) -> io::Result<()> {
        for (resource, most) in [
            // What is only reserved does not count: some runtimes reserve far more than they use.
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

/// Tells how the bot ended; nobody may be left to hear it.
fn tell(ended: io::Result<ExitStatus>) {
    let mut complaints = io::stderr();
    let _ = match ended {
        Ok(status) => writeln!(complaints, "the bot has ended: {status}"),
        Err(error) => writeln!(complaints, "the bot is lost: {error}"),
    };
}

/// Ends everything that the bot has started, and this process with it.
fn end_group() -> io::Result<Infallible> {
    kill_current_process_group(Signal::KILL)?;
    Err(io::Error::other("the group could not be ended"))
}
