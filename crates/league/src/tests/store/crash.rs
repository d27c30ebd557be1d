//! Processes that end in the middle of a write, and journals that are opened after it.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use crate::storage::store::{Cut, Durability, Entry, Journal, Store, noted_line};
use league_protocol::time::Timestamp;
use proptest::prelude::*;

use crate::tests::store::{Place, append};

#[test]
fn last_line_cut_at_any_byte_is_dropped() {
    let place = Place::holding(&[&["one"], &["two", "three"], &["four"]]);
    let whole = place.bytes();
    let start = place.lines()[..3].concat().len();
    for end in start..whole.len() {
        place.overwrite(&whole[..end]);
        let (facts, read) = place.read().unwrap();
        assert_eq!(facts, ["one", "two", "three"]);
        let bytes = (end - start) as u64;
        let cut = (bytes > 0).then_some(Cut { line: 4, bytes });
        assert_eq!(read.unfinished, cut);
        assert_eq!(place.bytes().len(), end, "a reader changes nothing");
        let (mut journal, facts, found) = place.open().unwrap();
        assert_eq!((facts.len(), found), (3, cut), "at {end}");
        assert_eq!(append(&mut journal, &["four"]), 4);
        assert_eq!(place.bytes(), whole);
    }
}

#[test]
fn synced_line_is_known_beside_the_journal_and_a_light_one_is_not() {
    let place = Place::holding(&[&["one"], &["two", "three"]]);
    let known = || {
        let opened = Journal::open(&place.path, Durability::Synced, |_: Entry<String>| {});
        (opened.unwrap().last(), noted_line(&place.path))
    };
    assert_eq!(known(), (3, 3));
    let (mut journal, _, _) = place.open().unwrap();
    let light = journal.append_lightly(Timestamp::default(), &["four"]);
    assert_eq!(light.unwrap(), 4);
    drop(journal);
    assert_eq!(known(), (4, 3));
    place.overwrite(&place.lines()[..2].concat());
    assert_eq!(known(), (1, 3), "its second batch was synced and is gone");
    let (mut journal, _, _) = place.open().unwrap();
    append(&mut journal, &["two"]);
    drop(journal);
    assert_eq!(known(), (2, 2));
}

#[test]
fn broken_last_line_is_dropped_by_a_writer_and_named_to_a_reader() {
    let place = Place::holding(&[&["one"], &["two"]]);
    let whole = place.bytes();
    let start = place.lines()[0].len();
    for at in start..whole.len() - 1 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        place.overwrite(&bytes);
        let refused = place.read().unwrap_err().to_string();
        assert!(refused.contains("in line 2"), "{refused}");
        let (_, facts, cut) = place.open().unwrap();
        let bytes = (whole.len() - start) as u64;
        assert_eq!(facts, ["one"]);
        assert_eq!(cut, Some(Cut { line: 2, bytes }));
    }
}

#[test]
fn batch_is_kept_whole_or_not_at_all() {
    let place = Place::holding(&[&["one"], &["two", "three", "four"]]);
    let whole = place.bytes();
    let start = place.lines()[0].len();
    for end in start + 1..whole.len() {
        place.overwrite(&whole[..end]);
        let (_, facts, cut) = place.open().unwrap();
        let bytes = (end - start) as u64;
        assert_eq!(facts, ["one"], "at {end}");
        assert_eq!(cut, Some(Cut { line: 2, bytes }));
    }
}

/// Adds these batches, then ends with so many thousandths of the file left.
#[derive(Debug, Clone)]
struct Life {
    batches: Vec<Vec<String>>,
    left: usize,
}

fn life() -> impl Strategy<Value = Life> {
    let fact = prop_oneof!["[a-z\n\"é]{0,12}", "x{200,300}"];
    let batch = prop::collection::vec(fact, 0..5);
    let batches = prop::collection::vec(batch, 0..5);
    // Mostly the end of the file is lost, as in a crash, and sometimes more.
    let left = prop_oneof![3 => 800_usize..=1_000, 1 => 0_usize..=1_000];
    (batches, left).prop_map(|(batches, left)| Life { batches, left })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn truncated_journal_is_a_prefix_of_the_written_facts(lives in prop::collection::vec(life(), 1..5)) {
        let place = Place::new();
        // Each batch that is kept, and where it ends in the file.
        let mut model: Vec<(Vec<String>, usize)> = Vec::new();
        for life in lives {
            let opened = Journal::open(&place.path, Durability::Written, |_: Entry<String>| {});
            let mut journal = opened.unwrap().accept().unwrap();
            for batch in life.batches.into_iter().filter(|batch| !batch.is_empty()) {
                journal.append(Timestamp::default(), &batch).unwrap();
                model.push((batch, place.bytes().len()));
            }
            drop(journal);
            let bytes = place.bytes();
            let left = bytes.len() * life.left / 1_000;
            place.overwrite(&bytes[..left]);
            model.retain(|(_, end)| *end <= left);
            let whole = model.last().map_or(0, |(_, end)| *end);
            let expected: Vec<&String> = model.iter().flat_map(|(batch, _)| batch).collect();
            let (_, facts, cut) = place.open().unwrap();
            prop_assert_eq!(facts.iter().collect::<Vec<_>>(), expected);
            prop_assert_eq!(cut.map_or(0, |cut| cut.bytes), (left - whole) as u64);
            prop_assert_eq!(place.bytes().len(), whole);
        }
    }
}

/// Tells the copy of this program that is to be killed where its journal is.
const TO_BE_KILLED: &str = "LEAGUE_TEST_JOURNAL_OF_THE_KILLED";
const KILLS: u64 = 12;
/// Far more than are written before the kill.
const MAX_BATCHES: u32 = 100_000;

#[test]
fn acknowledged_facts_survive_a_killed_writer() {
    if let Ok(path) = env::var(TO_BE_KILLED) {
        return append_until_killed(path.as_ref());
    }
    let place = Place::new();
    let mut acknowledged = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("tests::store::crash::acknowledged_facts_survive_a_killed_writer")
            .env(TO_BE_KILLED, &place.path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.find_map(|line| told(&line.unwrap())).unwrap();
        acknowledged = acknowledged.max(first);
        thread::sleep(Duration::from_millis(kill * 3));
        child.kill().unwrap();
        child.wait().unwrap();
        let all = lines.map_while(Result::ok).filter_map(|line| told(&line));
        acknowledged = all.fold(acknowledged, u64::max);
        let (journal, facts, _) = place.open().unwrap();
        assert!(journal.last() >= acknowledged, "kill {kill}");
        for (sequence, fact) in (1..).zip(&facts) {
            assert_eq!(*fact, format!("fact {sequence}"));
        }
        acknowledged = journal.last();
    }
    assert!(fs::metadata(&place.path).unwrap().len() > 0);
}

fn told(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

fn append_until_killed(path: &std::path::Path) {
    let opened = Journal::open(path, Durability::Synced, |_: Entry<String>| {});
    let mut journal = opened.unwrap().accept().unwrap();
    let mut out = io::stdout().lock();
    for _ in 0..MAX_BATCHES {
        let first = journal.last() + 1;
        let count = first % 7 + 1;
        let facts: Vec<String> = (first..first + count)
            .map(|sequence| format!("fact {sequence}"))
            .collect();
        let last = journal.append(Timestamp::default(), &facts).unwrap();
        writeln!(out, "acknowledged {last}").unwrap();
    }
}
