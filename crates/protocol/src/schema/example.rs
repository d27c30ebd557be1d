//! An example of every message, made from its strict schema.
//!
//! A field gets the sample of its name, so that the fields of one example, and the examples of one
//! match, agree with each other; a field without a sample gets the plainest value of its type.

use serde_json::{Map, Value, json};

use super::message_schema;
use crate::finding::Reading;
use crate::sender::Dialect;

/// The sample of a field; `None` if any value of its type will do.
fn sample(name: &str) -> Option<Value> {
    Some(match name {
        "league_id" => json!("league_2025_even_odd"),
        "round_id" | "attempt" | "rank" | "played" | "wins" | "turn_number" | "retry_count"
        | "draw_points" => json!(1),
        "next_round_id" | "matches_played" | "max_concurrent_matches" => json!(2),
        "points" | "points_earned" | "win_points" | "total_rounds" | "max_retries" => json!(3),
        "total_players" => json!(4),
        "total_matches" => json!(6),
        "drawn_number" | "random_number" => json!(8),
        "timeout_seconds" | "timeout_per_move" => json!(30),
        "losses" | "draws" | "technical_losses" | "loss_points" | "technical_loss_points" => {
            json!(0)
        }
        "match_id" => json!("R1M1"),
        "conversation_id" => json!("conv-r1m1-001"),
        "player_id" | "player_A_id" | "winner" | "winner_player_id" => json!("P01"),
        "player_B_id" | "opponent_id" => json!("P02"),
        "referee_id" => json!("REF01"),
        "display_name" => json!("Agent Alpha"),
        "version" => json!("1.0.0"),
        "contact_endpoint" => json!("http://localhost:8101/mcp"),
        "referee_endpoint" => json!("http://localhost:8001/mcp"),
        "game_type" => json!("even_odd"),
        "game_types" => json!(["even_odd"]),
        "timestamp" | "arrival_timestamp" => json!("2025-01-15T10:30:00Z"),
        "deadline" => json!("2025-01-15T10:30:30Z"),
        "next_retry_at" => json!("2025-01-15T10:30:32Z"),
        "auth_token" => json!("tok-p01-example"),
        "match_token" => json!("tok-match-example"),
        "order_token" => json!("tok-order-example"),
        "draw_mode" => json!("chance"),
        "move_type" => json!("choose_parity"),
        "valid_options" => json!(["even", "odd"]),
        "action" => json!("choose"),
        "choice" | "value" | "your_choice" | "number_parity" => json!("even"),
        "opponent_choice" => json!("odd"),
        "choices" => json!({"P01": "even", "P02": "odd"}),
        "score" => json!({"P01": 3, "P02": 0}),
        "reason" => json!("P01 chose even, and the number is 8."),
        "error" => Value::Null,
        "error_code" => json!("E001"),
        "error_name" => json!("TIMEOUT_ERROR"),
        "error_description" => json!("The player did not answer within 30 seconds."),
        "retryable" => json!(true),
        "data" => json!({"standings": []}),
        _ => return None,
    })
}

/// Fields that the documents show although a message can do without them.
const SHOWN: [&str; 15] = [
    "auth_token",
    "player_id",
    "referee_id",
    "data",
    "score",
    "drawn_number",
    "random_number",
    "number_parity",
    "winner_player_id",
    "error_name",
    "retryable",
    "retry_info",
    "retry_count",
    "max_retries",
    "next_retry_at",
];

/// Fields that name the second player.
const SECOND: [&str; 3] = ["opponent_id", "player2", "loser"];

const HASH: &str = "3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e3b7e";
const UUID: &str = "7f8d0a51-3c5b-4a1e-9d2e-0f6b1c2d3e4f";

/// An example of a message; `None` if the dialect does not have the type.
pub fn example(dialect: Dialect, message_type: &str) -> Option<Value> {
    let schema = message_schema(dialect, message_type, Reading::Strict)?;
    let asks = message_type.ends_with("REGISTER_REQUEST");
    let is_shown = |name: &str| match name {
        // An agent gets its id and its token with the answer; `league.v1` has no token.
        "auth_token" => !asks && dialect != Dialect::V1,
        "player_id" | "referee_id" => !asks,
        _ => true,
    };
    let mut example = object(&schema, &is_shown);
    example.insert("sender".into(), sender(dialect, message_type).into());
    Some(example.into())
}

