//! Tools that do what they are for, called over MCP: every answer is as its schema says.

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::offered::{ask, read};
use crate::end_to_end::process::eventually;
use crate::end_to_end::scripted::{Does, Scripted};
use crate::end_to_end::stepped::{admin_token, referee_key, waiting};

/// Calls a tool, sees that the answer is as the tool's schema says, and gives it.
fn called(endpoint: &str, tool: &str, arguments: &Value) -> (bool, Value) {
    let listed = ask(endpoint, "tools/list", &json!({}));
    let mut tools = listed["result"]["tools"].as_array().unwrap().iter();
    let shown = tools.find(|shown| shown["name"] == tool).unwrap();
    let wanted = json!({"name": tool, "arguments": arguments});
    let mut result = ask(endpoint, "tools/call", &wanted)["result"].take();
    let given = result["structuredContent"].take();
    let schema = jsonschema::validator_for(&shown["outputSchema"]).unwrap();
    assert!(
        schema.is_valid(&given),
        "{tool}: {given} is not as {shown} says"
    );
    (result["isError"] == false, given)
}

/// Calls a tool that must do as it is told.
fn done(endpoint: &str, tool: &str, arguments: &Value) -> Value {
    let (success, given) = called(endpoint, tool, arguments);
    assert!(success, "{tool}: {given}");
    assert!(given["error_code"].is_null(), "{tool}: {given}");
    given
}

/// Calls a tool that must refuse, and gives the code.
fn refused(endpoint: &str, tool: &str, arguments: &Value) -> Value {
    let (success, given) = called(endpoint, tool, arguments);
    assert!(!success, "{tool}: {given}");
    given["error_code"].clone()
}

/// What an agent tells of itself when it registers.
fn meta(name: &str, port: u16) -> Value {
    json!({
        "display_name": name, "version": "1.0.0", "protocol_version": "2.1.0",
        "game_types": ["even_odd"], "contact_endpoint": format!("http://localhost:{port}/mcp"),
    })
}

#[test]
fn tools_of_a_manager_work() {
    let ground = Ground::new();
    let agent = ground.manager(&[]);
    let manager = agent.endpoint.as_str();
    let mut says = json!({"referee_meta": meta("Whistle", 9)});
    let stranger = done(manager, "register_referee", &says);
    assert_eq!(stranger["status"], "REJECTED");
    says["referee_key"] = referee_key(&ground).into();
    let referee = done(manager, "register_referee", &says);
    assert_eq!(referee["status"], "ACCEPTED");
    let says = json!({"player_meta": meta("Anna", 10)});
    let anna = done(manager, "register_player", &says);
    let says = json!({"player_meta": meta("Otto", 11)});
    assert_eq!(
        done(manager, "register_player", &says)["status"],
        "ACCEPTED"
    );
    for query_type in ["GET_STANDINGS", "GET_SCHEDULE"] {
        let says = json!({"query_type": query_type, "auth_token": anna["auth_token"]});
        done(manager, "league_query", &says);
    }
    assert_eq!(
        done(manager, "get_standings", &json!({}))["success"],
        json!(true)
    );
    let admin = json!({"auth_token": admin_token(&ground)});
    let schedule = done(manager, "create_schedule", &admin);
    assert_eq!(schedule["total_rounds"], 1, "{schedule}");
    let first = &schedule["rounds"][0]["matches"][0];
    assert_eq!(first["player_A_id"], "P01", "{schedule}");
    assert_eq!(first["player_B_id"], "P02", "{schedule}");
    assert!(first.get("player_a").is_none(), "{schedule}");
    assert_eq!(done(manager, "start_league", &admin)["status"], "started");
    assert_eq!(refused(manager, "create_schedule", &json!({})), "E011");
    let nobody = json!({"auth_token": anna["auth_token"]});
    assert_eq!(refused(manager, "start_league", &nobody), "E012");
}

