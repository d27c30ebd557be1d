//! `league leagues`: the leagues of a folder, the all-time table with ratings, and a league as one
//! file.

use std::fs;

use crate::cli::league;

#[test]
fn players_are_rated_over_all_leagues() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().expect("it is text");
    for (id, seed) in [("one", "1"), ("two", "2")] {
        let words = [
            "run",
            "--quiet",
            "--ports",
            "auto",
            "--root",
            root,
            "--league-id",
            id,
            "--seed",
            seed,
            "--players",
            "3",
            "--game",
            "nim",
            "--strategies",
            "solver,greedy,random",
        ];
        let ran = league(&words, "");
        assert!(ran.starts_with("exit code 0\n"), "{ran}");
    }
    insta::assert_snapshot!(league(&["leagues", root], ""), @"
    exit code 0
    --- out
    one · Nim · 3 players · won by Agent Alpha
    two · Nim · 3 players · won by Agent Alpha

    all-time table
          player                       leagues titles played points rating  95 %
        1 Agent Alpha                        2      2      4     12   +301  +12 to +804
        2 Agent Gamma                        2      0      4      6     +0  -450 to +450
        3 Agent Beta                         2      0      4      0   -301  -804 to -12
    ratings: Bradley–Terry. Among equals seat A wins 72 % of the decided matches
    (12–99 %): no advantage that shows.
    --- errors
    ");
    let json = league(&["leagues", root, "--output", "json"], "");
    assert!(
        json.contains(r#""rating":301,"rating_high":804,"rating_low":12"#),
        "{json}"
    );
    let csv = league(&["export", root, "--csv=ratings", "-q"], "");
    let head = "player_id,display_name,rating,low,high,rank_best,rank_worst\r\n";
    assert!(csv.contains(head), "{csv}");
    let unknown = league(&["export", root, "--csv=scores"], "");
    assert!(
        unknown.contains("unknown table; choose one of `standings`, `matches`,"),
        "{unknown}"
    );
}

#[test]
fn archive_is_not_replaced_unasked_and_its_errors_name_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (root, file) = (place("root"), place("week.tar.gz"));
    let run = [
        "run",
        "--root",
        &root,
        "--ports",
        "auto",
        "--players",
        "2",
        "--league-id",
        "week_3",
    ];
    let played = league(&[&run[..], &["--quiet"]].concat(), "");
    assert!(played.starts_with("exit code 0"), "{played}");
    let archive = ["leagues", &root, "--archive", "week_3", "-o", &file];
    assert!(league(&archive, "").starts_with("exit code 0"));
    let refused = league(&archive, "");
    assert!(refused.starts_with("exit code 2"), "{refused}");
    assert!(refused.contains("exists already"), "{refused}");
    let verified = league(&["verify", &file], "");
    assert!(verified.starts_with("exit code 0"), "{verified}");
    let other = league(&["verify", &file, "--league-id", "other"], "");
    assert!(other.contains(&format!("below `{file}`")), "{other}");
    let forced = league(&[&archive[..], &["--force"]].concat(), "");
    assert!(forced.starts_with("exit code 0"), "{forced}");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let cut = league(&["verify", &file], "");
    assert!(cut.starts_with("exit code 2"), "{cut}");
    assert!(cut.contains(&format!("`{file}/data/")), "{cut}");
}
