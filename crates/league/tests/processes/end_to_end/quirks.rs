//! A league of players of which each leaves the protocol in another way.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::end_to_end::ground::Ground;
use crate::end_to_end::http::health;
use crate::end_to_end::process::eventually;
use crate::end_to_end::quirky::{Quirk, Quirky, call, framed, is_owed, proper, register, unknown};

/// What is seen in public implementations, one player each.
static QUIRKS: &[Quirk] = &[
    Quirk {
        name: "Names types",
        registers: |message| call("LEAGUE_REGISTER_REQUEST", message),
        answers: |called| match called["method"].as_str() {
            Some("GAME_INVITATION" | "CHOOSE_PARITY_CALL") => framed(called, &proper(called)),
            _ => unknown(called),
        },
    },
    Quirk {
        name: "Takes types only",
        registers: register,
        answers: |called| match called["method"].as_str() {
            Some("GAME_INVITATION" | "CHOOSE_PARITY_CALL") => framed(called, &proper(called)),
            _ => unknown(called),
        },
    },
    Quirk {
        name: "Registers otherwise",
        registers: |message| call("league_register", message),
        answers: |called| framed(called, &proper(called)),
    },
    Quirk {
        name: "Registers by tools",
        registers: |message| {
            call(
                "tools/call",
                json!({"name": "register_player", "arguments": message}),
            )
        },
        answers: |called| match called["method"].as_str() {
            Some("server/discover" | "initialize" | "tools/list" | "tools/call") => unknown(called),
            _ => framed(called, &proper(called)),
        },
    },
    Quirk {
        name: "Nests messages",
        registers: |message| call("register_player", json!({"message": message})),
        answers: |called| match called["params"]["message"].is_object() {
            true => framed(
                called,
                &proper(&json!({"params": called["params"]["message"]})),
            ),
            false => unknown(called),
        },
    },
    Quirk {
        name: "Nests arguments",
        registers: |message| call("register_player", json!({"arguments": message})),
        answers: |called| framed(called, &proper(called)),
    },
    Quirk {
        name: "No envelope",
        registers: |message| {
            call(
                "register_player",
                json!({"player_meta": message["player_meta"]}),
            )
        },
        answers: |called| {
            let mut answer = proper(called);
            for name in [
                "protocol",
                "message_type",
                "sender",
                "timestamp",
                "conversation_id",
            ] {
                answer.as_object_mut().unwrap().remove(name);
            }
            framed(called, &answer)
        },
    },
    Quirk {
        name: "Odd ids",
        registers: |message| json!({"jsonrpc": "2.0", "id": "0b9f5b3e-6b1d-4f2e-9a55-0d5f6f1f7a10", "method": "register_player", "params": message}),
        answers: |called| {
            (
                200,
                json!({"jsonrpc": "2.0", "id": "always this", "result": proper(called)}),
            )
        },
    },
    Quirk {
        name: "Says league.v2",
        registers: |mut message| {
            message["player_meta"]["protocol_version"] = "league.v2".into();
            message["player_meta"]["speech"] = Value::Null;
            message["player_id"] = "".into();
            message["sender"] = "Says league.v2".into();
            register(message)
        },
        answers: |called| framed(called, &proper(called)),
    },
    Quirk {
        name: "Wants REGISTERED",
        registers: |mut message| {
            message["sender"] = "unregistered".into();
            register(message)
        },
        answers: |called| framed(called, &proper(called)),
    },
    Quirk {
        name: "No frame",
        registers: register,
        answers: |called| (200, proper(called)),
    },
    Quirk {
        name: "Null errors",
        registers: register,
        answers: |called| {
            (
                200,
                json!({"jsonrpc": "2.0", "id": called["id"], "result": proper(called), "error": null}),
            )
        },
    },
    Quirk {
        name: "Text content",
        registers: register,
        answers: |called| {
            let text = proper(called).to_string();
            framed(
                called,
                &json!({"content": [{"type": "text", "text": text}]}),
            )
        },
    },
    Quirk {
        name: "Other words",
        registers: register,
        answers: |called| {
            let mut answer = proper(called);
            let said = answer.as_object_mut().unwrap();
            if let Some(choice) = said.remove("parity_choice") {
                said.insert("choice".into(), choice);
            }
            if said.remove("accept").is_some() {
                said.insert("accepted".into(), true.into());
            }
            framed(called, &answer)
        },
    },
    Quirk {
        name: "Careless",
        registers: |mut message| {
            message["timestamp"] = "2025-01-15T10:30:00.123456+00:00Z".into();
            message["player_meta"]["game_types"] = json!(["EVEN-ODD"]);
            let endpoint = message["player_meta"]["contact_endpoint"].as_str().unwrap();
            let bare = endpoint.strip_prefix("http://").unwrap().to_owned();
            message["player_meta"]["contact_endpoint"] = bare.into();
            register(message)
        },
        answers: |called| {
            let mut answer = proper(called);
            let said = answer.as_object_mut().unwrap();
            said.remove("accept");
            said.insert("timestamp".into(), "2025-01-15 10:30:00+00:00".into());
            if let Some(choice) = said.get_mut("parity_choice") {
                *choice = json!({"value": choice});
            }
            if let Some(Value::String(match_id)) = said.get_mut("match_id") {
                match_id.make_ascii_lowercase();
            }
            framed(called, &answer)
        },
    },
    Quirk {
        name: "Constant identity",
        registers: register,
        answers: |called| {
            let mut answer = proper(called);
            let said = answer.as_object_mut().unwrap();
            if said.remove("accept").is_some() {
                said.insert("status".into(), "ACCEPTED".into());
            }
            if said.contains_key("message_type") {
                said.insert("player_id".into(), "P01".into());
                said.insert("sender".into(), "player:P01".into());
                said.insert("auth_token".into(), "tok-always-the-same".into());
                said.insert("conversation_id".into(), "conv-1".into());
            }
            framed(called, &answer)
        },
    },
    Quirk {
        name: "Odd statuses",
        registers: register,
        answers: |called| match is_owed(called) {
            true => (400, framed(called, &proper(called)).1),
            false => framed(called, &json!({"error": "I do not know that"})),
        },
    },
    Quirk {
        name: "Refuses news",
        registers: register,
        answers: |called| match is_owed(called) {
            true => framed(called, &proper(called)),
            false => unknown(called),
        },
    },
    Quirk {
        name: "Leaves at the end",
        registers: register,
        answers: |called| framed(called, &proper(called)),
    },
    Quirk {
        name: "Mixes names",
        registers: register,
        answers: |called| match called["method"].as_str() {
            Some("handle_game_invitation" | "CHOOSE_PARITY_CALL") => {
                framed(called, &proper(called))
            }
            _ => unknown(called),
        },
    },
    Quirk {
        name: "Merely receives",
        registers: |mut message| {
            message["timestamp"] = "20250115T103000Z".into();
            register(message)
        },
        answers: |called| match called["params"]["message_type"].as_str() {
            Some("GAME_INVITATION") => framed(called, &json!({"status": "received"})),
            _ => framed(called, &proper(called)),
        },
    },
    Quirk {
        name: "Posts bare",
        registers: |message| message,
        answers: |called| framed(called, &proper(called)),
    },
];

