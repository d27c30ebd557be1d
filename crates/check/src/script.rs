//! Messages from the check's side, built by hand, member by member.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use league_core::draw;
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::secret::{DrawMode, Seed};
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::{Value, json};

/// A time with another offset than UTC.
pub const OTHER_OFFSET: &str = "2025-01-15T10:30:00+02:00";

/// The present moment.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default().as_millis();
    Timestamp::from_millis(i64::try_from(since).unwrap_or(i64::MAX))
}

/// A message of `league.v2` with its envelope.
pub fn message(kind: &str, sender: &str, conversation: &str, body: Value) -> Value {
    let mut message = json!({
        "protocol": "league.v2",
        "message_type": kind,
        "sender": sender,
        "timestamp": now().to_seconds_text(),
        "conversation_id": conversation,
    });
    extend(&mut message, body);
    message
}

/// Puts all members of one object into another.
pub fn extend(message: &mut Value, more: Value) {
    if let Value::Object(more) = more {
        for (name, value) in more {
            message[name] = value;
        }
    }
}

/// The time after this delay.
pub fn in_time(ahead: Duration) -> String {
    let ahead = i64::try_from(ahead.as_millis()).unwrap_or(i64::MAX);
    let then = now().as_millis().saturating_add(ahead);
    Timestamp::from_millis(then).to_seconds_text()
}

/// The parity of a number, as a word.
pub fn parity_of(number: u64) -> &'static str {
    if number.is_multiple_of(2) {
        "even"
    } else {
        "odd"
    }
}

/// A text in JSON; empty if it is something else.
pub fn str_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Where the chance of the check's own leagues comes from.
pub(crate) const MODE: DrawMode = DrawMode::Chance;

/// The league and the match that a message names, and the attempt, 1 without one.
fn place(message: &Value) -> Option<(LeagueId, MatchId, u32)> {
    let league = LeagueId::new(message["league_id"].as_str()?).ok()?;
    let match_id = MatchId::new(message["match_id"].as_str()?).ok()?;
    let attempt = message["attempt"].as_u64().unwrap_or(1);
    Some((league, match_id, u32::try_from(attempt).ok()?))
}

/// The promise on the draw of a match with this seed, as a referee is told it.
pub(crate) fn promise(order: &Value, seed: &Seed) -> Option<String> {
    let (league, match_id, _) = place(order)?;
    let mode = DrawMode::parse(order["draw_mode"].as_str()?)?;
    Some(draw::commitment(&league, &match_id, mode, seed).to_hex())
}

/// The seed of an attempt at a match with this seed.
pub(crate) fn attempt_seed(order: &Value, seed: &Seed) -> Option<Seed> {
    let (.., attempt) = place(order)?;
    Some(draw::roll_seed(seed, attempt, 0))
}

/// The number that is drawn with the seed of an attempt.
pub(crate) fn number(order: &Value, seed: &Seed, nonces: [&str; 2]) -> Option<u64> {
    let (league, match_id, attempt) = place(order)?;
    let mut dice = draw::dice_of(&league, &match_id, seed, attempt, nonces);
    Some(dice.roll(1..=10))
}

/// What proves to the manager that a player joined a match, or chose in it.
pub(crate) fn proof(asked: &Value, return_token: &str, choice: Option<(&str, &str)>) -> String {
    let Some((league, match_id, attempt)) = place(asked) else {
        return String::new();
    };
    let token = AuthToken::new(return_token);
    let key = draw::proof_key(&token, &league, &match_id, attempt);
    let proof = match choice {
        None => draw::join_proof(&key),
        Some((choice, nonce)) => draw::proof(&key, 1, [], &choice.into(), Some(nonce)),
    };
    proof.to_hex()
}
