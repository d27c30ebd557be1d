//! The behaviour of players: most are honest, some misbehave in one way each.
//!
//! The player's machine is always honest; misbehaviour spoils its answer on the way out.

use std::sync::Arc;
use std::time::Duration;

use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::Message;
use league_protocol::token::TokenHash;
use serde_json::json;

use crate::chance::Rng;

/// Marks what an ill-behaved player says, so that it is found wherever it turns up.
pub(crate) const MARK: &str = "spoilt-";

/// One way of not behaving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vice {
    Silent,
    Slow,
    /// Makes moves that do not exist.
    Illegal,
    Declining,
    OtherName,
    /// Answers with a token that is not its own.
    OtherToken,
    /// Sends a nonce that is much too long.
    LongNonce,
    OtherMatch,
    /// Answers another question.
    OffTheSubject,
}

const VICES: [Vice; 9] = [
    Vice::Silent,
    Vice::Slow,
    Vice::Illegal,
    Vice::Declining,
    Vice::OtherName,
    Vice::OtherToken,
    Vice::LongNonce,
    Vice::OtherMatch,
    Vice::OffTheSubject,
];

/// How a player behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// How often in a million answers it misbehaves.
    rate: u32,
    /// Its one vice; any of them without one.
    vice: Option<Vice>,
}

impl Behaviour {
    pub(crate) const HONEST: Self = Self {
        rate: 0,
        vice: None,
    };

    pub(crate) fn draw(chance: &mut Rng) -> Self {
        match chance.below(8) {
            0..=4 => Self::HONEST,
            5 => Self {
                rate: 50_000,
                vice: None,
            },
            6 => Self {
                rate: 300_000,
                vice: chance.pick(&VICES).copied(),
            },
            _ => Self {
                rate: 1_000_000,
                vice: chance.pick(&VICES).copied(),
            },
        }
    }

    /// The vice that shows in one answer.
    pub(crate) fn shown(self, chance: &mut Rng) -> Option<Vice> {
        if !chance.happens(self.rate) {
            return None;
        }
        self.vice.or_else(|| chance.pick(&VICES).copied())
    }
}

/// What becomes of an answer.
pub(crate) struct SpoiltAnswer {
    pub(crate) message: Option<Message>,
    pub(crate) token: Option<TokenHash>,
    pub(crate) later: Duration,
}

/// Spoils an answer to an invitation or to a request for a move.
pub(crate) fn spoil(
    vice: Vice,
    mut message: Message,
    token: Option<TokenHash>,
    chance: &mut Rng,
) -> SpoiltAnswer {
    let mut spoilt = SpoiltAnswer {
        message: None,
        token,
        later: Duration::ZERO,
    };
    match (vice, &mut message) {
        (Vice::Silent, _) => return spoilt,
        (Vice::Slow, _) => spoilt.later = Duration::from_secs(chance.between(4, 70)),
        (Vice::Declining, Message::GameJoinAck(ack)) => ack.accept = false,
        (Vice::Illegal, Message::MoveResponse(response)) => {
            Arc::make_mut(response).choice = json!(format!("{MARK}{:x}", chance.next()));
        }
        (Vice::LongNonce, Message::MoveResponse(response)) => {
            Arc::make_mut(response).nonce = Some(MARK.repeat(100));
        }
        (Vice::OtherName, Message::MoveResponse(response)) => {
            Arc::make_mut(response).player_id = Some(PlayerId::numbered(77));
        }
        (Vice::OtherName, Message::GameJoinAck(ack)) => {
            ack.player_id = Some(PlayerId::numbered(77));
        }
        (Vice::OtherMatch, Message::MoveResponse(response)) => {
            Arc::make_mut(response).match_id = MatchId::numbered(77, 77);
        }
        (Vice::OtherMatch, Message::GameJoinAck(ack)) => ack.match_id = MatchId::numbered(77, 77),
        (Vice::OtherToken, _) => spoilt.token = Some(TokenHash::of("tok-p77-stolen")),
        (Vice::OffTheSubject, _) => message = Message::Acknowledged,
        _ => {}
    }
    spoilt.message = Some(message);
    spoilt
}
