//! What others wrote down of a match stands against whoever changes one of the records: leagues
//! that were really played, with one file changed and everything in it made right again.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::storage::record::Record;
use crate::storage::verify::{Conclusion, RecordKind, Verdict, Wrong};
use league_core::league::Event;
use league_core::referee::{self, OpenedSecrets};
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::{MatchResult, SignedMove};
use league_protocol::secret::{ProofKey, Seed};
use serde_json::{Value, json};

use crate::tests::verify::real::{RealLeague, rewrite};

/// A match in which the two chose differently, so that there is a winner.
pub(crate) fn decided(played: &RealLeague) -> (MatchId, RefereeId) {
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

/// Gives the match to the loser, by what both chose, so that everything follows again: no player of
/// it signs.
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
    swap_choices(&mut result.evidence.moves);
}

fn swap_choices(moves: &mut [SignedMove]) {
    let [one, other] = moves else {
        panic!("{moves:?}");
    };
    std::mem::swap(&mut one.choice, &mut other.choice);
}

/// Gives a match to the loser in the journal of the manager, and in all that is made from it.
pub(crate) fn forge_winner(played: &RealLeague, forged: &MatchId) {
    change_manager(played, forged, other_winner);
    played.manager(|record| {
        if let Record::Event(Event::MovesReceived {
            match_id, moves, ..
        }) = record
            && match_id == forged
        {
            swap_choices(moves);
        }
    });
}

pub(crate) fn wrong(verdict: Verdict) -> Wrong {
    assert_eq!(verdict.verdict, Conclusion::Failed);
    verdict.wrong.unwrap()
}

