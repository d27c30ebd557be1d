//! Configuration is written once, read with types, and refused by name.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::config::{
    AllowedEndpoint, BackoffStrategy, ConfigLoader, LeagueConfig, PlayerConfig, SystemConfig,
    league_rules, referee_timeouts, timeouts,
};
use crate::storage::root::Root;
use league_core::league::{Assignment, LeagueRules};
use league_core::timeouts::{Backoff, Timeouts};
use league_protocol::id::{LeagueId, PlayerId, RefereeId};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) fn root() -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path().join("SHARED"));
    (folder, root)
}

pub(crate) fn league_id() -> LeagueId {
    LeagueId::new("league_2025_even_odd").unwrap()
}

/// A root in which one file says this.
pub(crate) fn with(
    file: impl Fn(&Root) -> std::path::PathBuf,
    content: &str,
) -> (TempDir, ConfigLoader) {
    let (folder, root) = root();
    let path = file(&root);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    (folder, ConfigLoader::new(root))
}

fn read_json(path: &std::path::Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn load_all(loader: &ConfigLoader) {
    loader.load_system().unwrap();
    loader.load_agents().unwrap();
    loader.load_league(&league_id()).unwrap();
    loader.load_games_registry().unwrap();
}

#[test]
fn first_files_have_schema_id_and_time_and_read_back_as_the_defaults() {
    let (_folder, root) = root();
    load_all(&ConfigLoader::new(root.clone()));
    for (path, id) in [
        (root.system(), "system_id"),
        (root.agents(), "agents_id"),
        (root.league(&league_id()), "league_id"),
        (root.games_registry(), "registry_id"),
        (root.referee_defaults(), "defaults_id"),
        (root.player_defaults(), "defaults_id"),
    ] {
        let file = read_json(&path);
        assert_eq!(file["schema_version"], "1.0.0", "{path:?}");
        assert!(file[id].is_string(), "{path:?}");
        let written = file["last_updated"].as_str().unwrap();
        assert!(written > "2025" && written.ends_with('Z'), "{written}");
    }
    let again = ConfigLoader::new(root);
    load_all(&again);
    assert_eq!(again.warnings(), []);
    let system = again.load_system().unwrap();
    let expected = SystemConfig {
        last_updated: system.last_updated,
        ..SystemConfig::default()
    };
    assert_eq!(*system, expected);
    let league = again.load_league(&league_id()).unwrap();
    let expected = LeagueConfig {
        last_updated: league.last_updated,
        ..LeagueConfig::named(league_id())
    };
    assert_eq!(*league, expected);
}

#[test]
fn file_is_read_once_and_only_when_asked_for() {
    let (_folder, root) = root();
    let loader = ConfigLoader::new(root.clone());
    assert!(!root.as_path().exists());
    let first = loader.load_system().unwrap();
    assert!(!root.agents().exists(), "only what was asked for");
    fs::write(root.system(), "broken").unwrap();
    assert!(Arc::ptr_eq(&first, &loader.load_system().unwrap()));
}

#[test]
fn existing_file_is_never_written() {
    let content = r#"{"timeouts":{"move_timeout_sec":7.5}}"#;
    let (_folder, loader) = with(Root::system, content);
    let system = loader.load_system().unwrap();
    let waits = &system.timeouts;
    assert_eq!(
        waits.move_timeout_sec.duration(),
        Duration::from_millis(7_500)
    );
    assert_eq!(
        waits.game_join_ack_timeout_sec.duration(),
        Duration::from_secs(5)
    );
    assert_eq!(fs::read_to_string(loader.root().system()).unwrap(), content);
}

#[test]
fn agents_that_start_at_once_find_the_same_files() {
    let (_folder, root) = root();
    let load = |root: Root| {
        let loader = ConfigLoader::new(root);
        load_all(&loader);
        (
            loader.load_system().unwrap().last_updated,
            loader.load_agents().unwrap().last_updated,
        )
    };
    let agents: Vec<_> = (0..7)
        .map(|_| {
            let root = root.clone();
            thread::spawn(move || load(root))
        })
        .collect();
    let seen: Vec<_> = agents
        .into_iter()
        .map(|agent| agent.join().unwrap())
        .collect();
    assert!(seen.iter().all(|found| *found == seen[0]), "{seen:?}");
    let left = fs::read_dir(root.as_path().join("config")).unwrap();
    for entry in left {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.contains(".tmp"), "{name} was left behind");
    }
}

