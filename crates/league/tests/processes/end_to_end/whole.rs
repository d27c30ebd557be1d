//! `league run`: a whole league by one command, again by the same seed, and after an interruption.

use rustix::process::Signal;
use serde_json::Value;

use crate::end_to_end::ground::{Ground, LEAGUE, results};
use crate::end_to_end::process::{Ended, Process, league};

#[test]
fn one_command_plays_a_league_and_the_next_plays_another() {
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
fn the_same_seed_gives_the_same_league() {
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
fn a_league_that_was_interrupted_is_gone_on_with() {
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

/// Runs a league on free ports to its end.
fn run(ground: &Ground, arguments: &[&str]) -> Ended {
    let common = ["run", "--ports", "auto", "--root", ground.root()];
    let ended = Process::start(common.iter().chain(arguments)).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.errors, "");
    ended
}

fn events(ended: &Ended) -> Vec<Value> {
    let lines = ended.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn there_is_nothing_to_go_on_with_where_nothing_was_interrupted() {
    let ground = Ground::new();
    let ended = league(["run", "--resume", "--root", ground.root()]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.errors.contains("hint: "), "{ended:?}");
}
