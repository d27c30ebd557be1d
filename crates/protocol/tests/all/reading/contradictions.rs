//! What does not agree with itself, or with what is known, is not read as if it did.

use league_protocol::decode::decode;
use league_protocol::decode::recognise;
use league_protocol::dialect::Hints;
use league_protocol::finding::Reading;
use league_protocol::id::MatchId;
use league_protocol::message::Message;
use league_protocol::rpc::members::members;
use league_protocol::sender::Dialect;
use serde_json::{Value, json};

use super::{decoded, raw, table};

/// A message of `league.v2` with these fields.
fn v2(message_type: &str, sender: &str, fields: Value) -> Value {
    let mut message = json!({
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": sender,
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "conv-r1m1-001",
    });
    for (name, value) in fields.as_object().expect("fields") {
        message[name] = value.clone();
    }
    message
}

fn found(message: &Value, reading: Reading, hints: &Hints<'_>) -> Vec<String> {
    let raw = raw(message);
    let mut decoded = decoded(&raw, reading);
    let _ = decoded.message(hints);
    table(&decoded.notes.findings)
}

fn report(result: &Value) -> Value {
    let fields = json!({
        "league_id": "league_2025_even_odd", "round_id": 1, "match_id": "R1M1",
        "game_type": "even_odd", "result": result,
    });
    v2("MATCH_RESULT_REPORT", "referee:REF01", fields)
}

/// Winner, score, choices, status, and the first thing that is found.
const RESULTS: &str = r#"
"P01" | {"P01":3,"P02":0} | {"P01":"even","P02":"odd"} | null |
"P01" | {"P01":3,"P02":0} | {"P01":"even"} | "WIN" |
null | {"P01":1,"P02":1} | {"P01":"odd","P02":"odd"} | "DRAW" |
null | {"P01":0,"P02":0} | {} | "TECHNICAL_LOSS" |
"DRAW" | {"P01":1,"P02":1} | {"P01":"even","P02":"odd"} | null | Deviation E002 result.winner
"P03" | {"P01":3,"P02":0} | {"P01":"even","P02":"odd"} | null | Error E002 result.winner
"nobody at all" | {"P01":3,"P02":0} | {} | null | Error E002 result.winner
null | {"P01":3,"P02":0} | {} | "WIN" | Error E002 result.winner
"P01" | {"P01":3,"P02":0} | {} | "DRAW" | Error E002 result.winner
"P01" | {"P01":3} | {} | null | Error E002 result.score
"P01" | {"P01":3,"P02":0,"P03":0} | {} | null | Error E002 result.score
"P01" | {"P01":3,"P02":5000000000} | {} | null | Error E002 result.score.P02
"P01" | {"P01":3,"P02":0} | {"P09":"even"} | null | Error E002 result.choices
"#;

#[test]
fn result_agrees_with_itself() {
    for row in RESULTS.trim().lines() {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let json = |cell: usize| serde_json::from_str::<Value>(cells[cell]).expect("JSON");
        let details = json!({"choices": json(2), "status": json(3)});
        let result = json!({"winner": json(0), "score": json(1), "details": details});
        let found = found(&report(&result), Reading::Lenient, &Hints::default());
        assert_eq!(found.first().map_or("", String::as_str), cells[4], "{row}");
    }
}

#[test]
fn answer_without_its_match_is_about_the_match_that_was_asked_about() {
    let asked = MatchId::new("R1M1").unwrap();
    let knowing = Hints {
        match_id: Some(&asked),
        ..Hints::default()
    };
    for (name, fields) in [
        (
            "GAME_JOIN_ACK",
            json!({"player_id": "P01", "arrival_timestamp": "2025-01-15T10:30:00Z", "accept": true}),
        ),
        (
            "CHOOSE_PARITY_RESPONSE",
            json!({"player_id": "P01", "parity_choice": "even"}),
        ),
        (
            "GAME_MOVE_RESPONSE",
            json!({"player_id": "P01", "game_type": "nim", "move_data": {"move_type": "take", "choice": 1}}),
        ),
        ("START_MATCH_ACK", json!({"accepted": true})),
    ] {
        let message = v2(name, "player:P01", fields);
        let deviation = "Deviation E003 match_id";
        assert_eq!(
            found(&message, Reading::Lenient, &knowing),
            [deviation],
            "{name}"
        );
        let unknowing = found(&message, Reading::Lenient, &Hints::default());
        assert_eq!(unknowing, [deviation, "Error E003 match_id"], "{name}");
    }
}