#[test]
fn defaults_are_the_rules_of_the_documents() {
    let system = SystemConfig::default();
    assert_eq!(timeouts(&system), Timeouts::default());
    let rules = league_rules(&system, &LeagueConfig::named(league_id())).unwrap();
    let usual = LeagueRules {
        game_settings: json!({"lowest": 1, "highest": 10}),
        start_when: Some((4, 2)),
        ..LeagueRules::new(rules.league_id.clone(), rules.game_type.clone())
    };
    assert_eq!(rules, usual);
    assert_eq!(rules.league_id, league_id());
}

#[test]
fn agents_of_the_documents_have_their_ports() {
    let (_folder, root) = root();
    let agents = ConfigLoader::new(root).load_agents().unwrap();
    assert_eq!(agents.league_manager.endpoint, "http://localhost:8000/mcp");
    let referees: Vec<_> = agents
        .referees
        .iter()
        .map(|referee| (referee.referee_id.as_str(), referee.endpoint.as_str()))
        .collect();
    assert_eq!(
        referees,
        [
            ("REF01", "http://localhost:8001/mcp"),
            ("REF02", "http://localhost:8002/mcp")
        ]
    );
    let players: Vec<_> = agents
        .players
        .iter()
        .map(|player| (player.player_id.as_str(), player.default_endpoint.as_str()))
        .collect();
    assert_eq!(players.len(), 4);
    assert_eq!(players[0], ("P01", "http://localhost:8101/mcp"));
    assert_eq!(players[3], ("P04", "http://localhost:8104/mcp"));
    assert_eq!(agents.players[0].display_name, "Agent Alpha");
}

#[test]
fn excerpts_of_the_documents_are_read() {
    let system = r#"{
        "schema_version": "1.0.0", "system_id": "league_system_prod",
        "protocol_version": "league.v2",
        "timeouts": {"move_timeout_sec": 30, "generic_response_timeout_sec": 10},
        "retry_policy": {"max_retries": 3, "backoff_strategy": "exponential"}
    }"#;
    let (_folder, loader) = with(Root::system, system);
    let system = loader.load_system().unwrap();
    assert_eq!(
        system.retry_policy.backoff_strategy,
        BackoffStrategy::Exponential
    );
    assert_eq!(
        timeouts(&system).backoff,
        Backoff::Exponential(Duration::from_secs(2))
    );
    let league = r#"{
        "league_id": "league_2025_even_odd", "game_type": "even_odd", "status": "ACTIVE",
        "scoring": {"win_points": 3, "draw_points": 1, "loss_points": 0},
        "participants": {"min_players": 2, "max_players": 10000}
    }"#;
    let (_folder, loader) = with(|root| root.league(&league_id()), league);
    let league = loader.load_league(&league_id()).unwrap();
    assert!(league_rules(&SystemConfig::default(), &league).is_ok());
    assert_eq!(loader.warnings(), []);
}

