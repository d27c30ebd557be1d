//! Guesses the type of a message from its content alone, where the request is not known.

use serde_json::value::RawValue;

use super::names::listed;
use super::{MAX_REPAIRED, SCHEMAS, inside, names};
use crate::message::types;
use crate::rpc::members::{Kind, Members, members, text};
use crate::sender::Dialect;

/// The types that a message can have.
#[derive(Debug)]
pub(crate) enum Candidates {
    /// The type that the message or its method names.
    Named(&'static str),
    /// The types that its type name can mean; the other fields must decide.
    Alike(Vec<&'static str>),
}

/// The types that a message can have, by its own type name and by the method of the call.
pub(crate) fn candidates(content: &str, method: &str) -> Option<Candidates> {
    if content.len() > MAX_REPAIRED {
        return None;
    }
    let all: Vec<&'static str> = Dialect::ALL.into_iter().flat_map(types).copied().collect();
    let mut message = inside::find(inside::parsed(content)?)?.message;
    let (_, word) = names::take_type(&mut message).unwrap_or_default();
    if let [spelled] = names::spelled(&word).as_slice() {
        return Some(Candidates::Named(spelled));
    }
    let alike = names::meanings(&word, &all);
    let called = names::meant(method, &all);
    match called.filter(|called| alike.is_empty() || alike.contains(called)) {
        Some(called) => Some(Candidates::Named(called)),
        None => (!alike.is_empty()).then_some(Candidates::Alike(alike)),
    }
}

/// Fields that occur in many types and so do not identify one.
const SHARED: &str = "protocol message_type sender timestamp conversation_id auth_token league_id round_id \
    match_id player_id game_type";

/// Whether a message has a field that identifies the type, and a sender that may send the type.
pub(crate) fn tells(message: &RawValue, kind: &str, dialect: Dialect) -> bool {
    let (Ok(members), Some(schemas)) = (members(message.get()), SCHEMAS.get(&(dialect, kind)))
    else {
        return false;
    };
    let own = schemas.strict["properties"].as_object();
    let mut telling = own.into_iter().flatten().map(|(name, _)| name.as_str());
    let said = |name: &str| {
        members
            .get(name)
            .is_some_and(|raw| Kind::of(raw) != Kind::Null)
    };
    telling.any(|name| !listed(SHARED, name) && said(name)) && may_say(&members, kind)
}

/// Whether the named sender may send this type; a missing sender matches every type.
fn may_say(members: &Members<'_>, kind: &str) -> bool {
    let sender = members.get("sender").and_then(text).unwrap_or_default();
    let (player, referee) = (listed(PLAYERS, kind), listed(REFEREES, kind));
    let said_by = |role: &str| sender.starts_with(role);
    ANYBODY.contains(&kind)
        || if said_by("player") {
            player
        } else if said_by("referee") {
            referee
        } else {
            !said_by("league_manager") || !player && !referee
        }
}

/// Types that every agent may send.
const ANYBODY: [&str; 2] = ["LEAGUE_ERROR", "GAME_ERROR"];
/// Types that only players send, or players and referees.
const PLAYERS: &str = "LEAGUE_REGISTER_REQUEST GAME_JOIN_ACK GAME_INVITATION_RESPONSE CHOOSE_PARITY_RESPONSE \
    GAME_MOVE_RESPONSE PLAY_RESPONSE LEAGUE_QUERY QUERY_STANDINGS_REQUEST CALL_QUERY_RESPONSE";
/// Types that only referees send, or referees and players.
const REFEREES: &str = "REFEREE_REGISTER_REQUEST START_MATCH_ACK GAME_INVITATION GAME_START CHOOSE_PARITY_CALL \
    GAME_MOVE_CALL PLAY_REQUEST PLAY_VALIDATION GAME_OVER GAME_RESULT MATCH_RESULT_REPORT DRAW_REQUEST \
    LEAGUE_QUERY QUERY_STANDINGS_REQUEST";