/// The ids of all whom some agent had something to forgive that is told in these words.
fn forgiven(agents: &[&str], words: &str) -> BTreeSet<String> {
    let mut forgiven = BTreeSet::new();
    for agent in agents {
        let health = health(agent);
        let counts = health["deviations"].as_object().unwrap();
        let told = counts
            .iter()
            .filter(|(_, counts)| counts.to_string().contains(words));
        forgiven.extend(told.map(|(id, _)| id.clone()));
    }
    forgiven
}

#[test]
fn quirky_players_play_and_their_deviations_are_recorded() {
    let ground = Ground::new();
    let players = QUIRKS.len().to_string();
    let mut manager = ground.manager(&["--players", &players, "--referees", "2"]);
    let referees = [1, 2].map(|number| ground.referee(number, &manager.endpoint, &[]));
    let joined: Vec<Quirky> = QUIRKS
        .iter()
        .map(|quirk| Quirky::join(quirk, &manager.endpoint))
        .collect();
    manager.process.event("state", "completed");
    let results = ground.results();
    assert_eq!(results.len(), QUIRKS.len() * (QUIRKS.len() - 1) / 2);
    for (id, result) in &results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{id}: {result}");
    }
    let agents = [
        &*manager.endpoint,
        &referees[0].endpoint,
        &referees[1].endpoint,
    ];
    // Whoever calls by types itself is called so at once, and refuses nothing.
    let formed = forgiven(&agents, "calls are understood in the form `type` only");
    let mixed = QUIRKS.iter().position(|quirk| quirk.name == "Mixes names");
    let mixed = format!("player:P{:02}", mixed.unwrap() + 1);
    assert_eq!(formed, BTreeSet::from(["player:P02".to_owned(), mixed]));
    let forgiven = forgiven(&agents, "");
    for (number, quirk) in QUIRKS.iter().enumerate() {
        let proper =
            ["Leaves at the end", "Refuses news", "Registers by tools"].contains(&quirk.name);
        let id = format!("player:P{:02}", number + 1);
        assert!(
            proper || forgiven.contains(&id),
            "nothing is recorded of {id}, {}",
            quirk.name
        );
    }
    let leaver = joined
        .iter()
        .zip(QUIRKS)
        .find(|(_, quirk)| quirk.name == "Leaves at the end");
    let (leaver, _) = leaver.unwrap();
    assert!(
        eventually(|| leaver.is_gone().then_some(())).is_some(),
        "port {}",
        leaver.port()
    );
    ground.verified();
}
