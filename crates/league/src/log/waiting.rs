//! Lines that wait to be written, and the thread that writes them.
//!
//! An agent that logs never waits for a disk: its lines are put down in memory, and a thread writes
//! all that came together, a file at a time. Each log may have as much wait as is left over for all
//! others: one that is flooded takes half of the bound, two take a third each, and there is always
//! room for one that says little. Further lines are dropped, counted, and told in the log that they
//! are missing from.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use league_protocol::id::{LeagueId, PlayerId};

use super::files::{Bounds, LogFiles};
use super::line::Line;
use crate::clock;
use crate::config::LogLevel;
use crate::storage::root::Root;

/// How many bytes of lines wait to be written at most, of all logs together.
pub const MOST_WAITING: usize = 16 * 1024 * 1024;
/// From how many bytes on the lines are written at once.
const MANY_WAITING: usize = 1024 * 1024;
/// How long lines wait for others that are written along with them, unless they are warnings.
const LINGER: Duration = Duration::from_millis(100);

/// Which log a line belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// That of an agent.
    Agent(PlayerId),
    /// That of a league.
    League(LeagueId),
    /// That of the system.
    System,
}

impl Place {
    fn path(&self, root: &Root) -> PathBuf {
        match self {
            Self::Agent(agent) => root.agent_logs().join(format!("{agent}.log.jsonl")),
            Self::League(league) => root.league_log(league),
            Self::System => root.system_log(),
        }
    }
}

/// Lines that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    lots: Mutex<Lots>,
    due: Condvar,
}

#[derive(Debug, Default)]
struct Lots {
    of: BTreeMap<Place, Lot>,
    bytes: usize,
    urgent: bool,
    stopped: bool,
}

/// The lines of one log.
#[derive(Debug, Default)]
struct Lot {
    lines: String,
    /// How many more there were.
    dropped: u64,
}

impl Waiting {
    /// Has a line written soon, or at once if it is urgent.
    pub(super) fn add(&self, place: Place, line: &str, urgent: bool) {
        let mut lots = self.lots();
        let was = (lots.of.is_empty(), lots.urgent);
        let left_over = MOST_WAITING.saturating_sub(lots.bytes);
        let lot = lots.of.entry(place).or_default();
        if lot.lines.len() + line.len() > left_over {
            lot.dropped += 1;
            return;
        }
        lot.lines.push_str(line);
        lots.bytes += line.len();
        lots.urgent |= urgent || lots.bytes >= MANY_WAITING;
        let is = (false, lots.urgent);
        drop(lots);
        // Nobody is woken twice for the same.
        if is != was {
            self.due.notify_one();
        }
    }

    /// Lets the thread end when it has written what waits.
    pub(super) fn stop(&self) {
        self.lots().stopped = true;
        self.due.notify_one();
    }

    /// Writes what comes, until it is stopped.
    pub(super) fn write_all(&self, root: &Root, bounds: Bounds) {
        let mut writer = Writer {
            root,
            files: LogFiles::new(bounds),
            missing: BTreeMap::new(),
            complained: false,
        };
        loop {
            let lots = self.take();
            for (place, lot) in lots.of {
                writer.write(place, lot);
            }
            if lots.stopped {
                return;
            }
        }
    }

    /// Waits for lines, and takes all there are.
    fn take(&self) -> Lots {
        let idle = |lots: &mut Lots| lots.of.is_empty() && !lots.stopped;
        let early = |lots: &mut Lots| !lots.urgent && !lots.stopped;
        let lots = self.due.wait_while(self.lots(), idle);
        let lots = lots.unwrap_or_else(PoisonError::into_inner);
        let lots = self.due.wait_timeout_while(lots, LINGER, early);
        let (mut lots, _) = lots.unwrap_or_else(PoisonError::into_inner);
        let stopped = lots.stopped;
        let taken = std::mem::take(&mut *lots);
        lots.stopped = stopped;
        taken
    }

    fn lots(&self) -> MutexGuard<'_, Lots> {
        self.lots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Writer<'w> {
    root: &'w Root,
    files: LogFiles,
    /// How many lines are missing from logs that could not be written.
    missing: BTreeMap<Place, u64>,
    /// Whether people were told.
    complained: bool,
}

