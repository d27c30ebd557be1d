//! Files in other places, of other times and of other leagues.

use std::fs;

use league_core::referee;
use league_protocol::id::RefereeId;
use serde_json::{Value, json};

use crate::storage::record::Record;
use crate::storage::store::{Entry, Journal};

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

/// Puts all matches of a referee into one file of lines that leave all in the journal.
fn in_journal(played: &RealLeague, referee: &RefereeId) -> std::path::PathBuf {
    let mut opened = std::collections::BTreeMap::new();
    let journal = played.path_of_referee(referee);
    Journal::read(&journal, |entry: Entry<Record<referee::Event>>| {
        if let Record::Event(referee::Event::MatchOpened { fixture, .. }) = &entry.fact {
            opened.insert(fixture.match_id.to_string(), entry.sequence);
        }
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let file = in_lines(played, referee);
    let text = fs::read_to_string(&file).unwrap();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let lines = lines.map(|mut document: Value| {
        document["first_line"] = json!(opened[document["match_id"].as_str().unwrap()]);
        document["transcript"] = json!([]);
        document["result"] = Value::Null;
        document["draw"] = Value::Null;
        format!("{document}\n")
    });
    fs::write(&file, lines.collect::<String>()).unwrap();
    file
}

#[test]
fn line_of_a_round_says_where_its_match_is_in_the_journal() {
    let played = RealLeague::league();
    let (match_id, referee) = decided(&played);
    let matches = played.matches();
    let whole = matches.load(&match_id).unwrap().unwrap();
    assert!(whole.transcript.len() > 10, "{whole:?}");
    let file = in_journal(&played, &referee);
    let found = matches.load(&match_id).unwrap().unwrap();
    assert_eq!(found, whole);
    let verdict = played.verdict();
    assert_eq!(verdict.wrong, None);
    assert_eq!(verdict.checked.match_files, 6);

    // A folder may be named after a port.
    let folder = played.league_file("referees");
    fs::rename(folder.join(referee.as_str()), folder.join("port-9001")).unwrap();
    let found = matches.load(&match_id).unwrap().unwrap();
    assert_eq!(found, whole);
    fs::rename(folder.join("port-9001"), folder.join(referee.as_str())).unwrap();

    let text = fs::read_to_string(&file).unwrap();
    let changed = text.replacen("\"first_line\":", "\"first_line\":1", 1);
    assert_ne!(text, changed);
    fs::write(&file, changed).unwrap();
    let found = wrong(played.verdict());
    assert!(found.what.contains("`first_line`"), "{}", found.what);

    played.remove_referees();
    let found = matches.load(&match_id).unwrap().unwrap();
    assert_eq!((found.transcript, found.result), (Vec::new(), None));
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
