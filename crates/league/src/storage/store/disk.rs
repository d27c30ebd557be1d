//! The disk operations of a journal, and syncing of new files and folders.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::StoreError;
use crate::storage::files::make_private;

/// A file that can be appended to and synced.
///
/// The trait lets tests inject failures.
pub(super) trait Disk: Write + Send {
    /// Returns once everything written would survive a power cut.
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A file that is open only while it is written, where a process has more files than descriptors.
pub(super) struct BrieflyOpened(pub(super) PathBuf);

impl BrieflyOpened {
    fn open(&self) -> io::Result<File> {
        File::options().append(true).open(&self.0)
    }
}

impl Write for BrieflyOpened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk for BrieflyOpened {
    fn sync(&mut self) -> io::Result<()> {
        self.open()?.sync_data()
    }
}

/// Creates a folder and its parents; returns the folders that have a new entry.
pub(super) fn make_folder(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let changed = folder
        .ancestors()
        .take_while(missing)
        .map(parent)
        .collect::<Vec<_>>();
    make_private(folder).map_err(|error| StoreError::io("make", folder, error))?;
    Ok(changed)
}

/// Syncs new entries of a folder.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|opened| opened.sync_all())
        .map_err(|error| StoreError::io("sync", folder, error))
}

/// The folder of a path.
pub(super) fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
