//! Players of every dialect in one league, ours and scripted ones, each spoken to in its own words.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::end_to_end::ground::{Agent, Ground};
use crate::end_to_end::http::{call, message};
use crate::end_to_end::process::Process;
use crate::end_to_end::scripted::{Does, Scripted, fair, registration};

/// What every player of a dialect must have heard by the end.
const OLD: [&str; 8] = [
    "LEAGUE_START_ANNOUNCEMENT",
    "GAME_INVITATION",
    "GAME_START",
    "PLAY_REQUEST",
    "PLAY_VALIDATION",
    "GAME_RESULT",
    "ROUND_COMPLETE",
    "LEAGUE_COMPLETE",
];
const NEW: [&str; 7] = [
    "ROUND_ANNOUNCEMENT",
    "GAME_INVITATION",
    "CHOOSE_PARITY_CALL",
    "GAME_OVER",
    "LEAGUE_STANDINGS_UPDATE",
    "ROUND_COMPLETED",
    "LEAGUE_COMPLETED",
];

/// What the scripted player of the first protocol is called.
const OLD_NAME: &str = "player_005";

/// Fields that name a player.
const PLAYERS: [&str; 10] = [
    "player_id",
    "opponent_id",
    "winner",
    "loser",
    "current_player",
    "player1",
    "player2",
    "winner_player_id",
    "player_A_id",
    "player_B_id",
];

#[test]
fn league_of_all_dialects_speaks_to_each_player_in_its_own() {
    let ground = Ground::new();
    let manager = ground.manager(&["--players", "6", "--referees", "1", "--exit-when-done"]);
    let referee = ground.referee(1, &manager.endpoint, &["--exit-when-done"]);
    let ours: Vec<Agent> = (1..)
        .zip(["v2", "v1", "v2-api"])
        .map(|(number, dialect)| {
            let arguments = ["--dialect", dialect, "--exit-when-done"];
            let mut player = ground.player(number, &manager.endpoint, &arguments);
            player.process.event("state", "enrolled");
            player
        })
        .collect();
    let scripted = [("v2", new()), ("v1", old()), ("v2-api", page())];
    for (dialect, player) in &scripted {
        let name = format!("Scripted {dialect}");
        admit(dialect, &name, player, &manager.endpoint);
    }

    for (dialect, player) in &scripted {
        let last = if *dialect == "v1" { OLD[7] } else { NEW[6] };
        player.heard(last);
        see_only(dialect, player);
    }
    for agent in ours.into_iter().chain([manager, referee]) {
        let ended = agent.process.end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.errors, "");
    }
    see_results(&ground);
    see_shared_ranks(&scripted[1].1);
}

#[test]
fn our_players_of_all_dialects_cause_no_deviation() {
    let ground = Ground::new();
    let arguments = ["--players", "6", "--dialects", "v2,v1,v2-api"];
    let common = ["run", "--ports", "auto", "--root", ground.root()];
    let ended = Process::start(common.iter().chain(&arguments)).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("technical losses: none"), "{ended:?}");
    assert!(ended.out.contains("deviations: none"), "{ended:?}");
    see_results(&ground);
    // What a player of the first protocol was told is enough to know whom it met.
    for player in ["P01", "P02", "P03"] {
        let history = ground.path(&format!("data/players/{player}/history.json"));
        let history: Value =
            serde_json::from_str(&std::fs::read_to_string(history).unwrap()).unwrap();
        let matches = history["matches"].as_array().unwrap();
        assert_eq!(matches.len(), 5, "{history}");
        assert!(
            matches.iter().all(|met| met["opponent_id"] != "unknown"),
            "{history}"
        );
    }
}

#[test]
fn players_of_all_dialects_go_on_after_an_interruption() {
    let ground = Ground::new();
    let arguments = ["--players", "6", "--dialects", "v2,v1,v2-api"];
    let slow = [&arguments[..], &["--ports", "auto", "--pace", "200ms"]].concat();
    let mut first = ground.start("run", &slow);
    for _ in 0..4 {
        first.event("event", "match");
    }
    first.signal(Signal::INT);
    assert_eq!(first.end().code, Some(130));
    let ended = Process::start(["run", "--resume", "--root", ground.root()]).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("technical losses: none"), "{ended:?}");
    assert!(ended.out.contains("deviations: none"), "{ended:?}");
    see_results(&ground);
}

