//! What players remember otherwise: told, and worth no more than their word.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::storage::record::Record;
use crate::storage::verify::{Verdict, Wrong};
use league_core::player;
use serde_json::json;

use crate::tests::verify::real::{RealLeague, rewrite};
use crate::tests::verify::witnesses::{change_text, decided, forge_winner};

/// What players say otherwise of a league that holds.
fn disputed(verdict: Verdict) -> Vec<Wrong> {
    assert_eq!(verdict.wrong, None);
    verdict.checked.disputed
}

#[test]
fn missing_memories_are_counted() {
    let played = RealLeague::league();
    for player in ["P01", "P03"] {
        fs::remove_dir_all(played.path("data/players").join(player)).unwrap();
    }
    let verdict = played.verdict();
    assert!(verdict.verified, "{verdict:?}");
    let [told] = verdict.checked.not_compared.as_slice() else {
        panic!("{verdict:?}");
    };
    assert_eq!(
        (told.count, told.kind.what().as_str()),
        (2, "memories of players")
    );
    assert_eq!(told.kind.why(), "not here");
}

#[test]
fn both_players_dispute_a_changed_result_without_other_records() {
    let played = RealLeague::without_proofs();
    let (match_id, _) = decided(&played);
    forge_winner(&played, &match_id);
    played.remove_referees();
    fs::remove_dir_all(played.path("data/matches")).unwrap();
    let disputed = disputed(played.verdict());
    let whose: BTreeSet<_> = disputed
        .iter()
        .map(|found| found.file.parent().unwrap().to_owned())
        .collect();
    assert_eq!(whose.len(), 2, "{disputed:?}");
    let named = format!("match `{match_id}`");
    assert!(
        disputed.iter().all(|found| found.what.contains(&named)),
        "{disputed:?}"
    );
}

#[test]
fn differing_memory_is_reported_and_overturns_nothing() {
    let played = RealLeague::league();
    let file = PathBuf::from("data/players/P01/history.json");
    change_text(&played.path("data/players/P01/history.json"), |document| {
        document["matches"][0]["points"] = json!(99);
    });
    let found = disputed(played.verdict());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].file, file);
    assert!(found[0].what.contains("`points` is `99`"), "{found:?}");

    let played = RealLeague::league();
    rewrite(
        &played.path("data/players/P02/journal.jsonl"),
        |records: &mut Vec<Record<player::Event>>| {
            for record in records {
                if let Record::Event(player::Event::Announced { commitment, .. }) = record {
                    commitment.as_mut().unwrap().0 = [3; 32];
                }
            }
        },
    );
    let found = disputed(played.verdict());
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].file.ends_with("P02/journal.jsonl"), "{found:?}");
    assert!(found[0].what.contains("promise"), "{found:?}");
}

#[test]
fn broken_player_journal_breaks_nothing_else() {
    let played = RealLeague::league();
    let file = played.path("data/players/P03/journal.jsonl");
    let spoilt = fs::read_to_string(&file)
        .unwrap()
        .replacen("\"at\"", "\"to\"", 3);
    fs::write(&file, spoilt).unwrap();
    let found = disputed(played.verdict());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].file.ends_with("P03/journal.jsonl") && found[0].line.is_some());
}
