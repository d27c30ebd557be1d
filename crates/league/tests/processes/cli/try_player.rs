//! `league try`.

use serde_json::Value;

use crate::end_to_end::process::league;

#[test]
fn player_is_tried_against_each_opponent() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let tried = league([
        "try",
        "minimax",
        "--game",
        "tic_tac_toe",
        "--against",
        "random,minimax",
        "--games",
        "4",
        "--output",
        "json",
        "--keep",
        kept.to_str().unwrap(),
    ]);
    assert_eq!(tried.code, Some(0), "{tried:?}");
    let lines: Vec<Value> = tried
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [random, perfect] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert_eq!(random["against"], "random");
    for line in &lines {
        assert_eq!(
            (&line["games"], &line["losses"]),
            (&4.into(), &0.into()),
            "{line}"
        );
        assert_eq!(line["deviations"], 0, "{line}");
        assert!(line["latency_ms"]["median"].as_f64() > Some(0.0), "{line}");
    }
    assert_eq!(perfect["draws"], 4, "{perfect}");
    assert_eq!(perfect["share"]["value"], 0.5, "{perfect}");
    for opponent in ["random", "minimax"] {
        let root = kept.join(opponent);
        let verified = league(["verify", root.to_str().unwrap()]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
    // A kept league is not played on.
    let again = league([
        "try",
        "random",
        "--game",
        "tic_tac_toe",
        "--keep",
        kept.to_str().unwrap(),
    ]);
    assert_eq!(again.code, Some(2), "{again:?}");
}

#[test]
fn player_that_does_not_start_says_why() {
    let tried = league(["try", "no-such-program --flag", "--games", "2"]);
    assert_eq!(tried.code, Some(3), "{tried:?}");
    assert!(tried.errors.contains("no-such-program"), "{tried:?}");
    assert_eq!(tried.out, "");
}
