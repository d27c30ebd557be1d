//! Leagues with players that take calls in other manners than ours do.

use std::fs;

use serde_json::{Value, json};

use crate::end_to_end::foreign::{Foreign, Kind};
use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::http::{call, health};
use crate::end_to_end::process::eventually;
use crate::end_to_end::scripted::{Does, Scripted, fair, registration};

/// Registers a player, saying how it takes calls or leaving that open.
fn register(player: &Foreign, manager: &str, name: &str, speech: Option<&str>) -> String {
    let mut request = registration(name, &player.endpoint);
    if let Some(speech) = speech {
        request["player_meta"]["speech"] = speech.into();
    }
    let answer = call(manager, "register_player", &request);
    answer["player_id"].as_str().unwrap().to_owned()
}

/// A league of these players and one of ours, ready to begin.
fn league(ground: &Ground, kinds: &[(Kind, Option<&str>)]) -> (Agent, Vec<Agent>, Vec<Foreign>) {
    let players = (kinds.len() + 1).to_string();
    let manager = ground.manager(&["--players", &players, "--referees", "1"]);
    let foreigners: Vec<Foreign> = kinds
        .iter()
        .enumerate()
        .map(|(number, (kind, speech))| {
            let player = Foreign::start(*kind);
            register(
                &player,
                &manager.endpoint,
                &format!("Foreign {number}"),
                *speech,
            );
            assert_eq!(
                player.calls().len(),
                0,
                "nobody is asked while it registers"
            );
            player
        })
        .collect();
    let others = vec![
        ground.referee(1, &manager.endpoint, &[]),
        ground.player(99, &manager.endpoint, &[]),
    ];
    (manager, others, foreigners)
}

/// Sees that all matches were played, and none was lost technically.
fn all_played(ground: &Ground, matches: usize) {
    let results = ground.results();
    assert_eq!(results.len(), matches);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    ground.verified();
}

#[test]
fn every_manner_plays_in_one_league() {
    let ground = Ground::new();
    let (mut manager, others, foreigners) = league(
        &ground,
        &[
            (Kind::Modern, None),
            (Kind::Sessions, Some("mcp")),
            (Kind::Stateless, None),
            (Kind::Bare, None),
            (Kind::Bare, Some("simple")),
            (Kind::Troubled(500, "oops"), None),
            (Kind::Troubled(200, "<html>"), None),
            (Kind::Hanging, None),
        ],
    );
    manager.process.event("state", "completed");
    all_played(&ground, 36);
    let [modern, sessions, stateless, bare, declared, ..] = &foreigners[..] else {
        panic!("there are eight");
    };
    // The manager and the referee find out once each.
    assert_eq!(modern.count("server/discover"), 2);
    assert_eq!(modern.count("initialize"), 0);
    assert!(
        modern.was_called("choose_move"),
        "it has no other tool for a move"
    );
    assert!(
        !modern.was_called("notify_match_result"),
        "it does not list that"
    );
    assert_eq!(stateless.count("initialize"), 2);
    assert!(sessions.was_called("notify_match_result"));
    // It refuses the manager's first news, so that the manager asks; the referee is told.
    assert_eq!(bare.count("server/discover"), 1);
    assert_eq!(declared.count("server/discover"), 0);
    no_token_in_questions(&foreigners);

    let shown = health(&others[0].endpoint);
    let peers = shown["peers"]["peers"].as_array().unwrap();
    let of = |player: &Foreign| -> &Value {
        let mut found = peers
            .iter()
            .filter(|peer| peer["endpoint"] == player.endpoint.as_str());
        found.next().unwrap()
    };
    assert_eq!(of(modern)["speech"], "modern");
    assert_eq!(of(modern)["tools"], 2);
    assert_eq!(of(sessions)["session"], true);
    assert_eq!(of(sessions)["version"], "2025-11-25");
    assert_eq!(of(bare)["speech"], "simple");
    let tools = shown["peers"]["tools"].as_array().unwrap();
    assert!(tools.contains(&json!("choose_move")), "{tools:?}");
    assert!(
        tools
            .iter()
            .any(|tool| tool.as_str().unwrap().ends_with(".choose_parity")),
        "{tools:?}"
    );
    manager.process.stop();
    drop(others);
}

