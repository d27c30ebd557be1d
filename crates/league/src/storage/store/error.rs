//! The errors of a journal, with hints.

use std::io;
use std::path::{Path, PathBuf};

use league_protocol::token::hex;
use thiserror::Error;

use super::line::MAX_LINE;
use super::scan::MAX_BATCH;
use crate::storage::database::DatabaseError;

/// Why facts could not be stored or read.
#[derive(Debug, Error)]
pub(crate) enum StoreError {
    /// A file operation failed.
    #[error("could not {doing} `{}`", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The disk is full.
    #[error("no space is left for `{}`", path.display())]
    Full {
        /// The file that cannot grow.
        path: PathBuf,
    },
    /// Another process writes this journal.
    #[error("`{}` is already written by {}", path.display(), holder(*pid))]
    Held {
        path: PathBuf,
        /// The process that holds it, if known.
        pid: Option<u32>,
    },
    /// A line of the journal is damaged.
    #[error("`{}` is damaged in line {line}: {damage}", path.display())]
    Damaged {
        path: PathBuf,
        /// Which line, from 1.
        line: u64,
        /// The offset of the line, in bytes.
        offset: u64,
        damage: Damage,
    },
    /// A fact cannot be serialised; nothing was written.
    #[error("a fact cannot be written")]
    Fact(#[source] serde_json::Error),
    /// A fact exceeds the maximum length of a line; nothing was written.
    #[error("a fact takes `{0}` bytes, and a line has at most `{MAX_LINE}`")]
    TooLong(usize),
    /// There are more facts than a batch may hold; nothing was written.
    #[error("`{0}` facts at once are too many, at most `{MAX_BATCH}` are written")]
    TooMany(usize),
    /// The database, which has the journal too, refused or was replaced.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// An earlier write failed, so the content of the file is unknown.
    #[error("an earlier write to `{}` failed, so nothing more is written", path.display())]
    Failed {
        /// The journal.
        path: PathBuf,
    },
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
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

    /// What to do about it, in one sentence for people.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Io { .. } => "check the disk and the permissions, then start again".to_owned(),
            Self::Full { .. } => "free some space, then start again".to_owned(),
            Self::Held { .. } => "stop that process, or choose another `--root`".to_owned(),
            Self::Damaged { path, .. } if is_of_manager(path) => JOURNAL_HINT.to_owned(),
            Self::Damaged { line, offset, .. } => format!(
                "put back a backup of it; without one, cut it before line {line} with \
                 `truncate -s {offset}`: the agent forgets what follows"
            ),
            Self::Fact(_) | Self::TooLong(_) | Self::TooMany(_) => {
                "this is a fault of the program; please report it".to_owned()
            }
            Self::Database(error) => error.hint().to_owned(),
            Self::Failed { .. } => "start again: what is kept will be read anew".to_owned(),
        }
    }
}

/// What to do about a league whose journal is damaged, or lacks lines that other files know of.
pub(crate) const JOURNAL_HINT: &str = "put back a backup of the league's folder; without one, \
    `league manager --next` begins a fresh league with the same agents, and `league export DIR` \
    writes what is whole of this one";

/// Whether a journal is that of a league, and not of an agent that its peers remind of what it lost.
fn is_of_manager(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::parent);
    folder.is_some_and(|folder| folder.ends_with("leagues"))
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
    /// It does not have the form of a journal line.
    #[error("this is not a line of a journal")]
    Form,
    /// It was changed after it was written.
    #[error("the checksum is `{found:08x}`, and that of the content is `{expected:08x}`")]
    Checksum {
        /// The checksum of the content.
        expected: u32,
        /// The checksum in the line.
        found: u32,
    },
    /// The checksum is right, but the content cannot be decoded.
    #[error("the content cannot be read: {0}")]
    Content(String),
    /// Lines are missing, duplicated or in another order.
    #[error("the sequence is `{found}`, expected `{expected}`")]
    Sequence {
        /// The successor of the previous line.
        expected: u64,
        /// The number in the line.
        found: u64,
    },
    /// The previous line is not the same as when this line was written.
    #[error(
        "the hash of the line before is told as `{}`, and it is `{}`",
        hex(found),
        hex(expected)
    )]
    Chain {
        /// The hash of the previous line.
        expected: [u8; 32],
        /// The hash in the line.
        found: [u8; 32],
    },
    /// The lines of a batch do not add up.
    #[error("`{found}` more of its batch are to follow, expected `{expected}`")]
    Batch {
        /// The count that follows from the previous line.
        expected: u32,
        /// The count in the line.
        found: u32,
    },
    /// It exceeds the maximum length.
    #[error("the line is longer than `{MAX_LINE}` bytes")]
    TooLong,
}

impl Damage {
    /// Whether an interrupted write can cause this damage.
    pub(super) fn is_tear(&self) -> bool {
        matches!(self, Self::Form | Self::Checksum { .. })
    }
}
