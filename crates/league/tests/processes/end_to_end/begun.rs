//! Managers of leagues that have begun, or are over: what flags still say, and how they end.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::process::{Process, ProcessExit, league};

#[test]
fn restarted_manager_waits_for_the_same_number_of_agents() {
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
fn manager_of_a_league_that_is_started_by_hand_says_how() {
    let ground = Ground::new();
    let mut process = ground.start("manager", &["--port", "0", "--players", "0"]);
    let greeting = process.event("event", "manager");
    let endpoint = greeting["endpoint"].as_str().unwrap();
    let wanted = format!("league admin start --manager {endpoint} --root ");
    let told = greeting["start"].as_str().unwrap();
    assert!(told.starts_with(&wanted), "{greeting}");
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
        for told in [&named, LEAGUE, began, "`--league-id ID`"] {
            assert!(ended.errors.contains(told), "{told}: {ended:?}");
        }
    }
    ground.manager(&as_it_began).process.stop();
}

#[test]
fn restarted_manager_says_which_rules_it_does_not_take() {
    let ground = Ground::new();
    ground.manager(&["--players", "3"]).process.stop();
    ground.manager(&[]).process.stop();
    let file = format!("config/leagues/{LEAGUE}.json");
    let written = std::fs::read_to_string(ground.path(&file)).unwrap();
    let mut config: Value = serde_json::from_str(&written).unwrap();
    config["strictness"] = "strict".into();
    ground.write(&file, &config);
    let told = manager(&ground, &[]).warning(|line| line.contains("keeps the rules"));
    assert!(told.contains("has changed `strict`;"), "{told}");
}

#[test]
fn restarted_manager_says_how_referees_are_admitted_in_its_league() {
    let ground = Ground::new();
    for open in [true, false] {
        let system = json!({"security": {"open_referees": open}});
        ground.write("config/system.json", &system);
        let mut manager = manager(&ground, &[]);
        let told = manager.line(|line| line.starts_with("referees"));
        assert!(told.starts_with("referees: open to all"), "{told}");
        manager.stop();
    }
}

#[test]
fn finished_league_gives_no_warning_of_absent_agents() {
    let ground = Ground::hasty();
    play(&ground);
    let ended = manager(&ground, &["--exit-when-done"]).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("the league is over"), "{ended:?}");
    assert_eq!(ended.errors, "");
}

#[test]
fn finished_league_is_not_reported_as_interrupted() {
    let ground = Ground::new();
    play(&ground);
    let mut manager = manager(&ground, &[]);
    let over = manager.line(|line| line.contains("the league is over"));
    let next = format!(
        "`league manager --league-id {LEAGUE}_2 --root {}`",
        ground.root()
    );
    assert!(over.contains(&next), "{over}");
    manager.signal(Signal::INT);
    let ended = manager.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.out.contains("continue with"), "{ended:?}");
}

#[test]
fn manager_of_a_finished_league_shows_the_table_and_no_old_news() {
    let ground = Ground::new();
    let table = play(&ground).out;
    let ended = manager(&ground, &["--exit-when-done"]).end();
    for row in table.lines().take_while(|row| !row.is_empty()) {
        assert!(ended.out.contains(row), "{row}: {ended:?}");
    }
    for news in [
        " is in",
        "the league begins",
        "round 1",
        "1/6",
        "start them with",
    ] {
        assert!(!ended.out.contains(news), "{news}: {ended:?}");
    }
    let json = ground.start("manager", &["--port", "0", "--exit-when-done"]);
    let events: Vec<_> = json.end().out.lines().map(event).collect();
    assert_eq!(events, ["manager", "standings", "agent"]);
}

fn event(line: &str) -> String {
    let line: Value = serde_json::from_str(line).unwrap();
    line["event"].as_str().unwrap().to_owned()
}

/// Plays a whole league.
fn play(ground: &Ground) -> ProcessExit {
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
