//! Configuration is written once, read with types, and refused by name.

use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use league::config::{
    AllowedEndpoint, BackoffStrategy, ConfigError, ConfigLoader, LeagueConfig, PlayerConfig,
    SystemConfig, league_rules, patience, referee_patience,
};
use league::root::Root;
use league_core::league::{Assignment, LeagueRules};
use league_core::patience::{Backoff, Patience};
use league_protocol::id::{LeagueId, PlayerId, RefereeId};
use serde_json::{Value, json};
use tempfile::TempDir;

fn root() -> (TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::new(folder.path().join("SHARED"));
    (folder, root)
}

fn league_id() -> LeagueId {
    LeagueId::new("league_2025_even_odd").unwrap()
}

/// A root in which one file says this.
fn with(file: impl Fn(&Root) -> std::path::PathBuf, content: &str) -> (TempDir, ConfigLoader) {
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
fn every_file_is_written_with_schema_id_and_time_and_reads_back_as_the_defaults() {
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
fn nothing_is_read_before_it_is_asked_for_and_then_once() {
    let (_folder, root) = root();
    let loader = ConfigLoader::new(root.clone());
    assert!(!root.as_path().exists());
    let first = loader.load_system().unwrap();
    assert!(!root.agents().exists(), "only what was asked for");
    fs::write(root.system(), "broken").unwrap();
    assert!(Arc::ptr_eq(&first, &loader.load_system().unwrap()));
}

#[test]
fn a_file_that_is_there_is_never_written() {
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
fn seven_agents_that_start_at_once_find_the_same_files() {
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
fn the_defaults_are_the_rules_of_the_documents() {
    let system = SystemConfig::default();
    assert_eq!(patience(&system), Patience::default());
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
fn the_agents_of_the_documents_have_their_ports() {
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
fn the_excerpts_of_the_documents_are_read() {
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
        patience(&system).backoff,
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
        security: league::config::SecurityConfig {
            token_ttl_hours: 2,
            ..Default::default()
        },
        circuit_breaker: league::config::CircuitBreakerConfig {
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
fn a_referee_has_its_own_wait_for_registration() {
    let (_folder, loader) = with(
        Root::system,
        r#"{"timeouts":{"register_referee_timeout_sec":3,"register_player_timeout_sec":4}}"#,
    );
    let system = loader.load_system().unwrap();
    assert_eq!(referee_patience(&system).register, Duration::from_secs(3));
    assert_eq!(patience(&system).register, Duration::from_secs(4));
}

#[test]
fn an_agent_takes_from_the_defaults_what_its_entry_leaves_out() {
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
fn an_agent_that_is_not_listed_is_named_with_the_list() {
    let (_folder, root) = root();
    let loader = ConfigLoader::new(root);
    let error = loader
        .get_referee_by_id(&RefereeId::numbered(99))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("agents_config.json` lists no referee `REF99`")
    );
    let error = loader
        .get_player_by_id(&PlayerId::numbered(99))
        .unwrap_err();
    assert!(error.hint().is_some() && error.to_string().contains("`P99`"));
}

#[test]
fn a_key_that_nothing_reads_is_a_warning_that_names_it() {
    let (_folder, loader) = with(
        Root::system,
        r#"{"timeouts":{"move_timout_sec":3},"colour":"red"}"#,
    );
    loader.load_system().unwrap();
    let shown: Vec<String> = loader.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 2);
    assert!(
        shown[0].ends_with("config/system.json`: nothing reads the key `colour`"),
        "{shown:?}"
    );
    assert!(
        shown[1].ends_with("the key `timeouts.move_timout_sec`; did you mean `move_timeout_sec`?"),
        "{shown:?}"
    );
}

/// What a wrong system.json is told, and the hint.
fn refused(content: &Value) -> (String, String) {
    let (_folder, loader) = with(Root::system, &content.to_string());
    let error = loader.load_system().unwrap_err();
    let text = error.to_string();
    let (_, told) = text
        .split_once("system.json`: ")
        .unwrap_or_else(|| panic!("{text}"));
    (told.to_owned(), error.hint().unwrap_or_default())
}

#[test]
fn a_wrong_value_is_told_with_its_place_and_what_helps() {
    for (content, told, hint) in [
        (
            json!({"timeouts": {"move_timeout_sec": "soon"}}),
            "`timeouts.move_timeout_sec` should be a number of seconds, but is `\"soon\"`",
            "leave the key out for the default, `30`",
        ),
        (
            json!({"timeouts": {"move_timeout_sec": -1}}),
            "`timeouts.move_timeout_sec` should be a number of seconds, but is `-1`",
            "leave the key out for the default, `30`",
        ),
        (
            json!({"timeouts": {"move_timeout_sec": 1e9}}),
            "`timeouts.move_timeout_sec` should be from `0.01` to `86400`, but is `1000000000`",
            "leave the key out for the default, `30`",
        ),
        (
            json!({"retry_policy": {"max_retries": 0}}),
            "`retry_policy.max_retries` should be from `1` to `100`, but is `0`",
            "leave the key out for the default, `3`",
        ),
        (
            json!({"retry_policy": {"backoff_strategy": "Fixd"}}),
            "`retry_policy.backoff_strategy` should be one of `fixed`, `exponential`, but is `\"Fixd\"`",
            "did you mean `fixed`?",
        ),
        (
            json!({"security": {"enable_auth_tokens": false}}),
            "`security.enable_auth_tokens` should be `true`, but is `false`",
            "leave the key out for the default, `true`",
        ),
        (
            json!({"security": {"allowed_endpoints": ["loopback", "everywhere"]}}),
            "`security.allowed_endpoints[1]` should be `loopback`, an address, or a network such as `10.0.0.0/8`, but is `\"everywhere\"`",
            "",
        ),
        (
            json!({"network": {"default_player_port_range": [9, 3]}}),
            "`network.default_player_port_range` should be two ports, such as `[8001, 8100]`, but is `[9,3]`",
            "leave the key out for the default, `[8101,9100]`",
        ),
        (
            json!({"default_league_id": "../etc"}),
            "`default_league_id` should be an id: a letter or digit, then up to 63 letters, digits, `_` and `-`, but is `\"../etc\"`",
            "leave the key out for the default, `\"league_2025_even_odd\"`",
        ),
        (
            json!({"schema_version": "2.0.0"}),
            "`schema_version` should be a version such as `1.0.0`, of the first form, but is `\"2.0.0\"`",
            "leave the key out for the default, `\"1.0.0\"`",
        ),
        (
            json!({"network": 5}),
            "`network` should be an object, but is `5`",
            "",
        ),
        (json!([]), "expected an object, found `[]`", ""),
    ] {
        let (found, helps) = refused(&content);
        assert_eq!(found, told);
        if !hint.is_empty() {
            assert_eq!(helps, hint, "{told}");
        }
    }
}

#[test]
fn a_list_names_the_entry_at_fault() {
    for (content, told) in [
        (
            json!({"players": [{"player_id": "P01"}]}),
            "`players[0].display_name` should be a text of 1 to 1024 bytes, but is absent",
        ),
        (
            json!({"referees": [{"referee_id": "../x", "display_name": "x", "endpoint": "y"}]}),
            "`referees[0].referee_id` should be an id",
        ),
        (
            json!({"referees": [
                {"referee_id": "R", "display_name": "x", "endpoint": "y"},
                {"referee_id": "r", "display_name": "x", "endpoint": "y"}]}),
            "`referees[1].referee_id` should be another id than that of `referees[0]`, but is `r`",
        ),
    ] {
        let (_folder, loader) = with(Root::agents, &content.to_string());
        let text = loader.load_agents().unwrap_err().to_string();
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn a_file_that_is_no_json_is_told_with_the_line() {
    let (_folder, loader) = with(Root::system, "{\n \"timeouts\": {,\n}");
    let error = loader.load_system().unwrap_err();
    assert!(matches!(error, ConfigError::NotJson { .. }));
    assert!(error.hint().unwrap().contains("line 2"), "{error:?}");
}

#[test]
fn rules_by_which_no_league_can_be_held_are_refused() {
    for (content, hint) in [
        (json!({"league_id": "cup", "status": "INACTIVE"}), "status"),
        (
            json!({"league_id": "cup", "game_type": "chess"}),
            "tic_tac_toe",
        ),
        (
            json!({"league_id": "cup", "game_settings": {"lowest": 9, "highest": 1}}),
            "game_settings",
        ),
        (
            json!({"league_id": "cup", "game_settings": {"lowst": 1}}),
            "game_settings",
        ),
        (
            json!({"league_id": "cup", "participants": {"min_players": 9, "max_players": 3}}),
            "participants",
        ),
    ] {
        let cup = LeagueId::new("cup").unwrap();
        let (_folder, loader) = with(|root| root.league(&cup), &content.to_string());
        let league = loader.load_league(&cup).unwrap();
        let error = league_rules(&SystemConfig::default(), &league).unwrap_err();
        assert!(error.hint().unwrap().contains(hint), "{content}: {error}");
    }
}

#[test]
fn a_league_file_must_name_its_own_league() {
    let cup = LeagueId::new("cup").unwrap();
    let (_folder, loader) = with(|root| root.league(&cup), r#"{"league_id":"other"}"#);
    let error = loader.load_league(&cup).unwrap_err().to_string();
    assert!(
        error.ends_with("`league_id` should be `cup`, as in the name of the file, but is `other`")
    );
}

#[test]
fn a_root_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let loader = ConfigLoader::new(Root::new(&file));
    let error = loader.load_system().unwrap_err();
    assert!(error.hint().is_some(), "{error}");
    assert!(error.to_string().contains("system.json"), "{error}");
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
fn the_allow_list_is_read_and_asked() {
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
