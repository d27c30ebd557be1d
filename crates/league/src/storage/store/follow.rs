//! Reads a journal on and on, while somebody else adds to it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use league_protocol::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Entry;
use super::error::StoreError;
use super::line::LONGEST_LINE;
use super::scan::{Scan, scan_on};

/// A reader that knows how far it has come.
#[derive(Debug)]
pub(crate) struct Follower {
    path: PathBuf,
    come: Scan,
}

impl Follower {
    /// Begins before the first line.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            come: Scan::default(),
        }
    }

    /// The journal that it reads.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Shows what was added since the last time, whole batches only.
    ///
    /// # Errors
    ///
    /// The file may not be there, or hold a line that does not follow the one before.
    pub(crate) fn read_on<Fact: DeserializeOwned>(
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

    /// Shows every line of a journal that can be read at all, whether or not it follows the one
    /// before: for looking at a journal that was tampered with.
    ///
    /// # Errors
    ///
    /// The file may not be there.
    pub(crate) fn read_loosely<Fact: DeserializeOwned>(
        path: &Path,
        mut visit: impl FnMut(Entry<Fact>),
    ) -> Result<(), StoreError> {
        let failed = |error| StoreError::io("read", path, error);
        let mut source = BufReader::new(File::open(path).map_err(failed)?);
        let mut line = Vec::new();
        loop {
            line.clear();
            let bound = LONGEST_LINE as u64;
            let read = source.by_ref().take(bound).read_until(b'\n', &mut line);
            if read.map_err(failed)? == 0 {
                return Ok(());
            }
            if let Ok(loose) = serde_json::from_slice::<Loose<Fact>>(&line) {
                visit(Entry {
                    sequence: loose.sequence,
                    at: loose.at,
                    fact: loose.fact,
                });
            }
        }
    }
}

/// As much of a line as tells a fact.
#[derive(Deserialize)]
struct Loose<Fact> {
    sequence: u64,
    at: Timestamp,
    fact: Fact,
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
    fn a_follower_is_shown_each_fact_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, Durability::Written, |_: Entry<String>| {})
            .unwrap()
            .journal;
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
    fn a_line_that_was_changed_is_an_error_and_can_still_be_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let mut journal = Journal::open(&path, Durability::Written, |_: Entry<String>| {})
            .unwrap()
            .journal;
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
}
