//! One writer a journal: a lock that the system lets go of when its holder ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::disk::parent;
use super::error::StoreError;

/// The name of the file that is locked, beside the journal.
const NAME: &str = ".lock";
/// More digits than a process id has.
const LONGEST_PID: u64 = 20;
/// How often the lock is tried, and how long the wait is between two tries. A holder that was just
/// killed, or a child that it was about to start, may take a moment to be gone.
const TRIES: u32 = 20;
const WAIT: Duration = Duration::from_millis(25);

/// The right to write a journal, for as long as it lives.
///
/// The file stays when the right is given back: to remove it would let two hold it, one of them
/// by a file that is no longer there.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the right to write the journal at `path`, or tells who has it.
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

/// Whether somebody has the right to write the journal at `path`, and who, if it has said so.
pub(crate) fn holder(path: &Path) -> Option<Option<u32>> {
    let mut file = File::open(parent(path).join(NAME)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read_pid(&mut file)),
        // Nobody has it, or it cannot be known; whoever wants to write will see.
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
