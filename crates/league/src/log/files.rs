//! The files that lines are added to; each is bounded, and so is their number.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How large a log grows before it is put aside, in bytes, unless the configuration says otherwise.
pub const LARGEST_LOG: u64 = 10 * 1024 * 1024;
/// How many logs that were put aside are kept, unless the configuration says otherwise: `.1` is
/// the youngest.
pub const KEPT_FILES: u32 = 3;
/// How many logs are kept open; any others are opened for each writing.
pub const MOST_OPEN_FILES: usize = 512;

/// How much is kept of one log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How large it grows before it is put aside, in bytes.
    pub largest: u64,
    /// How many that were put aside are kept.
    pub kept: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            largest: LARGEST_LOG,
            kept: KEPT_FILES,
        }
    }
}

/// One log.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    bounds: Bounds,
    /// Whether the last writing failed half-way.
    torn: bool,
}

impl LogFile {
    pub(super) fn open(path: &Path, bounds: Bounds) -> io::Result<Self> {
        let file = open(path)?;
        Ok(Self {
            path: path.to_owned(),
            size: file.metadata()?.len(),
            file,
            bounds,
            torn: false,
        })
    }

    /// Adds whole lines, as many in one writing as the file may still take, so that lines of
    /// several processes do not mix.
    pub(super) fn write(&mut self, mut lines: &str) -> io::Result<()> {
        while !lines.is_empty() {
            let mut fitting = self.fitting(lines);
            if fitting == 0 {
                self.put_aside(first_line(lines) as u64)?;
                // A line that is longer than a whole log is written all the same.
                fitting = self.fitting(lines).max(first_line(lines));
            }
            let (now, later) = lines.split_at(fitting);
            self.add(now)?;
            lines = later;
        }
        Ok(())
    }

    /// How many bytes of these lines the file may still take.
    fn fitting(&self, lines: &str) -> usize {
        let room = self.bounds.largest.saturating_sub(self.size);
        match usize::try_from(room) {
            Ok(room) if room < lines.len() => {
                let newline = lines.as_bytes()[..room]
                    .iter()
                    .rposition(|&byte| byte == b'\n');
                newline.map_or(0, |newline| newline + 1)
            }
            _ => lines.len(),
        }
    }

    fn add(&mut self, lines: &str) -> io::Result<()> {
        if std::mem::replace(&mut self.torn, true) {
            self.file.write_all(b"\n")?;
        }
        self.file.write_all(lines.as_bytes())?;
        self.torn = false;
        self.size = self.size.saturating_add(lines.len() as u64);
        Ok(())
    }

    /// Makes way for so many bytes.
    fn put_aside(&mut self, added: u64) -> io::Result<()> {
        // Another process that writes here may have done so already.
        let standing = fs::metadata(&self.path).map_or(0, |found| found.len());
        if standing > 0 && standing.saturating_add(added) > self.bounds.largest {
            for number in (1..self.bounds.kept).rev() {
                let _ = fs::rename(aside(&self.path, number), aside(&self.path, number + 1));
            }
            match self.bounds.kept {
                0 => fs::remove_file(&self.path)?,
                _ => fs::rename(&self.path, aside(&self.path, 1))?,
            }
        }
        self.file = open(&self.path)?;
        self.size = self.file.metadata()?.len();
        Ok(())
    }
}

/// The length of the first line, its newline counted.
fn first_line(lines: &str) -> usize {
    lines.find('\n').map_or(lines.len(), |newline| newline + 1)
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
#[derive(Debug)]
pub(super) struct LogFiles {
    open: BTreeMap<PathBuf, LogFile>,
    bounds: Bounds,
}

impl LogFiles {
    pub(super) const fn new(bounds: Bounds) -> Self {
        Self {
            open: BTreeMap::new(),
            bounds,
        }
    }

    /// Adds whole lines to a log.
    pub(super) fn write(&mut self, path: &Path, lines: &str) -> io::Result<()> {
        if let Some(file) = self.open.get_mut(path) {
            return file.write(lines);
        }
        let mut file = LogFile::open(path, self.bounds)?;
        let written = file.write(lines);
        if self.open.len() < MOST_OPEN_FILES {
            self.open.insert(path.to_owned(), file);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(largest: u64) -> Bounds {
        Bounds {
            largest,
            ..Bounds::default()
        }
    }

    #[test]
    fn many_lines_at_once_are_parted_where_a_line_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("P01.log.jsonl");
        let mut log = LogFile::open(&path, bounds(20)).unwrap();
        log.write("one\n").unwrap();
        log.write("two two\nthree three\na line that is longer than a whole log\nlast\n")
            .unwrap();
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(read(&aside(&path, 3)), "one\ntwo two\n");
        assert_eq!(read(&aside(&path, 2)), "three three\n");
        let long = "a line that is longer than a whole log\n";
        assert_eq!(read(&aside(&path, 1)), long);
        assert_eq!(read(&path), "last\n");
    }

    #[test]
    fn where_none_is_kept_the_newest_lines_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("P01.log.jsonl");
        let none = Bounds {
            largest: 20,
            kept: 0,
        };
        let mut log = LogFile::open(&path, none).unwrap();
        log.write("line 01\nline 02\nline 03\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "line 03\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_full_log_is_put_aside_and_the_oldest_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/P01.log.jsonl");
        let mut log = LogFile::open(&path, bounds(20)).unwrap();
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
        let mut one = LogFile::open(&path, bounds(40)).unwrap();
        one.write("0123456789 one\n").unwrap();
        one.write("0123456789 two\n").unwrap();
        let mut other = LogFile::open(&path, bounds(40)).unwrap();
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
        let mut files = LogFiles::new(Bounds::default());
        let path = |number: usize| folder.path().join(format!("P{number:03}.log.jsonl"));
        for round in 0..2 {
            for number in 0..MOST_OPEN_FILES * 2 {
                files.write(&path(number), &format!("{round}\n")).unwrap();
                assert!(files.open.len() <= MOST_OPEN_FILES);
            }
        }
        for number in [0, MOST_OPEN_FILES, MOST_OPEN_FILES * 2 - 1] {
            assert_eq!(fs::read_to_string(path(number)).unwrap(), "0\n1\n");
        }
    }
}