#[test]
fn manager_names_the_token_of_a_call_and_refuses_its_own_address() {
    let ground = Ground::new();
    let agent = ground.manager(&[]);
    let manager = agent.endpoint.as_str();
    for tool in ["create_schedule", "start_league", "get_step_token"] {
        let (_, told) = called(manager, tool, &json!({"match_id": "R1M1"}));
        let told = told.to_string();
        assert!(told.contains("the administrator's token"), "{tool}: {told}");
    }
    let mut says = json!({"player_meta": meta("Echo", 10)});
    says["player_meta"]["contact_endpoint"] = manager.into();
    let (_, told) = called(manager, "register_player", &says);
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.starts_with("Invalid endpoint: "), "{told}");
    assert!(
        reason.contains("the league manager's own address"),
        "{told}"
    );
}

#[test]
fn tools_of_a_referee_step_a_match_and_hide_its_choices() {
    let (ground, run, manager) = waiting();
    let wanted = json!({"match_id": "R1M1", "auth_token": admin_token(&ground)});
    let reins = eventually(|| {
        let (success, reins) = called(&manager, "get_step_token", &wanted);
        success.then_some(reins)
    });
    let reins = reins.unwrap();
    let referee = reins["contact_endpoint"].as_str().unwrap();
    let told = done(referee, "register_to_league", &json!({}));
    assert_eq!(told["status"], "registered", "{told}");
    let step = json!({"match_id": "R1M1", "auth_token": reins["step_token"]});
    assert_eq!(
        refused(referee, "start_match", &json!({"match_id": "R1M1"})),
        "E003"
    );
    for tool in ["collect_choices", "draw_number", "finalize_match"] {
        let taken = eventually(|| {
            nothing_is_shown_early(&manager, referee);
            called(referee, tool, &step).0.then_some(())
        });
        assert!(taken.is_some(), "{tool}");
        if tool != "finalize_match" {
            let state = done(referee, "get_match_state", &json!({"match_id": "R1M1"}));
            assert!(state["result"].is_null(), "{state}");
        }
    }
    assert_eq!(run.end().code, Some(0));

    let again = ground.manager(&[]);
    let transcript = read(&again.endpoint, "match://R1M1/transcript");
    let choices = transcript["result"]["choices"].as_object();
    assert_eq!(choices.map(serde_json::Map::len), Some(2), "{transcript}");
    let text = transcript.to_string();
    for shown in ["parity_choice", "seed", "nonce"] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    assert!(!text.contains("tok-"), "{text}");
    no_token_is_shown(&again.endpoint);
}

