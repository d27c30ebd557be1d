//! What is written is read again, by one writer and any reader.

use std::fs;
use std::ops::ControlFlow;

use crate::storage::store::{Durability, Entry, Journal, StoreError};
use league_protocol::token::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::tests::store::{Place, append};

#[test]
fn facts_come_back_in_order_and_the_next_follows_them() {
    let place = Place::new();
    let (mut journal, facts, cut) = place.open().unwrap();
    assert!(facts.is_empty() && cut.is_none());
    assert_eq!(journal.last(), 0);
    assert_eq!(append(&mut journal, &["a", "b\nc"]), 2);
    assert_eq!(append(&mut journal, &["é\""]), 3);
    drop(journal);
    let (mut journal, facts, cut) = place.open().unwrap();
    assert_eq!(facts, ["a", "b\nc", "é\""]);
    assert_eq!(cut, None);
    assert_eq!(append(&mut journal, &["d"]), 4);
    let (facts, end) = place.read().unwrap();
    assert_eq!(facts, ["a", "b\nc", "é\"", "d"]);
    assert_eq!(end.last, 4);
}

#[test]
fn line_can_be_checked_with_common_tools() {
    let place = Place::holding(&[&["a"], &["b", "c"]]);
    let mut before = "0".repeat(64);
    for (number, line) in place.lines().iter().enumerate() {
        let line = line.strip_suffix(b"\n").unwrap();
        let object: Value = serde_json::from_slice(line).unwrap();
        assert_eq!(object["sequence"], number + 1);
        assert_eq!(object["previous"], before);
        assert_eq!(object["at"], "2025-01-15T10:30:00.000Z");
        let content = &line[br#"{"crc32":"00000000","#.len()..];
        let checksum = format!("{:08x}", crc32fast::hash(content));
        assert_eq!(object["crc32"], checksum);
        before = hex(&Sha256::digest(line).into());
    }
    let more: Vec<Value> = place
        .lines()
        .iter()
        .map(|line| serde_json::from_slice::<Value>(line).unwrap()["more"].clone())
        .collect();
    assert_eq!(more, [Value::Null, Value::from(1), Value::Null]);
}

#[test]
fn second_writer_gets_the_owner_of_the_journal() {
    let place = Place::new();
    let (journal, _, _) = place.open().unwrap();
    let refused = place.open().unwrap_err();
    let own = std::process::id();
    assert!(matches!(refused, StoreError::Held { pid: Some(pid), .. } if pid == own));
    assert!(
        refused
            .to_string()
            .ends_with(&format!("is already written by process `{own}`"))
    );
    place.read().unwrap();
    drop(journal);
    place.open().unwrap();
}

#[test]
fn unsynced_facts_are_read_back() {
    let place = Place::new();
    let open = || Journal::open(&place.path, Durability::Written, |_: Entry<String>| {});
    append(&mut open().unwrap().accept().unwrap(), &["a"]);
    assert_eq!(open().unwrap().accept().unwrap().last(), 1);
}

#[test]
fn reader_may_stop_early() {
    let place = Place::holding(&[&["a"], &["b"], &["c"]]);
    let mut seen = 0;
    let end = Journal::read(&place.path, |entry: Entry<String>| {
        seen = entry.sequence;
        match entry.fact.as_str() {
            "b" => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert_eq!((seen, end.unwrap().last), (2, 2));
}

#[test]
fn unwritable_path_is_named() {
    let place = Place::new();
    fs::create_dir_all(place.path.parent().unwrap().parent().unwrap()).unwrap();
    fs::write(place.path.parent().unwrap(), "a file").unwrap();
    let refused = place.open().unwrap_err();
    assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
    let refused = place.read().unwrap_err();
    assert!(
        matches!(refused, StoreError::Io { doing: "open", .. }),
        "{refused}"
    );
}
