//! What went wrong, the cause, and what helps.

use std::io::{self, Write};

use crate::agents::assemble::StartError;
use crate::config::ConfigError;
use crate::storage::secrets::SecretError;
use crate::storage::store::StoreError;

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What could not be done: `could not read …`.
    pub(crate) what: String,
    /// Why.
    pub(crate) cause: String,
    /// What to do about it.
    pub(crate) hint: String,
    /// Whose fault it is.
    pub(crate) kind: Kind,
}

/// Whose fault a failure is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command was used wrongly.
    Use,
    /// The world failed: a disk, a port, a peer.
    World,
    /// It was asked, and the answer is no.
    No,
    /// Whoever read our output went away; nothing to tell.
    ReaderGone,
}

impl Failure {
    /// Prints the failure and gives its exit code.
    pub(crate) fn print(&self, errors: &mut impl Write) -> u8 {
        if self.kind != Kind::ReaderGone {
            let Self {
                what, cause, hint, ..
            } = self;
            // Nothing is left to be done if even this cannot be printed.
            let _ = write!(errors, "error: {what}\n  cause: {cause}\nhint: {hint}\n");
        }
        match self.kind {
            Kind::No => 1,
            Kind::Use => 2,
            Kind::World => 3,
            Kind::ReaderGone => 0,
        }
    }
}

/// A failure to print.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let gone = error.kind() == io::ErrorKind::BrokenPipe;
        Self {
            what: "could not write the output".to_owned(),
            cause: error.to_string(),
            hint: "check the disk or the program that reads the output".to_owned(),
            kind: if gone { Kind::ReaderGone } else { Kind::World },
        }
    }
}

/// An error with all its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |told, cause| {
        let cause = cause.to_string();
        if told.ends_with(&cause) {
            told
        } else {
            format!("{told}: {cause}")
        }
    })
}

/// What helps an agent that could not start; `other` names the flags that make it another agent.
pub(crate) fn start_hint(error: &StartError, other: &str) -> String {
    match error {
        StartError::Store(StoreError::Held { .. }) => {
            format!("stop the other one, or choose another with {other}")
        }
        StartError::Store(StoreError::Damaged { .. }) => {
            "restore the file from a copy; `league verify` shows what is wrong".to_owned()
        }
        StartError::Secret(SecretError::Missing { .. } | SecretError::Another { .. }) => {
            "restore `secrets` as it was when the league began; without it no round can begin"
                .to_owned()
        }
        StartError::Lost { .. } => "restore the journal; for a new league move its folder under `data/leagues` away, or name another with `--league-id`".to_owned(),
        StartError::Store(_) | StartError::Secret(_) => {
            "choose a folder that can be written with `--root`".to_owned()
        }
        StartError::Foreign { .. } => "choose another id, or another `--root`".to_owned(),
        StartError::Rules(_) => "mend the league's file under `config/leagues`".to_owned(),
    }
}

/// A configuration that cannot be used.
pub(crate) fn bad_config(error: ConfigError) -> Failure {
    let hint = error.hint();
    let world = matches!(
        error,
        ConfigError::Unreadable { .. } | ConfigError::Unwritable { .. }
    );
    Failure {
        what: "could not use the configuration".to_owned(),
        cause: chain(&error),
        hint: hint.unwrap_or_else(|| "mend the file, or remove it to have it written anew".into()),
        kind: if world { Kind::World } else { Kind::Use },
    }
}

/// What helps where nothing can be listened on.
pub(crate) fn port_hint(error: &io::Error, else_hint: &str) -> String {
    let hint = match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            "name an address of this machine with `--bind`, or `security.bind` in config/system.json"
        }
        _ => else_hint,
    };
    hint.to_owned()
}
