//! Three spellings of one protocol: how to recognise a dialect, the envelope of every message, and
//! the names that differ.
//!
//! The messages are declared in [`message`](crate::message), one row for each member.

mod envelope;
mod hints;
pub mod names;

pub use crate::message::types;
pub(crate) use envelope::ENVELOPE;
pub use envelope::{Envelope, ProtocolName, SenderName};
pub use hints::Hints;
pub use names::{conversation, player_name};

use crate::rpc::members::{Members, text};
use crate::sender::Dialect;

/// Recognises a dialect by protocol, type and the shape of the fields.
///
/// `league.v1` is recognised by its protocol name or by its own types. The two spellings of
/// `league.v2` share most messages; the API page's is recognised only by a spelling that it alone
/// uses.
pub fn recognise(message_type: &str, members: &Members<'_>) -> Dialect {
    match members.get("protocol").and_then(text).as_deref() {
        Some("league.v1") => Dialect::V1,
        Some("league.v2") => v2_or_api(message_type, members),
        _ if only_v1(message_type) => Dialect::V1,
        _ => v2_or_api(message_type, members),
    }
}

fn only_v1(message_type: &str) -> bool {
    types(Dialect::V1).contains(&message_type) && !types(Dialect::V2).contains(&message_type)
}

fn v2_or_api(message_type: &str, members: &Members<'_>) -> Dialect {
    // Both accept a round by name (ruling 8), so it decides only if nothing else does.
    let by_the_api_page = spelled_by_the_api_page(message_type, members).unwrap_or_else(|| {
        let round = members.get("round_id").and_then(text);
        round.is_some_and(|round| round.starts_with("ROUND_"))
    });
    if by_the_api_page {
        Dialect::V2Api
    } else {
        Dialect::V2
    }
}

/// Whether a field uses a spelling that only one of the two has.
fn spelled_by_the_api_page(message_type: &str, members: &Members<'_>) -> Option<bool> {
    let has = |names: &[&str]| names.iter().any(|name| members.has(name));
    let has_all = |names: &[&str]| names.iter().all(|name| members.has(name));
    let says = |name: &str, value: &str| members.get(name).and_then(text).as_deref() == Some(value);
    let (main, page) = match message_type {
        "QUERY_STANDINGS_REQUEST" | "QUERY_STANDINGS_RESPONSE" => (false, true),
        "LEAGUE_REGISTER_REQUEST" => (false, says("sender", "player:UNREGISTERED")),
        "LEAGUE_REGISTER_RESPONSE" => (says("status", "ACCEPTED"), says("status", "REGISTERED")),
        "GAME_INVITATION" => (has(&["role_in_match"]), has(&["role"])),
        // Here the API page only omits fields of the document. So a message must have all fields of
        // the page: a message that omits more may have omitted anything.
        "GAME_JOIN_ACK" => (
            has(&["player_id", "arrival_timestamp"]),
            has_all(&["protocol", "match_id", "accept"]),
        ),
        "CHOOSE_PARITY_CALL" => (
            has(&["player_id", "context"]),
            has_all(&["protocol", "match_id", "deadline"]),
        ),
        "CHOOSE_PARITY_RESPONSE" => (
            has(&["player_id"]),
            has_all(&["protocol", "match_id", "parity_choice"]),
        ),
        "GAME_OVER" => (has(&["game_result"]), has(&["your_choice", "result"])),
        "LEAGUE_ERROR" => (
            has(&["context", "original_message_type"]),
            has(&["error_name"]),
        ),
        _ => (false, false),
    };
    (main || page).then_some(!main)
}