fn sender(dialect: Dialect, message_type: &str) -> &'static str {
    let is_v1 = dialect == Dialect::V1;
    match message_type {
        "LEAGUE_REGISTER_REQUEST"
        | "LEAGUE_QUERY"
        | "QUERY_STANDINGS_REQUEST"
        | "GAME_JOIN_ACK"
        | "GAME_INVITATION_RESPONSE"
        | "CHOOSE_PARITY_RESPONSE"
        | "GAME_MOVE_RESPONSE"
        | "PLAY_RESPONSE"
        | "CALL_QUERY_RESPONSE" => {
            if is_v1 {
                "player_001"
            } else {
                "player:P01"
            }
        }
        "REFEREE_REGISTER_REQUEST"
        | "GAME_INVITATION"
        | "GAME_START"
        | "CHOOSE_PARITY_CALL"
        | "GAME_MOVE_CALL"
        | "PLAY_REQUEST"
        | "PLAY_VALIDATION"
        | "GAME_OVER"
        | "GAME_RESULT"
        | "GAME_ERROR"
        | "MATCH_RESULT_REPORT"
        | "DRAW_REQUEST"
        | "GAME_OVER_TOLD"
        | "START_MATCH_ACK" => {
            if is_v1 {
                "referee"
            } else {
                "referee:REF01"
            }
        }
        _ => "league_manager",
    }
}

fn object(schema: &Value, is_shown: &dyn Fn(&str) -> bool) -> Map<String, Value> {
    let required = schema["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .filter(|(name, _)| is_required(name) || SHOWN.contains(&name.as_str()) && is_shown(name))
        .map(|(name, schema)| (name.clone(), value(name, schema, is_shown)))
        .collect()
}

fn value(name: &str, schema: &Value, is_shown: &dyn Fn(&str) -> bool) -> Value {
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    if let Some(written) = schema["pattern"]
        .as_str()
        .and_then(|form| spelled(name, form))
    {
        return written.into();
    }
    if let Some(sample) = sample(name).filter(|sample| fits(sample, schema)) {
        return sample;
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(first) = schema["anyOf"].get(0) {
        return value(name, first, is_shown);
    }
    let is = |kind: &str| is_of(schema, kind);
    if is("object") {
        object(schema, is_shown).into()
    } else if is("array") {
        let count = schema["minItems"].as_u64().unwrap_or(1);
        let items = &schema["items"];
        // An item of any type has no plainest value.
        let has_type = items.as_object().is_some_and(|items| !items.is_empty());
        let items = (0..count.min(2)).filter(|_| has_type);
        let items = items.map(|place| numbered(value(name, &schema["items"], is_shown), place));
        items.collect()
    } else if is("integer") {
        1.into()
    } else if is("number") {
        1.0.into()
    } else if is("boolean") {
        true.into()
    } else {
        name.replace('_', " ").into()
    }
}

/// A text in a form that the sample of its name does not have.
fn spelled(name: &str, pattern: &str) -> Option<&'static str> {
    if pattern.starts_with("^player_") {
        return Some(if SECOND.contains(&name) {
            "player_002"
        } else {
            "player_001"
        });
    }
    if pattern.ends_with("-[0-9A-Fa-f]{12}$") {
        return Some(UUID);
    }
    (pattern == "^[0-9A-Fa-f]{64}$").then_some(HASH)
}

fn is_of(schema: &Value, kind: &str) -> bool {
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|known| known == kind),
        only => only == kind,
    }
}

/// Whether a sample has the type of the field, and is among its words.
fn fits(sample: &Value, schema: &Value) -> bool {
    if let Some(kinds) = schema["anyOf"].as_array() {
        return kinds.iter().any(|kind| fits(sample, kind));
    }
    let kind = match sample {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let words = schema["enum"].as_array();
    (schema["type"].is_null() || is_of(schema, kind))
        && words.is_none_or(|words| words.contains(sample))
}

/// The second item of a list is about the second player.
fn numbered(mut item: Value, place: u64) -> Value {
    if place > 0 && item["player_id"] == "P01" {
        item["player_id"] = "P02".into();
        if item.get("contact_endpoint").is_some() {
            item["contact_endpoint"] = "http://localhost:8102/mcp".into();
        }
    }
    item
}
