//! Leagues that were interrupted are told of and found again, and leagues of one folder do not get
//! in each other's way.

use serde_json::Value;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::process::{Ended, Process, league};

#[test]
fn a_new_league_tells_of_the_one_that_was_interrupted() {
    let ground = Ground::new();
    interrupt(&ground, "aa");
    let ended = league(["verify", ground.root()]);
    assert!(ended.out.contains("  league    interrupted, "), "{ended:?}");
    let ended = run(&ground, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let root = ground.root();
    let note = format!(
        "\n  note     `aa` was interrupted; go on with `league run --resume --league-id aa --root {root}`\n"
    );
    assert!(ended.out.contains(&note), "{ended:?}");
}

#[test]
fn the_only_league_that_was_interrupted_is_gone_on_with_whatever_its_name() {
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
fn of_several_leagues_that_were_interrupted_one_is_named() {
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
fn a_league_that_is_over_or_not_there_is_not_gone_on_with() {
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
fn a_league_whose_players_play_elsewhere_begins_nothing_and_names_another_folder() {
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
fn run(ground: &Ground, arguments: &[&str]) -> Ended {
    let common = ["run", "--ports", "auto", "--root", ground.root()];
    league(common.iter().chain(arguments))
}
