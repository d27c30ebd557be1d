//! Behaviour of a journal whose disk fails.

use std::io::Write;
use std::sync::{Arc, Mutex};

use super::*;

/// A disk in memory that fails at the chosen call and writes little at a time.
#[derive(Default)]
struct Faulty {
    /// The content of the file after the process ends.
    bytes: Arc<Mutex<Vec<u8>>>,
    syncs: Arc<Mutex<u32>>,
    /// The maximum number of bytes per call; 0 for no limit.
    at_once: usize,
    writes_before: Option<(u32, io::ErrorKind)>,
    syncs_before: Option<u32>,
}

impl Write for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writes_before {
            Some((0, kind)) => return Err((*kind).into()),
            Some((left, _)) => *left -= 1,
            None => {}
        }
        let length = match self.at_once {
            0 => bytes.len(),
            most => bytes.len().min(most),
        };
        self.bytes
            .lock()
            .unwrap()
            .extend_from_slice(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk for Faulty {
    fn sync(&mut self) -> io::Result<()> {
        *self.syncs.lock().unwrap() += 1;
        match &mut self.syncs_before {
            Some(0) => return Err(io::Error::other("the disk is gone")),
            Some(left) => *left -= 1,
            None => {}
        }
        Ok(())
    }
}

const AT: i64 = 1_736_937_000_000;

fn append(journal: &mut Journal, facts: &[&str]) -> Result<u64, StoreError> {
    journal.append(Timestamp::from_millis(AT), facts)
}

fn on(disk: Faulty) -> Journal {
    let path = Path::new("journal.jsonl");
    Journal::at(path, Box::new(disk), Durability::Synced, Head::default())
}

fn kept(bytes: &Mutex<Vec<u8>>) -> (Vec<String>, End) {
    let mut facts = Vec::new();
    let bytes = bytes.lock().unwrap().clone();
    let end = read_from(Path::new("journal.jsonl"), &bytes[..], |entry| {
        facts.push(entry.fact);
        ControlFlow::Continue(())
    });
    (facts, end.unwrap())
}

#[test]
fn short_writes_are_completed() {
    let disk = Faulty {
        at_once: 7,
        ..Faulty::default()
    };
    let bytes = Arc::clone(&disk.bytes);
    let mut journal = on(disk);
    assert_eq!(append(&mut journal, &["a", "b"]).unwrap(), 2);
    assert_eq!(append(&mut journal, &["c"]).unwrap(), 3);
    let (facts, end) = kept(&bytes);
    assert_eq!(facts, ["a", "b", "c"]);
    assert_eq!(end.unfinished, None);
}

#[test]
fn sync_that_failed_is_never_tried_again() {
    let disk = Faulty {
        syncs_before: Some(1),
        ..Faulty::default()
    };
    let syncs = Arc::clone(&disk.syncs);
    let mut journal = on(disk);
    append(&mut journal, &["a"]).unwrap();
    let refused = append(&mut journal, &["b"]).unwrap_err();
    assert!(matches!(refused, StoreError::Io { doing: "sync", .. }));
    assert_eq!(*syncs.lock().unwrap(), 2);
    for _ in 0..3 {
        let refused = append(&mut journal, &["c"]).unwrap_err();
        assert!(matches!(refused, StoreError::Failed { .. }));
    }
    assert_eq!(
        *syncs.lock().unwrap(),
        2,
        "nothing is synced after a failure"
    );
    assert_eq!(journal.last(), 1, "what failed is not counted");
}

#[test]
fn full_disk_is_named_and_nothing_is_taken_after_it() {
    let full = io::ErrorKind::StorageFull;
    for calls in 0..40 {
        let disk = Faulty {
            at_once: 20,
            writes_before: Some((calls, full)),
            ..Faulty::default()
        };
        let bytes = Arc::clone(&disk.bytes);
        let mut journal = on(disk);
        let mut acknowledged = 0;
        for batch in [["a", "b"], ["c", "d"]] {
            match append(&mut journal, &batch) {
                Ok(last) => acknowledged = last,
                Err(StoreError::Full { .. }) => break,
                Err(other) => panic!("{other}"),
            }
        }
        if acknowledged < 4 {
            let refused = append(&mut journal, &["e"]).unwrap_err();
            assert!(matches!(refused, StoreError::Failed { .. }));
        }
        let (facts, end) = kept(&bytes);
        assert_eq!(facts.len() as u64, acknowledged, "{calls} calls");
        assert_eq!(end.last, acknowledged);
    }
}

#[test]
fn batch_costs_one_sync() {
    let disk = Faulty::default();
    let syncs = Arc::clone(&disk.syncs);
    let mut journal = on(disk);
    append(&mut journal, &["a"; 1_000]).unwrap();
    append(&mut journal, &[]).unwrap();
    assert_eq!(*syncs.lock().unwrap(), 1);
}

#[test]
fn unserialisable_fact_is_refused_and_leaves_the_journal_unchanged() {
    let disk = Faulty::default();
    let bytes = Arc::clone(&disk.bytes);
    let mut journal = on(disk);
    let at = Timestamp::from_millis(AT);
    let raw = serde_json::value::RawValue::from_string("[1,\n2]".to_owned()).unwrap();
    let refused = journal.append(at, &[raw]).unwrap_err();
    assert!(matches!(refused, StoreError::Fact(_)), "{refused}");
    let long = "x".repeat(super::super::MAX_LINE);
    let refused = append(&mut journal, &["a", &long]).unwrap_err();
    assert!(matches!(refused, StoreError::TooLong(_)), "{refused}");
    let many = vec!["a"; super::super::MAX_BATCH as usize + 1];
    let refused = append(&mut journal, &many).unwrap_err();
    assert!(matches!(refused, StoreError::TooMany(_)), "{refused}");
    assert!(bytes.lock().unwrap().is_empty());
    assert_eq!(append(&mut journal, &["a"]).unwrap(), 1);
}
