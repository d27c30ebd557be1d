//! In which dialect a message is written.

use crate::rpc::members::{Members, text};
use crate::sender::Dialect;

use super::{v1, v2};

/// Recognises a dialect by protocol, type and the shape of the fields.
///
/// `league.v1` says so itself, or by a type that only it has. The two spellings of `league.v2`
/// share most messages; a message is in the API page's only if something in it is spelled so.
pub fn recognise(message_type: &str, members: &Members<'_>) -> Dialect {
    match members.get("protocol").and_then(text).as_deref() {
        Some("league.v1") => Dialect::V1,
        Some("league.v2") => v2_or_api(message_type, members),
        _ if only_v1(message_type) => Dialect::V1,
        _ => v2_or_api(message_type, members),
    }
}

fn only_v1(message_type: &str) -> bool {
    v1::Body::TYPES.contains(&message_type) && !v2::Body::TYPES.contains(&message_type)
}

fn v2_or_api(message_type: &str, members: &Members<'_>) -> Dialect {
    let says = |name: &str, value: &str| members.get(name).and_then(text).as_deref() == Some(value);
    let by_the_api_page = match message_type {
        "QUERY_STANDINGS_REQUEST" | "QUERY_STANDINGS_RESPONSE" => true,
        "LEAGUE_REGISTER_REQUEST" => says("sender", "player:UNREGISTERED"),
        "LEAGUE_REGISTER_RESPONSE" => says("status", "REGISTERED"),
        "GAME_INVITATION" => members.has("role") && !members.has("role_in_match"),
        "GAME_JOIN_ACK" => !members.has("player_id") && !members.has("arrival_timestamp"),
        "CHOOSE_PARITY_CALL" => !members.has("player_id") && !members.has("context"),
        "CHOOSE_PARITY_RESPONSE" => !members.has("player_id"),
        "GAME_OVER" => members.has("your_choice") || members.has("result"),
        "LEAGUE_ERROR" => {
            members.has("error_name")
                && !members.has("context")
                && !members.has("original_message_type")
        }
        _ => false,
    };
    let round_is_named = members
        .get("round_id")
        .and_then(text)
        .is_some_and(|round| round.starts_with("ROUND_"));
    if by_the_api_page || round_is_named {
        Dialect::V2Api
    } else {
        Dialect::V2
    }
}
