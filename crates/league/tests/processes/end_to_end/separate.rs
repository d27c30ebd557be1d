//! Seven commands in seven processes, as chapter 8 of 000 starts them, in whatever order.

use std::fs;

use serde_json::{Value, json};

use crate::end_to_end::ground::{Agent, Ground, facts};
use crate::end_to_end::process::{free_port, league};

#[test]
fn seven_commands_play_a_league() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--exit-when-done"]);
    let mut others: Vec<Agent> = (1..=2)
        .map(|number| ground.referee(number, &manager.endpoint, &["--exit-when-done"]))
        .collect();
    others.extend(
        (1..=4).map(|number| ground.player(number, &manager.endpoint, &["--exit-when-done"])),
    );
    finish(&ground, &mut manager, others);
}

#[test]
fn players_and_referees_may_start_before_the_manager() {
    let ground = Ground::hasty();
    let port = free_port();
    let endpoint = format!("http://localhost:{port}/mcp");
    let mut others: Vec<Agent> = (1..=4)
        .map(|number| ground.player(number, &endpoint, &["--exit-when-done"]))
        .collect();
    others.extend((1..=2).map(|number| ground.referee(number, &endpoint, &["--exit-when-done"])));
    for other in &mut others {
        other.process.event("state", "registering");
    }
    let mut manager = ground.manager_at(port, &["--exit-when-done"]);
    finish(&ground, &mut manager, others);
}

#[test]
fn agents_keep_their_files_in_the_league_of_the_manager() {
    let ground = Ground::new();
    let tic_tac_toe = "league_2025_tic_tac_toe";
    let counts = ["--players", "2", "--referees", "1", "--game", "tic_tac_toe"];
    let mut manager = ground.manager(&counts);
    let config = fs::read_to_string(ground.path(&format!("config/leagues/{tic_tac_toe}.json")));
    let config: Value = serde_json::from_str(&config.unwrap()).unwrap();
    assert_eq!(config["game_type"], "tic_tac_toe");
    let agents = [
        ground.referee(1, &manager.endpoint, &["--exit-when-done"]),
        ground.player(1, &manager.endpoint, &["--exit-when-done"]),
        ground.player(2, &manager.endpoint, &["--exit-when-done"]),
    ];
    manager.process.event("state", "completed");
    for agent in agents {
        let ended = agent.process.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert!(!ground.league("").exists());
    let checked = ground.verified();
    assert_eq!(checked["confirmed"], 1, "{checked}");
    assert_eq!(checked["not_compared"], json!([]), "{checked}");
}

#[test]
fn early_agents_resume_after_a_restart() {
    let ground = Ground::hasty();
    let port = free_port();
    let endpoint = format!("http://localhost:{port}/mcp");
    let counts = ["--players", "2", "--referees", "1", "--league-id", "friday"];
    let start = || {
        [
            ground.referee(1, &endpoint, &[]),
            ground.player(1, &endpoint, &[]),
        ]
    };
    let mut early = start();
    for agent in &mut early {
        agent.process.event("state", "registering");
    }
    let manager = ground.manager_at(port, &counts);
    for agent in &mut early {
        agent.process.event("state", "enrolled");
    }
    drop(early);
    // With the manager there, and before it is back.
    for agent in &mut start() {
        agent.process.event("state", "enrolled");
    }
    manager.process.stop();
    let mut again = start();
    let mut manager = ground.manager_at(port, &counts);
    for agent in &mut again {
        agent.process.event("state", "enrolled");
    }
    let _other = ground.player(2, &endpoint, &[]);
    manager.process.event("state", "completed");
    let journal = ground.path("data/leagues/friday/journal.jsonl");
    assert_eq!(facts(&journal, "referee_registered").len(), 1);
}

/// Sees a league of four to its end.
fn finish(ground: &Ground, manager: &mut Agent, others: Vec<Agent>) {
    manager.process.event("state", "completed");
    for other in others {
        let ended = other.process.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains("completed"), "{ended:?}");
        assert_eq!(ended.errors, "");
    }
    assert_eq!(ground.results().len(), 6);
    assert_eq!(ground.verified()["results"], 6);
}

#[test]
fn player_prints_its_results_and_its_place() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "2", "--referees", "1"]);
    let _referee = ground.referee(1, &manager.endpoint, &[]);
    let _other = ground.player(2, &manager.endpoint, &[]);
    let own = ["--player-id", "P01", "--port", "0", "--exit-when-done"];
    let place = ["--root", ground.root(), "--manager", &manager.endpoint];
    let ended = league([&["player"][..], &own, &place].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut lines = ended.out.lines().rev();
    assert_eq!(lines.next(), Some("player:P01: the league is over"));
    let page = format!("{}/player/P01", manager.endpoint.trim_end_matches("/mcp"));
    let rank = lines.next().unwrap_or_default();
    assert!(rank.starts_with("we are number "), "{ended:?}");
    assert!(rank.ends_with(&page), "{ended:?}");
    let result = lines.next().unwrap_or_default();
    assert!(result.starts_with("R1M1: "), "{ended:?}");
    assert!(result.contains(" against P02, "), "{ended:?}");
}
