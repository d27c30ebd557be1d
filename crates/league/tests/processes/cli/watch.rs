//! `league watch`, from the start of a league to its end.

use serde_json::Value;

use crate::cli::{league, start, start_manager};

/// The objects that were printed, a line each.
fn objects(seen: &str) -> Vec<Value> {
    let lines = seen.lines().filter(|line| line.starts_with('{'));
    let parsed = lines.map(|line| serde_json::from_str(line).expect("each line is JSON"));
    parsed.collect()
}

#[test]
fn watch_follows_a_league_to_its_end() {
    let folder = tempfile::tempdir().expect("there is room");
    let root = folder.path().to_str().expect("the path is text");
    let (_manager, endpoint) = start_manager(folder.path());
    let join = |role: &str, id: &str| {
        let flag = format!("--{role}-id");
        let arguments = [role, "--port", "0", "--manager", &endpoint, &flag, id];
        let mut agent = start(folder.path(), &arguments);
        agent.said("is in the league");
        agent
    };
    let _referee = join("referee", "REF01");
    let _players = [join("player", "P01"), join("player", "P02")];
    let ask = |words: &[&str]| {
        let more = ["--manager", &endpoint, "--root", root];
        league(&[words, &more].concat(), "")
            .replace(&endpoint, "URL")
            .replace(root, "ROOT")
    };
    insta::assert_snapshot!(ask(&["admin", "start"]), @"
    exit code 0
    --- out
    the organiser starts the league
    --- errors
    ");
    it_is_watched_to_its_end(&endpoint);
    insta::assert_snapshot!(ask(&["query", "schedule"]), @"
    exit code 0
    --- out
    league_2025_even_odd · even_odd · over after 1 round · 1 of 1 match played

    round  match  player A  player B
        1  R1M1   P01       P02
    --- errors
    ");
    let stats = ask(&["query", "stats", "--player", "P02"]);
    assert!(stats.contains("technical losses  0"), "{stats}");
    insta::assert_snapshot!(ask(&["query", "next", "--player", "P02"]), @"
    exit code 1
    --- out
    --- errors
    error: the league manager refused the query `next --player P02`
      cause: no match of `P02` is left
    hint: see the players and the progress with `league query standings --manager URL --root ROOT`
    ");
    let again = ask(&["admin", "start"]);
    assert!(
        again.contains("cause: the league has begun already"),
        "{again}"
    );
}

fn it_is_watched_to_its_end(endpoint: &str) {
    let watched = league(&["watch", "--manager", endpoint, "--output", "json"], "");
    assert!(watched.starts_with("exit code 0\n"), "{watched}");
    let tables = objects(&watched);
    let last = tables.last().expect("the table was printed");
    assert_eq!(last["event"], "table");
    assert_eq!(last["state"], "COMPLETED");
    assert_eq!(last["matches_played"], 1);
    assert_eq!(last["standings"].as_array().map(Vec::len), Some(2));
    assert!(
        tables.windows(2).all(|two| two[0] != two[1]),
        "only changes are printed: {watched}"
    );
    let table = league(&["watch", "--manager", endpoint], "");
    assert!(table.starts_with("exit code 0\n"), "{table}");
    assert!(
        table.contains("over after 1 round · 1 of 1 match played"),
        "{table}"
    );
}

#[test]
fn watch_finds_a_restarted_manager() {
    let folder = tempfile::tempdir().expect("there is room");
    let (manager, endpoint) = start_manager(folder.path());
    let arguments = ["watch", "--manager", &endpoint, "--output", "json"];
    let mut watching = start(folder.path(), &arguments);
    watching.said(r#""event":"table""#);
    drop(manager);
    watching.said(r#""event":"away""#);
    let port = endpoint.trim_end_matches("/mcp").rsplit(':').next();
    let port = port.expect("there is a port");
    let again = ["manager", "--port", port, "--players", "0"];
    let _manager = start(folder.path(), &again);
    watching.said(r#""event":"table""#);
}
