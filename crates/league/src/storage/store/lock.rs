//! One writer per journal: a lock that the system releases when its holder ends for any reason.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::disk::parent;
use super::error::StoreError;

/// The name of the lock file, beside the journal.
const NAME: &str = ".lock";
/// The maximum number of bytes read as a process id.
const LONGEST_PID: u64 = 20;
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
    _file: File,
}

impl Lock {
    /// Locks the journal at `path`; an error names the holder.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let lock = parent(path).join(NAME);
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
            let pid = read_pid(&mut file);
            return Err(StoreError::Held { path, pid });
        }
        write_pid(&mut file).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

/// Whether a process holds the lock of the journal at `path`, and its id, if known.
pub(crate) fn holder(path: &Path) -> Option<Option<u32>> {
    let mut file = File::open(parent(path).join(NAME)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read_pid(&mut file)),
        // The lock is free, or its state is unknown; a writer will find out.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
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

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(LONGEST_PID).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
