//! Players that never register and are invited by their address.

use std::time::Duration;

use serde_json::json;

use crate::end_to_end::ground::Ground;
use crate::end_to_end::scripted::{Does, Scripted, fair};

/// A player that answers what it is asked and never asks anything.
fn silent() -> Scripted {
    Scripted::start(|said| Does::Answers(fair(said)))
}

#[test]
fn invited_players_join_by_flag_and_by_configuration() {
    let ground = Ground::new();
    let (named, configured) = (silent(), silent());
    ground.write(
        "config/agents/agents_config.json",
        &json!({"players": [{
            "player_id": "P07", "display_name": "Configured", "invite": true,
            "default_endpoint": configured.endpoint,
        }]}),
    );
    let invite = format!("Named={}", named.endpoint);
    let mut manager = ground.manager(&["--players", "3", "--referees", "1", "--invite", &invite]);
    let _referee = ground.referee(1, &manager.endpoint, &[]);
    let _player = ground.player(1, &manager.endpoint, &[]);
    manager.process.event("state", "completed");
    let results = ground.results();
    assert_eq!(results.len(), 3);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    let names = ground.facts("player_registered");
    let names: Vec<&str> = names
        .iter()
        .filter_map(|fact| fact["meta"]["display_name"].as_str())
        .collect();
    assert!(
        names.contains(&"Named") && names.contains(&"Configured"),
        "{names:?}"
    );
    assert_eq!(configured.heard("GAME_INVITATION")["game_type"], "even_odd");
    ground.verified();
}

#[test]
fn run_ends_when_a_slow_player_has_the_last_news() {
    let ground = Ground::new();
    // Letters to one player keep their order, so the end waits for each answer before it.
    let slow = Scripted::start(|said| match said["match_id"].is_null() {
        true => Does::AnswersLate(Duration::from_millis(300), fair(said)),
        false => Does::Answers(fair(said)),
    });
    let league = ["--players", "1", "--referees", "1", "--ports", "auto"];
    let run = ground.start(
        "run",
        &[&league[..], &["--invite", &slow.endpoint]].concat(),
    );
    let ended = run.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(
        slow.all("LEAGUE_COMPLETED").len(),
        1,
        "{:?}",
        slow.messages()
    );
}

#[test]
fn strict_league_has_no_guests() {
    let ground = Ground::new();
    let league = "config/leagues/league_2025_even_odd.json";
    ground.write(league, &json!({"strictness": "strict"}));
    let guest = silent();
    let manager = ground.start("manager", &["--port", "0", "--invite", &guest.endpoint]);
    let ended = manager.end();
    assert_eq!(ended.code, Some(2), "{}", ended.errors);
    assert!(
        ended.errors.contains("the league is strict"),
        "{}",
        ended.errors
    );
}

#[test]
fn league_does_not_wait_for_rejected_guests() {
    let ground = Ground::new();
    let hosts = json!({"network": {"hosts": {"heron.example": "10.9.8.7"}}});
    ground.write("config/system.json", &hosts);
    let guest = silent();
    let named = |name: &str| format!("{name}={}", guest.endpoint);
    for (invited, cause) in [
        (
            vec![named("Ann"), named("Bob")],
            "share a name or an address",
        ),
        (
            vec!["http://heron.example/mcp".to_owned()],
            "`http://heron.example/mcp`: `heron.example` leads to an address that is not called",
        ),
        (
            vec!["http://10.9.8.7/mcp".to_owned()],
            "`http://10.9.8.7/mcp`: agents may not answer at `10.9.8.7` here",
        ),
        (
            vec![named("Agent Alpha")],
            "one of our own players is called",
        ),
    ] {
        let flags: Vec<&str> = invited
            .iter()
            .flat_map(|guest| ["--invite", guest])
            .collect();
        let arguments = [&["--ports", "auto"], flags.as_slice()].concat();
        let ended = ground.start("run", &arguments).end();
        assert_eq!(ended.code, Some(2), "{invited:?}: {}", ended.errors);
        assert!(
            ended.errors.contains(cause),
            "{invited:?}: {}",
            ended.errors
        );
    }
}
