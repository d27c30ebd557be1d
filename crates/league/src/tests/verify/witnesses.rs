//! What others wrote down of a match stands against whoever changes one of the records: leagues
//! that were really played, with one file changed and everything in it made right again.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::storage::record::Record;
use crate::storage::verify::{Verdict, Wrong};
use league_core::league::Event;
use league_core::referee;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::MatchResult;
use serde_json::{Value, json};

use crate::tests::verify::real::{Played, rewrite};

/// A match in which the two chose differently, so that there is a winner.
pub(crate) fn decided(played: &Played) -> (MatchId, RefereeId) {
    let mut found = None;
    played.manager(|record| {
        if let Record::Event(Event::ResultRecorded {
            match_id,
            referee: Some(referee),
            result,
            ..
        }) = record
            && result.winner.is_some()
        {
            found.get_or_insert((match_id.clone(), referee.clone()));
        }
    });
    found.unwrap()
}

/// Gives the match to the loser, by what both chose, so that everything follows again.
pub(crate) fn other_winner(result: &mut MatchResult) {
    let [a, b] = &result.players;
    let (of_a, of_b) = (result.choices[a].clone(), result.choices[b].clone());
    result.winner = [a, b]
        .into_iter()
        .find(|player| Some(*player) != result.winner.as_ref())
        .cloned();
    result.choices.insert(a.clone(), of_b);
    result.choices.insert(b.clone(), of_a);
    result.points.reverse();
}

pub(crate) fn wrong(verdict: Verdict) -> Wrong {
    assert!(!verdict.verified, "{verdict:?}");
    verdict.wrong.unwrap()
}

pub(crate) fn change_manager(played: &Played, changed: &MatchId, change: fn(&mut MatchResult)) {
    played.manager(|record| {
        if let Record::Event(Event::ResultRecorded {
            match_id, result, ..
        }) = record
            && match_id == changed
        {
            change(Arc::make_mut(result));
        }
    });
    // Whoever rewrites the journal makes these again from it.
    for name in ["standings.json", "rounds.json"] {
        fs::remove_file(played.league_file(name)).unwrap();
    }
}

pub(crate) fn change_text(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut document = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    change(&mut document);
    fs::write(file, serde_json::to_string_pretty(&document).unwrap()).unwrap();
}

#[test]
fn a_league_that_was_played_agrees_in_all_its_records() {
    let played = Played::league();
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    let checked = verdict.checked;
    assert_eq!((checked.results, checked.confirmed), (6, 6));
    assert_eq!((checked.match_files, checked.player_files), (6, 8));
    assert_eq!(checked.not_compared, []);
    assert_eq!(checked.behind, []);
}

#[test]
fn a_result_that_was_changed_in_the_managers_journal_is_named() {
    let played = Played::league();
    let (match_id, referee) = decided(&played);
    change_manager(&played, &match_id, other_winner);
    let wrong = wrong(played.verdict());
    assert_eq!(wrong.file, played.below_referee(&referee));
    assert!(wrong.line.is_some());
    for said in [
        format!("match `{match_id}`"),
        "journal.jsonl` has".to_owned(),
        "one of the two was changed after the match".to_owned(),
    ] {
        assert!(wrong.what.contains(&said), "{}", wrong.what);
    }
}

#[test]
fn without_referees_the_match_file_stands_against_the_manager() {
    let played = Played::league();
    let (match_id, _) = decided(&played);
    change_manager(&played, &match_id, other_winner);
    played.remove_referees();
    let wrong = wrong(played.verdict());
    assert_eq!(wrong.file, played.below_match(&match_id));
    assert!(
        wrong
            .what
            .contains("one of the two was changed after the match"),
        "{}",
        wrong.what
    );
}

#[test]
fn a_result_that_only_a_forged_referee_tells_is_named_as_well() {
    let played = Played::league();
    let (changed, referee) = decided(&played);
    played.referee(&referee, |record| {
        if let Record::Event(referee::Event::Decided {
            match_id, result, ..
        }) = record
            && *match_id == changed
        {
            other_winner(Arc::make_mut(result));
        }
    });
    let wrong = wrong(played.verdict());
    assert_eq!(wrong.file, played.below_referee(&referee));
}

#[test]
fn a_result_without_a_trace_at_its_referee_is_named() {
    let played = Played::league();
    let (gone, referee) = decided(&played);
    rewrite(
        &played.path_of_referee(&referee),
        |records: &mut Vec<Record<referee::Event>>| {
            records.retain(|record| match record {
                Record::Event(event) => event.match_id() != Some(&gone),
                Record::Transcript(transcript) => transcript.match_id != gone,
                Record::Opened(_) => true,
            });
        },
    );
    fs::remove_dir_all(played.path("data/matches")).unwrap();
    let wrong = wrong(played.verdict());
    assert_eq!(wrong.file, played.below_referee(&referee));
    assert!(
        wrong.what.contains(&format!("match `{gone}`: line"))
            && wrong.what.contains("knows nothing of it"),
        "{}",
        wrong.what
    );
}

#[test]
fn a_result_that_the_manager_took_and_no_longer_has_is_named() {
    let played = Played::league();
    rewrite(
        &played.league_file("journal.jsonl"),
        |records: &mut Vec<Record<Event>>| {
            let result = |record: &Record<Event>| {
                matches!(record, Record::Event(Event::ResultRecorded { .. }))
            };
            let last = records.iter().rposition(result).unwrap();
            records.truncate(last);
        },
    );
    for name in ["standings.json", "rounds.json"] {
        fs::remove_file(played.league_file(name)).unwrap();
    }
    let wrong = wrong(played.verdict());
    assert!(wrong.what.contains("took this result"), "{}", wrong.what);
}

