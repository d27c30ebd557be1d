//! Managers of leagues that have begun, or are over: what flags still say, and how they end.

use rustix::process::Signal;

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::process::{Ended, Process, league};

#[test]
fn a_manager_that_is_started_again_waits_for_as_many_as_it_did() {
    let ground = Ground::new();
    let first = ground.manager(&["--players", "3", "--referees", "1"]);
    first.process.stop();
    let mut again = ground.manager(&[]);
    let _player = ground.player(1, &again.endpoint, &[]);
    let told = again.process.event("event", "player");
    let sentence = told["sentence"].as_str().unwrap();
    assert!(sentence.contains("1 of 3 players"), "{sentence}");
}

#[test]
fn flags_that_contradict_how_the_league_began_are_wrong_use() {
    let ground = Ground::new();
    let as_it_began = ["--players", "3", "--referees", "1", "--game", "even_odd"];
    ground.manager(&as_it_began).process.stop();
    for (flag, began) in [
        (&["--players", "4"][..], "with `--players 3`"),
        (&["--players", "0"], "with `--players 3`"),
        (&["--referees", "2"], "with `--referees 1`"),
        (&["--game", "tic_tac_toe"], "with `--game even_odd`"),
        (&["--manual"], "without `--manual`"),
        (&["--seed", "1"], "without `--seed`"),
    ] {
        let ended = manager(&ground, flag).end();
        assert_eq!(ended.code, Some(2), "{flag:?}: {ended:?}");
        let named = format!("`{}`", flag.join(" "));
        for told in [&named, LEAGUE, began, "`--league-id`"] {
            assert!(ended.errors.contains(told), "{told}: {ended:?}");
        }
    }
    ground.manager(&as_it_began).process.stop();
}

#[test]
fn nobody_is_warned_of_agents_that_are_gone_when_the_league_is_over() {
    let ground = Ground::hasty();
    play(&ground);
    let ended = manager(&ground, &["--exit-when-done"]).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("the league is over"), "{ended:?}");
    assert_eq!(ended.errors, "");
}

#[test]
fn of_a_league_that_is_over_nothing_is_interrupted() {
    let ground = Ground::new();
    play(&ground);
    let mut manager = manager(&ground, &[]);
    manager.line(|line| line.contains("the league is over"));
    manager.signal(Signal::INT);
    let ended = manager.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.out.contains("go on with"), "{ended:?}");
}

/// Plays a whole league.
fn play(ground: &Ground) -> Ended {
    let ended = league(["run", "--ports", "auto", "-q", "--root", ground.root()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

/// Starts a manager that speaks to people.
fn manager(ground: &Ground, arguments: &[&str]) -> Process {
    let common = ["manager", "--port", "0", "--root", ground.root()];
    let named = ["--league-id", LEAGUE];
    Process::start(common.iter().chain(&named).chain(arguments))
}
