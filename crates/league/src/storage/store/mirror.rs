//! The copy of a journal whose lines are stored in a database: a file like any other, which whatever
//! reads journals can read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use super::disk::{make_folder, parent};
use super::error::StoreError;
use super::lock::Lock;
use super::scan::{Scan, scan};
use crate::storage::database::{Database, DatabaseError, Stream};

/// A copy that only this process writes.
pub(crate) struct Mirror {
    database: Database,
    stream: Stream,
    path: PathBuf,
    file: File,
    /// The last line of the copy.
    last: u64,
    _lock: Lock,
}

impl Mirror {
    /// Opens the copy at `path`, or begins one.
    ///
    /// # Errors
    ///
    /// Another process writes it, it is damaged, or it is not the beginning of what is stored.
    pub(crate) fn open(
        database: &Database,
        stream: &Stream,
        path: &Path,
    ) -> Result<Self, StoreError> {
        make_folder(&parent(path))?;
        let lock = Lock::take(path)?;
        let failed = |doing| move |error: io::Error| StoreError::io(doing, path, error);
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create(true);
        let file = options.open(path).map_err(failed("open"))?;
        let scanned: Scan = scan(path, &file, |_: super::Entry<IgnoredAny>| {
            ControlFlow::Continue(())
        })?;
        file.set_len(scanned.whole).map_err(failed("cut"))?;
        let last = scanned.head.sequence;
        if last > 0 {
            let stored = database.line(stream, last)?;
            let hash = stored.map(|line| Sha256::digest(line).into());
            if hash != Some(scanned.head.hash) {
                let league = stream.league().clone();
                return Err(DatabaseError::Apart { league, line: last }.into());
            }
        }
        Ok(Self {
            database: database.clone(),
            stream: stream.clone(),
            path: path.to_owned(),
            file,
            last,
            _lock: lock,
        })
    }

    /// Copies the lines that were stored since; returns the number of the last one.
    ///
    /// # Errors
    ///
    /// The server does not answer, or the disk is full.
    pub(crate) fn pull(&mut self) -> Result<u64, StoreError> {
        loop {
            let lines = self.database.lines_after(&self.stream, self.last)?;
            if lines.is_empty() {
                return Ok(self.last);
            }
            let mut text = lines.join("\n");
            text.push('\n');
            let written = self.file.write_all(text.as_bytes());
            written.map_err(|error| StoreError::io("write to", &self.path, error))?;
            self.last += lines.len() as u64;
        }
    }
}
