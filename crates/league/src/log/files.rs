//! The files that lines are added to; each is bounded, and so is their number.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How large a log grows before it is put aside, in bytes.
pub const LARGEST_LOG: u64 = 10 * 1024 * 1024;
/// How many logs that were put aside are kept: `.1` is the youngest.
pub const KEPT_FILES: u32 = 3;
/// How many logs are open at once.
pub const MOST_OPEN_FILES: usize = 128;

/// One log.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    largest: u64,
}

impl LogFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, LARGEST_LOG)
    }

    fn open_with(path: &Path, largest: u64) -> io::Result<Self> {
        let file = open(path)?;
        Ok(Self {
            path: path.to_owned(),
            size: file.metadata()?.len(),
            file,
            largest,
        })
    }

    /// Adds a line in one writing, so that lines of several processes do not mix.
    pub(super) fn write(&mut self, line: &str) -> io::Result<()> {
        let added = line.len() as u64;
        if self.size > 0 && self.size.saturating_add(added) > self.largest {
            self.put_aside(added)?;
        }
        self.file.write_all(line.as_bytes())?;
        self.size = self.size.saturating_add(added);
        Ok(())
    }

    /// Makes way for so many bytes.
    fn put_aside(&mut self, added: u64) -> io::Result<()> {
        // Another process that writes here may have done so already.
        let standing = fs::metadata(&self.path).map_or(0, |found| found.len());
        if standing.saturating_add(added) > self.largest {
            for number in (1..KEPT_FILES).rev() {
                let _ = fs::rename(aside(&self.path, number), aside(&self.path, number + 1));
            }
            fs::rename(&self.path, aside(&self.path, 1))?;
        }
        self.file = open(&self.path)?;
        self.size = self.file.metadata()?.len();
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            options.open(path)
        }
        other => other,
    }
}

fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// Logs by their path, opened when they are first written to.
#[derive(Debug, Default)]
pub(super) struct LogFiles {
    open: BTreeMap<PathBuf, (u64, LogFile)>,
    written: u64,
}

impl LogFiles {
    pub(super) fn write(&mut self, path: &Path, line: &str) -> io::Result<()> {
        self.written += 1;
        let written = self.written;
        if let Some((last, file)) = self.open.get_mut(path) {
            *last = written;
            return file.write(line);
        }
        self.make_room();
        let mut file = LogFile::open(path)?;
        file.write(line)?;
        self.open.insert(path.to_owned(), (written, file));
        Ok(())
    }

    fn make_room(&mut self) {
        if self.open.len() < MOST_OPEN_FILES {
            return;
        }
        let longest_ago = self.open.iter().min_by_key(|(_, (last, _))| *last);
        if let Some(path) = longest_ago.map(|(path, _)| path.clone()) {
            self.open.remove(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_put_aside_and_the_oldest_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/P01.log.jsonl");
        let mut log = LogFile::open_with(&path, 20).unwrap();
        for number in 0..12 {
            log.write(&format!("line {number:02}\n")).unwrap();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(read(&path), "line 10\nline 11\n");
        assert_eq!(read(&aside(&path, 1)), "line 08\nline 09\n");
        assert_eq!(read(&aside(&path, 3)), "line 04\nline 05\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 4);
    }

    #[test]
    fn a_log_that_another_process_put_aside_is_taken_up_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("system.log.jsonl");
        let mut one = LogFile::open_with(&path, 40).unwrap();
        one.write("0123456789 one\n").unwrap();
        one.write("0123456789 two\n").unwrap();
        let mut other = LogFile::open_with(&path, 40).unwrap();
        other.write("0123456789 other\n").unwrap();
        one.write("0123456789 again\n").unwrap();
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(read(&path), "0123456789 other\n0123456789 again\n");
        assert_eq!(read(&aside(&path, 1)), "0123456789 one\n0123456789 two\n");
        assert!(!aside(&path, 2).exists());
    }

    #[test]
    fn many_logs_are_written_with_few_open() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = LogFiles::default();
        let path = |number: usize| folder.path().join(format!("P{number:03}.log.jsonl"));
        for round in 0..2 {
            for number in 0..MOST_OPEN_FILES * 2 {
                files.write(&path(number), &format!("{round}\n")).unwrap();
                assert!(files.open.len() <= MOST_OPEN_FILES);
            }
        }
        assert_eq!(fs::read_to_string(path(200)).unwrap(), "0\n1\n");
    }
}
