//! How `league.v1` names leagues, conversations, players and senders, and back.

use std::borrow::Cow;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fault::Code;
use crate::finding::{Path, Reading, excerpt};
use crate::id::{IdError, LeagueId, PlayerId};
use crate::sender::{Agent, Dialect};
use crate::shape::{Cx, Vocabulary, id, id_schema};

/// The namespace in which a league id becomes a UUID of version 5.
///
/// The number is random; it must never change, because agents know their league by the UUID made
/// from it.
pub const LEAGUES: Uuid = Uuid::from_u128(0xdc66_5dea_9293_47e6_a275_1bae_59a3_39e7);
/// The namespace in which the text of a conversation becomes a UUID of version 5.
pub const CONVERSATIONS: Uuid = Uuid::from_u128(0x7d92_ffc6_8ce1_4e79_b955_934b_a847_895d);
/// The name that a player uses before it is registered.
pub const CANDIDATE: &str = "player_candidate";

const PREFIX: &str = "player_";

/// The UUID of a league; an id that already is a UUID stays as it is.
pub fn league_uuid(id: &LeagueId) -> String {
    as_uuid(id.as_str(), &LEAGUES).into_owned()
}

/// The UUID of a conversation; a text that already is a UUID stays as it is.
pub fn conversation(text: &str) -> Cow<'_, str> {
    as_uuid(text, &CONVERSATIONS)
}

fn as_uuid<'t>(text: &'t str, namespace: &Uuid) -> Cow<'t, str> {
    if is_uuid(text) {
        return Cow::Borrowed(text);
    }
    let uuid = Uuid::new_v5(namespace, text.as_bytes());
    Cow::Owned(uuid.hyphenated().to_string())
}

/// Whether a text is a UUID in the form that 003 shows: five groups with hyphens.
fn is_uuid(text: &str) -> bool {
    const LENGTH: usize = 36;
    text.len() == LENGTH && Uuid::try_parse(text).is_ok()
}

/// The name of a player: `P01` is `player_001`, another id `X` is `player_X`.
///
/// An id of digits alone would read like another player's number, so it gets a second `_`.
pub fn player_name(id: &PlayerId) -> String {
    let text = id.as_str();
    match numbered(id) {
        Some(number) => format!("{PREFIX}{number:03}"),
        None if is_number(text) => format!("{PREFIX}_{text}"),
        None => format!("{PREFIX}{text}"),
    }
}

/// The player that a name such as `player_001` stands for.
///
/// # Errors
///
/// Refuses a name whose part after `player_` is not a valid id.
pub fn player_id(name: &str) -> Result<PlayerId, IdError> {
    player_after_prefix(name.strip_prefix(PREFIX).ok_or(IdError::Character)?)
}

/// The player that the part after `player_` stands for, as a sender's name gives it.
///
/// # Errors
///
/// Refuses a text that is not a valid id.
pub fn player_after_prefix(rest: &str) -> Result<PlayerId, IdError> {
    if let Some(id) = rest.strip_prefix('_') {
        return PlayerId::new(id);
    }
    match rest.parse() {
        Ok(number) if is_number(rest) => Ok(PlayerId::numbered(number)),
        _ => PlayerId::new(rest),
    }
}

/// The value of the field `sender`; referees do not have names here.
pub fn sender(agent: &Agent) -> Cow<'static, str> {
    match agent {
        Agent::Manager => Cow::Borrowed("league_manager"),
        Agent::Referee(_) => Cow::Borrowed("referee"),
        Agent::Player(id) => Cow::Owned(player_name(id)),
    }
}

/// The number in an id such as `P01`, if the league assigned it.
fn numbered(id: &PlayerId) -> Option<u32> {
    let number = id.as_str().strip_prefix('P')?.parse().ok()?;
    (PlayerId::numbered(number) == *id).then_some(number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A player is `P01` in `league.v2` and `player_001` in `league.v1`.
impl Vocabulary for PlayerId {
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        if cx.dialect != Dialect::V1 {
            return id(Self::new(text), text, at, cx);
        }
        let at = &at.under("003 §Field Definitions");
        let found = excerpt(text);
        let Ok(id) = player_id(text).or_else(|_| Self::new(text)) else {
            let detail = format!("`{found}` names no player; send a name such as `player_001`");
            cx.note(Code::InvalidMessage, at, "`player_<id>`", detail);
            return None;
        };
        let name = player_name(&id);
        if name != text {
            let detail = format!("found `{found}`; write `{name}`");
            cx.forgive(Code::InvalidMessage, at, "`player_<id>`", detail);
        }
        Some(id)
    }

    fn text(&self, dialect: Dialect) -> Cow<'_, str> {
        match dialect {
            Dialect::V1 => Cow::Owned(player_name(self)),
            Dialect::V2 | Dialect::V2Api => Cow::Borrowed(self.as_str()),
        }
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        match (dialect, reading) {
            (Dialect::V2 | Dialect::V2Api, _) => id_schema(),
            (Dialect::V1, Reading::Strict) => json!({"type": "string", "pattern": "^player_.+$"}),
            (Dialect::V1, Reading::Lenient) => json!({"type": "string"}),
        }
    }
}