#[test]
fn round_by_name_does_not_decide_where_another_field_does() {
    for (name, json, dialect) in [
        (
            "GAME_INVITATION",
            r#"{"round_id":"ROUND_1","role_in_match":"PLAYER_A"}"#,
            Dialect::V2,
        ),
        (
            "GAME_INVITATION",
            r#"{"round_id":1,"role":"PLAYER_A"}"#,
            Dialect::V2Api,
        ),
        (
            "GAME_INVITATION",
            r#"{"round_id":"ROUND_1"}"#,
            Dialect::V2Api,
        ),
        (
            "CHOOSE_PARITY_CALL",
            r#"{"round_id":"ROUND_1","player_id":"P01"}"#,
            Dialect::V2,
        ),
        (
            "GAME_OVER",
            r#"{"round_id":"ROUND_1","game_result":{}}"#,
            Dialect::V2,
        ),
        (
            "GAME_OVER",
            r#"{"round_id":"ROUND_1","result":"WIN"}"#,
            Dialect::V2Api,
        ),
        (
            "ROUND_ANNOUNCEMENT",
            r#"{"round_id":"ROUND_1"}"#,
            Dialect::V2Api,
        ),
        ("ROUND_ANNOUNCEMENT", r#"{"round_id":1}"#, Dialect::V2),
    ] {
        let members = members(json).unwrap();
        assert_eq!(recognise(name, &members), dialect, "{name} {json}");
    }
}

#[test]
fn agent_that_is_known_to_speak_one_protocol_does_not_speak_another() {
    let ack = json!({"match_id": "R1M1", "player_id": "P01", "arrival_timestamp": "2025-01-15T10:30:00Z", "accept": true});
    let message = raw(&v2("GAME_JOIN_ACK", "player:P01", ack.clone()));
    let pinned = decode(&message, Reading::Lenient, Some(Dialect::V1)).unwrap();
    assert_eq!(table(&pinned.notes.findings)[0], "Error E018 protocol");
    let message = v2("GAME_JOIN_ACK", "player_001", ack);
    let found = found(&message, Reading::Lenient, &Hints::default());
    assert_eq!(found, ["Deviation E002 sender"]);
}

#[test]
fn admission_holds_a_token_and_a_refusal_a_reason() {
    let accepted = v2(
        "LEAGUE_REGISTER_RESPONSE",
        "league_manager",
        json!({"status": "ACCEPTED", "player_id": "P01"}),
    );
    let rejected = v2(
        "LEAGUE_REGISTER_RESPONSE",
        "league_manager",
        json!({"status": "REJECTED"}),
    );
    for (message, place) in [(accepted, "auth_token"), (rejected, "reason")] {
        let lenient = found(&message, Reading::Lenient, &Hints::default());
        assert_eq!(lenient, [format!("Deviation E003 {place}")]);
        let strict = found(&message, Reading::Strict, &Hints::default());
        assert_eq!(strict, [format!("Error E003 {place}")]);
    }
}

#[test]
fn unreadable_seat_is_ignored() {
    let invitation = |role: Value| {
        let fields = json!({
            "league_id": "l", "round_id": 1, "match_id": "R1M1", "game_type": "even_odd",
            "role_in_match": role, "opponent_id": "P02",
        });
        v2("GAME_INVITATION", "referee:REF01", fields)
    };
    let message = invitation(json!("PLAYER_C"));
    let found = found(&message, Reading::Lenient, &Hints::default());
    assert_eq!(found, ["Error E002 role_in_match"]);
}

#[test]
fn unreadable_answer_is_ignored() {
    let answer = |fields: Value| v2("LEAGUE_QUERY_RESPONSE", "league_manager", fields);
    for (fields, place) in [
        (
            json!({"query_type": "GET_STANDINGS", "success": true}),
            "Error E003 data",
        ),
        (
            json!({"query_type": "GET_STANDINGS", "success": true, "data": {}}),
            "Error E002 data",
        ),
        (
            json!({"query_type": "GET_SCHEDULE", "success": true, "data": {"rounds": 7}}),
            "Error E002 data",
        ),
        (
            json!({"success": true, "data": {}}),
            "Deviation E003 query_type",
        ),
    ] {
        let found = found(&answer(fields.clone()), Reading::Lenient, &Hints::default());
        assert_eq!(found[0], place, "{fields}");
    }
    let message = raw(&answer(
        json!({"success": true, "data": {"total_rounds": 0, "rounds": []}}),
    ));
    let understood = decoded(&message, Reading::Lenient).message(&Hints::default());
    let Ok(Message::LeagueQueryResponse(response)) = understood else {
        panic!("it tells what was asked");
    };
    assert_eq!(response.query_type, "GET_SCHEDULE");
}

#[test]
fn context_of_a_message_stands_at_its_root_and_is_what_it_says() {
    let ack = |more: Value| {
        let mut fields = json!({
            "match_id": "R1M1", "player_id": "P01",
            "arrival_timestamp": "2025-01-15T10:30:00Z", "accept": true,
        });
        for (name, value) in more.as_object().unwrap() {
            fields[name] = value.clone();
        }
        v2("GAME_JOIN_ACK", "player:P01", fields)
    };
    let hints = Hints::default();
    let right = ack(json!({"league_id": "l", "round_id": "ROUND_1"}));
    assert_eq!(found(&right, Reading::Strict, &hints), [""; 0]);
    let wrong = ack(json!({"league_id": 5, "round_id": []}));
    let places = ["Deviation E002 league_id", "Deviation E002 round_id"];
    assert_eq!(found(&wrong, Reading::Lenient, &hints), places);
}
