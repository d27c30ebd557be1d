//! Files that are read and written whole: a reader sees the old or the new content, never a
//! mixture.
//!
//! Nothing is synced here, because these files can be rebuilt.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use league_protocol::id::LeagueId;
use serde::Serialize;
use thiserror::Error;

use super::root::Root;

/// Distinguishes the temporary files of one process.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Reads a file of at most `max` bytes; a larger one gives [`io::ErrorKind::FileTooLarge`].
pub(crate) fn read_bounded(file: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(file)?.take(max + 1).read_to_end(&mut content)?;
    if content.len() as u64 > max {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(content)
}

/// A folder that cannot be listed.
#[derive(Debug, Error)]
#[error("could not list `{}`", folder.display())]
pub(crate) struct FolderError {
    pub(crate) folder: PathBuf,
    pub(crate) source: io::Error,
}

/// The sorted names in a folder; empty if there is no such folder.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<String>, FolderError> {
    let failed = |source| FolderError {
        folder: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// The leagues below a root that have a journal.
pub(crate) fn leagues_below(root: &Root) -> Result<Vec<LeagueId>, FolderError> {
    let names = names_in(&root.as_path().join("data/leagues"))?;
    let ids = names.iter().filter_map(|name| LeagueId::new(name).ok());
    Ok(ids.filter(|id| root.league_journal(id).exists()).collect())
}

/// Formats a value as indented JSON, with a newline at the end.
pub(crate) fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Makes a folder for records and logs. Folders that are missing are made for their owner alone: they
/// show how agents play.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Replaces a record in one step.
pub(crate) fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = write_temporary(file, content, make_private)?;
    fs::rename(&temporary, file).inspect_err(|_| remove(&temporary))
}

/// Creates a settings file; an existing file is left unchanged.
pub(crate) fn create(file: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = write_temporary(file, content, |folder| fs::create_dir_all(folder))?;
    // A hard link fails if the file exists, so only one of two concurrent writers succeeds.
    let linked = fs::hard_link(&temporary, file);
    let created = match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Not every file system supports links.
        Err(_) if !file.exists() => fs::rename(&temporary, file),
        other => other,
    };
    remove(&temporary);
    created
}

fn write_temporary(
    file: &Path,
    content: &[u8],
    make_folder: impl FnOnce(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let temporary = temporary_name(file);
    if let Err(error) = fs::write(&temporary, content) {
        if error.kind() != io::ErrorKind::NotFound {
            remove(&temporary);
            return Err(error);
        }
        if let Some(folder) = file.parent() {
            make_folder(folder)?;
        }
        fs::write(&temporary, content).inspect_err(|_| remove(&temporary))?;
    }
    Ok(temporary)
}

/// A unique temporary name in the same folder, which readers ignore.
pub(crate) fn temporary_name(file: &Path) -> PathBuf {
    let count = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(format!(".{}.{count}.tmp", process::id()));
    file.with_file_name(name)
}

/// Removes a temporary file; a leftover does no harm.
fn remove(temporary: &Path) {
    let _ = fs::remove_file(temporary);
}
