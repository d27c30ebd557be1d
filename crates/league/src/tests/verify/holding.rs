//! Leagues that hold: finished ones, ones that are going on, ones that were cut short.

use std::fs;
use std::io::Write;

use crate::storage::root::Root;
use crate::storage::verify::{VerifyError, leagues, verify};
use league_protocol::id::LeagueId;

use crate::tests::journals::league_id;
use crate::tests::verify::{Place, records};

#[test]
fn finished_league_holds() {
    let place = Place::holding(&records());
    let verdict = place.verdict();
    assert_eq!(verdict.wrong, None);
    let checked = verdict.checked;
    assert_eq!(checked.phase.as_deref(), Some("completed"));
    assert_eq!((checked.players, checked.referees), (4, 2));
    assert_eq!(
        (checked.rounds, checked.results, checked.matches),
        (3, 6, 6)
    );
    assert_eq!(checked.lines, records().len() as u64);
    assert_eq!(checked.documents.len(), 2);
    assert_eq!((checked.referee_journals, checked.referee_lines), (1, 1));
    assert_eq!(leagues(&place.root).unwrap(), [league_id()]);
}

#[test]
fn league_is_verified_after_every_entry() {
    let records = records();
    for length in 1..records.len() {
        let place = Place::holding(&records[..length]);
        let verdict = place.verdict();
        assert_eq!(verdict.wrong, None, "{length} entries");
    }
}

#[test]
fn unfinished_last_line_passes() {
    let place = Place::holding(&records());
    let journal = place.root.league_journal(&league_id());
    let mut file = fs::OpenOptions::new().append(true).open(&journal).unwrap();
    file.write_all(br#"{"crc32":"0000"#).unwrap();
    let verdict = place.verdict();
    assert_eq!(verdict.wrong, None);
    assert_eq!(verdict.checked.unfinished_bytes, 14);
}

#[test]
fn documents_behind_the_journal_are_listed_and_pass() {
    let records = records();
    let earlier = Place::holding(&records[..records.len() - 4]);
    let later = Place::holding(&records);
    for name in ["standings.json", "rounds.json"] {
        let file = |place: &Place| place.root.league_folder(&league_id()).join(name);
        fs::copy(file(&earlier), file(&later)).unwrap();
    }
    let verdict = later.verdict();
    assert_eq!(verdict.wrong, None);
    assert!(verdict.checked.documents.is_empty());
    let behind = verdict.checked.behind.iter();
    let lines: Vec<u64> = behind.map(|behind| behind.line).collect();
    assert_eq!(lines.len(), 2);
    let last = records.len() as u64 - 4;
    assert!(lines.iter().all(|line| *line <= last), "{lines:?}");
}

#[test]
fn missing_league_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path().join("nowhere"));
    assert!(matches!(leagues(&root), Err(VerifyError::NoLeague(_))));
    let place = Place::holding(&records());
    let other = LeagueId::new("other").unwrap();
    let refused = verify(&place.root, &other).unwrap_err();
    assert!(matches!(refused, VerifyError::NoSuchLeague { .. }));
    assert!(place.folder.path().exists());
}
