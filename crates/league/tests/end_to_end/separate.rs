//! Seven commands in seven processes, as chapter 8 of 000 starts them, in whatever order.

use crate::ground::{Agent, Ground};

#[test]
fn seven_commands_make_a_league() {
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
fn players_and_referees_may_come_before_the_manager() {
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

/// A port that is free now.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}