fn see_results(ground: &Ground) {
    let results = ground.results();
    assert_eq!(results.len(), 15);
    for (match_id, result) in results {
        assert_ne!(result["status"], "TECHNICAL_LOSS", "{match_id}: {result}");
    }
    ground.verified();
}

/// Registers a scripted player in its dialect, sees that it is answered in it, and gives the answer.
pub(crate) fn admit(dialect: &str, name: &str, player: &Scripted, manager: &str) -> Value {
    let request = match dialect {
        "v1" => old_registration(name, &player.endpoint),
        "v2-api" => {
            let mut request = registration(name, &player.endpoint);
            request["sender"] = "player:UNREGISTERED".into();
            request
        }
        _ => registration(name, &player.endpoint),
    };
    let answer = call(manager, "register_player", &request);
    let (status, prefix) = match dialect {
        "v1" => ("ACCEPTED", "player_0"),
        "v2-api" => ("REGISTERED", "P0"),
        _ => ("ACCEPTED", "P0"),
    };
    assert_eq!(answer["status"], status, "{answer}");
    assert!(
        answer["player_id"].as_str().unwrap().starts_with(prefix),
        "{answer}"
    );
    assert_eq!(
        answer.get("auth_token").is_some(),
        dialect != "v1",
        "{answer}"
    );
    answer
}

/// Sees that a player heard all that its dialect has, and nothing in another.
fn see_only(dialect: &str, player: &Scripted) {
    let kinds: &[&str] = if dialect == "v1" { &OLD } else { &NEW };
    let said = player.messages();
    for kind in kinds {
        assert!(
            said.iter().any(|said| said["message_type"] == *kind),
            "{kind}"
        );
    }
    for said in &said {
        let kind = said["message_type"].as_str().unwrap();
        assert!(kinds.contains(&kind), "{dialect}: {said}");
        match dialect {
            "v1" => see_old(said),
            "v2-api" => see_page(kind, said),
            _ => see_new(kind, said),
        }
    }
}

fn see_old(said: &Value) {
    assert_eq!(said["protocol"], "league.v1");
    assert!(said.get("auth_token").is_none(), "{said}");
    let sender = said["sender"].as_str().unwrap();
    assert!(["league_manager", "referee"].contains(&sender), "{said}");
    for field in ["league_id", "conversation_id"] {
        assert_eq!(said[field].as_str().unwrap().len(), 36, "{said}");
    }
    let time = said["timestamp"].as_str().unwrap();
    assert_eq!((time.len(), &time[19..20]), (24, "."), "{said}");
    each(said, &mut |name, value| {
        if let (true, Some(id)) = (PLAYERS.contains(&name), value.as_str()) {
            assert!(id.starts_with("player_"), "{name}: {said}");
        }
        if name == "round_id" {
            assert!(value.is_u64(), "{said}");
        }
    });
    // A play is shown to whoever made it; the other learns that it was made.
    let validation = &said["validation"];
    let mine = validation["player_id"] == OLD_NAME;
    if said["message_type"] == "PLAY_VALIDATION" {
        assert_eq!(validation["play"].is_null(), !mine, "{said}");
    }
}

fn see_new(kind: &str, said: &Value) {
    see_second(said);
    each(said, &mut |name, value| {
        if name == "round_id" {
            assert!(value.is_u64(), "{said}");
        }
    });
    match kind {
        "GAME_INVITATION" => assert!(said.get("role_in_match").is_some(), "{said}"),
        "GAME_OVER" => assert!(said["game_result"].is_object(), "{said}"),
        _ => {}
    }
}

fn see_page(kind: &str, said: &Value) {
    see_second(said);
    each(said, &mut |name, value| {
        if name == "round_id" {
            assert!(
                value
                    .as_str()
                    .is_some_and(|round| round.starts_with("ROUND_")),
                "{said}"
            );
        }
    });
    match kind {
        "GAME_INVITATION" => {
            assert!(said.get("role_in_match").is_none(), "{said}");
            assert!(said["role"].as_str().unwrap().starts_with("PLAYER_"));
        }
        "GAME_OVER" => {
            assert!(said.get("game_result").is_none(), "{said}");
            assert!(said["your_choice"].is_string(), "{said}");
            assert!(said["points_earned"].is_u64(), "{said}");
        }
        _ => {}
    }
}

