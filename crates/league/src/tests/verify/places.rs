//! Files in other places, of other times and of other leagues.

use std::fs;

use league_protocol::id::RefereeId;
use serde_json::{Value, json};

use crate::tests::verify::real::RealLeague;
use crate::tests::verify::witnesses::{change_text, decided, wrong};

/// Puts all matches of a referee into one file of lines, as in leagues of very many.
fn in_lines(played: &RealLeague, referee: &RefereeId) -> std::path::PathBuf {
    let folder = played.path("data/matches/league_2025_even_odd");
    let mut lines = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let file = entry.unwrap().path();
        let document: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        if document["referee_id"] == referee.as_str() {
            lines.push(document.to_string());
            fs::remove_file(file).unwrap();
        }
    }
    let file = folder.join(format!("round_1.{referee}.jsonl"));
    // The last line is being written.
    fs::write(&file, format!("{}\n{{\"schema", lines.join("\n"))).unwrap();
    file
}

#[test]
fn matches_in_lines_are_compared() {
    let played = RealLeague::league();
    let (_, referee) = decided(&played);
    let file = in_lines(&played, &referee);
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    assert_eq!(verdict.checked.match_files, 6);

    let text = fs::read_to_string(&file).unwrap();
    let changed = text.replacen("\"parity_choice\":\"even\"", "\"parity_choice\":\"odd\"", 1);
    assert_ne!(text, changed);
    fs::write(&file, changed).unwrap();
    let found = wrong(played.verdict());
    assert!(file.ends_with(&found.file), "{found:?}");
    assert!(found.what.contains("parity_choice"), "{}", found.what);
}

#[test]
fn records_older_than_the_league_are_ignored() {
    let played = RealLeague::league();
    let (match_id, _) = decided(&played);
    change_text(&played.path_of_match(&match_id), |document| {
        document["lifecycle"]["created_at"] = json!("2001-01-01T00:00:00Z");
        document["draw"]["nonces"][0] = json!("another");
    });
    change_text(&played.path("data/players/P01/history.json"), |document| {
        document["matches"][0]["at"] = json!("2001-01-01T00:00:00Z");
        document["matches"][0]["points"] = json!(99);
        document["matches"][1]["league_id"] = json!("another");
        document["matches"][1]["points"] = json!(99);
        document["matches"][2]["game_type"] = json!("tic_tac_toe");
        document["matches"][2]["points"] = json!(99);
    });
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    assert_eq!(verdict.checked.disputed, []);
    assert_eq!(verdict.checked.match_files, 5);
    // The history agrees in nothing, and the journal beside it does.
    assert_eq!(verdict.checked.player_files, 7);
    let told = &verdict.checked.not_compared[0];
    assert_eq!(
        (told.count, told.kind.what().as_str()),
        (1, "files of matches")
    );
    assert_eq!(told.kind.why(), "they are older than the league");
}

#[test]
fn match_file_under_another_name_is_named() {
    let played = RealLeague::league();
    let (match_id, _) = decided(&played);
    let other = played.path("data/matches/league_2025_even_odd/R9M9.json");
    fs::rename(played.path_of_match(&match_id), &other).unwrap();
    let found = wrong(played.verdict());
    assert!(other.ends_with(&found.file), "{found:?}");
    let expected = format!("it tells of match `{match_id}` of `league_2025_even_odd`");
    assert_eq!(found.what, expected);
}

#[test]
fn unreadable_memory_is_reported_as_not_compared() {
    let played = RealLeague::league();
    let file = played.path("data/players/P03/history.json");
    fs::write(file, "{\"mine\": true}").unwrap();
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    let told = &verdict.checked.not_compared[0];
    assert_eq!(
        (told.count, told.kind.what().as_str()),
        (1, "memories of players")
    );
    assert_eq!(told.kind.why(), "they have another form");
}
