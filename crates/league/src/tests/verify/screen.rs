//! `league verify`.

use std::fs;
use std::path::Path;

use crate::tests::journals::league_id;
use crate::tests::verify::{records, write};

/// Runs `league` and shows what a person would see.
fn league(arguments: &[&str]) -> String {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let arguments = ["league"].iter().chain(arguments);
    let code = crate::cli::run(arguments, &mut out, &mut errors);
    let (out, errors) = (
        String::from_utf8(out).unwrap(),
        String::from_utf8(errors).unwrap(),
    );
    format!("exit code {code}\n--- out\n{out}--- errors\n{errors}")
}

fn seen(root: &Path, more: &[&str]) -> String {
    let root = root.to_str().expect("the path is text");
    let shown = league(&[&["verify", root], more].concat());
    masked(&shown.replace(root, "ROOT"))
}

/// Hashes and checksums change with everything that is ever added to a fact.
fn masked(text: &str) -> String {
    let hex = |letter: char| letter.is_ascii_digit() || ('a'..='f').contains(&letter);
    let mut words: Vec<&str> = Vec::new();
    for word in text.split_inclusive(|letter| !hex(letter)) {
        let digits = word.trim_end_matches(|letter| !hex(letter));
        if digits.len() >= 8 {
            words.push("…");
            words.push(&word[digits.len()..]);
        } else {
            words.push(word);
        }
    }
    words.concat()
}

#[test]
fn screen_of_a_league_that_holds() {
    let folder = tempfile::tempdir().expect("there is room");
    write(folder.path(), &records());
    insta::assert_snapshot!(seen(folder.path(), &[]));
    insta::assert_snapshot!(seen(folder.path(), &["--output", "json"]));
}

#[test]
fn quiet_output_is_the_verdict_alone() {
    let folder = tempfile::tempdir().expect("there is room");
    write(folder.path(), &records());
    insta::assert_snapshot!(seen(folder.path(), &["-q"]), @"
    exit code 4
    --- out
    league_2025_even_odd: consistent, not complete: 6 matches, 0 with both players' proofs, 0 with the referee's journal, 6 only told; missing: journal of REF02, end of the journal of REF01
    --- errors
    ");
    let journal = format!("data/leagues/{}/journal.jsonl", league_id());
    let journal = folder.path().join(journal);
    let text = fs::read_to_string(&journal).expect("there is a journal");
    fs::write(&journal, text.replacen("R1M2", "R1M1", 1)).expect("it can be changed");
    let shown = seen(folder.path(), &["--quiet"]);
    assert!(shown.starts_with("exit code 1"), "{shown}");
    assert!(shown.contains(": NOT verified\n--- errors"), "{shown}");
}

#[test]
fn root_option_names_the_root() {
    let folder = tempfile::tempdir().expect("there is room");
    write(folder.path(), &records());
    let root = folder.path().to_str().expect("the path is text");
    let shown = league(&["verify", "--root", root]);
    assert!(shown.starts_with("exit code 4"), "{shown}");
    let shown = league(&["verify", "--root", root, "elsewhere"]);
    assert!(shown.starts_with("exit code 2"), "{shown}");
}

#[test]
fn broken_league_exits_with_one_and_names_the_line() {
    let folder = tempfile::tempdir().expect("there is room");
    write(folder.path(), &records());
    let journal = folder
        .path()
        .join(format!("data/leagues/{}/journal.jsonl", league_id()));
    let text = fs::read_to_string(&journal).expect("there is a journal");
    fs::write(&journal, text.replacen("R1M2", "R1M1", 1)).expect("it can be changed");
    insta::assert_snapshot!(seen(folder.path(), &["--league-id", league_id().as_str()]));
}

#[test]
fn missing_league_exits_with_two() {
    let folder = tempfile::tempdir().expect("there is room");
    insta::assert_snapshot!(seen(&folder.path().join("week-3.tar.gz"), &[]), @"
    exit code 2
    --- out
    --- errors
    error: could not verify `ROOT`
      cause: there is no file or folder `ROOT`
    hint: give a folder, or a file that `league leagues --archive` wrote
    ");
    insta::assert_snapshot!(seen(folder.path(), &[]), @"
    exit code 2
    --- out
    --- errors
    error: could not verify `ROOT`
      cause: there is no league below `ROOT`
    hint: give the folder that holds `data/leagues`
    ");
    insta::assert_snapshot!(seen(folder.path(), &["--league-id", "spring"]), @"
    exit code 2
    --- out
    --- errors
    error: could not verify `ROOT`
      cause: there is no journal of league `spring` below `ROOT`
    hint: give the folder that holds `data/leagues`
    ");
}