#[test]
fn every_value_reaches_the_rules() {
    let content = json!({
        "league_id": "cup", "game_type": "even_odd",
        "game_settings": {"lowest": 0, "highest": 99},
        "scoring": {"win_points": 5, "draw_points": 2, "loss_points": 1, "technical_loss_points": 0},
        "participants": {"min_players": 3, "max_players": 9, "expected_players": 0},
        "strictness": "strict", "assignment_policy": "least_loaded", "max_fail": 2,
        "broadcast_limit": 10, "broadcast_top_rows": 3,
        "match_limit_sec": 60, "probe_interval_sec": 0.5
    });
    let cup = LeagueId::new("cup").unwrap();
    let (_folder, loader) = with(|root| root.league(&cup), &content.to_string());
    let system = SystemConfig {
        security: crate::config::SecurityConfig {
            token_ttl_hours: 2,
            ..Default::default()
        },
        circuit_breaker: crate::config::CircuitBreakerConfig {
            failure_threshold: 9,
            ..Default::default()
        },
        ..SystemConfig::default()
    };
    let rules = league_rules(&system, &loader.load_league(&cup).unwrap()).unwrap();
    let score = rules.score;
    assert_eq!(
        [score.win, score.draw, score.loss, score.technical_loss],
        [5, 2, 1, 0]
    );
    assert_eq!(rules.game_settings, content["game_settings"]);
    assert_eq!((rules.min_players, rules.max_players), (3, 9));
    assert_eq!(rules.start_when, None);
    assert!(rules.strict);
    assert_eq!(rules.assignment, Assignment::LeastLoaded);
    assert_eq!(
        (rules.max_fail, rules.broadcast_limit, rules.top_rows),
        (2, 10, 3)
    );
    assert_eq!(rules.match_limit, Duration::from_secs(60));
    assert_eq!(rules.probe_every, Duration::from_millis(500));
    assert_eq!(rules.token_ttl, Duration::from_secs(7_200));
    assert_eq!(rules.breaker.threshold, 9);
}

#[test]
fn referee_has_its_own_registration_timeout() {
    let (_folder, loader) = with(
        Root::system,
        r#"{"timeouts":{"register_referee_timeout_sec":3,"register_player_timeout_sec":4}}"#,
    );
    let system = loader.load_system().unwrap();
    assert_eq!(referee_timeouts(&system).register, Duration::from_secs(3));
    assert_eq!(timeouts(&system).register, Duration::from_secs(4));
}

#[test]
fn agent_entry_is_completed_from_the_defaults() {
    let (_folder, loader) = with(
        Root::agents,
        r#"{"referees":[{"referee_id":"REF07","display_name":"Seven","endpoint":"http://localhost:9/mcp"}],
            "players":[{"player_id":"P09","display_name":"Nine","default_endpoint":"http://localhost:8/mcp",
                        "strategy":"pattern"}]}"#,
    );
    let root = loader.root();
    fs::create_dir_all(root.referee_defaults().parent().unwrap()).unwrap();
    fs::write(root.referee_defaults(), r#"{"max_concurrent_matches":12}"#).unwrap();
    fs::write(
        root.player_defaults(),
        r#"{"strategy":"markov","version":"9.9"}"#,
    )
    .unwrap();
    let seven = loader
        .get_referee_by_id(&RefereeId::new("REF07").unwrap())
        .unwrap();
    assert_eq!(seven.max_concurrent_matches, 12);
    let PlayerConfig {
        strategy,
        version,
        active,
        ..
    } = loader.get_player_by_id(&PlayerId::numbered(9)).unwrap();
    assert_eq!(
        (strategy.as_str(), version.as_str(), active),
        ("pattern", "9.9", true)
    );
}

#[test]
fn another_game_needs_no_settings_of_even_odd() {
    let content = r#"{"league_id":"cup","game_type":"tic_tac_toe"}"#;
    let cup = LeagueId::new("cup").unwrap();
    let (_folder, loader) = with(|root| root.league(&cup), content);
    let league = loader.load_league(&cup).unwrap();
    let rules = league_rules(&SystemConfig::default(), &league).unwrap();
    assert!(rules.sides_matter);
}

#[test]
fn allow_list_is_read_and_applied() {
    let content = r#"{"security":{"allowed_endpoints":["10.0.0.0/8"],"bind":"0.0.0.0"}}"#;
    let (_folder, loader) = with(Root::system, content);
    let security = loader.load_system().unwrap().security.clone();
    assert!(security.allows("10.1.2.3".parse().unwrap()));
    assert!(!security.allows("127.0.0.1".parse().unwrap()));
    assert!(matches!(
        security.allowed_endpoints[..],
        [AllowedEndpoint::Network { bits: 8, .. }]
    ));
    assert!(security.bind.is_unspecified());
}
