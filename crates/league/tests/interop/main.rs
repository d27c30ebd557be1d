//! Leagues with players that were built with other people's libraries, in other languages.
//!
//! `cargo xtask interop` makes the Python environments that they need, and runs these tests; a plain
//! `cargo test` leaves them out, as it should need nothing but Rust.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, in a function beside it too"
)]
#![expect(
    dead_code,
    reason = "the ground is shared with the other leagues, which use all of it"
)]

/// What these leagues share with the others.
#[path = "../processes/end_to_end"]
mod end_to_end {
    pub(crate) mod certificates;
    pub(crate) mod ground;
    pub(crate) mod http;
    pub(crate) mod process;
}
mod games;
mod kits;
mod mistakes;
mod python;
mod ratings;
mod remembering;
mod sdk;
mod signing;
mod swiss;
mod verifier;
mod words;

use serde_json::Value;

use end_to_end::ground::Ground;
use end_to_end::http::health;
use python::Python;

/// The modes of FastMCP's server that a client can tell apart.
const MODES: [&[&str]; 4] = [
    &[],
    &["--json"],
    &["--stateless"],
    &["--json", "--stateless"],
];

/// The two lines of FastMCP.
const LINES: [&str; 2] = ["fastmcp-4", "fastmcp-2"];

#[test]
fn fastmcp_players_of_both_lines_play_a_league_in_every_mode() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--players", "10", "--referees", "1"]);
    let referee = ground.referee(1, &manager.endpoint, &[]);
    let mut players = Vec::new();
    for line in LINES {
        for (number, mode) in MODES.iter().enumerate() {
            let name = format!("{line} {number}");
            players.push(Python::player(
                line,
                "fast_player.py",
                &manager.endpoint,
                &name,
                mode,
            ));
        }
    }
    let bare = Python::player(LINES[0], "bare_player.py", &manager.endpoint, "bare", &[]);
    players.push(bare);
    for player in &mut players {
        player.event("registered");
    }
    let _own = ground.player(10, &manager.endpoint, &[]);
    manager.process.event("state", "completed");
    let results = ground.results();
    assert_eq!(results.len(), 45);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    manners(&health(&referee.endpoint));
    ground.verified();
}

#[test]
fn fastmcp_bots_of_both_lines_play_a_league_over_standard_input_and_output() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--players", "3", "--referees", "1"]);
    let _referee = ground.referee(1, &manager.endpoint, &[]);
    let mut bots = Vec::new();
    for (number, line) in (1..).zip(LINES) {
        let command = format!("{} --stdio", python::command(line, "fast_player.py"));
        let arguments = ["--exec", &command];
        bots.push(ground.player(number, &manager.endpoint, &arguments));
    }
    let _own = ground.player(3, &manager.endpoint, &[]);
    manager.process.event("state", "completed");
    let results = ground.results();
    assert_eq!(results.len(), 3);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    ground.verified();
}

/// Sees that each line was spoken to in its own manner, with sessions where it keeps them.
fn manners(health: &Value) {
    let peers = health["peers"]["peers"].as_array().unwrap();
    let count = |speech: &str, session: bool| {
        let same = |peer: &&Value| {
            peer["speech"] == speech && peer["session"] == session && peer["state"] == "settled"
        };
        peers.iter().filter(same).count()
    };
    assert_eq!(count("modern", false), 4, "{peers:?}");
    assert_eq!(count("legacy", true), 2, "{peers:?}");
    assert_eq!(count("legacy", false), 2, "{peers:?}");
    assert_eq!(count("simple", false), 1, "{peers:?}");
}

#[test]
fn fastmcp_clients_of_both_lines_read_a_manager() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    for line in LINES {
        let arguments = ["--manager", &manager.endpoint];
        let mut client = Python::start(line, "fast_client.py", &arguments);
        client.event("looked");
    }
}
