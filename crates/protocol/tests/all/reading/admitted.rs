//! How a registration and its answer are made out, as they are seen in the wild.

use league_protocol::message::Message;
use serde_json::json;

use super::repaired::{ADMITTED, repaired};

const REGISTER: &[&str] = &["LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"];

#[test]
fn registration_is_made_out_by_method_nesting_and_names() {
    let meta = json!({"display_name": "Ann", "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": "http://localhost:1/mcp"});
    for (method, said) in [
        ("league_register", json!({"player_meta": meta})),
        (
            "register",
            json!({"name": "Ann", "endpoint": "http://localhost:1/mcp", "games": ["even_odd"]}),
        ),
        (
            "registerPlayer",
            json!({"playerName": "Ann", "endpointUrl": "http://localhost:1/mcp", "supportedGames": "even_odd"}),
        ),
        ("player.register", json!({"message": {"player_meta": meta}})),
        (
            "whatever",
            json!({"arguments": {"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": meta}}),
        ),
        (
            "whatever",
            json!([{"message_type": "league_register_request", "player_meta": meta}]),
        ),
        (
            "register_player",
            json!({"player": {"name": "Ann", "url": "http://localhost:1/mcp", "game_types": ["even_odd"]}}),
        ),
        ("register_player", json!({"payload": meta.to_string()})),
        (
            "register_player",
            json!({"display_name": "Ann", "contact_endpoint": "http://localhost:1/mcp", "game_type": "even_odd", "version": ""}),
        ),
    ] {
        let Some((Message::PlayerRegisterRequest(request), _)) =
            repaired(&said, REGISTER, Some(method))
        else {
            panic!("nothing is made of {method} {said}");
        };
        assert_eq!(request.meta.display_name, "Ann", "{said}");
        assert_eq!(
            request.meta.contact_endpoint, "http://localhost:1/mcp",
            "{said}"
        );
        let games: Vec<&str> = request
            .meta
            .game_types
            .iter()
            .map(|game| game.as_str())
            .collect();
        assert_eq!(games, ["even_odd"], "{said}");
    }
    let referee = json!({"referee_name": "Rex", "endpoint": "http://localhost:2/mcp"});
    let made = repaired(&referee, REGISTER, Some("referee_register"));
    assert!(matches!(
        made,
        Some((Message::RefereeRegisterRequest(_), _))
    ));
}

#[test]
fn admission_is_made_out_in_the_words_of_other_managers() {
    for said in [
        json!({"status": "REGISTERED", "player_id": "P07", "auth_token": "tok-x"}),
        json!({"status": "success", "playerId": "P07", "token": "tok-x"}),
        json!({"success": true, "data": {"player_id": "P07", "auth_token": "tok-x"}}),
        json!({"message_type": "REGISTRATION_RESPONSE", "status": "ok", "id": "P07", "token": "tok-x"}),
    ] {
        let Some((Message::PlayerRegisterResponse(response), _)) = repaired(&said, ADMITTED, None)
        else {
            panic!("nothing is made of {said}");
        };
        let shown = format!("{response:?}");
        assert!(
            shown.contains("P07") && shown.contains("Accepted"),
            "{shown}"
        );
    }
}