#[test]
fn a_changed_match_file_is_named_whatever_was_changed() {
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 4] = [
        ("result.choices.", |document| {
            let choices = document["result"]["choices"].as_object_mut().unwrap();
            let first = choices.values_mut().next().unwrap();
            *first = json!(if first == "even" { "odd" } else { "even" });
        }),
        ("transcript[", |document| {
            let said = document["transcript"].as_array_mut().unwrap();
            let mut said = said.iter_mut();
            let choice = said.find(|said| said["message_type"] == "CHOOSE_PARITY_RESPONSE");
            choice.unwrap()["message"]["parity_choice"] = json!("seven");
        }),
        ("draw.nonces[0]", |document| {
            document["draw"]["nonces"][0] = json!("mine");
        }),
        ("version", |document| document["version"] = json!(9_999)),
    ];
    for (place, change) in changes {
        let played = Played::league();
        let (match_id, _) = decided(&played);
        change_text(&played.path_of_match(&match_id), change);
        let wrong = wrong(played.verdict());
        assert_eq!(wrong.file, played.below_match(&match_id));
        assert!(wrong.what.contains(place), "{}", wrong.what);
    }
}

#[test]
fn a_transcript_that_does_not_lead_to_its_result_is_named_without_a_referee() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 3] = [
        (
            |document| {
                let said = document["transcript"].as_array_mut().unwrap();
                let mut said = said.iter_mut();
                let choice = said.find(|said| said["message_type"] == "CHOOSE_PARITY_RESPONSE");
                let choice = &mut choice.unwrap()["message"]["parity_choice"];
                *choice = json!(if choice == "even" { "odd" } else { "even" });
            },
            "no message of it says so",
        ),
        (
            |document| {
                let said = document["transcript"].as_array_mut().unwrap();
                let mut said = said.iter_mut();
                let choice = said.find(|said| said["message_type"] == "CHOOSE_PARITY_RESPONSE");
                choice.unwrap()["message"]["nonce"] = json!("another");
            },
            "its share in the draw",
        ),
        (
            |document| {
                let said = document["transcript"].as_array_mut().unwrap();
                let mut said = said.iter_mut();
                let over = said
                    .find(|said| said["message_type"] == "GAME_OVER")
                    .unwrap();
                let choices = &mut over["message"]["game_result"]["choices"];
                let choices = choices.as_object_mut().unwrap();
                choices
                    .values_mut()
                    .for_each(|choice| *choice = json!("odd"));
            },
            "GAME_OVER",
        ),
    ];
    for (change, what) in changes {
        let played = Played::league();
        let (match_id, _) = decided(&played);
        played.remove_referees();
        change_text(&played.path_of_match(&match_id), change);
        let wrong = wrong(played.verdict());
        assert_eq!(wrong.file, played.below_match(&match_id));
        assert!(wrong.what.contains(what), "{}", wrong.what);
    }
}

#[test]
fn a_referee_whose_journal_is_not_here_is_told_and_not_passed() {
    let played = Played::league();
    let (_, referee) = decided(&played);
    fs::remove_dir_all(played.path_of_referee(&referee).parent().unwrap()).unwrap();
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    let checked = verdict.checked;
    assert!(checked.confirmed < checked.results, "{checked:?}");
    let told = &checked.not_compared[0];
    assert_eq!(told.what, format!("results of `{referee}`"));
    assert_eq!(told.count, checked.results - checked.confirmed);
    assert_eq!(told.why, "its journal is not here");
}

#[test]
fn a_referees_journal_that_ends_earlier_is_told_and_not_passed() {
    let played = Played::league();
    let (_, referee) = decided(&played);
    rewrite(
        &played.path_of_referee(&referee),
        |records: &mut Vec<Record<referee::Event>>| {
            let decided = |record: &Record<referee::Event>| {
                matches!(record, Record::Event(referee::Event::Decided { .. }))
            };
            let first = records.iter().position(decided).unwrap();
            records.truncate(first);
        },
    );
    fs::remove_dir_all(played.path("data/matches")).unwrap();
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    let told = &verdict.checked.not_compared[0];
    assert_eq!(told.what, format!("results of `{referee}`"));
    assert_eq!(told.why, "its journal ends before them");
}

#[test]
fn a_file_of_another_form_is_told_and_not_passed() {
    let played = Played::league();
    let (match_id, _) = decided(&played);
    change_text(&played.path_of_match(&match_id), |document| {
        document["schema_version"] = json!("0.9.0");
        document["result"] = json!("none of ours");
    });
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    assert_eq!(verdict.checked.match_files, 5);
    let told = &verdict.checked.not_compared[0];
    assert_eq!((told.count, told.what.as_str()), (1, "files of matches"));
}

#[test]
fn a_file_that_was_not_written_since_is_told_as_behind() {
    let played = Played::league();
    let (match_id, referee) = decided(&played);
    let mut line = 0;
    let mut opened = 0;
    played.referee(&referee, |record| {
        line += 1;
        if let Record::Event(referee::Event::Started { match_id: id, .. }) = record
            && *id == match_id
        {
            opened = line;
        }
    });
    change_text(&played.path_of_match(&match_id), |document| {
        document["version"] = json!(opened);
        document["last_updated"] = played.time_of(&referee, opened);
        document["lifecycle"]["state"] = json!("COLLECTING_CHOICES");
        document["lifecycle"]["finished_at"] = Value::Null;
        document["transcript"] = json!([]);
        document["result"] = Value::Null;
        document["draw"] = Value::Null;
    });
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    let behind = &verdict.checked.behind[0];
    assert_eq!(behind.file, played.below_match(&match_id));
    assert_eq!(behind.line, opened);
}