pub(crate) fn change_manager(played: &RealLeague, changed: &MatchId, change: fn(&mut MatchResult)) {
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
fn records_of_a_played_league_agree() {
    let played = RealLeague::league();
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    let checked = verdict.checked;
    assert_eq!((checked.results, checked.confirmed), (6, 6));
    assert_eq!((checked.match_files, checked.player_files), (6, 8));
    assert_eq!(checked.not_compared, []);
    assert_eq!(checked.behind, []);
}

#[test]
fn result_changed_in_the_journal_of_the_manager_is_named() {
    let played = RealLeague::without_proofs();
    let (match_id, referee) = decided(&played);
    forge_winner(&played, &match_id);
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
fn changed_moves_of_players_that_sign_are_named_without_other_records() {
    let played = RealLeague::league();
    let (match_id, _) = decided(&played);
    forge_winner(&played, &match_id);
    played.remove_referees();
    for others in ["data/matches", "data/players"] {
        fs::remove_dir_all(played.path(others)).unwrap();
    }
    let wrong = wrong(played.verdict());
    assert!(wrong.what.contains("the proof of `P"), "{}", wrong.what);
}

#[test]
fn match_file_contradicts_a_changed_result_without_referees() {
    let played = RealLeague::without_proofs();
    let (match_id, _) = decided(&played);
    forge_winner(&played, &match_id);
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
fn result_of_a_forged_referee_is_named() {
    let played = RealLeague::league();
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
fn seed_or_key_that_was_opened_otherwise_to_a_referee_is_named() {
    type Change = fn(&mut OpenedSecrets);
    let changes: [(Change, &str); 2] = [
        (|opened| opened.seed = Seed([1; 32]), "the seed that"),
        (
            |opened| opened.players[0].key = Some(ProofKey([1; 32])),
            "a key of a player that",
        ),
    ];
    for (change, what) in changes {
        let played = RealLeague::league();
        let (changed, referee) = decided(&played);
        rewrite(
            &played.path_of_referee(&referee),
            |records: &mut Vec<Record<referee::Event>>| {
                records.retain(|record| !matches!(record, Record::Transcript(_)));
                for record in records {
                    if let Record::Event(referee::Event::Closed {
                        match_id,
                        opened: Some(opened),
                        ..
                    }) = record
                        && *match_id == changed
                    {
                        change(Arc::make_mut(opened));
                    }
                }
            },
        );
        fs::remove_dir_all(played.path("data/matches")).unwrap();
        let wrong = wrong(played.verdict());
        assert_eq!(wrong.file, played.below_referee(&referee));
        assert!(wrong.what.contains(what), "{}", wrong.what);
    }
}

#[test]
fn result_without_a_trace_at_its_referee_is_named() {
    let played = RealLeague::league();
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
fn result_removed_from_the_journal_of_the_manager_is_named() {
    let played = RealLeague::league();
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
fn any_change_to_a_match_file_is_named() {
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
        let played = RealLeague::league();
        let (match_id, _) = decided(&played);
        change_text(&played.path_of_match(&match_id), change);
        let wrong = wrong(played.verdict());
        assert_eq!(wrong.file, played.below_match(&match_id));
        assert!(wrong.what.contains(place), "{}", wrong.what);
    }
}

#[test]
fn transcript_that_contradicts_its_result_is_named_without_a_referee() {
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
        let played = RealLeague::league();
        let (match_id, _) = decided(&played);
        played.remove_referees();
        change_text(&played.path_of_match(&match_id), change);
        let wrong = wrong(played.verdict());
        assert_eq!(wrong.file, played.below_match(&match_id));
        assert!(wrong.what.contains(what), "{}", wrong.what);
    }
}

#[test]
fn missing_referee_journal_is_reported_as_not_compared() {
    let played = RealLeague::league();
    let (_, referee) = decided(&played);
    fs::remove_dir_all(played.path_of_referee(&referee).parent().unwrap()).unwrap();
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    let checked = verdict.checked;
    assert!(checked.confirmed < checked.results, "{checked:?}");
    let told = &verdict.not_compared[0];
    assert_eq!(told.kind.what(), format!("results of `{referee}`"));
    assert_eq!(told.count, checked.results - checked.confirmed);
    assert_eq!(told.kind.why(), "its journal is not here");
}

#[test]
fn short_referee_journal_is_reported_as_not_compared() {
    let played = RealLeague::league();
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
    let told = &verdict.not_compared[0];
    assert_eq!(told.kind.what(), format!("results of `{referee}`"));
    assert_eq!(told.kind.why(), "its journal ends before them");
}

#[test]
fn unreadable_match_file_is_reported_as_not_compared() {
    let played = RealLeague::league();
    let (match_id, _) = decided(&played);
    change_text(&played.path_of_match(&match_id), |document| {
        document["schema_version"] = json!("0.9.0");
        document["result"] = json!("none of ours");
    });
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    assert_eq!(verdict.checked.match_files, 5);
    let told = &verdict.checked.not_compared[0];
    assert_eq!(
        (told.count, told.kind.what().as_str()),
        (1, "files of matches")
    );
}

#[test]
fn outdated_match_file_is_reported_as_behind() {
    let played = RealLeague::league();
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

/// Makes the journal of a referee one that was handed in: only a journal that was written here has a
/// lock.
fn hand_in(played: &RealLeague, referee: &RefereeId) {
    let lock = played.path_of_referee(referee).with_file_name(".lock");
    fs::remove_file(lock).unwrap();
}

/// Sees that a handed-in journal is disputed, by whom, and that nothing fails.
fn see_disputed(verdict: &Verdict, referee: &RefereeId, what: &str) {
    assert_eq!(verdict.wrong, None);
    assert_eq!(verdict.verdict, Conclusion::Incomplete);
    let kinds: Vec<_> = verdict.not_compared.iter().map(|row| &row.kind).collect();
    assert_eq!(kinds, [&RecordKind::Disputed(referee.clone())]);
    let disputed = &verdict.checked.disputed;
    assert!(
        disputed.iter().all(|found| found.what.contains(what)) && !disputed.is_empty(),
        "{disputed:?}"
    );
    let sentence = verdict.sentence();
    assert!(
        sentence.ends_with(&format!("; disputed by {referee}")),
        "{sentence}"
    );
}

#[test]
fn handed_in_journal_that_claims_the_match_of_another_referee_is_disputed() {
    let played = RealLeague::league();
    let (claimed, owner) = decided(&played);
    let liar = RefereeId::numbered(if owner == RefereeId::numbered(1) {
        2
    } else {
        1
    });
    let mut taken = Vec::new();
    played.referee(&owner, |record| {
        if let Record::Event(event) = record
            && event.match_id() == Some(&claimed)
        {
            taken.push(record.clone());
        }
    });
    rewrite_longer(&played, &liar, taken);
    hand_in(&played, &liar);
    see_disputed(&played.verdict(), &liar, "the manager took this result");
}

#[test]
fn handed_in_journal_with_another_result_or_none_is_disputed() {
    let played = RealLeague::league();
    let (changed, liar) = decided(&played);
    played.referee(&liar, |record| {
        if let Record::Event(referee::Event::Decided {
            match_id, result, ..
        }) = record
            && *match_id == changed
        {
            other_winner(Arc::make_mut(result));
        }
    });
    hand_in(&played, &liar);
    let verdict = played.verdict();
    // Its transcript shows the true result, so it contradicts itself as well.
    assert_eq!(verdict.verdict, Conclusion::Incomplete);
    assert!(
        verdict.sentence().contains(&format!("disputed by {liar}")),
        "{}",
        verdict.sentence()
    );

    let played = RealLeague::league();
    rewrite(
        &played.path_of_referee(&liar),
        |records: &mut Vec<Record<referee::Event>>| {
            records.retain(|record| match record {
                Record::Event(event) => event.match_id() != Some(&changed),
                Record::Transcript(transcript) => transcript.match_id != changed,
                Record::Opened(_) => true,
            });
        },
    );
    hand_in(&played, &liar);
    see_disputed(&played.verdict(), &liar, "knows nothing of it");
}

#[test]
fn handed_in_journal_confirms_nothing_in_the_name_of_another_referee() {
    let played = RealLeague::league();
    let (_, owner) = decided(&played);
    let liar = RefereeId::numbered(if owner == RefereeId::numbered(1) {
        2
    } else {
        1
    });
    let mut others = Vec::new();
    played.referee(&owner, |record| {
        if matches!(record, Record::Event(_)) {
            others.push(record.clone());
        }
    });
    // It says that it is the other one, tells all that the other one does, and then who it is.
    let mut enrolled = None;
    played.referee(&liar, |record| {
        if let Record::Event(referee::Event::Enrolled { .. }) = record {
            enrolled.get_or_insert(record.clone());
        }
    });
    others.extend(enrolled);
    rewrite_longer(&played, &liar, others);
    hand_in(&played, &liar);
    fs::remove_dir_all(played.path_of_referee(&owner).parent().unwrap()).unwrap();
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    assert_eq!(
        verdict.not_compared[0].kind,
        RecordKind::WithoutJournal(owner)
    );
}

/// Appends records to the journal of a referee, and chains it anew, without its times.
fn rewrite_longer(played: &RealLeague, referee: &RefereeId, more: Vec<Record<referee::Event>>) {
    let path = played.path_of_referee(referee);
    let mut records: Vec<Record<referee::Event>> = Vec::new();
    rewrite(&path, |found: &mut Vec<_>| {
        records.extend(found.iter().cloned());
    });
    records.extend(more);
    fs::remove_file(&path).unwrap();
    let times = std::iter::repeat(league_protocol::time::Timestamp::default());
    crate::tests::journals::write_journal(&path, times.zip(&records));
    fs::remove_dir_all(played.path("data/matches")).unwrap();
}
