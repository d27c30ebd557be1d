//! The journal: a file of lines that one process appends to and any process may read.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use league_protocol::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::disk::{BrieflyOpened, Disk, make_folder, parent, sync_folder};
use super::error::StoreError;
use super::line::{Head, write_batch};
use super::lock::Lock;
use super::scan::{Scan, scan};
use super::{Entry, Store};
use crate::storage::database::Lease;

/// The capacity of the batch buffer that is kept for the next batch, in bytes.
const KEPT_BUFFER: usize = 1024 * 1024;

/// The guarantee for an appended fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It survives a power cut.
    Synced,
    /// It survives the end of the process, but not a crash of the machine.
    Written,
}

/// A journal that this process may append to.
pub(crate) struct Journal {
    path: PathBuf,
    disk: Box<dyn Disk>,
    durability: Durability,
    head: Head,
    buffer: Vec<u8>,
    /// After an error the file may hold all, some or none of the batch, so nothing must follow it.
    failed: bool,
    lock: Option<Lock>,
    /// Where each batch is stored before it is written here; this file is a copy then.
    lease: Option<Lease>,
}

/// A journal that was locked and read, and not changed: its reader may still refuse it.
#[derive(Debug)]
pub(crate) struct Opened {
    path: PathBuf,
    durability: Durability,
    scanned: Scan,
    /// The folders that have a new entry.
    folders: Vec<PathBuf>,
    lock: Lock,
}

/// The incomplete end of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Its first line.
    pub(crate) line: u64,
    /// Its length in bytes.
    pub(crate) bytes: u64,
}

/// The end of a journal as a reader found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// The sequence of the last fact; 0 if there is none.
    pub(crate) last: u64,
    /// The SHA-256 of the last line without its newline; zeros if there is none. A copy of this
    /// hash shows later whether anything up to here was changed.
    pub(crate) hash: [u8; 32],
    /// The incomplete batch after it.
    pub(crate) unfinished: Option<Cut>,
}

impl Journal {
    /// Locks the journal at `path` and visits its entries; [`Opened::accept`] makes it writable.
    ///
    /// Entries are visited one by one and not kept, so a long journal needs little memory.
    pub(crate) fn open<Fact: DeserializeOwned + Send>(
        path: &Path,
        durability: Durability,
        mut visit: impl FnMut(Entry<Fact>),
    ) -> Result<Opened, StoreError> {
        let folder = parent(path);
        let mut folders = make_folder(&folder)?;
        folders.push(folder);
        let lock = Lock::take(path)?;
        let scanned = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Scan::default(),
            Err(error) => return Err(StoreError::io("open", path, error)),
            Ok(file) => scan(path, &file, |entry| {
                visit(entry);
                ControlFlow::Continue(())
            })?,
        };
        Ok(Opened {
            path: path.to_owned(),
            durability,
            scanned,
            folders,
            lock,
        })
    }

    /// Gives its descriptor back between two batches, if they are not synced: a sync tells only of
    /// writes by its own descriptor. The lock keeps one.
    pub(crate) fn close_between_batches(&mut self) {
        if self.durability == Durability::Written {
            self.disk = Box::new(BrieflyOpened(self.path.clone()));
        }
    }

    /// Reads the journal at `path` without a lock, even while another process writes it, until its
    /// end or until `visit` has seen enough.
    pub(crate) fn read<Fact: DeserializeOwned + Send>(
        path: &Path,
        visit: impl FnMut(Entry<Fact>) -> ControlFlow<()>,
    ) -> Result<End, StoreError> {
        let file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
        read_from(path, file, visit)
    }

    /// The sequence of the last fact, for any type of facts.
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
            lock: None,
            lease: None,
        }
    }

    /// Stores each batch by this lease before it is written to the file.
    pub(crate) fn stored_by(mut self, lease: Lease) -> Self {
        self.lease = Some(lease);
        self
    }

    /// The lease by which batches are stored, if the file is a copy.
    pub(crate) fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Writes the buffer to the disk. A failed sync is never retried: the system may have dropped
    /// the data and would then report success.
    fn flush(&mut self, durability: Durability) -> Result<(), StoreError> {
        if let Some(lease) = &self.lease {
            lease.append(&self.head, &self.buffer)?;
        }
        let path = &self.path;
        let failed = |doing| move |error: io::Error| StoreError::io(doing, path, error);
        self.disk
            .write_all(&self.buffer)
            .map_err(failed("write to"))?;
        if durability == Durability::Synced {
            self.disk.sync().map_err(failed("sync"))?;
        }
        Ok(())
    }

    fn write<Fact: Serialize>(
        &mut self,
        at: Timestamp,
        facts: &[Fact],
        durability: Durability,
    ) -> Result<u64, StoreError> {
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
        self.flush(durability).inspect_err(|_| self.failed = true)?;
        self.head = head;
        if durability == Durability::Synced {
            self.note();
        }
        Ok(head.sequence)
    }

    /// Notes outside the journal how far it is synced.
    fn note(&mut self) {
        if let Some(lock) = &mut self.lock {
            lock.note(self.head.sequence);
        }
    }
}

impl Opened {
    /// The sequence of the last whole fact; 0 if there is none.
    pub(crate) fn last(&self) -> u64 {
        self.scanned.head.sequence
    }

    /// The incomplete end that accepting cuts off. No agent has acted on it unless the disk lost
    /// what it had synced.
    pub(crate) fn cut(&self) -> Option<Cut> {
        cut_of(&self.scanned)
    }

    /// Creates the journal if it is missing, cuts off an incomplete end, and makes it writable.
    pub(crate) fn accept(self) -> Result<Journal, StoreError> {
        let path = &self.path;
        let failed = |doing| move |error: io::Error| StoreError::io(doing, path, error);
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create(true);
        let file = options.open(path).map_err(failed("open"))?;
        if self.cut().is_some() {
            file.set_len(self.scanned.whole).map_err(failed("cut"))?;
        }
        if self.durability == Durability::Synced {
            // Entries of a killed process may not have reached the disk; sync them before this
            // process acts on them.
            file.sync_all().map_err(failed("sync"))?;
            for folder in &self.folders {
                sync_folder(folder)?;
            }
        }
        let mut journal = Journal::at(path, Box::new(file), self.durability, self.scanned.head);
        journal.lock = Some(self.lock);
        Ok(journal)
    }
}

impl<Fact: Serialize> Store<Fact> for Journal {
    fn append(&mut self, at: Timestamp, facts: &[Fact]) -> Result<u64, StoreError> {
        self.write(at, facts, self.durability)
    }

    fn append_lightly(&mut self, at: Timestamp, facts: &[Fact]) -> Result<u64, StoreError> {
        self.write(at, facts, Durability::Written)
    }

    fn waits(&self, lightly: bool) -> bool {
        let is_synced = self.durability == Durability::Synced && !lightly;
        is_synced || self.lease.is_some()
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

fn read_from<Fact: DeserializeOwned + Send>(
    path: &Path,
    source: impl Read + Send,
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