impl Writer<'_> {
    /// A full disk must not stop a league that can go on: what cannot be written is counted.
    fn write(&mut self, place: Place, lot: Lot) {
        let path = place.path(self.root);
        let before = self.missing.remove(&place).unwrap_or_default();
        let mut lines = told(&place, before);
        lines.push_str(&lot.lines);
        lines.push_str(&told(&place, lot.dropped));
        if let Err(error) = self.files.write(&path, &lines) {
            let here = lot.lines.lines().count() as u64;
            self.missing.insert(place, before + here + lot.dropped);
            self.complain(&path, &error);
        }
        self.complained &= !self.missing.is_empty();
    }

    /// Tells once, until all is well again, that a log cannot be written.
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

/// The line that stands for lines which are missing; none if none are.
fn told(place: &Place, missing: u64) -> String {
    if missing == 0 {
        return String::new();
    }
    let agent = match place {
        Place::Agent(agent) => Some(agent.to_string()),
        Place::League(_) | Place::System => None,
    };
    let line = Line {
        timestamp: clock::now(),
        level: LogLevel::Warning,
        component: "log".to_owned(),
        agent_id: agent,
        event_type: "LINES_DROPPED".to_owned(),
        message_type: None,
        conversation_id: None,
        message: Some(format!("{missing} lines are missing here")),
        data: vec![("lines".into(), missing.into())],
    };
    line.to_text()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// What one log holds when all that waits is written.
    fn written(waiting: &Waiting, root: &Root, place: &Place) -> String {
        waiting.stop();
        let bounds = Bounds {
            largest: u64::MAX,
            ..Bounds::default()
        };
        waiting.write_all(root, bounds);
        fs::read_to_string(place.path(root)).unwrap_or_default()
    }

    #[test]
    fn what_is_too_much_is_counted_where_it_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let (root, waiting) = (Root::new(folder.path()), Waiting::default());
        let line = format!("{}\n", "x".repeat(1023));
        let flood = MOST_WAITING / 2 / line.len() + 7;
        for _ in 0..flood {
            waiting.add(Place::System, &line, false);
        }
        let system = written(&waiting, &root, &Place::System);
        let last: serde_json::Value = serde_json::from_str(system.lines().last().unwrap()).unwrap();
        assert_eq!(last["event_type"], "LINES_DROPPED");
        assert_eq!(last["data"]["lines"], 7);
        assert_eq!(system.lines().count(), flood - 7 + 1);
    }

    #[test]
    fn a_flood_of_some_leaves_room_for_the_lines_of_all_others() {
        let folder = tempfile::tempdir().unwrap();
        let (root, waiting) = (Root::new(folder.path()), Waiting::default());
        let line = format!("{}\n", "x".repeat(1023));
        let place = |number| Place::Agent(PlayerId::numbered(number));
        for _ in 0..MOST_WAITING / line.len() {
            for loud in 1..=3 {
                waiting.add(place(loud), &line, false);
            }
        }
        for _ in 0..100 {
            waiting.add(place(4), &line, false);
        }
        let waits = waiting.lots().bytes;
        assert!(waits <= MOST_WAITING, "{waits}");
        let quiet = written(&waiting, &root, &place(4));
        assert_eq!(quiet, line.repeat(100));
        for loud in 1..=3 {
            let log = fs::read_to_string(place(loud).path(&root)).unwrap();
            assert_eq!(log.lines().count(), MOST_WAITING / line.len() / 4 + 1);
            assert!(log.contains("12288 lines are missing here"), "{loud}");
        }
    }

    #[test]
    fn what_could_not_be_written_is_counted_and_told_when_it_can_be_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let place = Place::System;
        let path = place.path(&root);
        let mut writer = Writer {
            root: &root,
            files: LogFiles::new(Bounds::default()),
            missing: BTreeMap::new(),
            complained: false,
        };
        let lot = |lines: &str| Lot {
            lines: lines.to_owned(),
            dropped: 0,
        };
        // A folder stands where the log should be.
        fs::create_dir_all(&path).unwrap();
        writer.write(place.clone(), lot("one\ntwo\n"));
        writer.write(place.clone(), lot("three\n"));
        fs::remove_dir(&path).unwrap();
        writer.write(place.clone(), lot("four\n"));
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].contains(r#""lines":3"#), "{text}");
        assert_eq!(lines[1], "four");
        assert!(writer.missing.is_empty());
    }
}
