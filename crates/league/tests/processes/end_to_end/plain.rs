//! Registrations by a plain `POST /register`, as small REST clients send them.

use serde_json::{Value, json};

use crate::end_to_end::ground::{Ground, LEAGUE};
use crate::end_to_end::http::{Answer, health, request};
use crate::end_to_end::scripted::{Does, Scripted, fair, registration};

fn register(endpoint: &str, body: &Value) -> Answer {
    request(endpoint, "POST", "/register", body.to_string().as_bytes())
}

/// The code of a refusal, which also has a sentence.
fn refused(answer: &Answer, status: u16, code: &str) -> String {
    let told = answer.json();
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(told["error_code"], code, "{answer:?}");
    told["error"].as_str().unwrap().to_owned()
}

#[test]
fn players_that_register_plainly_play_a_league() {
    let ground = Ground::new();
    let mut manager = ground.manager(&["--players", "3", "--referees", "1"]);
    let players = [(); 3].map(|()| Scripted::start(|said| Does::Answers(fair(said))));
    let bodies = [
        json!({"name": "Small", "endpoint": players[0].endpoint}),
        json!({"player": {"display_name": "Wrapped", "url": players[1].endpoint}}),
        json!({
            "display_name": "Small", "contact_endpoint": players[2].endpoint,
            "version": "1.2.0", "game_types": ["even_odd"],
        }),
    ];
    for (number, body) in bodies.iter().enumerate() {
        let answer = register(&manager.endpoint, body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let told = answer.json();
        let id = format!("P{:02}", number + 1);
        assert_eq!(told["status"], "ACCEPTED", "{told}");
        assert_eq!(told["player_id"], id, "{told}");
        assert_eq!(told["league_id"], LEAGUE, "{told}");
        for token in ["auth_token", "return_token"] {
            assert!(told[token].as_str().unwrap().starts_with("tok-"), "{told}");
        }
    }
    let deviations = health(&manager.endpoint)["deviations"].to_string();
    assert!(
        deviations.contains("came as a plain request"),
        "{deviations}"
    );
    let _referee = ground.referee(1, &manager.endpoint, &[]);
    manager.process.event("state", "completed");
    for (id, result) in &ground.results() {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    let names = ground.facts("player_registered");
    let names: Vec<&str> = names
        .iter()
        .filter_map(|fact| fact["meta"]["display_name"].as_str())
        .collect();
    assert_eq!(names, ["Small", "Wrapped", "Small (2)"]);
    ground.verified();
}

#[test]
fn plain_registration_again_from_the_same_address_is_the_same_player() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let at =
        |port: u16| json!({"name": "Small", "endpoint": format!("http://localhost:{port}/mcp")});
    let first = register(&manager.endpoint, &at(9)).json();
    let other = register(&manager.endpoint, &at(19)).json();
    let again = register(&manager.endpoint, &at(19)).json();
    assert_eq!(first["player_id"], "P01", "{first}");
    assert_eq!(other["player_id"], "P02", "{other}");
    assert_eq!(again["player_id"], "P02", "{again}");
    // The return token moves a player to another address.
    let mut moved = at(29);
    moved["auth_token"] = other["return_token"].clone();
    assert_eq!(
        register(&manager.endpoint, &moved).json()["player_id"],
        "P02"
    );
}

#[test]
fn plain_registration_is_refused_by_the_same_rules() {
    let ground = Ground::new();
    let manager = ground.manager(&["--join-code", "secret"]);
    let mut body = json!({"name": "Small", "endpoint": "http://localhost:9/mcp"});
    let reason = refused(&register(&manager.endpoint, &body), 403, "E005");
    assert!(reason.starts_with("Join code missing"), "{reason}");
    body["join_code"] = "secret".into();
    body["endpoint"] = "http://192.0.2.1:9/mcp".into();
    let reason = refused(&register(&manager.endpoint, &body), 403, "E005");
    assert!(reason.starts_with("Invalid endpoint: "), "{reason}");
    body["endpoint"] = "http://localhost:9/mcp".into();
    body["name"] = "a\u{7}b".into();
    refused(&register(&manager.endpoint, &body), 400, "E002");
    body.as_object_mut().unwrap().remove("name");
    refused(&register(&manager.endpoint, &body), 400, "E003");
    let broken = request(&manager.endpoint, "POST", "/register", b"{\"name\"");
    refused(&broken, 400, "E002");
    assert_eq!(health(&manager.endpoint)["players"], 0);

    let referee = ground.referee(1, &manager.endpoint, &[]);
    let answer = register(&referee.endpoint, &body);
    assert_eq!(answer.status, 404, "{answer:?}");
    let answer = request(&manager.endpoint, "PUT", "/register", b"{}");
    assert_eq!(answer.status, 405, "{answer:?}");
}

#[test]
fn whole_call_at_the_plain_path_is_answered_as_a_call() {
    let ground = Ground::new();
    let manager = ground.manager(&[]);
    let params = registration("Framed", "http://localhost:9/mcp");
    let body = json!({"jsonrpc": "2.0", "id": 4, "method": "register_player", "params": params});
    let answer = register(&manager.endpoint, &body).json();
    assert_eq!(answer["result"]["player_id"], "P01", "{answer}");
    assert_eq!(answer["id"], 4, "{answer}");
}

#[test]
fn strict_league_takes_no_plain_registration_and_no_name_twice() {
    let ground = Ground::new();
    ground.write(
        &format!("config/leagues/{LEAGUE}.json"),
        &json!({"league_id": LEAGUE, "strictness": "strict"}),
    );
    let manager = ground.manager(&[]);
    let plain = json!({"name": "Small", "endpoint": "http://localhost:9/mcp"});
    let reason = refused(&register(&manager.endpoint, &plain), 400, "E002");
    assert!(reason.contains("strict"), "{reason}");
    let by_call = |port: u16| {
        let request = registration("Small", &format!("http://localhost:{port}/mcp"));
        crate::end_to_end::http::call(&manager.endpoint, "register_player", &request)
    };
    assert_eq!(by_call(9)["status"], "ACCEPTED");
    let refused = by_call(19);
    let reason = refused["reason"].as_str().unwrap();
    assert!(reason.starts_with("Duplicate display name: "), "{refused}");
}
