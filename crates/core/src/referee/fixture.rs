//! A match as it was ordered: what may be written down of it, and what may not.

use std::fmt;
use std::sync::Arc;

use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{Mode, Score, StartMatch, WinLossDraw};
use league_protocol::secret::{Commitment, Seed};
use league_protocol::sender::{Dialect, Speech};
use league_protocol::token::{AuthToken, TokenHash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::draw;

/// A match as it was ordered, without its secrets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fixture {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Counts the referees that were told to run this match, from 1.
    pub attempt: u32,
    /// What is played.
    pub game_type: GameType,
    /// The game's own settings.
    pub settings: Value,
    /// How it goes forward.
    pub mode: Mode,
    /// The hash of the token by which people step it, if it is stepped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_token: Option<TokenHash>,
    /// Whether players are read strictly.
    pub strict: bool,
    /// What a result is worth.
    pub score: Score,
    /// The promise on the draw.
    pub commitment: Commitment,
    /// Seat A and seat B.
    pub players: [Seated; 2],
}

impl Fixture {
    /// Takes the part of an order that may be written down.
    pub fn of(order: &StartMatch) -> Self {
        Self {
            league_id: order.league_id.clone(),
            round_id: order.round_id,
            match_id: order.match_id.clone(),
            attempt: order.attempt,
            game_type: order.game_type.clone(),
            settings: order.settings.clone(),
            mode: order.mode,
            step_token: order.step_token,
            strict: order.strict,
            score: order.score,
            commitment: draw::commitment(&order.league_id, &order.match_id, &order.seed),
            players: [0, 1].map(|seat| {
                let player = &order.players[seat];
                Seated {
                    player_id: player.player_id.clone(),
                    endpoint: player.endpoint.clone(),
                    dialect: player.dialect,
                    speech: player.speech,
                    token_hash: player.token_hash,
                    record: player.record,
                }
            }),
        }
    }

    /// Whether both say the same of the match, wherever its players are reached.
    pub fn is_same_match(&self, other: &Self) -> bool {
        let seated = |fixture: &Self| [0, 1].map(|seat| fixture.players[seat].player_id.clone());
        let rest = |fixture: &Self| {
            (
                fixture.round_id,
                fixture.attempt,
                fixture.mode,
                fixture.strict,
            )
        };
        self.match_id == other.match_id
            && self.league_id == other.league_id
            && self.game_type == other.game_type
            && self.settings == other.settings
            && self.score == other.score
            && self.commitment == other.commitment
            && rest(self) == rest(other)
            && seated(self) == seated(other)
    }
}

/// A player of a match, as far as it may be written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seated {
    /// Who.
    pub player_id: PlayerId,
    /// Where it answers.
    pub endpoint: Arc<str>,
    /// How it speaks.
    pub dialect: Dialect,
    /// How it takes calls, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speech: Option<Speech>,
    /// The hash of the token it proves itself with.
    pub token_hash: TokenHash,
    /// Its record so far.
    pub record: WinLossDraw,
}

/// The secrets of a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secrets {
    /// What the draw is made of.
    pub seed: Seed,
    /// What proves the referee to the player at seat A and at seat B.
    pub match_tokens: [AuthToken; 2],
}

impl Secrets {
    /// Takes the part of an order that may not be written down.
    pub fn of(order: &StartMatch) -> Self {
        Self {
            seed: order.seed,
            match_tokens: [0, 1].map(|seat| order.players[seat].match_token.clone()),
        }
    }
}

/// A move that nobody else may see yet; it does not print itself.
#[derive(Clone, PartialEq)]
pub struct Sealed {
    /// The move.
    pub choice: Value,
    /// The player's own share in the draw.
    pub nonce: Option<String>,
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealed(…)")
    }
}

/// A sentence for one player alone: it may repeat what that player said. It does not print itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Aside(pub String);

impl fmt::Debug for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Aside(…)")
    }
}
