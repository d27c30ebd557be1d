//! The files under `data/`: what stands in them, and how they are read and replaced.
//!
//! Each file has a document type and a repository (000 §10.5). Every document carries
//! `schema_version`, an id, `last_updated` and `version`, the number of the last journal entry that
//! it reflects. The files are made from journals and never read back as truth; making the documents
//! is left to [`projection`](crate::storage::projection).

mod history;
mod matches;
mod rounds;
mod standings;

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::files::{self, read_bounded};

pub use history::{HistoryDocument, PlayerHistoryRepository};
pub use matches::{DrawDocument, Lifecycle, MatchDocument, MatchRepository};
pub use rounds::{
    MatchEntry, ResultEntry, RoundEntry, RoundStatus, RoundsDocument, RoundsRepository,
};
pub use standings::{StandingEntry, StandingsDocument, StandingsRepository};

/// The form of all these files.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1024 * 1024 * 1024;

/// Why a file cannot be had or put in place.
#[derive(Debug, Error)]
pub enum RepositoryError {
    /// It is there and cannot be read.
    #[error("could not read `{}`", file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// It cannot be put in place.
    #[error("could not write `{}`", file.display())]
    Unwritable {
        /// Which file.
        file: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// It does not hold what it should.
    #[error("`{}` does not hold what it should", file.display())]
    WrongForm {
        /// Which file.
        file: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
}

/// Reads a document; `None` if there is no such file.
pub(crate) fn load<T: DeserializeOwned>(file: &Path) -> Result<Option<T>, RepositoryError> {
    let text = match read_bounded(file, MAX_FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => {
            let file = file.to_owned();
            return Err(RepositoryError::Unreadable { file, source });
        }
    };
    let document = serde_json::from_slice(&text);
    document
        .map(Some)
        .map_err(|source| RepositoryError::WrongForm {
            file: file.to_owned(),
            source,
        })
}

/// Puts a document in the place of its former self.
pub(crate) fn save(file: &Path, document: &impl Serialize) -> Result<(), RepositoryError> {
    files::replace(file, &files::pretty(document)).map_err(|source| unwritable(file, source))
}

fn unwritable(file: &Path, source: io::Error) -> RepositoryError {
    RepositoryError::Unwritable {
        file: file.to_owned(),
        source,
    }
}
