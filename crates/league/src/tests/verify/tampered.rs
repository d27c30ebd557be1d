//! Journals and documents that somebody changed, with every checksum made right again where that
//! is possible: the first wrong line is named.

use std::fs;
use std::path::PathBuf;

use crate::storage::record::{Record, Transcript};
use crate::storage::verify::Wrong;
use league_core::draw;
use league_core::league::Event;
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use league_protocol::message::MatchResult;
use league_protocol::secret::Seed;
use serde_json::json;

use crate::tests::journals::league_id;
use crate::tests::verify::{Place, assert_line, first_result, records, result_of, wrong_after};

type Records = Vec<Record<Event>>;

/// What is wrong with a league whose records were changed, and then chained anew.
fn after(change: impl FnOnce(&mut Records)) -> Wrong {
    wrong_after(records(), change)
}

#[test]
fn any_change_to_a_result_is_named() {
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
            "the choices do not complete a game",
        ),
        (
            |result| drop(result.details.insert("drawn_number".to_owned(), json!(99))),
            "lead to other details",
        ),
        (
            |result| result.draw.as_mut().unwrap().seed = Some(Seed([1; 32])),
            "not the one that was promised",
        ),
        (
            |result| {
                let opened = result.draw.as_mut().unwrap();
                let seed = Seed([1; 32]);
                let match_id = MatchId::numbered(1, 1);
                let mode = opened.mode;
                opened.commitment = draw::commitment(&league_id(), &match_id, mode, &seed);
                opened.seed = Some(seed);
            },
            "not the one that was promised",
        ),
        (
            |result| result.draw = None,
            "`draw` must tell commitment, attempt and nonces",
        ),
    ];
    for (change, what) in changes {
        let wrong = after(|records| change(result_of(records, line)));
        assert_line(&wrong, line, what);
    }
}

#[test]
fn repeated_or_missing_result_is_named() {
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
fn result_by_another_referee_is_named() {
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
fn changed_promise_breaks_the_result() {
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
fn journal_needs_one_opening_of_the_manager() {
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
                opened: Vec::new(),
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
fn line_changed_in_place_breaks_its_checksum() {
    let place = Place::holding(&records());
    let journal = place.root.league_journal(&league_id());
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("Player 2", "Player 9", 1)).unwrap();
    let line = text.lines().position(|line| line.contains("Player 2"));
    let wrong = place.verdict().wrong.unwrap();
    assert_line(&wrong, line.unwrap() + 1, "the checksum is");
    fs::write(&journal, "").unwrap();
    let wrong = place.verdict().wrong.unwrap();
    assert_line(&wrong, 1, "the first entry must tell how the journal began");
}

#[test]
fn differing_document_is_named() {
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
    // The last entry ends the league and leaves the table as it is.
    let version = format!("\"version\": {}", last - 1);
    let what = changed("standings.json", &version, "\"version\": 900");
    assert_eq!(
        what,
        format!("`version` is `900`, expected a line from 2 to {last} of the journal")
    );
    let what = changed("standings.json", "\"standings\"", "\"standing\"");
    assert!(what.contains("missing field `standings`"), "{what}");
}

#[test]
fn journal_of_a_referee_is_checked() {
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
