//! One writer per journal: a lock that the system releases when its holder ends for any reason.
//!
//! The lock file names its holder and the last line of the journal that was synced. It is not synced
//! itself, so it may be behind the journal; a journal behind it has lost lines.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::disk::parent;
use super::error::StoreError;

/// The name of the lock file, beside the journal.
const NAME: &str = ".lock";
/// The maximum number of bytes that are read.
const MAX_BYTES: u64 = 64;
/// How often the lock is tried, and the wait between two tries. A holder that was just killed, or a
/// child that it was about to start, may need a moment to end.
const TRIES: u32 = 20;
const WAIT: Duration = Duration::from_millis(25);

/// The exclusive right to write a journal, held until it is dropped.
///
/// The file is not removed on release: otherwise two processes could hold the lock, one of them on
/// a deleted file.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Locks the journal at `path`; an error names the holder.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let lock = lock_of(path);
        let failed = |error| StoreError::io("lock", &lock, error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock)
            .map_err(failed)?;
        if !try_for_a_moment(&file).map_err(failed)? {
            let path = path.to_owned();
            let pid = read(&mut file).0;
            return Err(StoreError::Held { path, pid });
        }
        let noted = read(&mut file).1;
        let mut lock = Self { file };
        lock.write(noted).map_err(failed)?;
        Ok(lock)
    }

    /// Notes the last line that was synced. An error is left alone: the note only helps to detect a
    /// loss.
    pub(super) fn note(&mut self, last: u64) {
        let _ = self.write(last);
    }

    /// Replaces the content by one of the same length, so that a crash leaves the old or the new.
    fn write(&mut self, last: u64) -> io::Result<()> {
        let content = format!("{:<10}\n{last:020}\n", std::process::id());
        self.file.write_all_at(content.as_bytes(), 0)
    }
}

/// Whether a process holds the lock of the journal at `path`, and its id, if known.
pub(crate) fn holder(path: &Path) -> Option<Option<u32>> {
    let mut file = File::open(lock_of(path)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read(&mut file).0),
        // The lock is free, or its state is unknown; a writer will find out.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// The last line that a writer of the journal at `path` noted as synced; 0 if none did.
pub(crate) fn noted_line(path: &Path) -> u64 {
    File::open(lock_of(path)).map_or(0, |mut file| read(&mut file).1)
}

/// Whether a process has ever written the journal at `path`: a copy of a journal has no lock.
pub(crate) fn was_locked(path: &Path) -> bool {
    lock_of(path).exists()
}

/// The lock file of the journal at `path`.
pub(super) fn lock_of(path: &Path) -> PathBuf {
    parent(path).join(NAME)
}

fn try_for_a_moment(file: &File) -> io::Result<bool> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => thread::sleep(WAIT),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

/// The process in a lock file, and the last line that it noted.
fn read(file: &mut File) -> (Option<u32>, u64) {
    let mut text = String::new();
    if file.take(MAX_BYTES).read_to_string(&mut text).is_err() {
        return (None, 0);
    }
    let mut lines = text.lines();
    let pid = lines.next().and_then(|line| line.trim().parse().ok());
    let last = lines.next().and_then(|line| line.parse().ok());
    (pid, last.unwrap_or(0))
}