/// Sees that whoever finds out shows no token.
fn no_token_in_questions(players: &[Foreign]) {
    for call in players.iter().flat_map(Foreign::calls) {
        let asks = [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/list",
        ];
        if asks.contains(&call.method()) {
            assert!(!call.body.to_string().contains("token"), "{}", call.body);
            assert!(!call.headers.contains_key("authorization"));
        }
    }
}

#[test]
fn forgotten_sessions_are_reopened_and_end_with_the_process() {
    let ground = Ground::new();
    let (mut manager, others, foreigners) =
        league(&ground, &[(Kind::Sessions, None), (Kind::Sessions, None)]);
    let forgetful = &foreigners[0];
    let asked = || forgetful.was_called("choose_parity").then_some(());
    eventually(asked).unwrap();
    forgetful.forget_sessions();
    manager.process.event("state", "completed");
    all_played(&ground, 3);
    assert!(
        forgetful.count("initialize") >= 3,
        "{:?}",
        forgetful.calls()
    );
    for other in others {
        other.process.stop();
    }
    manager.process.stop();
    let ends = |player: &Foreign| {
        player
            .calls()
            .iter()
            .filter(|call| call.verb == "DELETE")
            .count()
    };
    assert_eq!(
        ends(&foreigners[1]),
        2,
        "the referee and the manager end theirs"
    );
}

#[test]
fn returning_player_is_probed_again() {
    let ground = Ground::new();
    ground.write(
        "config/system.json",
        &json!({"retry_policy": {"retry_delay_sec": 1.2}}),
    );
    let (mut manager, _others, foreigners) =
        league(&ground, &[(Kind::Bare, None), (Kind::Bare, None)]);
    let changing = &foreigners[0];
    let asked = || changing.was_called("choose_parity").then_some(());
    eventually(asked).unwrap();
    changing.become_kind(Kind::Modern);
    manager.process.event("state", "completed");
    all_played(&ground, 3);
    assert!(changing.was_called("choose_move"));
}

#[test]
fn unreachable_player_loses_by_connection() {
    let ground = Ground::new();
    ground.write(
        "config/system.json",
        &json!({"retry_policy": {"retry_delay_sec": 0.1}}),
    );
    let (mut manager, _others, _foreigners) = league(&ground, &[(Kind::Gone, None)]);
    manager.process.event("state", "completed");
    let results = ground.results();
    let result = results.values().next().unwrap();
    assert_eq!(result["status"], "TECHNICAL_LOSS", "{result}");
    assert!(result.to_string().contains("E009"), "{result}");
    manager.process.stop();
    for log in fs::read_dir(ground.path("logs/agents")).unwrap() {
        let log = fs::read_to_string(log.unwrap().path()).unwrap();
        assert!(!log.contains("DEVIATION"), "{log}");
    }
}

#[test]
fn player_that_answers_plain_calls_is_never_probed() {
    let ground = Ground::new();
    let plain = Scripted::start(|said| Does::Answers(fair(said)));
    let mut manager = ground.manager(&["--players", "2", "--referees", "1"]);
    plain.register(&manager.endpoint, "Plain");
    let _others = (
        ground.referee(1, &manager.endpoint, &[]),
        ground.player(99, &manager.endpoint, &[]),
    );
    manager.process.event("state", "completed");
    all_played(&ground, 1);
    let asks = |said: &&Value| said.get("protocolVersion").or(said.get("_meta")).is_some();
    assert_eq!(plain.calls().iter().find(asks), None, "its answers tell");
}
