//! The queue of log lines, the thread that writes them, and the bounded files.
//!
//! An agent that logs never waits for a disk: its lines are queued in memory, and a thread writes
//! all queued lines together, a file at a time. Each log may queue as many bytes as are left for
//! all others: one flooded log takes half of the bound, two take a third each, and a quiet log
//! always finds room. Further lines are dropped and counted, and their log reports the count.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use league_protocol::id::{LeagueId, PlayerId};

use super::line::{Details, DetailsPlace, LogLine};
use crate::clock;
use crate::config::LogLevel;
use crate::storage::files::make_private;
use crate::storage::root::Root;

/// The maximum size of all queued lines, in bytes.
pub const MAX_QUEUED: usize = 16 * 1024 * 1024;
/// The size at which queued lines are written immediately, in bytes.
const FLUSH_AT: usize = 1024 * 1024;
/// How long lines wait to be written together with others, unless they are warnings.
const LINGER: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogTarget {
    Agent(PlayerId),
    League(LeagueId),
    System,
}

impl LogTarget {
    fn path(&self, root: &Root) -> PathBuf {
        match self {
            Self::Agent(agent) => root.agent_logs().join(format!("{agent}.log.jsonl")),
            Self::League(league) => root.league_log(league),
            Self::System => root.system_log(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct LogQueue {
    lots: Mutex<QueuedLogs>,
    due: Condvar,
}

#[derive(Debug, Default)]
struct QueuedLogs {
    of: BTreeMap<LogTarget, QueuedLines>,
    bytes: usize,
    urgent: bool,
    stopped: bool,
}

/// The queued lines of one log.
#[derive(Debug, Default)]
struct QueuedLines {
    lines: String,
    /// How many further lines were dropped.
    dropped: u64,
}

impl LogQueue {
    /// Queues a line; an urgent line is written immediately.
    pub(crate) fn add(&self, target: LogTarget, line: &str, urgent: bool) {
        let mut lots = self.lots();
        let was = (lots.of.is_empty(), lots.urgent);
        let left_over = MAX_QUEUED.saturating_sub(lots.bytes);
        let lot = lots.of.entry(target).or_default();
        if lot.lines.len() + line.len() > left_over {
            lot.dropped += 1;
            return;
        }
        lot.lines.push_str(line);
        lots.bytes += line.len();
        lots.urgent |= urgent || lots.bytes >= FLUSH_AT;
        let is = (false, lots.urgent);
        drop(lots);
        // Wakes the thread only if its state has changed.
        if is != was {
            self.due.notify_one();
        }
    }

    /// Lets the thread end after it has written all queued lines.
    pub(crate) fn stop(&self) {
        self.lots().stopped = true;
        self.due.notify_one();
    }

    /// Writes queued lines until it is stopped.
    pub(crate) fn write_all(&self, root: &Root, bounds: Bounds) {
        let mut writer = LogWriter {
            root,
            files: LogFiles::new(bounds),
            missing: BTreeMap::new(),
            complained: false,
        };
        loop {
            let lots = self.take();
            for (target, lot) in lots.of {
                writer.write(target, lot);
            }
            if lots.stopped {
                return;
            }
        }
    }

    /// Waits for lines, and takes all of them.
    fn take(&self) -> QueuedLogs {
        let idle = |lots: &mut QueuedLogs| lots.of.is_empty() && !lots.stopped;
        let early = |lots: &mut QueuedLogs| !lots.urgent && !lots.stopped;
        let lots = self.due.wait_while(self.lots(), idle);
        let lots = lots.unwrap_or_else(PoisonError::into_inner);
        let lots = self.due.wait_timeout_while(lots, LINGER, early);
        let (mut lots, _) = lots.unwrap_or_else(PoisonError::into_inner);
        let stopped = lots.stopped;
        let taken = std::mem::take(&mut *lots);
        lots.stopped = stopped;
        taken
    }

    fn lots(&self) -> MutexGuard<'_, QueuedLogs> {
        self.lots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct LogWriter<'w> {
    root: &'w Root,
    files: LogFiles,
    /// How many lines are missing from logs that could not be written.
    missing: BTreeMap<LogTarget, u64>,
    /// Whether the failure was reported.
    complained: bool,
}

impl LogWriter<'_> {
    /// A full disk must not stop a league: lines that cannot be written are counted.
    fn write(&mut self, target: LogTarget, lot: QueuedLines) {
        let path = target.path(self.root);
        let before = self.missing.remove(&target).unwrap_or_default();
        let mut lines = told(&target, before);
        lines.push_str(&lot.lines);
        lines.push_str(&told(&target, lot.dropped));
        if let Err(error) = self.files.write(&path, &lines) {
            let here = lot.lines.lines().count() as u64;
            self.missing.insert(target, before + here + lot.dropped);
            self.complain(&path, &error);
        }
        self.complained &= !self.missing.is_empty();
    }

    /// Reports a log that cannot be written, once until writing succeeds again.
    fn complain(&mut self, path: &Path, error: &io::Error) {
        if !std::mem::replace(&mut self.complained, true) {
            let path = path.display();
            tracing::warn!(
                event_type = "LOG_UNWRITABLE",
                "could not write `{path}`: {error}; the lines that are missing are counted"
            );
        }
    }
}

/// The line that reports missing lines; empty if there are none.
fn told(target: &LogTarget, missing: u64) -> String {
    if missing == 0 {
        return String::new();
    }
    let (agent, place) = match target {
        LogTarget::Agent(agent) => (agent.as_str(), DetailsPlace::Data),
        LogTarget::League(_) | LogTarget::System => ("log", DetailsPlace::Details),
    };
    let mut details = Details::default();
    details.add_number("lines", missing);
    let line = LogLine {
        timestamp: clock::wall(),
        level: LogLevel::Warning,
        component: "log",
        agent_id: agent,
        event_type: "LINES_DROPPED",
        message_type: None,
        conversation_id: None,
        message: &format!("{missing} lines are missing here"),
        details: &details,
        place,
    };
    line.to_text()
}

/// The default size at which a log is rotated, in bytes.
pub const MAX_LOG_BYTES: u64 = 10 * 1024 * 1024;
/// The default number of rotated files that are kept; `.1` is the newest.
pub const MAX_KEPT_FILES: u32 = 3;
/// How many logs are kept open; others are opened for each write.
pub const MAX_OPEN_FILES: usize = 512;

/// The limits of one log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The size at which it is rotated, in bytes.
    pub largest: u64,
    /// How many rotated files are kept.
    pub kept: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            largest: MAX_LOG_BYTES,
            kept: MAX_KEPT_FILES,
        }
    }
}

