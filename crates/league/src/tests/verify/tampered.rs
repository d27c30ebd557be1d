//! Journals and documents that somebody changed, with every checksum made right again where that
//! is possible: the first wrong line is named.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::storage::record::{Record, Transcript};
use crate::storage::verify::Wrong;
use league_core::draw;
use league_core::league::Event;
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::message::MatchResult;
use serde_json::json;

use crate::tests::verify::Place;
use crate::tests::verify::played::{league_id, records, write_journal};

const JOURNAL: &str = "data/leagues/league_2025_even_odd/journal.jsonl";

type Records = Vec<Record<Event>>;

/// What is wrong with a league whose records were changed, and then chained anew.
fn after(change: impl FnOnce(&mut Records)) -> Wrong {
    let mut changed = records();
    change(&mut changed);
    let place = Place::holding(&records());
    let journal = place.root.league_journal(&league_id());
    fs::remove_file(&journal).unwrap();
    write_journal(&journal, &changed);
    let verdict = place.verdict();
    assert!(!verdict.verified);
    verdict.wrong.unwrap()
}

fn assert_line(wrong: &Wrong, line: usize, what: &str) {
    assert_eq!(wrong.file, PathBuf::from(JOURNAL));
    assert_eq!(wrong.line, Some(line as u64), "{}", wrong.what);
    assert!(wrong.what.contains(what), "{}", wrong.what);
}

/// The line of the first result.
fn first_result(records: &Records) -> usize {
    let result =
        |record: &Record<Event>| matches!(record, Record::Event(Event::ResultRecorded { .. }));
    records.iter().position(result).unwrap() + 1
}

