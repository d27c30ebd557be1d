//! `league list`: the leagues of a folder, and the all-time table with ratings.

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
    insta::assert_snapshot!(league(&["list", root], ""), @"
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
    let json = league(&["list", root, "--output", "json"], "");
    assert!(
        json.contains(r#""rating":301,"rating_high":804,"rating_low":12"#),
        "{json}"
    );
    let table = ["report", root, "--format", "csv", "--table", "ratings"];
    let csv = league(&table, "");
    let head = "player_id,display_name,rating,low,high,rank_best,rank_worst\r\n";
    assert!(csv.contains(head), "{csv}");
}
