//! A wrong configuration is reported with the place and a hint.

use std::fs;

use crate::config::{ConfigError, ConfigLoader, SystemConfig, league_rules};
use crate::storage::root::Root;
use league_protocol::id::{LeagueId, PlayerId, RefereeId};
use serde_json::{Value, json};

use crate::tests::files::config::{root, with};

#[test]
fn unlisted_agent_is_named_with_the_list() {
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
fn unknown_key_is_a_warning_with_the_nearest_known_key() {
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
fn wrong_value_is_reported_with_its_place_and_a_hint() {
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
            "`retry_policy.backoff_strategy` should be `fixed` or `exponential`, but is `\"Fixd\"`",
            "did you mean `fixed`?",
        ),
        (
            json!({"security": {"enable_auth_tokens": false}}),
            "`security.enable_auth_tokens` should be `true`, but is `false`",
            "leave the key out for the default, `true`",
        ),
    ] {
        let (found, helps) = refused(&content);
        assert_eq!(found, told);
        assert_eq!(helps, hint, "{told}");
    }
}

#[test]
fn every_kind_of_value_says_what_it_should_be() {
    for (content, told) in [
        (
            json!({"security": {"allowed_endpoints": ["loopback", "everywhere"]}}),
            "`security.allowed_endpoints[1]` should be `loopback`, `public`, an address, or a network such as `10.0.0.0/8`, but is `\"everywhere\"`",
        ),
        (
            json!({"network": {"default_player_port_range": [9, 3]}}),
            "`network.default_player_port_range` should be two ports, such as `[8001, 8100]`, but is `[9,3]`",
        ),
        (
            json!({"default_league_id": "../etc"}),
            "`default_league_id` should be an id: a letter or digit, then up to 63 letters, digits, `_` and `-`, but is `\"../etc\"`",
        ),
        (
            json!({"schema_version": "2.0.0"}),
            "`schema_version` should be a version such as `1.0.0`, of the first form, but is `\"2.0.0\"`",
        ),
        (
            json!({"network": 5}),
            "`network` should be an object, but is `5`",
        ),
        (
            json!({"network": ["localhost"]}),
            "`network` should be an object, but is `[\"localhost\"]`",
        ),
        (json!([]), "expected an object, found `[]`"),
        (
            json!({"retry_policy": {"backoff_strategy": 5}}),
            "`retry_policy.backoff_strategy` should be `fixed` or `exponential`, but is `5`",
        ),
        (
            json!({"retry_policy": {"backoff_strategy": {"fixed": null}}}),
            "`retry_policy.backoff_strategy` should be `fixed` or `exponential`, but is `{\"fixed\":null}`",
        ),
        (
            json!({"system_id": " "}),
            "`system_id` should be a text of 1 to 1024 bytes, but is `\" \"`",
        ),
        (
            json!({"default_league_id": 5}),
            "`default_league_id` should be an id: a letter or digit, then up to 63 letters, digits, `_` and `-`, but is `5`",
        ),
        (
            json!({"last_updated": false}),
            "`last_updated` should be a time in UTC, such as `2025-01-15T10:30:00Z`, but is `false`",
        ),
        (
            json!({"security": {"bind": "here"}}),
            "`security.bind` should be an address such as `127.0.0.1`, but is `\"here\"`",
        ),
    ] {
        assert_eq!(refused(&content).0, told);
    }
}

#[test]
fn hint_names_the_default_even_if_other_keys_are_wrong_too() {
    let (_, hint) = refused(&json!({"limits": {"max_body_bytes": 1}, "network": 5}));
    assert_eq!(hint, "leave the key out for the default, `262144`");
    let content = json!({"players": [
        {"player_id": "P01", "display_name": "x", "default_endpoint": "y", "version": 1}]});
    let (_folder, loader) = with(Root::agents, &content.to_string());
    let error = loader.load_agents().unwrap_err();
    let hint = error.hint().unwrap();
    assert_eq!(hint, "leave the key out for the default, `\"1.0.0\"`");
}

#[test]
fn wrong_list_names_the_entry_at_fault() {
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
fn file_that_is_not_json_is_reported_with_the_line() {
    let (_folder, loader) = with(Root::system, "{\n \"timeouts\": {,\n}");
    let error = loader.load_system().unwrap_err();
    assert!(matches!(error, ConfigError::NotJson { .. }));
    assert!(error.hint().unwrap().contains("line 2"), "{error:?}");
}

#[test]
fn rules_that_do_not_fit_together_are_refused() {
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
fn league_file_must_name_its_own_league() {
    let cup = LeagueId::new("cup").unwrap();
    let (_folder, loader) = with(|root| root.league(&cup), r#"{"league_id":"other"}"#);
    let error = loader.load_league(&cup).unwrap_err().to_string();
    assert!(
        error.ends_with("`league_id` should be `cup`, as in the name of the file, but is `other`")
    );
}

#[test]
fn unwritable_root_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let loader = ConfigLoader::new(Root::new(&file));
    let error = loader.load_system().unwrap_err();
    assert!(error.hint().is_some(), "{error}");
    assert!(error.to_string().contains("system.json"), "{error}");
}