fn result_of(records: &mut Records, line: usize) -> &mut MatchResult {
    match &mut records[line - 1] {
        Record::Event(Event::ResultRecorded { result, .. }) => Arc::make_mut(result),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_changed_result_is_named_whatever_was_changed() {
    let line = first_result(&records());
    type Change = fn(&mut MatchResult);
    let changes: [(Change, &str); 7] = [
        (|result| result.points.reverse(), "the points of this end"),
        (
            |result| {
                result.winner = result
                    .players
                    .iter()
                    .find(|player| Some(*player) != result.winner.as_ref())
                    .cloned();
                result.points.reverse();
            },
            "lead to another result",
        ),
        (
            |result| {
                let choices = result.choices.values_mut();
                choices.for_each(|choice| *choice = json!("odd"));
            },
            "lead to",
        ),
        (
            |result| drop(result.details.insert("drawn_number".to_owned(), json!(99))),
            "lead to other details",
        ),
        (
            |result| result.draw.as_mut().unwrap().seed.0 = [1; 32],
            "not the one that was promised",
        ),
        (
            |result| {
                let opened = result.draw.as_mut().unwrap();
                opened.seed.0 = [1; 32];
                let match_id = MatchId::numbered(1, 1);
                opened.commitment = draw::commitment(&league_id(), &match_id, &opened.seed);
            },
            "not the one that was promised",
        ),
        (|result| result.draw = None, "the draw must be opened"),
    ];
    for (change, what) in changes {
        let wrong = after(|records| change(result_of(records, line)));
        assert_line(&wrong, line, what);
    }
}

#[test]
fn a_result_that_is_told_twice_or_not_at_all_is_named() {
    let line = first_result(&records());
    let wrong = after(|records| records.insert(line, records[line - 1].clone()));
    assert_line(&wrong, line + 1, "has its result already");
    let closed = |record: &Record<Event>| {
        matches!(record, Record::Event(Event::RoundClosed { round: 1, .. }))
    };
    let end = records().iter().position(closed).unwrap() + 1;
    let wrong = after(|records| drop(records.remove(line - 1)));
    assert_line(&wrong, end - 1, "has `1` matches without a result");
}

#[test]
fn a_result_by_another_referee_is_named() {
    let line = first_result(&records());
    let wrong = after(|records| match &mut records[line - 1] {
        Record::Event(Event::ResultRecorded { referee, .. }) => {
            let other = RefereeId::numbered(1);
            *referee = Some(match referee {
                Some(first) if *first == other => RefereeId::numbered(2),
                _ => other,
            });
        }
        other => panic!("{other:?}"),
    });
    assert_line(&wrong, line, "is in the hands of");
}

#[test]
fn a_promise_that_was_changed_breaks_the_result() {
    let line = first_result(&records());
    let wrong = after(|records| {
        for record in records {
            if let Record::Event(Event::RoundOpened { commitments, .. }) = record {
                commitments
                    .iter_mut()
                    .for_each(|promise| promise.0 = [2; 32]);
            }
        }
    });
    assert_line(&wrong, line, "not the one that was promised");
}

#[test]
fn the_opening_must_be_there_once_and_the_managers_own() {
    let wrong = after(|records| drop(records.remove(0)));
    assert_line(&wrong, 1, "the first entry must tell how the journal began");
    let wrong = after(|records| records.insert(3, records[0].clone()));
    assert_line(&wrong, 4, "a journal begins once");
    let opening = |records: &mut Records, change: fn(&mut crate::storage::record::Opening)| {
        if let Record::Opened(opening) = &mut records[0] {
            change(opening);
        }
    };
    let wrong = after(|records| opening(records, |opening| opening.rules = None));
    assert_line(&wrong, 1, "the rules of the league are missing");
    let wrong = after(|records| opening(records, |opening| opening.role = "referee".to_owned()));
    assert_line(&wrong, 1, "expected `league_manager`");
    let wrong = after(|records| {
        opening(records, |opening| {
            opening.league_id = LeagueId::new("other").ok();
        });
    });
    assert_line(&wrong, 1, "this is not the journal of");
    let wrong = after(|records| {
        records.insert(
            2,
            Record::Transcript(Transcript {
                match_id: MatchId::numbered(1, 1),
                attempt: 1,
                messages: Vec::new(),
            }),
        );
    });
    assert_line(&wrong, 3, "stands in its referee's journal");
}

#[test]
fn other_points_in_the_rules_break_the_first_result() {
    let line = first_result(&records());
    let wrong = after(|records| {
        if let Record::Opened(opening) = &mut records[0] {
            opening.rules.as_mut().unwrap().score.win = 4;
        }
    });
    assert_line(&wrong, line, "the points of this end");
}

#[test]
fn a_line_that_was_changed_in_place_is_named_by_its_checksum() {
    let place = Place::holding(&records());
    let journal = place.root.league_journal(&league_id());
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("Player 12", "Player 92", 1)).unwrap();
    let line = text.lines().position(|line| line.contains("Player 12"));
    let wrong = place.verdict().wrong.unwrap();
    assert_line(&wrong, line.unwrap() + 1, "the checksum is");
    fs::write(&journal, "").unwrap();
    let wrong = place.verdict().wrong.unwrap();
    assert_line(&wrong, 1, "the first entry must tell how the journal began");
}

#[test]
fn a_document_that_does_not_agree_is_named() {
    let changed = |name: &str, from: &str, to: &str| {
        let place = Place::holding(&records());
        let file = PathBuf::from("data/leagues/league_2025_even_odd").join(name);
        let path = place.folder.path().join(&file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let wrong = place.verdict().wrong.unwrap();
        assert_eq!((wrong.file, wrong.line), (file, None));
        wrong.what
    };
    let last = records().len();
    let what = changed("standings.json", "\"rank\": 1", "\"rank\": 7");
    assert_eq!(what, "`standings[0].rank` is `7`, expected `1`");
    let what = changed("rounds.json", "\"R1M1\"", "\"R1M9\"");
    assert_eq!(
        what,
        "`rounds[0].matches[0].match_id` is `\"R1M9\"`, expected `\"R1M1\"`"
    );
    let version = format!("\"version\": {last}");
    let what = changed("standings.json", &version, "\"version\": 900");
    assert_eq!(
        what,
        format!("`version` is `900`, expected a line from 2 to {last} of the journal")
    );
    let what = changed("standings.json", "\"standings\"", "\"standing\"");
    assert!(what.contains("missing field `standings`"), "{what}");
}

#[test]
fn a_referees_journal_is_looked_at_too() {
    let place = Place::holding(&records());
    let journal = place
        .root
        .referee_journal(&league_id(), &RefereeId::numbered(1));
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("referee", "refered", 1)).unwrap();
    let wrong = place.verdict().wrong.unwrap();
    let below = "data/leagues/league_2025_even_odd/referees/REF01/journal.jsonl";
    assert_eq!((wrong.file, wrong.line), (PathBuf::from(below), Some(1)));
}