fn see_second(said: &Value) {
    assert_eq!(said["protocol"], "league.v2");
    assert!(said["auth_token"].is_string(), "{said}");
    let time = said["timestamp"].as_str().unwrap();
    assert_eq!(time.len(), 20, "{said}");
    each(said, &mut |name, value| {
        if let (true, Some(id)) = (PLAYERS.contains(&name), value.as_str()) {
            assert!(id.starts_with('P'), "{name}: {said}");
        }
    });
}

/// The table of the first protocol shares ranks, and its champion has a rate of wins.
fn see_shared_ranks(player: &Scripted) {
    let end = player.heard("LEAGUE_COMPLETE");
    let end = &end["final_standings"];
    let champion = &end["champion"];
    let (wins, rate) = (&champion["wins"], champion["win_rate"].as_f64().unwrap());
    let expected = wins.as_f64().unwrap() / 5.0;
    assert!((rate - expected).abs() < 0.001, "{champion}");
    let rows = end["rankings"].as_array().unwrap();
    assert_eq!(rows.len(), 6, "{end}");
    let record = |row: &Value| [&row["points"], &row["wins"], &row["losses"]].map(Value::clone);
    for pair in rows.windows(2) {
        let same = record(&pair[0]) == record(&pair[1]);
        assert_eq!(pair[0]["rank"] == pair[1]["rank"], same, "{end}");
    }
}

/// Shows every member of a message, however deep.
fn each(value: &Value, see: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                see(name, value);
                each(value, see);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| each(value, see)),
        _ => {}
    }
}

fn new() -> Scripted {
    Scripted::start(|said| Does::Answers(fair(said)))
}

/// A player as the API page shows it: it says no more than the page does.
fn page() -> Scripted {
    Scripted::start(|said| {
        let says = |kind: &str, says: Value| message(kind, "player:P06", None, &says);
        let match_id = &said["match_id"];
        Does::Answers(match said["message_type"].as_str() {
            Some("GAME_INVITATION") => says(
                "GAME_JOIN_ACK",
                json!({"match_id": match_id, "accept": true}),
            ),
            Some("CHOOSE_PARITY_CALL") => says(
                "CHOOSE_PARITY_RESPONSE",
                json!({"match_id": match_id, "parity_choice": "odd"}),
            ),
            _ => json!({"status": "ok"}),
        })
    })
}

/// A player as 003 shows it.
fn old() -> Scripted {
    Scripted::start(|said| Does::Answers(old_answer(said, OLD_NAME)))
}

/// What a fair player of the first protocol answers.
pub(crate) fn old_answer(said: &Value, name: &str) -> Value {
    let kind = said["message_type"].as_str().unwrap_or_default();
    let mut answer = old_message(kind, name);
    for field in ["league_id", "round_id", "match_id", "conversation_id"] {
        answer[field] = said[field].clone();
    }
    match kind {
        "GAME_INVITATION" => {
            answer["message_type"] = "GAME_INVITATION_RESPONSE".into();
            answer["status"] = "READY".into();
            answer
        }
        "PLAY_REQUEST" => {
            answer["message_type"] = "PLAY_RESPONSE".into();
            answer["play"] = json!({
                "action": "choose", "value": "even", "reasoning": "it was even last time",
            });
            answer
        }
        _ => json!({"status": "ok"}),
    }
}

pub(crate) fn old_registration(name: &str, endpoint: &str) -> Value {
    let mut request = old_message("LEAGUE_REGISTER_REQUEST", "player_candidate");
    request["round_id"] = 0.into();
    request["match_id"] = "REGISTRATION".into();
    request["player_meta"] = json!({
        "display_name": name, "version": "1.0.0", "game_types": ["even_odd"],
        "contact_endpoint": endpoint.replace("http://", "mcp://"),
    });
    request
}

pub(crate) fn old_message(kind: &str, sender: &str) -> Value {
    json!({
        "protocol": "league.v1", "message_type": kind, "sender": sender,
        "league_id": "550e8400-e29b-41d4-a716-446655440000",
        "conversation_id": "660e8400-e29b-41d4-a716-446655440001",
        "timestamp": "2025-12-13T21:30:00.000Z",
    })
}
