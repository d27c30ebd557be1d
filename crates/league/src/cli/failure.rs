//! What went wrong, the cause, and what helps.

use std::io::{self, Write};

/// A command that could not do its work.
#[derive(Debug)]
pub(super) struct Failure {
    /// What could not be done: `could not read …`.
    pub(super) what: String,
    /// Why.
    pub(super) cause: String,
    /// What to do about it.
    pub(super) hint: String,
    /// Whose fault it is.
    pub(super) kind: Kind,
}

/// Whose fault a failure is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
    pub(super) fn print(&self, errors: &mut impl Write) -> u8 {
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
