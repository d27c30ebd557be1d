//! The journal: a file of lines to which one process adds, and which anyone may read.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use league_protocol::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::disk::{Disk, make_folder, parent, sync_folder};
use super::error::StoreError;
use super::line::{Head, write_batch};
use super::lock::Lock;
use super::scan::{Scan, scan};
use super::{Entry, Store};

/// How much of the buffer for a batch is kept for the next, in bytes.
const KEPT_BUFFER: usize = 1024 * 1024;

/// What a journal promises when it has taken a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It survives a power cut.
    Synced,
    /// It survives the end of the process, and is lost with the machine.
    Written,
}

/// A journal that this process may add to.
pub(crate) struct Journal {
    path: PathBuf,
    disk: Box<dyn Disk>,
    durability: Durability,
    head: Head,
    buffer: Vec<u8>,
    /// After an error the file may hold all, some or none of the batch, so nothing may follow it.
    failed: bool,
    _lock: Option<Lock>,
}

/// A journal that was opened, and what had to be done for it.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The journal, at its end.
    pub(crate) journal: Journal,
    /// What was cut off because it was not written to its end; nobody was told of it.
    pub(crate) cut: Option<Cut>,
}

/// The end of a journal that was not written to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The first line that is left out.
    pub(crate) line: u64,
    /// How many bytes are left out.
    pub(crate) bytes: u64,
}

/// Where a reader came to the end of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// The sequence of the last fact; 0 if there is none.
    pub(crate) last: u64,
    /// The SHA-256 of the last line without its newline; zeros if there is none. Whoever has
    /// noted it can tell whether anything up to here was changed later.
    pub(crate) hash: [u8; 32],
    /// What lies behind it and is not written to its end.
    pub(crate) unfinished: Option<Cut>,
}

impl Journal {
    /// Opens the journal at `path` for writing, or makes it, and shows what it holds.
    ///
    /// Entries are shown one after the other and not kept, so that a long journal needs no memory.
    pub(crate) fn open<Fact: DeserializeOwned>(
        path: &Path,
        durability: Durability,
        mut visit: impl FnMut(Entry<Fact>),
    ) -> Result<Opened, StoreError> {
        let folder = parent(path);
        let changed = make_folder(&folder)?;
        let lock = Lock::take(path)?;
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| StoreError::io("open", path, error))?;
        let scanned = scan(path, &file, |entry| {
            visit(entry);
            ControlFlow::Continue(())
        })?;
        let cut = cut_of(&scanned);
        if cut.is_some() {
            file.set_len(scanned.whole)
                .map_err(|error| StoreError::io("cut", path, error))?;
        }
        if durability == Durability::Synced {
            // What a killed process left behind may not have reached the disk, and from now on it
            // is answered for.
            file.sync_all()
                .map_err(|error| StoreError::io("sync", path, error))?;
            for folder in std::iter::once(&folder).chain(&changed) {
                sync_folder(folder)?;
            }
        }
        let mut journal = Self::at(path, Box::new(file), durability, scanned.head);
        journal._lock = Some(lock);
        Ok(Opened { journal, cut })
    }

    /// Reads the journal at `path` without a lock, while it may be written, until its end or until
    /// `visit` has seen enough.
    pub(crate) fn read<Fact: DeserializeOwned>(
        path: &Path,
        visit: impl FnMut(Entry<Fact>) -> ControlFlow<()>,
    ) -> Result<End, StoreError> {
        let file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
        read_from(path, file, visit)
    }

    /// The sequence of the last fact, whatever the type of facts.
    #[cfg(test)]
    pub(crate) fn last(&self) -> u64 {
        self.head.sequence
    }

    fn at(path: &Path, disk: Box<dyn Disk>, durability: Durability, head: Head) -> Self {
        Self {
            path: path.to_owned(),
            disk,
            durability,
            head,
            buffer: Vec::new(),
            failed: false,
            _lock: None,
        }
    }

    /// Brings the buffer to the disk. A sync that failed is never tried again: the system may have
    /// dropped what it could not write and would then report success.
    fn flush(&mut self) -> Result<(), StoreError> {
        let path = &self.path;
        let failed = |doing| move |error: io::Error| StoreError::io(doing, path, error);
        self.disk
            .write_all(&self.buffer)
            .map_err(failed("write to"))?;
        if self.durability == Durability::Synced {
            self.disk.sync().map_err(failed("sync"))?;
        }
        Ok(())
    }
}

impl<Fact: Serialize> Store<Fact> for Journal {
    fn append(&mut self, at: Timestamp, facts: &[Fact]) -> Result<u64, StoreError> {
        if self.failed {
            let path = self.path.clone();
            return Err(StoreError::Failed { path });
        }
        if facts.is_empty() {
            return Ok(self.head.sequence);
        }
        self.buffer.clear();
        self.buffer.shrink_to(KEPT_BUFFER);
        let mut head = self.head;
        write_batch(&mut self.buffer, &mut head, at, facts)?;
        self.flush().inspect_err(|_| self.failed = true)?;
        self.head = head;
        Ok(head.sequence)
    }

    fn last(&self) -> u64 {
        self.head.sequence
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("path", &self.path)
            .field("last", &self.head.sequence)
            .finish_non_exhaustive()
    }
}

fn read_from<Fact: DeserializeOwned>(
    path: &Path,
    source: impl Read,
    visit: impl FnMut(Entry<Fact>) -> ControlFlow<()>,
) -> Result<End, StoreError> {
    let mut scanned = scan(path, source, visit)?;
    if let Some(broken) = scanned.broken.take() {
        return Err(broken);
    }
    Ok(End {
        last: scanned.head.sequence,
        hash: scanned.head.hash,
        unfinished: cut_of(&scanned),
    })
}

fn cut_of(scanned: &Scan) -> Option<Cut> {
    let bytes = scanned.total - scanned.whole;
    (bytes > 0).then_some(Cut {
        line: scanned.head.sequence + 1,
        bytes,
    })
}

#[cfg(test)]
mod tests;
