//! Errors of commands: what failed, the cause, a hint, and the exit code.

use std::error::Error;
use std::io::{self, Write};

use crate::agents::assemble::StartError;
use crate::config::ConfigError;
use crate::http::descriptors::TooFewDescriptors;
use crate::storage::secrets::SecretError;
use crate::storage::store::{JOURNAL_HINT, StoreError};

/// A command that could not do its work: what failed, the cause, and what to do about it.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// Such as `could not read …`.
    what: String,
    cause: String,
    hint: String,
    kind: ErrorKind,
}

/// Decides the exit code of a failed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorKind {
    /// The command was used wrongly.
    Usage,
    /// A disk, a port or a peer failed.
    World,
    /// A manager did not admit the agent.
    Rejected,
    /// The command ran, and the answer is no.
    Refused,
    /// The reader of our output went away; there is nothing to print.
    ReaderGone,
}

impl CommandError {
    fn new(
        kind: ErrorKind,
        what: impl Into<String>,
        cause: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (what, cause, hint) = (what.into(), cause.into(), hint.into());
        Self {
            what,
            cause,
            hint,
            kind,
        }
    }

    /// The command was used wrongly: exit code 2.
    pub(crate) fn usage(
        what: impl Into<String>,
        cause: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(ErrorKind::Usage, what, cause, hint)
    }

    /// A disk, a port or a peer failed: exit code 3.
    pub(crate) fn world(
        what: impl Into<String>,
        cause: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(ErrorKind::World, what, cause, hint)
    }

    /// The command ran, and the answer is no: exit code 1.
    pub(crate) fn refused(
        what: impl Into<String>,
        cause: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(ErrorKind::Refused, what, cause, hint)
    }

    /// A manager did not admit the agent: exit code 3.
    pub(crate) fn rejected(reason: &str) -> Self {
        let hint = match reason.strip_prefix("Registration closed") {
            Some(why) if why.is_empty() || why.starts_with(": the league has begun") => {
                "wait for the next league of this manager"
            }
            _ => "correct the cause and start the agent again",
        };
        let what = "the league manager did not admit this agent";
        Self::new(ErrorKind::Rejected, what, reason, hint)
    }

    pub(crate) fn is_rejection(&self) -> bool {
        self.kind == ErrorKind::Rejected
    }

    /// The same error as wrong use, if it is.
    pub(crate) fn usage_if(self, wrong_use: bool) -> Self {
        if wrong_use {
            let kind = ErrorKind::Usage;
            return Self { kind, ..self };
        }
        self
    }

    /// Prints the error and gives its exit code.
    pub(crate) fn print(&self, errors: &mut impl Write) -> u8 {
        let Self {
            what, cause, hint, ..
        } = self;
        if self.kind != ErrorKind::ReaderGone {
            // There is nothing left to do if even this cannot be printed.
            let _ = write!(errors, "error: {what}\n  cause: {cause}\nhint: {hint}\n");
        }
        match self.kind {
            ErrorKind::Refused => 1,
            ErrorKind::Usage => 2,
            ErrorKind::World | ErrorKind::Rejected => 3,
            ErrorKind::ReaderGone => 0,
        }
    }

    /// Adds detail to the cause.
    pub(crate) fn with_cause(self, detail: impl FnOnce(String) -> String) -> Self {
        let cause = detail(self.cause);
        Self { cause, ..self }
    }
}

/// The output could not be written.
impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        let gone = error.kind() == io::ErrorKind::BrokenPipe;
        let kind = if gone {
            ErrorKind::ReaderGone
        } else {
            ErrorKind::World
        };
        let hint = "check the disk or the program that reads the output";
        Self::new(kind, "could not write the output", error.to_string(), hint)
    }
}

/// Lets a command keep its answer if the reader of its output went away before the end.
pub(crate) fn unless_reader_gone(printed: io::Result<()>) -> io::Result<()> {
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// An error with all its causes, in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.ends_with(&cause) {
            text
        } else {
            format!("{text}: {cause}")
        }
    })
}

/// The hint for an agent that could not start; `flags` make it a different agent.
pub(crate) fn start_hint(error: &StartError, flags: &str) -> String {
    let hint = match error {
        StartError::Store(StoreError::Held { .. }) => {
            return format!("stop the other process, or start another agent with {flags}");
        }
        StartError::Store(error @ (StoreError::Damaged { .. } | StoreError::Database(_))) => {
            return error.hint();
        }
        StartError::Behind { .. } => JOURNAL_HINT,
        StartError::Secret(SecretError::Missing { .. } | SecretError::Another { .. }) => {
            "restore `secrets` as it was when the league began; without it no round can begin"
        }
        StartError::Store(_) | StartError::Secret(_) => {
            "choose a folder with write permission with `--root`"
        }
        StartError::Foreign { .. } => "choose another id or another `--root`",
        StartError::Rules(_) => "correct the league's file under `config/leagues`",
        StartError::Lever(_) => "correct `--roster` or `--registration-until`",
    };
    hint.to_owned()
}

/// The configuration cannot be used.
pub(crate) fn bad_config(error: ConfigError) -> CommandError {
    let what = "could not use the configuration";
    let hint = error.hint();
    let hint = hint.unwrap_or_else(|| "correct the file, or delete it to get a new one".into());
    match error {
        ConfigError::Unreadable { .. } | ConfigError::Unwritable { .. } => {
            CommandError::world(what, chain(&error), hint)
        }
        error => CommandError::usage(what, chain(&error), hint),
    }
}

/// The system allows this process too few descriptors.
pub(crate) fn too_few_descriptors(error: &TooFewDescriptors) -> CommandError {
    let hint = format!(
        "raise the limit with `ulimit -n {}` and start again, or start fewer agents in one process",
        error.needed
    );
    CommandError::world("could not start", error.to_string(), hint)
}

/// A port cannot be listened on; `hint` helps if the port itself is the problem.
pub(crate) fn port_error(
    what: impl Into<String>,
    port: u16,
    error: &io::Error,
    hint: &str,
) -> CommandError {
    let cause = match error.kind() {
        io::ErrorKind::AddrInUse => format!("port {port} is in use"),
        _ => format!("port {port}: {error}"),
    };
    let hint = match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            "name an address of this machine with `--bind`, or as `security.bind` in \
             config/system.json"
        }
        _ => hint,
    };
    CommandError::world(what, cause, hint)
}
