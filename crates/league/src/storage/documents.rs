//! The files under `data/`: their content, and how they are read and replaced.
//!
//! Each file has a document type and a repository (000 §10.5). Every document carries
//! `schema_version`, an id, `last_updated` and `version`, the number of the last journal entry that
//! it reflects. Pure functions beside each document make it from a journal; no agent takes its
//! state from a document. `publishers` decides when documents are written.

mod history;
mod matches;
mod rounds;
mod standings;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::files::{self, read_bounded};
use super::root::Root;

pub(crate) use history::history;
pub use history::{HistoryDocument, PlayerHistoryRepository};
pub use matches::{
    DrawDocument, Lifecycle, MatchDocument, MatchRepository, MessageText, Seal, TranscriptMessage,
    Verbatim,
};
pub(crate) use matches::{
    MatchChange, MatchesProjection, RoundFile, append_line, for_each_line, result_of,
};
pub(crate) use rounds::RoundsProjection;
pub use rounds::{
    MatchEntry, ResultEntry, RoundEntry, RoundStatus, RoundsDocument, RoundsRepository,
};
pub(crate) use standings::standings;
pub use standings::{StandingEntry, StandingsDocument, StandingsRepository};

/// The schema version of all these files.
pub const SCHEMA_VERSION: &str = "1.0.0";

/// The maximum size of a file, in bytes.
const MAX_FILE: u64 = 1024 * 1024 * 1024;

/// Why a file cannot be read or replaced.
#[derive(Debug, Error)]
pub enum RepositoryError {
    /// It exists and cannot be read.
    #[error("could not read `{}`", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// It cannot be written.
    #[error("could not write `{}`", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
    /// Its content is invalid.
    #[error("`{}` does not hold what it should", file.display())]
    WrongForm {
        file: PathBuf,
        source: serde_json::Error,
    },
}

/// A document with one file for each id.
pub trait Document: Serialize + DeserializeOwned {
    /// The id of the file's subject.
    type Id: Clone + fmt::Debug;

    /// The document before its first entry.
    fn empty(id: Self::Id) -> Self;

    /// The path of its file.
    fn file(root: &Root, id: &Self::Id) -> PathBuf;
}

/// Reads and replaces a document.
#[derive(Debug, Clone)]
pub struct Repository<D: Document> {
    id: D::Id,
    file: PathBuf,
}

impl<D: Document> Repository<D> {
    pub fn new(root: &Root, id: D::Id) -> Self {
        Self {
            file: D::file(root, &id),
            id,
        }
    }

    pub fn path(&self) -> &Path {
        &self.file
    }

    /// Reads the document; returns an empty one if there is no file yet.
    pub fn load(&self) -> Result<D, RepositoryError> {
        let found = load(&self.file)?;
        Ok(found.unwrap_or_else(|| D::empty(self.id.clone())))
    }

    pub fn save(&self, document: &D) -> Result<(), RepositoryError> {
        save(&self.file, document)
    }
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

/// Replaces a document.
pub(crate) fn save(file: &Path, document: &impl Serialize) -> Result<(), RepositoryError> {
    files::replace(file, &files::pretty(document)).map_err(|source| unwritable(file, source))
}

fn unwritable(file: &Path, source: io::Error) -> RepositoryError {
    RepositoryError::Unwritable {
        file: file.to_owned(),
        source,
    }
}
