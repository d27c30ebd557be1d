//! Leagues that were interrupted are told of and found again, and leagues of one folder do not get
//! in each other's way.

use std::fs;

use serde_json::Value;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::process::{Process, ProcessExit, league};

#[test]
fn new_league_mentions_an_interrupted_one() {
    let ground = Ground::new();
    interrupt(&ground, "aa");
    let ended = league(["verify", ground.root()]);
    assert!(ended.out.contains("  league    interrupted, "), "{ended:?}");
    let ended = run(&ground, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let root = ground.root();
    let note = format!(
        "\n  note     `aa` was interrupted; continue with `league run --resume --league-id aa --root {root}`\n"
    );
    assert!(ended.out.contains(&note), "{ended:?}");
}

#[test]
fn only_interrupted_league_is_resumed_under_any_name() {
    let ground = Ground::new();
    run(&ground, &["--league-id", "zz"]);
    interrupt(&ground, "aa");
    let ended = run(&ground, &["--resume"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let first = ended.out.lines().next().unwrap();
    assert!(first.ends_with(" · aa"), "{ended:?}");
    ground.verified();
}

#[test]
fn resumed_league_plays_at_the_pace_that_is_asked_for_now() {
    let ground = Ground::new();
    interrupt(&ground, "aa");
    let pace = || {
        let seats = fs::read(ground.path("data/leagues/aa/run.json")).unwrap();
        serde_json::from_slice::<Value>(&seats).unwrap()["pace_ms"].clone()
    };
    assert_eq!(pace(), 200);
    let ended = run(&ground, &["--resume", "--pace", "1ms"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(pace(), 1);
}

#[test]
fn nothing_is_resumed_and_nothing_written_where_no_league_is() {
    let ground = Ground::new();
    let root = ground.path("typo");
    let ended = league(["run", "--resume", "--root", root.to_str().unwrap()]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.errors.contains("there is no league in `"),
        "{ended:?}"
    );
    assert!(!root.exists());
}

#[test]
fn name_of_an_old_league_is_refused_with_the_command_that_helps() {
    let ground = Ground::new();
    interrupt(&ground, "aa");
    for (command, resumed) in [
        ("league run --resume", &["--resume"][..]),
        ("league serve", &[]),
    ] {
        let ended = run(&ground, &["--league-id", "aa"]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let command = format!("`{command} --league-id aa --root {}`", ground.root());
        assert!(ended.errors.contains(&command), "{ended:?}");
        run(&ground, resumed);
    }
}

#[test]
fn resume_needs_a_name_among_several_leagues() {
    let ground = Ground::new();
    interrupt(&ground, "aa");
    interrupt(&ground, "bb");
    let ended = run(&ground, &["--resume"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for league in ["aa", "bb"] {
        let command = format!("`league run --resume --league-id {league} --root ");
        assert!(ended.errors.contains(&command), "{ended:?}");
    }
}

#[test]
fn finished_or_missing_league_is_not_resumed() {
    let ground = Ground::new();
    run(&ground, &["--league-id", "aa"]);
    for (named, cause) in [("aa", "it is over"), ("bb", "there is no such league")] {
        let ended = run(&ground, &["--resume", "--league-id", named]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let told = format!("error: could not resume league `{named}`\n  cause: {cause}");
        assert!(ended.errors.starts_with(&told), "{ended:?}");
        assert!(!ended.errors.contains("name it with"), "{ended:?}");
    }
}

#[test]
fn players_of_another_league_stop_a_new_one_with_a_hint() {
    let ground = Ground::new();
    let slow = ["--ports", "auto", "--pace", "2s", "--league-id", "aa"];
    let mut first = ground.start("run", &slow);
    first.event("event", "league");
    let ended = league(["verify", "--output", "json", ground.root()]);
    let verdict: Value = serde_json::from_str(&ended.out).unwrap();
    let phase = verdict["checked"]["phase"].as_str();
    assert!(
        matches!(phase, Some("registering" | "running")),
        "{ended:?}"
    );
    let ended = run(&ground, &["--league-id", "other"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.errors.contains("`--root DIR`"), "{ended:?}");
    assert!(!ended.errors.contains("--league-id"), "{ended:?}");
    let by = format!("by process {}", first.pid());
    assert!(ended.errors.contains(&by), "{ended:?}");
    assert!(!ground.path("data/leagues/other").exists());
}

/// Plays a league until a match is over, and kills it.
fn interrupt(ground: &Ground, league: &str) {
    let slow = ["--ports", "auto", "--pace", "200ms", "--league-id", league];
    let mut process: Process = ground.start("run", &slow);
    process.event("event", "match");
    process.kill();
}

/// Runs a league on free ports to its end.
fn run(ground: &Ground, arguments: &[&str]) -> ProcessExit {
    let common = ["run", "--ports", "auto", "--root", ground.root()];
    league(common.iter().chain(arguments))
}
