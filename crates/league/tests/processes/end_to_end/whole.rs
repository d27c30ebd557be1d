//! `league run`: a whole league by one command, again by the same seed, and after an interruption.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::Value;

use crate::end_to_end::ground::{Ground, LEAGUE, results};
use crate::end_to_end::process::{Process, ProcessExit, league};

#[test]
fn second_run_plays_another_league() {
    let ground = Ground::new();
    let ended = run(&ground, &["--seed", "7"]);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(lines[0].ends_with(LEAGUE), "{ended:?}");
    let is_match = |line: &&&str| line.contains("/6  R");
    assert_eq!(lines.iter().filter(is_match).count(), 6, "{ended:?}");
    assert!(
        ended.out.contains("\ntechnical losses: none\n"),
        "{ended:?}"
    );
    assert!(ended.out.contains("\ndeviations: none\n"), "{ended:?}");
    assert!(ended.out.contains("league verify"), "{ended:?}");
    ground.verified();

    let ended = run(&ground, &["--seed", "7", "--output", "json"]);
    let events = events(&ended);
    assert_eq!(events[0]["league_id"], format!("{LEAGUE}_2"));
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(kinds[0], "league");
    assert_eq!(kinds[1..7], ["match"; 6]);
    assert_eq!(kinds[7..], ["standings"]);
    ground.verified();
}

#[test]
fn same_seed_gives_the_same_league() {
    let grounds = [Ground::new(), Ground::new()];
    for ground in &grounds {
        run(ground, &["--seed", "11", "--players", "5"]);
        assert_eq!(ground.results().len(), 10);
    }
    let [one, other] = &grounds;
    assert_eq!(one.results(), other.results());
    assert_eq!(one.standings(), other.standings());
}

#[test]
fn interrupted_league_is_resumed() {
    let undisturbed = Ground::new();
    // Others choose by what they remember, and may remember less after a crash.
    let shared = ["--seed", "5", "--players", "6", "--strategies", "random"];
    run(&undisturbed, &shared);
    for signal in [Signal::INT, Signal::KILL] {
        let ground = Ground::new();
        let slow = [&shared[..], &["--ports", "auto", "--pace", "200ms"]].concat();
        let mut first = ground.start("run", &slow);
        for _ in 0..4 {
            first.event("event", "match");
        }
        first.signal(signal);
        let ended = first.end();
        if signal == Signal::INT {
            assert_eq!(ended.code, Some(130), "{ended:?}");
            let last = events(&ended).pop().unwrap();
            let resume = last["resume"].as_str().unwrap();
            assert!(resume.starts_with("league run --resume"), "{last}");
            ground.verified();
        }
        let so_far = results(&ground.league("journal.jsonl"));
        assert!((4..15).contains(&so_far.len()), "{so_far:?}");

        run(&ground, &["--resume"]);
        assert_eq!(ground.results(), undisturbed.results());
        assert_eq!(ground.standings(), undisturbed.standings());
        ground.verified();
    }
}

#[test]
fn records_and_logs_are_for_their_owner_alone() {
    let ground = Ground::new();
    run(&ground, &["--players", "2"]);
    let mode = |name: &str| {
        let found = fs::metadata(ground.path(name)).unwrap();
        found.permissions().mode() & 0o777
    };
    assert_eq!((mode("data"), mode("logs")), (0o700, 0o700));
    assert_eq!(mode("config") & 0o500, 0o500);
    fs::set_permissions(ground.path("data"), PermissionsExt::from_mode(0o755)).unwrap();
    let common = ["run", "--ports", "auto", "--root", ground.root()];
    let ended = Process::start(common.iter().chain(&["--players", "2"])).end();
    let warned = ended
        .errors
        .contains("other users of this machine can look into");
    assert!(warned && ended.code == Some(0), "{ended:?}");
    assert_eq!(mode("data"), 0o755, "left as the organiser has it");
}

#[test]
fn refused_journal_is_left_unchanged() {
    let ground = Ground::new();
    run(&ground, &["--players", "2"]);
    let journal = ground.league("journal.jsonl");
    let torn = [&fs::read(&journal).unwrap()[..], b"{\"crc32\":"].concat();
    fs::write(&journal, &torn).unwrap();
    fs::rename(ground.path("secrets"), ground.path("elsewhere")).unwrap();
    let manager = || ground.start("manager", &["--port", "0"]).end();
    let refused = manager();
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert_eq!(fs::read(&journal).unwrap(), torn, "the secret is missing");
    fs::remove_file(&journal).unwrap();
    let refused = manager();
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(!journal.exists(), "the journal is missing");
}

/// Runs a league on free ports to its end.
fn run(ground: &Ground, arguments: &[&str]) -> ProcessExit {
    let common = ["run", "--ports", "auto", "--root", ground.root()];
    let ended = Process::start(common.iter().chain(arguments)).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.errors, "");
    ended
}

fn events(ended: &ProcessExit) -> Vec<Value> {
    let lines = ended.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn resume_without_an_interrupted_league_fails() {
    let ground = Ground::new();
    let ended = league(["run", "--resume", "--root", ground.root()]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.errors.contains("hint: "), "{ended:?}");
}
