//! A journal that is not what was written: each kind of damage, and how it is named.

use std::fs;

use crate::storage::store::{Cut, Damage, Durability, Entry, Journal, StoreError};

use crate::tests::store::Place;

const FIVE: [&[&str]; 5] = [&["one"], &["two"], &["three"], &["four"], &["five"]];

/// Opening and reading must both refuse, at this line.
fn refusal(place: &Place, line: u64) -> Damage {
    let before = place.bytes();
    let refused = place.open().unwrap_err();
    assert_eq!(place.bytes(), before, "what is refused is left as it is");
    let read = place.read().unwrap_err();
    assert_eq!(read.to_string(), refused.to_string());
    match refused {
        StoreError::Damaged {
            line: found,
            offset,
            damage,
            ..
        } => {
            assert_eq!(found, line, "{damage}");
            let start = place.lines()[..line as usize - 1].concat().len();
            assert_eq!(offset, start as u64);
            damage
        }
        other => panic!("{other}"),
    }
}

fn with_lines(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Place {
    let place = Place::holding(&FIVE);
    let mut lines = place.lines();
    change(&mut lines);
    place.overwrite(&lines.concat());
    place
}

#[test]
fn changed_byte_is_found_at_any_place() {
    let place = Place::holding(&FIVE);
    let whole = place.bytes();
    let lines = place.lines();
    let mut start = 0;
    for (number, line) in (1..).zip(&lines[..4]) {
        for at in 0..line.len() {
            let mut bytes = whole.clone();
            bytes[start + at] ^= 1;
            place.overwrite(&bytes);
            let damage = refusal_line(&place);
            assert_eq!(damage, number, "byte {at} of line {number}");
        }
        start += line.len();
    }
}

fn refusal_line(place: &Place) -> u64 {
    match place.read().unwrap_err() {
        StoreError::Damaged { line, .. } => line,
        other => panic!("{other}"),
    }
}

#[test]
fn changed_fact_breaks_its_checksum() {
    let place = with_lines(|lines| {
        let text = String::from_utf8(lines[2].clone()).unwrap();
        lines[2] = text.replace("three", "seven").into_bytes();
    });
    assert!(matches!(refusal(&place, 3), Damage::Checksum { .. }));
}

#[test]
fn missing_line_is_found_at_the_next() {
    let place = with_lines(|lines| drop(lines.remove(1)));
    let (expected, found) = (2, 3);
    assert_eq!(refusal(&place, 2), Damage::Sequence { expected, found });
    let place = with_lines(|lines| drop(lines.remove(0)));
    let (expected, found) = (1, 2);
    assert_eq!(refusal(&place, 1), Damage::Sequence { expected, found });
}

#[test]
fn swapped_lines_are_found_at_the_first() {
    for last in [2, 4] {
        let place = with_lines(|lines| lines.swap(1, last));
        let (expected, found) = (2, last as u64 + 1);
        assert_eq!(refusal(&place, 2), Damage::Sequence { expected, found });
    }
}

#[test]
fn repeated_line_is_found_at_the_second() {
    for (number, expected) in [(2, 4), (4, 6)] {
        let place = with_lines(|lines| lines.insert(number, lines[number].clone()));
        let found = expected - 1;
        assert_eq!(
            refusal(&place, expected),
            Damage::Sequence { expected, found }
        );
    }
}

#[test]
fn rewritten_line_is_found_at_the_next() {
    let place = with_lines(|lines| {
        let text = String::from_utf8(lines[2].clone()).unwrap();
        let text = text.replace("three", "seven");
        lines[2] = checksummed(&text).into_bytes();
    });
    assert!(matches!(refusal(&place, 4), Damage::Chain { .. }));
}

#[test]
fn whole_line_without_meaning_is_never_dropped() {
    for (from, to) in [
        (r#""fact":"five""#, r#""fact":5"#),
        (r#""sequence":5"#, r#""sequence":"5""#),
        (r#""at":"2025"#, r#""at":"20x5"#),
        (r#""fact":"five""#, r#""fakt":"five""#),
    ] {
        let place = with_lines(|lines| {
            let text = String::from_utf8(lines[4].clone()).unwrap();
            assert!(text.contains(from));
            lines[4] = checksummed(&text.replace(from, to)).into_bytes();
        });
        assert!(matches!(refusal(&place, 5), Damage::Content(_)), "{to}");
    }
}

#[test]
fn batch_that_does_not_add_up_is_refused() {
    for (from, to) in [
        (r#""more":1"#, r#""more":2"#),
        (r#""more":3"#, r#""more":300000"#),
    ] {
        let place = Place::holding(&[&["one", "two", "three", "four"]]);
        let text = String::from_utf8(place.bytes()).unwrap();
        let lines = text.split_inclusive('\n');
        let changed: String = lines
            .map(|line| match line.contains(from) {
                true => checksummed(&line.replace(from, to)),
                false => line.to_owned(),
            })
            .collect();
        place.overwrite(changed.as_bytes());
        let line = if from.ends_with('3') { 1 } else { 3 };
        assert!(matches!(refusal(&place, line), Damage::Batch { .. }));
    }
}

#[test]
fn garbage_before_good_lines_is_refused_and_garbage_alone_is_cut() {
    for garbage in [&b"hello\n"[..], b"\n", b"{}\n", b"\xff\xfe\n"] {
        let place = with_lines(|lines| lines.insert(2, garbage.to_vec()));
        assert_eq!(refusal(&place, 3), Damage::Form, "{garbage:?}");
        let place = Place::holding(&[]);
        place.overwrite(garbage);
        let (_, facts, cut) = place.open().unwrap();
        let bytes = garbage.len() as u64;
        assert_eq!((facts.len(), cut), (0, Some(Cut { line: 1, bytes })));
        assert!(place.bytes().is_empty());
    }
}

#[test]
fn journal_changes_only_when_it_is_accepted() {
    let place = Place::holding(&[&["one"]]);
    let torn = [&place.bytes()[..], b"{\"crc"].concat();
    place.overwrite(&torn);
    let open = || Journal::open(&place.path, Durability::Synced, |_: Entry<String>| {});
    assert!(open().unwrap().cut().is_some());
    assert_eq!(place.bytes(), torn, "opened and refused");
    open().unwrap().accept().unwrap();
    assert!(place.bytes().len() < torn.len(), "the tear is cut off");
    fs::remove_file(&place.path).unwrap();
    drop(open().unwrap());
    assert!(!place.path.exists(), "refused before it was made");
}

#[test]
fn empty_file_is_an_empty_journal() {
    let place = Place::holding(&[]);
    assert!(place.bytes().is_empty());
    let (journal, facts, cut) = place.open().unwrap();
    assert_eq!((journal.last(), facts.len(), cut), (0, 0, None));
}

#[test]
fn refusal_says_which_line_and_what_to_do() {
    let place = with_lines(|lines| drop(lines.remove(1)));
    let refused = place.open().unwrap_err();
    let text = refused.to_string();
    assert!(
        text.ends_with("journal.jsonl` is damaged in line 2: the sequence is `3`, expected `2`"),
        "{text}"
    );
    let hint = refused.hint();
    for way in ["a backup", "`league manager --next`", "`league export DIR`"] {
        assert!(hint.contains(way), "{hint}");
    }
}

#[test]
fn refusal_of_an_agents_journal_says_where_to_cut_it() {
    let mut place = with_lines(|lines| drop(lines.remove(1)));
    let of_agent = place.path.with_file_name("P01").join("journal.jsonl");
    fs::create_dir(of_agent.parent().unwrap()).unwrap();
    fs::rename(&place.path, &of_agent).unwrap();
    place.path = of_agent;
    let offset = place.lines()[0].len();
    let hint = place.open().unwrap_err().hint();
    assert!(hint.contains(&format!("truncate -s {offset}")), "{hint}");
    let file = fs::OpenOptions::new().write(true).open(&place.path);
    file.unwrap().set_len(offset as u64).unwrap();
    assert_eq!(place.open().unwrap().1, ["one"], "the hint helps");
}

/// A line with the checksum of what it holds.
fn checksummed(line: &str) -> String {
    let (content, _) = line.split_once('\n').unwrap();
    let content = &content[r#"{"crc32":"00000000","#.len()..];
    let checksum = crc32fast::hash(content.as_bytes());
    format!("{{\"crc32\":\"{checksum:08x}\",{content}\n")
}