/// Sees that a match which goes on shows neither what was chosen nor what decides its draw.
fn nothing_is_shown_early(manager: &str, referee: &str) {
    let secret = [
        "parity_choice",
        "\"even\"",
        "\"odd\"",
        "nonce",
        "seed",
        "tok-",
    ];
    for agent in [manager, referee] {
        let answer = ask(
            agent,
            "resources/read",
            &json!({"uri": "match://R1M1/transcript"}),
        );
        if answer["result"]["contents"][0]["text"].is_string() {
            let transcript = read(agent, "match://R1M1/transcript");
            assert!(transcript["result"].is_null(), "{transcript}");
            let text = transcript.to_string();
            for word in secret {
                assert!(!text.contains(word), "{word}: {text}");
            }
        }
        no_token_is_shown(agent);
    }
    let (success, state) = called(referee, "get_match_state", &json!({"match_id": "R1M1"}));
    if success && state["result"].is_null() {
        let text = state.to_string();
        for word in secret {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

/// Sees that the log and the settings of an agent hold no token.
fn no_token_is_shown(agent: &str) {
    for uri in ["log://self", "league://config"] {
        let text = read(agent, uri).to_string();
        assert!(!text.contains("tok-"), "{uri}: {text}");
    }
}

/// Admits whoever comes as a player.
fn admitting() -> Scripted {
    Scripted::start(|said| {
        Does::Answers(match said["message_type"].as_str() {
            Some("LEAGUE_REGISTER_REQUEST") => json!({
                "protocol": "league.v2", "message_type": "LEAGUE_REGISTER_RESPONSE",
                "sender": "league_manager", "timestamp": "2025-01-15T10:15:00Z",
                "conversation_id": "conv-of-a-test", "status": "ACCEPTED", "player_id": "P01",
                "auth_token": "tok-p01", "manager_token": "tok-manager", "league_id": LEAGUE,
                "reason": null,
            }),
            _ => json!({"status": "ok"}),
        })
    })
}

#[test]
fn tools_of_a_player_work() {
    let ground = Ground::new();
    let manager = admitting();
    let mut agent = ground.player(1, &manager.endpoint, &[]);
    agent.process.event("state", "enrolled");
    let player = agent.endpoint.as_str();
    let by_manager = |tool: &str, mut says: Value| {
        says["league_id"] = LEAGUE.into();
        says["auth_token"] = "tok-manager".into();
        assert_eq!(done(player, tool, &says), json!({"status": "ok"}), "{tool}");
    };
    let by_referee = |tool: &str, mut says: Value| {
        says["league_id"] = LEAGUE.into();
        says["match_id"] = "R1M1".into();
        says["player_id"] = "P01".into();
        says["auth_token"] = "tok-match".into();
        done(player, tool, &says)
    };
    let listed = json!({
        "match_id": "R1M1", "game_type": "even_odd", "player_A_id": "P01", "player_B_id": "P02",
        "referee_endpoint": "http://localhost:9/mcp", "match_token": "tok-match",
    });
    by_manager("notify_round", json!({"round_id": 1, "matches": [listed]}));
    let invited = json!({
        "round_id": 1, "game_type": "even_odd", "role_in_match": "PLAYER_A", "opponent_id": "P02",
    });
    assert_eq!(
        by_referee("handle_game_invitation", invited)["accept"],
        true
    );
    let context = json!({"opponent_id": "P02", "round_id": 1});
    let asked = json!({
        "game_type": "even_odd", "deadline": "2099-01-15T10:15:00Z", "context": context,
    });
    let choice = by_referee("choose_parity", asked.clone())["parity_choice"].take();
    assert!(choice == "even" || choice == "odd", "{choice}");
    see_generic_move(&by_referee, asked, &choice);
    let error = json!({"error_code": "E001", "error_description": "TIMEOUT_ERROR"});
    by_referee("notify_game_error", error);
    let over = json!({
        "status": "WIN", "winner_player_id": "P01", "drawn_number": 8, "number_parity": "even",
        "choices": {"P01": choice, "P02": "odd"}, "reason": "A test says so",
    });
    let over = json!({"game_type": "even_odd", "game_result": over});
    by_referee("notify_match_result", over);
    let row = json!({"rank": 1, "player_id": "P01", "display_name": "One", "points": 3});
    by_manager(
        "update_standings",
        json!({"round_id": 1, "standings": [row]}),
    );
    by_manager(
        "notify_round_completed",
        json!({"round_id": 1, "matches_played": 1, "next_round_id": null}),
    );
    see_state_in_the_league(player);
    no_token_is_shown(player);
    let end = json!({
        "total_rounds": 1, "total_matches": 1, "champion": null, "final_standings": [row],
    });
    by_manager("notify_league_completed", end);
    see_state_after_the_end(player);
}

/// Sees that a request for a move in the general form is answered in that form.
fn see_generic_move(ask: &dyn Fn(&str, Value) -> Value, asked: Value, choice: &Value) {
    let mut generic = asked;
    generic["message_type"] = "GAME_MOVE_CALL".into();
    generic["move_request"] = json!({
        "move_type": "choose_parity", "valid_options": ["even", "odd"], "context": {},
    });
    let moved = ask("choose_move", generic);
    assert_eq!(moved["message_type"], "GAME_MOVE_RESPONSE", "{moved}");
    assert_eq!(moved["move_data"]["choice"], *choice, "{moved}");
    assert!(moved.get("parity_choice").is_none(), "{moved}");
}

/// Sees that a player tells its match and no token.
fn see_state_in_the_league(player: &str) {
    let state = done(player, "get_player_state", &json!({}));
    assert_eq!(state["history"].as_array().unwrap().len(), 1, "{state}");
    assert_eq!(state["state"], "ACTIVE", "{state}");
    assert!(!state.to_string().contains("tok-"), "{state}");
}

/// Sees that a player still tells its matches when the league is over.
fn see_state_after_the_end(player: &str) {
    let state = done(player, "get_player_state", &json!({}));
    assert_eq!(state["state"], "SHUTDOWN", "{state}");
    assert_eq!(state["player_id"], "P01", "{state}");
    assert_eq!(state["history"].as_array().unwrap().len(), 1, "{state}");
    assert_eq!(state["standing"]["points"], 3, "{state}");
}
