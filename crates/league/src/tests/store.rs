//! The journal on a real disk: what it keeps, what it cuts off, what it refuses.

mod crash;
mod damage;
mod kept;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::storage::store::{Cut, Durability, End, Entry, Journal, Store, StoreError};
use league_protocol::time::Timestamp;
use tempfile::TempDir;

/// A journal in a folder that is gone after the test.
struct Place {
    _folder: TempDir,
    path: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/leagues/a/journal.jsonl");
        Self {
            _folder: folder,
            path,
        }
    }

    /// A place with a journal of these batches.
    fn holding(batches: &[&[&str]]) -> Self {
        let place = Self::new();
        let (mut journal, _, _) = place.open().unwrap();
        for batch in batches {
            append(&mut journal, batch);
        }
        place
    }

    fn open(&self) -> Result<(Journal, Vec<String>, Option<Cut>), StoreError> {
        let mut facts = Vec::new();
        let opened = Journal::open(&self.path, Durability::Synced, |entry: Entry<String>| {
            facts.push(entry.fact);
        })?;
        let cut = opened.cut();
        Ok((opened.accept()?, facts, cut))
    }

    fn read(&self) -> Result<(Vec<String>, End), StoreError> {
        read(&self.path)
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }

    fn overwrite(&self, bytes: &[u8]) {
        fs::write(&self.path, bytes).unwrap();
    }

    /// The lines with their newlines.
    fn lines(&self) -> Vec<Vec<u8>> {
        let bytes = self.bytes();
        bytes
            .split_inclusive(|&byte| byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    }
}

fn read(path: &Path) -> Result<(Vec<String>, End), StoreError> {
    let mut facts = Vec::new();
    let end = Journal::read(path, |entry: Entry<String>| {
        facts.push(entry.fact);
        ControlFlow::Continue(())
    })?;
    Ok((facts, end))
}

fn append(journal: &mut Journal, facts: &[&str]) -> u64 {
    let at = Timestamp::from_millis(1_736_937_000_000);
    journal.append(at, facts).unwrap()
}
