//! `league export`: the messages of a match, and the files under `data/` made anew.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli::league;

/// Files of the kinds that are made again, below a folder.
fn documents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if is_made_again(&path) {
                let text = fs::read(&path).expect("it can be read");
                found.push((path.display().to_string(), text));
            }
        }
    }
    found.sort();
    found
}

fn is_made_again(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    ["standings.json", "rounds.json", "history.json"].contains(&name)
        || path.display().to_string().contains("data/matches/")
}

#[test]
fn files_are_made_anew_and_a_match_is_shown() {
    let folder = tempfile::tempdir().expect("there is room");
    let root = folder.path().to_str().expect("the path is text");
    let run = [
        "run",
        "--root",
        root,
        "--ports",
        "auto",
        "--players",
        "3",
        "--referees",
        "1",
        "--quiet",
    ];
    let played = league(&run, "");
    assert!(played.starts_with("exit code 0\n"), "{played}");
    let before = documents(&folder.path().join("data"));
    for (path, _) in &before {
        fs::remove_file(path).expect("it can be removed");
    }
    let told = league(&["export", root, "--rebuild", "--output", "json"], "");
    assert!(told.starts_with("exit code 0\n"), "{told}");
    let line = told.lines().find(|line| line.starts_with('{'));
    let told: Value = serde_json::from_str(line.expect("a line")).expect("it is JSON");
    // Each match and each player has a file; standings and rounds are two more.
    let files = |of: &str| told[of].as_u64().unwrap() as usize;
    assert_eq!(
        files("matches") + files("players") + 2,
        before.len(),
        "{told}"
    );
    assert_eq!(told["matches"], 3);
    assert!(before == documents(&folder.path().join("data")));
    a_match_is_told(root);
}

fn a_match_is_told(root: &str) {
    let seen = league(&["export", root, "--match", "R1M1"], "");
    assert!(
        seen.starts_with("exit code 0\n--- out\nR1M1 · round 1 of "),
        "{seen}"
    );
    for kind in ["GAME_INVITATION", "GAME_JOIN_ACK", "GAME_OVER"] {
        assert!(seen.contains(kind), "{kind}: {seen}");
    }
    assert!(seen.contains("referee:REF01  → player:P0"), "{seen}");
    assert!(seen.contains("parity_choice="), "{seen}");
    assert!(!seen.to_lowercase().contains("token"), "{seen}");
    let json = league(&["export", root, "--match", "R1M1", "--output", "json"], "");
    let said = json.lines().filter(|line| line.starts_with('{'));
    let said: Vec<Value> = said
        .map(|line| serde_json::from_str(line).expect("it is JSON"))
        .collect();
    assert_eq!(said[0]["event"], "match");
    assert_eq!(said.len(), 1 + seen.matches(" → ").count(), "{json}");
    let none = league(&["export", root, "--match", "R9M9"], "").replace(root, "ROOT");
    assert!(none.starts_with("exit code 2\n"), "{none}");
    assert!(none.contains("there is no match `R9M9`"), "{none}");
}

#[test]
fn messages_of_a_match_go_to_a_file() {
    let folder = tempfile::tempdir().expect("there is room");
    let root = folder.path().to_str().expect("the path is text");
    let run = [
        "run",
        "--root",
        root,
        "--ports",
        "auto",
        "--players",
        "2",
        "-q",
    ];
    let played = league(&run, "");
    assert!(played.starts_with("exit code 0\n"), "{played}");
    let file = folder.path().join("match.txt");
    let name = file.to_str().expect("the path is text");
    let told = league(&["export", root, "--match", "R1M1", "-o", name], "");
    assert!(told.contains(&format!("wrote {name} (")), "{told}");
    let text = fs::read_to_string(&file).expect("it can be read");
    assert!(text.starts_with("R1M1 · round 1 of "), "{text}");
    let refused = league(&["export", root, "--rebuild", "-o", name], "");
    assert!(refused.starts_with("exit code 2\n"), "{refused}");
}

#[test]
fn export_without_a_league_fails() {
    let folder = tempfile::tempdir().expect("there is room");
    let root = folder.path().to_str().expect("the path is text");
    insta::assert_snapshot!(league(&["export", root], "").replace(root, "ROOT"), @"
    exit code 2
    --- out
    --- errors
    error: could not find a league in `ROOT`
      cause: there is no league below `ROOT`
    hint: name the folder that holds `data/leagues`, or play a league with `league run`
    ");
}
