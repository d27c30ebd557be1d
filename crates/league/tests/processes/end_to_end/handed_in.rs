//! Referees elsewhere hand in their journals when a league is over, so that it is complete below
//! the manager's root.

use std::fs;

use serde_json::Value;

use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::process::{free_port, league};

const KEY: [&str; 2] = ["--referee-key", "key-of-the-organiser"];

/// The exit code of `league verify`, and the verdict.
fn verify(ground: &Ground) -> (Option<i32>, Value) {
    let ended = league(["verify", ground.root(), "--output", "json"]);
    let verdict = serde_json::from_str(ended.out.trim()).unwrap();
    (ended.code, verdict)
}

/// A manager and two referees that share no files; the players end with the league.
struct Elsewhere {
    organiser: Ground,
    whistle: Ground,
    port: u16,
}

impl Elsewhere {
    fn new() -> Self {
        Self {
            organiser: Ground::new(),
            whistle: Ground::new(),
            port: free_port(),
        }
    }

    fn manager(&self) -> Agent {
        let counts = ["--players", "4", "--referees", "2", "--exit-when-done"];
        let arguments = [&counts[..], &KEY].concat();
        self.organiser.manager_at(self.port, &arguments)
    }

    fn referee(&self, port: u16, number: u32, manager: &str, more: &[&str]) -> Agent {
        let arguments = [&KEY[..], more].concat();
        self.whistle.referee_at(port, number, manager, &arguments)
    }

    fn players(&self, manager: &str) -> Vec<Agent> {
        let players = 1..=4;
        players
            .map(|number| self.whistle.player(number, manager, &["--exit-when-done"]))
            .collect()
    }
}

#[test]
fn league_with_referees_elsewhere_is_verified_below_the_managers_root() {
    let ground = Elsewhere::new();
    let manager = ground.manager();
    let mut others = ground.players(&manager.endpoint);
    for number in 1..=2 {
        others.push(ground.referee(0, number, &manager.endpoint, &["--exit-when-done"]));
    }
    for agent in others.into_iter().chain([manager]) {
        let ended = agent.process.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    let (code, verdict) = verify(&ground.organiser);
    assert_eq!(code, Some(0), "{verdict}");
    assert_eq!(verdict["verdict"], "verified");
    assert_eq!(verdict["matches"]["proven"], 6, "{verdict}");
    assert_eq!(verdict["checked"]["confirmed"], 6, "{verdict}");
    for number in 1..=2 {
        let name = format!("referees/REF0{number}/journal.jsonl");
        let copy = fs::read_to_string(ground.organiser.league(&name)).unwrap();
        let original = fs::read_to_string(ground.whistle.league(&name)).unwrap();
        assert_eq!(copy, original);
    }
}

#[test]
fn journals_that_are_not_handed_in_are_missing_until_the_manager_asks_again() {
    let ground = Elsewhere::new();
    let mut manager = ground.manager();
    let _players = ground.players(&manager.endpoint);
    let mut referees: Vec<Agent> = (1..=2)
        .map(|number| ground.referee(0, number, &manager.endpoint, &[]))
        .collect();
    manager.process.event("state", "completed");
    assert_eq!(manager.process.end().code, Some(0));
    let ports: Vec<u16> = referees.iter().map(Agent::port).collect();
    for referee in &mut referees {
        referee.process.kill();
    }

    // A manager that finds no journals and no referees.
    fs::remove_dir_all(ground.organiser.league("referees")).unwrap();
    assert_eq!(ground.manager().process.end().code, Some(0));
    let (code, verdict) = verify(&ground.organiser);
    assert_eq!(code, Some(4), "{verdict}");
    assert_eq!(verdict["verdict"], "consistent, not complete");
    let ended = league(["verify", ground.organiser.root(), "--quiet"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.out.contains(
            "consistent, not complete: 6 matches, 6 with both players' proofs, 0 with the \
             referee's journal; missing: journal of REF01, journal of REF02"
        ),
        "{ended:?}"
    );
    let ended = league(["verify", ground.organiser.root(), "--complete"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");

    // The manager is there first: referees that do not reach it wait longer with each try.
    let manager = ground.manager();
    let _referees: Vec<Agent> = (1..)
        .zip(ports)
        .map(|(number, port)| ground.referee(port, number, &manager.endpoint, &[]))
        .collect();
    assert_eq!(manager.process.end().code, Some(0));
    let (code, verdict) = verify(&ground.organiser);
    assert_eq!(code, Some(0), "{verdict}");
}
