//! Follows a journal while another process appends to it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};

use league_protocol::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Entry;
use super::error::StoreError;
use super::line::MAX_LINE;
use super::scan::{Scan, scan_on};

/// A reader that remembers its position.
#[derive(Debug)]
pub(crate) struct Follower {
    path: PathBuf,
    come: Scan,
}

impl Follower {
    /// Starts before the first line.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            come: Scan::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Visits the entries added since the last call, in whole batches only.
    ///
    /// # Errors
    ///
    /// The file is missing, or a line does not follow the previous one.
    pub(crate) fn read_on<Fact: DeserializeOwned + Send>(
        &mut self,
        mut visit: impl FnMut(Entry<Fact>),
    ) -> Result<(), StoreError> {
        let failed = |doing| {
            let path = &self.path;
            move |error| StoreError::io(doing, path, error)
        };
        let mut file = File::open(&self.path).map_err(failed("open"))?;
        let length = file.metadata().map_err(failed("look at"))?.len();
        if length == self.come.whole {
            return Ok(());
        }
        if length < self.come.whole {
            let shorter = io::Error::other("it has become shorter than it was");
            return Err(failed("go on with")(shorter));
        }
        file.seek(SeekFrom::Start(self.come.whole))
            .map_err(failed("read"))?;
        let before = std::mem::take(&mut self.come);
        self.come = scan_on(&self.path, file, before, |entry| {
            visit(entry);
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Visits every decodable line of a journal, whether or not it follows the previous one: for
    /// inspecting a journal that was tampered with.
    ///
    /// # Errors
    ///
    /// The file is missing.
    pub(crate) fn read_loosely<Fact: DeserializeOwned>(
        path: &Path,
        mut visit: impl FnMut(Entry<Fact>),
    ) -> Result<(), StoreError> {
        let failed = |error| StoreError::io("read", path, error);
        let mut source = BufReader::new(File::open(path).map_err(failed)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            let bound = MAX_LINE as u64;
            let read = source.by_ref().take(bound).read_until(b'\n', &mut line);
            if read.map_err(failed)? == 0 {
                return Ok(());
            }
            if let Ok(loose) = serde_json::from_slice::<Loose<Fact>>(&line) {
                visit(loose.entry());
            }
        }
    }
}

/// How many bytes are read at once from the end of a journal.
const CHUNK: u64 = 1 << 16;

/// Visits the facts of a journal from the last to the first, until `visit` has seen enough.
///
/// Neither checksums nor the hash chain are checked: the answer is for people, not for a state
/// machine that continues from it. Unreadable lines and an incomplete last batch are skipped.
///
/// # Errors
///
/// The file is missing.
pub(crate) fn read_backwards<Fact: DeserializeOwned>(
    path: &Path,
    mut visit: impl FnMut(Entry<Fact>) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("read", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut start = file.seek(SeekFrom::End(0)).map_err(failed)?;
    // The bytes from `start` on that were not visited yet; the first line may be incomplete.
    let mut rest = Vec::new();
    let mut in_torn_batch = true;
    loop {
        let length = start.min(CHUNK);
        start -= length;
        let mut chunk = vec![0; usize::try_from(length).unwrap_or(0)];
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        file.read_exact(&mut chunk).map_err(failed)?;
        chunk.append(&mut rest);
        rest = chunk;
        while let Some(end) = rest.iter().rposition(|&byte| byte == b'\n') {
            let before = rest[..end].iter().rposition(|&byte| byte == b'\n');
            if before.is_none() && start > 0 {
                break;
            }
            let line = before.map_or(0, |newline| newline + 1);
            let read = serde_json::from_slice::<Loose<Fact>>(&rest[line..end]);
            rest.truncate(line);
            let Ok(loose) = read else { continue };
            in_torn_batch &= loose.more > 0;
            if !in_torn_batch && visit(loose.entry()).is_break() {
                return Ok(());
            }
        }
        if start == 0 || rest.len() > MAX_LINE {
            return Ok(());
        }
    }
}

/// Visits some lines of a journal, which it finds by halving: lines are numbered without a gap.
///
/// As for [`read_backwards`], nothing is checked. An unreadable line ends the visit.
///
/// # Errors
///
/// The file is missing.
pub(crate) fn read_lines<Fact: DeserializeOwned>(
    path: &Path,
    lines: RangeInclusive<u64>,
    mut visit: impl FnMut(Entry<Fact>),
) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("read", path, error);
    let mut file = File::open(path).map_err(failed)?;
    let start = find_line(&mut file, *lines.start()).map_err(failed)?;
    file.seek(SeekFrom::Start(start)).map_err(failed)?;
    let mut source = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let bound = MAX_LINE as u64;
        let read = source.by_ref().take(bound).read_until(b'\n', &mut line);
        read.map_err(failed)?;
        let Ok(Numbered { sequence }) = serde_json::from_slice(&line) else {
            return Ok(());
        };
        if sequence > *lines.end() {
            return Ok(());
        }
        if sequence >= *lines.start()
            && let Ok(loose) = serde_json::from_slice::<Loose<Fact>>(&line)
        {
            visit(loose.entry());
        }
    }
}

/// The start of a line at or before the line with this number, at most some chunks before it.
fn find_line(file: &mut File, wanted: u64) -> io::Result<u64> {
    let mut low = 0;
    let mut high = file.seek(SeekFrom::End(0))?;
    let mut line = Vec::new();
    // The file may grow meanwhile.
    while high.saturating_sub(low) > CHUNK {
        let middle = low + (high - low) / 2;
        file.seek(SeekFrom::Start(middle))?;
        let mut source = BufReader::new(&*file);
        line.clear();
        let mut bounded = source.by_ref().take(MAX_LINE as u64);
        let skipped = bounded.read_until(b'\n', &mut line)? as u64;
        line.clear();
        bounded.set_limit(MAX_LINE as u64);
        bounded.read_until(b'\n', &mut line)?;
        match serde_json::from_slice::<Numbered>(&line) {
            Ok(found) if found.sequence <= wanted => low = middle + skipped,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The number of a line.
#[derive(Deserialize)]
struct Numbered {
    sequence: u64,
}

/// The fields of a line that are needed to decode its fact.
#[derive(Deserialize)]
struct Loose<Fact> {
    sequence: u64,
    #[serde(default)]
    more: u32,
    at: Timestamp,
    fact: Fact,
}

impl<Fact> Loose<Fact> {
    fn entry(self) -> Entry<Fact> {
        Entry {
            sequence: self.sequence,
            at: self.at,
            fact: self.fact,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::storage::store::{Durability, Journal, Store};

    fn at() -> Timestamp {
        Timestamp::from_millis(0)
    }

    #[test]
    fn follower_is_shown_each_fact_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, Durability::Written, |_: Entry<String>| {})
            .unwrap()
            .accept()
            .unwrap();
        let mut follower = Follower::new(path);
        let mut seen = Vec::new();
        for batch in [&["a", "b"][..], &[], &["c"]] {
            let facts: Vec<String> = batch.iter().map(|fact| (*fact).to_owned()).collect();
            journal.append(at(), &facts).unwrap();
            follower
                .read_on(|entry: Entry<String>| seen.push((entry.sequence, entry.fact)))
                .unwrap();
        }
        let told = [(1, "a"), (2, "b"), (3, "c")].map(|(place, fact)| (place, fact.to_owned()));
        assert_eq!(seen, told);
    }

    #[test]
    fn line_that_was_changed_is_an_error_and_can_still_be_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, Durability::Written, |_: Entry<String>| {})
            .unwrap()
            .accept()
            .unwrap();
        for fact in ["honest", "later"] {
            journal.append(at(), &[fact.to_owned()]).unwrap();
        }
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("honest", "forged")).unwrap();
        let mut follower = Follower::new(path.clone());
        let read = follower.read_on(|_: Entry<String>| {});
        assert!(matches!(read, Err(StoreError::Damaged { .. })), "{read:?}");
        let mut seen = Vec::new();
        Follower::read_loosely(&path, |entry: Entry<String>| seen.push(entry.fact)).unwrap();
        assert_eq!(seen, ["forged", "later"]);
    }

    /// The facts of a journal from its end, until `enough` were seen.
    fn backwards(path: &Path, enough: usize) -> Vec<String> {
        let mut seen = Vec::new();
        read_backwards(path, |entry: Entry<String>| {
            seen.push(entry.fact);
            if seen.len() < enough {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .unwrap();
        seen
    }

    #[test]
    fn reading_backwards_shows_the_last_fact_first_in_lines_of_any_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, Durability::Written, |_: Entry<String>| {})
            .unwrap()
            .accept()
            .unwrap();
        let facts: Vec<String> = (0..40_usize)
            .map(|number| format!("{number}-{}", "x".repeat(number * 3_001)))
            .collect();
        for batch in facts.chunks(3) {
            journal.append(at(), batch).unwrap();
        }
        let reversed: Vec<String> = facts.iter().rev().cloned().collect();
        assert_eq!(backwards(&path, usize::MAX), reversed);
        assert_eq!(backwards(&path, 2), reversed[..2]);
        assert!(
            read_backwards(&folder.path().join("none"), |_: Entry<String>| {
                ControlFlow::Continue(())
            })
            .is_err()
        );
    }

    #[test]
    fn some_lines_are_found_wherever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, Durability::Written, |_: Entry<String>| {})
            .unwrap()
            .accept()
            .unwrap();
        // Lines of 300 bytes to 300 KB, a few MB in all.
        let facts: Vec<String> = (0..100_usize)
            .map(|number| format!("{number}-{}", "x".repeat(number % 11 * number * 300)))
            .collect();
        journal.append(at(), &facts).unwrap();
        for (first, last) in [(1, 1), (7, 20), (63, 64), (99, 100), (100, 900), (101, 102)] {
            let mut seen = Vec::new();
            read_lines(&path, first..=last, |entry: Entry<String>| seen.push(entry)).unwrap();
            let numbers: Vec<u64> = seen.iter().map(|entry| entry.sequence).collect();
            assert_eq!(numbers, (first..=last.min(100)).collect::<Vec<_>>());
            let is_right = |entry: &Entry<String>| {
                let place = usize::try_from(entry.sequence).unwrap() - 1;
                entry.fact == facts[place]
            };
            assert!(seen.iter().all(is_right));
        }
    }

    #[test]
    fn reading_backwards_leaves_out_what_a_crash_tore() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, Durability::Written, |_: Entry<String>| {})
            .unwrap()
            .accept()
            .unwrap();
        for batch in [&["a", "b"][..], &["c", "d", "e"]] {
            let facts: Vec<String> = batch.iter().map(|fact| (*fact).to_owned()).collect();
            journal.append(at(), &facts).unwrap();
        }
        let whole = fs::read(&path).unwrap();
        let ends: Vec<usize> = (0..whole.len()).filter(|&at| whole[at] == b'\n').collect();
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let kept: &[&str] = match length {
                _ if length > ends[4] => &["e", "d", "c", "b", "a"],
                _ if length > ends[1] => &["b", "a"],
                _ => &[],
            };
            assert_eq!(backwards(&path, usize::MAX), kept, "cut at {length}");
        }
    }
}