#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    file: File,
    size: u64,
    bounds: Bounds,
    /// Whether the last write failed halfway.
    torn: bool,
}

impl LogFile {
    pub(crate) fn open(path: &Path, bounds: Bounds) -> io::Result<Self> {
        let file = open(path)?;
        Ok(Self {
            path: path.to_owned(),
            size: file.metadata()?.len(),
            file,
            bounds,
            torn: false,
        })
    }

    /// Adds whole lines, as many in one write as fit into the file, so that lines of several
    /// processes do not mix.
    pub(crate) fn write(&mut self, mut lines: &str) -> io::Result<()> {
        while !lines.is_empty() {
            let mut fitting = self.fitting(lines);
            if fitting == 0 {
                self.put_aside(first_line(lines) as u64)?;
                // A line longer than the size limit is written nevertheless.
                fitting = self.fitting(lines).max(first_line(lines));
            }
            let (now, later) = lines.split_at(fitting);
            self.add(now)?;
            lines = later;
        }
        Ok(())
    }

    /// How many bytes of these lines fit into the file.
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

    /// Rotates the log if these bytes do not fit.
    fn put_aside(&mut self, added: u64) -> io::Result<()> {
        // Another process that writes this log may have rotated it already.
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

/// The length of the first line with its newline.
fn first_line(lines: &str) -> usize {
    lines.find('\n').map_or(lines.len(), |newline| newline + 1)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                make_private(folder)?;
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

/// Logs by path, opened on the first write.
#[derive(Debug)]
pub(crate) struct LogFiles {
    open: BTreeMap<PathBuf, LogFile>,
    bounds: Bounds,
}

impl LogFiles {
    pub(crate) const fn new(bounds: Bounds) -> Self {
        Self {
            open: BTreeMap::new(),
            bounds,
        }
    }

    /// Adds whole lines to a log.
    pub(crate) fn write(&mut self, path: &Path, lines: &str) -> io::Result<()> {
        if let Some(file) = self.open.get_mut(path) {
            return file.write(lines);
        }
        let mut file = LogFile::open(path, self.bounds)?;
        let written = file.write(lines);
        if self.open.len() < MAX_OPEN_FILES {
            self.open.insert(path.to_owned(), file);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content of one log after all queued lines are written.
    fn written(waiting: &LogQueue, root: &Root, target: &LogTarget) -> String {
        waiting.stop();
        let bounds = Bounds {
            largest: u64::MAX,
            ..Bounds::default()
        };
        waiting.write_all(root, bounds);
        fs::read_to_string(target.path(root)).unwrap_or_default()
    }

    #[test]
    fn dropped_lines_are_counted_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let (root, waiting) = (Root::new(folder.path()), LogQueue::default());
        let line = format!("{}\n", "x".repeat(1023));
        let flood = MAX_QUEUED / 2 / line.len() + 7;
        for _ in 0..flood {
            waiting.add(LogTarget::System, &line, false);
        }
        let system = written(&waiting, &root, &LogTarget::System);
        let last: serde_json::Value = serde_json::from_str(system.lines().last().unwrap()).unwrap();
        assert_eq!(last["event_type"], "LINES_DROPPED");
        assert_eq!(last["details"]["lines"], 7);
        assert_eq!(system.lines().count(), flood - 7 + 1);
    }

    #[test]
    fn flood_of_some_leaves_room_for_the_lines_of_all_others() {
        let folder = tempfile::tempdir().unwrap();
        let (root, waiting) = (Root::new(folder.path()), LogQueue::default());
        let line = format!("{}\n", "x".repeat(1023));
        let target = |number| LogTarget::Agent(PlayerId::numbered(number));
        for _ in 0..MAX_QUEUED / line.len() {
            for loud in 1..=3 {
                waiting.add(target(loud), &line, false);
            }
        }
        for _ in 0..100 {
            waiting.add(target(4), &line, false);
        }
        let waits = waiting.lots().bytes;
        assert!(waits <= MAX_QUEUED, "{waits}");
        let quiet = written(&waiting, &root, &target(4));
        assert_eq!(quiet, line.repeat(100));
        for loud in 1..=3 {
            let log = fs::read_to_string(target(loud).path(&root)).unwrap();
            assert_eq!(log.lines().count(), MAX_QUEUED / line.len() / 4 + 1);
            assert!(log.contains("12288 lines are missing here"), "{loud}");
        }
    }

    #[test]
    fn unwritten_lines_are_counted_and_reported_later() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let target = LogTarget::System;
        let path = target.path(&root);
        let mut writer = LogWriter {
            root: &root,
            files: LogFiles::new(Bounds::default()),
            missing: BTreeMap::new(),
            complained: false,
        };
        let lot = |lines: &str| QueuedLines {
            lines: lines.to_owned(),
            dropped: 0,
        };
        // A folder is in the place of the log.
        fs::create_dir_all(&path).unwrap();
        writer.write(target.clone(), lot("one\ntwo\n"));
        writer.write(target.clone(), lot("three\n"));
        fs::remove_dir(&path).unwrap();
        writer.write(target.clone(), lot("four\n"));
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].contains(r#""lines":3"#), "{text}");
        assert_eq!(lines[1], "four");
        assert!(writer.missing.is_empty());
    }

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
    fn full_log_is_put_aside_and_the_oldest_is_dropped() {
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
    fn log_that_another_process_put_aside_is_taken_up_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("orchestrator.log.jsonl");
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
            for number in 0..MAX_OPEN_FILES * 2 {
                files.write(&path(number), &format!("{round}\n")).unwrap();
                assert!(files.open.len() <= MAX_OPEN_FILES);
            }
        }
        for number in [0, MAX_OPEN_FILES, MAX_OPEN_FILES * 2 - 1] {
            assert_eq!(fs::read_to_string(path(number)).unwrap(), "0\n1\n");
        }
    }
}
