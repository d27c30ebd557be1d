//! What players remember otherwise: told, and worth no more than their word.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::storage::record::Record;
use crate::storage::verify::{Verdict, Wrong};
use league_core::player;
use serde_json::json;

use crate::tests::verify::real::{Played, rewrite};
use crate::tests::verify::witnesses::{change_manager, change_text, decided, other_winner};

/// What players say otherwise of a league that holds.
fn disputed(verdict: Verdict) -> Vec<Wrong> {
    assert!(verdict.verified, "{verdict:?}");
    verdict.checked.disputed
}

#[test]
fn players_whose_memories_are_not_here_are_counted() {
    let played = Played::league();
    for player in ["P01", "P03"] {
        fs::remove_dir_all(played.path("data/players").join(player)).unwrap();
    }
    let verdict = played.verdict();
    assert!(verdict.verified, "{verdict:?}");
    let [told] = verdict.checked.not_compared.as_slice() else {
        panic!("{verdict:?}");
    };
    assert_eq!((told.count, told.what.as_str()), (2, "memories of players"));
    assert_eq!(told.why, "not here");
}

#[test]
fn without_referees_and_files_both_players_dispute_what_the_manager_says() {
    let played = Played::league();
    let (match_id, _) = decided(&played);
    change_manager(&played, &match_id, other_winner);
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
fn what_a_player_remembers_otherwise_is_told_and_overturns_nothing() {
    let played = Played::league();
    let file = PathBuf::from("data/players/P01/history.json");
    change_text(&played.path("data/players/P01/history.json"), |document| {
        document["matches"][0]["points"] = json!(99);
    });
    let found = disputed(played.verdict());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].file, file);
    assert!(found[0].what.contains("`points` is `99`"), "{found:?}");

    let played = Played::league();
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
fn a_player_that_spoils_its_own_journal_spoils_nothing_else() {
    let played = Played::league();
    let file = played.path("data/players/P03/journal.jsonl");
    let spoilt = fs::read_to_string(&file)
        .unwrap()
        .replacen("\"at\"", "\"to\"", 3);
    fs::write(&file, spoilt).unwrap();
    let found = disputed(played.verdict());
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].file.ends_with("P03/journal.jsonl") && found[0].line.is_some());
}
