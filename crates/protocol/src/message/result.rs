//! How a match ended, and what that is worth.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fault::Code;
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::secret::{Commitment, Seed};

use super::by_player::ByPlayer;

/// What a result is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// Points for a win.
    pub win: u32,
    /// Points for a draw.
    pub draw: u32,
    /// Points for a loss.
    pub loss: u32,
    /// Points for a loss by not playing.
    pub technical_loss: u32,
}

impl Default for Score {
    fn default() -> Self {
        Self {
            win: 3,
            draw: 1,
            loss: 0,
            technical_loss: 0,
        }
    }
}

/// The three ways a match ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MatchStatus {
    /// One player won by playing.
    Win,
    /// Nobody won.
    Draw,
    /// One player, or both, did not play.
    TechnicalLoss,
}

/// How a match ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchResult {
    /// Seat A and seat B.
    pub players: [PlayerId; 2],
    /// Which of the three ways.
    pub status: MatchStatus,
    /// Who won, if anyone did.
    pub winner: Option<PlayerId>,
    /// The points of seat A and seat B.
    pub points: [u32; 2],
    /// Who did not play, and for what cause; empty unless `status` is a technical loss.
    #[serde(default, skip_serializing_if = "ByPlayer::is_empty")]
    pub failed: ByPlayer<Code>,
    /// What each player chose, as far as it came.
    pub choices: ByPlayer<Value>,
    /// What the game tells of its end, such as the drawn number.
    pub details: Map<String, Value>,
    /// One sentence for people.
    pub reason: String,
    /// How the draw came about, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<OpenedDraw>,
}

impl MatchResult {
    /// The points of a player, if it played in this match.
    pub fn points_of(&self, player: &PlayerId) -> Option<u32> {
        self.players
            .iter()
            .position(|seated| seated == player)
            .map(|seat| self.points[seat])
    }
}

/// All that is needed to draw the number again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedDraw {
    /// What was promised before the round.
    pub commitment: Commitment,
    /// The secret behind it.
    pub seed: Seed,
    /// Counts the referees that were told to run this match, from 1.
    pub attempt: u32,
    /// The players' own shares; an empty text where a player sent none.
    pub nonces: [String; 2],
}

/// The end of a match, told to one player.
#[derive(Debug, Clone, PartialEq)]
pub struct GameOver {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// What was played.
    pub game_type: GameType,
    /// Who is told; some dialects tell it from this side.
    pub receiver: PlayerId,
    /// How it ended.
    pub result: Arc<MatchResult>,
}

/// The end of a match, told to the manager.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchResultReport {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Counts the referees that were told to run this match, from 1.
    pub attempt: u32,
    /// What was played.
    pub game_type: GameType,
    /// How it ended.
    pub result: Arc<MatchResult>,
}
