//! What can go wrong with a journal, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use league_protocol::token::hex;
use thiserror::Error;

use super::line::LONGEST_LINE;
use super::scan::MOST_IN_A_BATCH;

/// Why facts could not be kept or read.
#[derive(Debug, Error)]
pub(crate) enum StoreError {
    /// The file system refused.
    #[error("could not {doing} `{}`", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The disk is full.
    #[error("no space is left for `{}`", path.display())]
    Full {
        /// Which file could not grow.
        path: PathBuf,
    },
    /// Another process writes this journal.
    #[error("`{}` is already written by {}", path.display(), holder(*pid))]
    Held {
        /// Which journal.
        path: PathBuf,
        /// Who has it, if it has said so.
        pid: Option<u32>,
    },
    /// A line of the journal is not what was written.
    #[error("`{}` is damaged in line {line}: {damage}", path.display())]
    Damaged {
        /// Which journal.
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// Where the line begins, in bytes.
        offset: u64,
        /// What is wrong.
        damage: Damage,
    },
    /// A fact has no written form; nothing was written.
    #[error("a fact cannot be written")]
    Fact(#[source] serde_json::Error),
    /// A fact is longer than a line may be; nothing was written.
    #[error("a fact takes `{0}` bytes, and a line has at most `{LONGEST_LINE}`")]
    TooLong(usize),
    /// More facts than are written at once; nothing was written.
    #[error("`{0}` facts at once are too many, at most `{MOST_IN_A_BATCH}` are written")]
    TooMany(usize),
    /// An earlier write failed, and what the file holds is not known.
    #[error("an earlier write to `{}` failed, so nothing more is written", path.display())]
    Failed {
        /// Which journal.
        path: PathBuf,
    },
}

impl StoreError {
    pub(super) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if source.kind() == io::ErrorKind::StorageFull {
            return Self::Full { path };
        }
        Self::Io {
            doing,
            path,
            source,
        }
    }

    /// What helps, in one sentence for people.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Io { .. } => "check the disk and the permissions, then start again".to_owned(),
            Self::Full { .. } => "free some space, then start again".to_owned(),
            Self::Held { .. } => "stop that process, or choose another `--root`".to_owned(),
            Self::Damaged { line, offset, .. } => format!(
                "put a copy in its place; without one, keep the file for inquiry and cut it \
                 before line {line} with `truncate -s {offset}`, which forgets all that follows"
            ),
            Self::Fact(_) | Self::TooLong(_) | Self::TooMany(_) => {
                "this is a fault of the program; please report it".to_owned()
            }
            Self::Failed { .. } => "start again: what is kept will be read anew".to_owned(),
        }
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(
        || "another process".to_owned(),
        |pid| format!("process `{pid}`"),
    )
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Damage {
    /// It does not begin and end as lines do.
    #[error("this is not a line of a journal")]
    Form,
    /// Some of it changed after it was written.
    #[error("the checksum is `{found:08x}`, and that of the content is `{expected:08x}`")]
    Checksum {
        /// What follows from the content.
        expected: u32,
        /// What the line says.
        found: u32,
    },
    /// The content is whole and yet cannot be read.
    #[error("the content cannot be read: {0}")]
    Content(String),
    /// Lines are missing, doubled or in another order.
    #[error("the sequence is `{found}`, expected `{expected}`")]
    Sequence {
        /// What follows the line before.
        expected: u64,
        /// What the line says.
        found: u64,
    },
    /// The line before is not the one that stood there when this one was written.
    #[error(
        "the hash of the line before is told as `{}`, and it is `{}`",
        hex(found),
        hex(expected)
    )]
    Chain {
        /// The hash of the line before.
        expected: [u8; 32],
        /// What the line says.
        found: [u8; 32],
    },
    /// The lines that were written at once do not add up.
    #[error("`{found}` more of its batch are to follow, expected `{expected}`")]
    Batch {
        /// What follows from the line before.
        expected: u32,
        /// What the line says.
        found: u32,
    },
    /// It goes on and on.
    #[error("the line is longer than `{LONGEST_LINE}` bytes")]
    TooLong,
}

impl Damage {
    /// Whether a write that was cut short can look like this.
    pub(super) fn is_tear(&self) -> bool {
        matches!(self, Self::Form | Self::Checksum { .. })
    }
}
