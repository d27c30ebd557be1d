//! One match, from the order to run it to the last move.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::secret::{Commitment, Seed};
use crate::sender::{Dialect, Speech};
use crate::time::Timestamp;
use crate::token::{AuthToken, TokenHash};

use super::result::Score;
use super::round::WinLossDraw;

/// How a match goes forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// By itself, to the end.
    #[default]
    Auto,
    /// Step by step, by the tools of the referee.
    Manual,
}

/// Where a match stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MatchState {
    /// Players are invited.
    WaitingForPlayers,
    /// Moves are asked for.
    CollectingChoices,
    /// All moves are in; chance decides.
    DrawingNumber,
    /// The result stands.
    Finished,
}

impl MatchState {
    /// The state as the documents write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WaitingForPlayers => "WAITING_FOR_PLAYERS",
            Self::CollectingChoices => "COLLECTING_CHOICES",
            Self::DrawingNumber => "DRAWING_NUMBER",
            Self::Finished => "FINISHED",
        }
    }
}

/// A seat at the table, as players are told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Seat A, who begins where someone begins.
    #[serde(rename = "PLAYER_A")]
    A,
    /// Seat B.
    #[serde(rename = "PLAYER_B")]
    B,
}

/// The manager's order to run a match, with the secrets that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct StartMatch {
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
    /// The game's own settings; `null` for its defaults.
    pub settings: Value,
    /// How it goes forward.
    pub mode: Mode,
    /// The hash of the token by which people step it, if it is stepped.
    pub step_token: Option<TokenHash>,
    /// Whether players are read strictly.
    pub strict: bool,
    /// What a result is worth.
    pub score: Score,
    /// The secret behind the draw.
    pub seed: Seed,
    /// Seat A and seat B.
    pub players: [StartMatchPlayer; 2],
}

/// What a referee has to know of a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartMatchPlayer {
    /// Who.
    pub player_id: PlayerId,
    /// Where it answers.
    pub endpoint: Arc<str>,
    /// How it speaks.
    pub dialect: Dialect,
    /// How it takes calls, if that is known.
    pub speech: Option<Speech>,
    /// The hash of the token it proves itself with.
    pub token_hash: TokenHash,
    /// What the referee shows to this player to prove itself.
    pub match_token: AuthToken,
    /// Its record so far.
    pub record: WinLossDraw,
}

/// The referee takes the match, or not and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartMatchAck {
    /// Which match.
    pub match_id: MatchId,
    /// Whether the referee runs it.
    pub accepted: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// An invitation to one player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameInvitation {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// What is played.
    pub game_type: GameType,
    /// The seat of the one invited.
    pub role: Role,
    /// Who sits opposite.
    pub opponent_id: PlayerId,
    /// The promise on the draw.
    pub commitment: Option<Commitment>,
    /// How long a move may take, in whole seconds.
    pub move_seconds: u32,
}

/// The player comes, or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameJoinAck {
    /// Which match.
    pub match_id: MatchId,
    /// Who says so; some dialects leave it out.
    pub player_id: Option<PlayerId>,
    /// When the player says it arrived.
    pub arrival: Option<Timestamp>,
    /// Whether it comes.
    pub accept: bool,
}

/// Both players are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameStart {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// What is played.
    pub game_type: GameType,
    /// Who is asked first.
    pub current_player: PlayerId,
    /// How long a move may take, in whole seconds.
    pub move_seconds: u32,
}

/// A request for one move.
#[derive(Debug, Clone, PartialEq)]
pub struct MoveCall {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Who is asked.
    pub player_id: PlayerId,
    /// Who sits opposite.
    pub opponent_id: PlayerId,
    /// What is played.
    pub game_type: GameType,
    /// What kind of move is asked for.
    pub move_type: Arc<str>,
    /// The moves that are legal now.
    pub options: Arc<[Value]>,
    /// What this seat may see of the game.
    pub view: Arc<Value>,
    /// Which move of this player in this match it is, from 1.
    pub turn_number: u32,
    /// The player's record so far.
    pub record: WinLossDraw,
    /// When the answer must be in.
    pub deadline: Timestamp,
    /// How long a move may take, in whole seconds.
    pub move_seconds: u32,
}

/// A move.
#[derive(Debug, Clone, PartialEq)]
pub struct MoveResponse {
    /// Which match.
    pub match_id: MatchId,
    /// Who moves; some dialects leave it out.
    pub player_id: Option<PlayerId>,
    /// What is played.
    pub game_type: GameType,
    /// What kind of move it is; only games without messages of their own say so.
    pub move_type: Option<Arc<str>>,
    /// The move itself.
    pub choice: Value,
    /// The player's own share in the draw.
    pub nonce: Option<String>,
    /// Why, in the player's words; never shown to the opponent before the end.
    pub reasoning: Option<String>,
}

/// A move was looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayValidation {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Whose move.
    pub player_id: PlayerId,
    /// The move, where the receiver may see it.
    pub choice: Option<Value>,
    /// Why it was not taken; `None` if it was.
    pub error: Option<String>,
}
