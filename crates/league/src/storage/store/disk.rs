//! The little that a journal asks of a disk, and making sure that new files stay.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::StoreError;

/// A file that can be written to its end and made to last.
///
/// It stands between the journal and the file so that tests can let it fail.
pub(super) trait Disk: Write + Send {
    /// Returns once everything written would survive a power cut.
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Makes a folder and those above it; gives the folders in which something is new.
pub(super) fn make_folder(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let changed = folder
        .ancestors()
        .take_while(missing)
        .map(parent)
        .collect::<Vec<_>>();
    fs::create_dir_all(folder).map_err(|error| StoreError::io("make", folder, error))?;
    Ok(changed)
}

/// Makes what is new in a folder last.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    File::open(folder)
        .and_then(|opened| opened.sync_all())
        .map_err(|error| StoreError::io("sync", folder, error))
}

/// The folder that something lies in.
pub(super) fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