/// A league is named by its id in `league.v2` and by a UUID in `league.v1`.
///
/// The UUID of the reader's own league is mapped to its id; any other UUID stays as it is, since it
/// is a valid id itself.
impl Vocabulary for LeagueId {
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        if cx.dialect != Dialect::V1 {
            return id(Self::new(text), text, at, cx);
        }
        if !is_uuid(text) {
            let detail = format!("`{}` is no UUID; send the league's UUID", excerpt(text));
            let at = &at.under("003 §Field Definitions");
            cx.note(Code::InvalidMessage, at, "a UUID", detail);
        }
        let named = Self::new(text).ok()?;
        let is_known = |known: &&Self| league_uuid(known).eq_ignore_ascii_case(text);
        Some(
            cx.hints
                .league_id
                .filter(is_known)
                .cloned()
                .unwrap_or(named),
        )
    }

    fn text(&self, dialect: Dialect) -> Cow<'_, str> {
        match dialect {
            Dialect::V1 => Cow::Owned(league_uuid(self)),
            Dialect::V2 | Dialect::V2Api => Cow::Borrowed(self.as_str()),
        }
    }

    fn schema(dialect: Dialect, reading: Reading) -> Value {
        match (dialect, reading) {
            (Dialect::V2 | Dialect::V2Api, _) => id_schema(),
            (Dialect::V1, Reading::Strict) => {
                // Many schema readers ignore `format`, so a pattern is given as well.
                let digits = "[0-9A-Fa-f]";
                let uuid = format!("^{digits}{{8}}(-{digits}{{4}}){{3}}-{digits}{{12}}$");
                json!({"type": "string", "format": "uuid", "pattern": uuid})
            }
            (Dialect::V1, Reading::Lenient) => json!({"type": "string"}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_one_name_and_comes_back() {
        for (id, name) in [
            ("P01", "player_001"),
            ("P99", "player_099"),
            ("P100", "player_100"),
            ("P1000", "player_1000"),
            ("P1", "player_P1"),
            ("P001", "player_P001"),
            ("001", "player__001"),
            ("7", "player__7"),
            ("alpha", "player_alpha"),
            ("P", "player_P"),
            ("P99999999999", "player_P99999999999"),
            ("99999999999", "player__99999999999"),
        ] {
            let id = PlayerId::new(id).unwrap();
            assert_eq!(player_name(&id), name);
            assert_eq!(player_id(name), Ok(id));
        }
        assert_eq!(player_id("player_1"), Ok(PlayerId::numbered(1)));
        for bad in ["player_", "player___", "referee", "player_../x", ""] {
            assert!(player_id(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_league_keeps_its_uuid_for_ever() {
        let league = LeagueId::new("league_2025_even_odd").unwrap();
        assert_eq!(league_uuid(&league), "84be2ff4-91a9-5b99-b1a2-854c77ab3faa");
        let uuid = "AA0e8400-e29b-41d4-a716-446655440005";
        assert_eq!(league_uuid(&LeagueId::new(uuid).unwrap()), uuid);
        assert_eq!(conversation(uuid), uuid);
        assert_eq!(
            conversation("conv-r1m1-001"),
            "ef9501ca-4e30-5297-aa50-30c961861c2b"
        );
        let simple = "550e8400e29b41d4a716446655440000";
        assert_ne!(conversation(simple), simple);
    }

    #[test]
    fn senders_are_named_as_the_document_names_them() {
        let player = Agent::Player(PlayerId::numbered(1));
        let referee = Agent::Referee(crate::id::RefereeId::numbered(1));
        assert_eq!(sender(&player), "player_001");
        assert_eq!(sender(&referee), "referee");
        assert_eq!(sender(&Agent::Manager), "league_manager");
    }
}
