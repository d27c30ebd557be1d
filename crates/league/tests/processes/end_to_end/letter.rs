//! Answers of a manager by the letter of the documents: errors, admissions, questions.

use serde_json::{Value, json};

use crate::end_to_end::dialects::{old_message, old_registration};
use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::{call, message, request};
use crate::end_to_end::offered::read;
use crate::end_to_end::scripted::registration;

/// The whole answer to a call: a result or an error.
fn answered(manager: &str, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    request(manager, "POST", "/mcp", body.to_string().as_bytes()).json()
}

#[test]
fn errors_to_agents_of_league_v1_are_errors_in_its_words() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let mut nameless = old_registration("\u{7}", "http://localhost:9/mcp");
    let answer = answered(&manager.endpoint, "register_player", &nameless);
    let rejected = &answer["result"];
    assert_eq!(
        rejected["message_type"], "LEAGUE_REGISTER_RESPONSE",
        "{answer}"
    );
    assert_eq!(rejected["protocol"], "league.v1", "{answer}");
    assert_eq!(rejected["status"], "REJECTED", "{answer}");
    let reason = rejected["reason"].as_str().unwrap();
    assert!(reason.contains("display name"), "{answer}");
    nameless.as_object_mut().unwrap().remove("player_meta");
    let answer = answered(&manager.endpoint, "register_player", &nameless);
    assert_eq!(answer["result"]["status"], "REJECTED", "{answer}");

    let mut query = old_message("LEAGUE_QUERY", "player_001");
    query["query_type"] = "GET_STANDINGS".into();
    for method in ["league_query", "mcp_message"] {
        let answer = answered(&manager.endpoint, method, &query);
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        let error = &answer["error"];
        assert!(error["code"].is_i64(), "{method}: {answer}");
        assert_eq!(
            error["data"]["error_type"], "permanent",
            "{method}: {answer}"
        );
        assert_eq!(error["data"]["error_code"], "E002", "{method}: {answer}");
    }
    let called = json!({"name": "league_query", "arguments": query});
    let answer = answered(&manager.endpoint, "tools/call", &called);
    assert!(!answer.to_string().contains("\"ok\""), "{answer}");
    let failed = answer["result"]["isError"] == true || answer.get("error").is_some();
    assert!(failed, "{answer}");
}

#[test]
fn plain_registration_that_is_repeated_is_accepted_each_time() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let request = registration("Agent Alpha", "http://localhost:9/mcp");
    for turn in 1..=4 {
        let answer = call(&manager.endpoint, "register_player", &request);
        assert_eq!(
            answer["status"], "ACCEPTED",
            "registration {turn}: {answer}"
        );
        assert_eq!(answer["player_id"], "P01", "registration {turn}: {answer}");
    }
}

#[test]
fn players_that_wait_for_registered_are_told_so_by_their_sender_or_their_listing() {
    let ground = Ground::new();
    let listed = json!({
        "player_id": "P01", "display_name": "Listed", "version": "1.0.0",
        "default_endpoint": "http://localhost:9/mcp", "preferred_leagues": [],
        "game_types": ["even_odd"], "strategy": "random", "dialect": "v2-api",
    });
    ground.write(
        "config/agents/agents_config.json",
        &json!({"players": [listed]}),
    );
    let manager = ground.manager(&[]);
    let by_listing = registration("Listed", "http://localhost:9/mcp");
    for sender in ["player:UNREGISTERED", "player:unregistered", "UNREGISTERED"] {
        let mut request = registration(sender, "http://localhost:10/mcp");
        request["sender"] = sender.into();
        request["player_meta"]["display_name"] = "By sender".into();
        let answer = call(&manager.endpoint, "register_player", &request);
        assert_eq!(answer["status"], "REGISTERED", "{sender}: {answer}");
    }
    let answer = call(&manager.endpoint, "register_player", &by_listing);
    assert_eq!(answer["status"], "REGISTERED", "{answer}");
}

#[test]
fn league_error_shows_the_context_of_the_documents() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let ask = |sender: &str, token: Option<&str>| {
        let says = json!({"query_type": "GET_STANDINGS"});
        let query = message("LEAGUE_QUERY", sender, token, &says);
        call(&manager.endpoint, "league_query", &query)
    };
    let request = registration("Agent Alpha", "http://localhost:9/mcp");
    let admitted = call(&manager.endpoint, "register_player", &request);
    assert_eq!(admitted["player_id"], "P01", "{admitted}");

    let wrong = ask("player:P01", Some("tok-p01-never-given"));
    assert_eq!(wrong["error_code"], "E012", "{wrong}");
    assert_eq!(wrong["error_name"], "AUTH_TOKEN_INVALID", "{wrong}");
    let description = wrong["error_description"].as_str().unwrap();
    assert!(description.starts_with("AUTH_TOKEN_INVALID: "), "{wrong}");
    let context = &wrong["context"];
    assert_eq!(
        context["expected_format"], "tok-{agent_id}-{hash}",
        "{wrong}"
    );
    assert_eq!(context["action"], "LEAGUE_QUERY", "{wrong}");
    assert_eq!(context["player_id"], "P01", "{wrong}");
    let shown = context["provided_token"].as_str().unwrap();
    assert!(shown.starts_with("tok-p01-"), "{wrong}");
    assert!(!wrong.to_string().contains("never-given"), "{wrong}");

    let missing = ask("player:P01", None);
    assert_eq!(missing["error_code"], "E011", "{missing}");
    assert_eq!(missing["context"]["action"], "LEAGUE_QUERY", "{missing}");
    assert!(
        missing["context"].get("provided_token").is_none(),
        "{missing}"
    );

    let unknown = ask("player:P99", Some("tok-p99-x"));
    assert_eq!(unknown["error_code"], "E005", "{unknown}");
    assert_eq!(unknown["context"]["player_id"], "P99", "{unknown}");
    assert!(
        unknown["context"].get("expected_format").is_none(),
        "{unknown}"
    );
}

#[test]
fn supported_games_are_told_to_players_and_offered_as_a_resource() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let request = registration("Agent Alpha", "http://localhost:9/mcp");
    let admitted = call(&manager.endpoint, "register_player", &request);
    let says = json!({"query_type": "GET_SUPPORTED_GAMES"});
    let token = admitted["auth_token"].as_str();
    let query = message("LEAGUE_QUERY", "player:P01", token, &says);
    let answer = call(&manager.endpoint, "league_query", &query);
    assert_eq!(answer["success"], true, "{answer}");
    let even_odd = json!({
        "display_name": "Even/Odd", "move_types": ["choose_parity"],
        "valid_choices": {"choose_parity": ["even", "odd"]}, "min_players": 2, "max_players": 2,
    });
    let told = &answer["data"]["game_registry"];
    for (name, value) in even_odd.as_object().unwrap() {
        assert_eq!(told["even_odd"][name], *value, "{name}: {answer}");
    }
    assert_eq!(
        told["tic_tac_toe"]["valid_choices"]["place_mark"],
        json!(["0-8"]),
        "{answer}"
    );
    let offered = read(&manager.endpoint, "league://games");
    assert_eq!(offered["game_registry"], *told, "{offered}");
}
