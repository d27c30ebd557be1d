//! What the bringer of a command is answered.

use std::sync::Arc;

use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{GameJoinAck, Message, MoveResponse, StandingRow, WinLossDraw};
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde_json::Value;

use super::dispute::DrawProblem;
use super::memory::{MatchRecord, Opponent, Statistics};

/// What the bringer of a command is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Heard, nothing to add.
    Acknowledged,
    /// The player is admitted.
    TokenGranted {
        /// What proves the player; the shell keeps it from now on and drops any older one.
        token: AuthToken,
        /// What it comes back with; if none came, one that is kept of this league stays good.
        return_token: Option<AuthToken>,
    },
    /// The player is not admitted, and asking again would not help.
    Rejected {
        /// Why, in the manager's words.
        reason: String,
    },
    /// The answer to an invitation.
    Joined(Box<GameJoinAck>),
    /// A choice is wanted: think, then come back with
    /// [`Command::Chosen`](super::Command::Chosen).
    Think(Box<Think>),
    /// A move, ready to be sent.
    Move {
        /// The move.
        response: Arc<MoveResponse>,
        /// Why it is not the one that was chosen, if it is not.
        fallback: Option<Fallback>,
    },
    /// How the player stands.
    State(Box<PlayerView>),
}

impl Reply {
    /// The message that answers the caller; `None` where the shell has something to do first, or
    /// where no other agent is waiting.
    pub fn into_message(self) -> Option<Message> {
        match self {
            Self::Acknowledged => Some(Message::Acknowledged),
            Self::Joined(ack) => Some(Message::GameJoinAck(ack)),
            Self::Move { response, .. } => Some(Message::MoveResponse(response)),
            Self::TokenGranted { .. } | Self::Rejected { .. } | Self::Think(_) | Self::State(_) => {
                None
            }
        }
    }
}

/// All that a strategy may know for one choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Think {
    /// In which match.
    pub match_id: MatchId,
    /// Which move of this player it is, from 1.
    pub turn: u32,
    /// What is played.
    pub game_type: GameType,
    /// What kind of move is wanted.
    pub move_type: Arc<str>,
    /// What the player may see.
    pub view: Arc<Value>,
    /// What it may do; never empty.
    pub options: Arc<[Value]>,
    /// When thinking must stop for the answer to be in time.
    pub until: Timestamp,
    /// Who sits opposite.
    pub opponent_id: PlayerId,
    /// What is remembered of it; nothing if they never met.
    pub opponent: Option<Arc<Opponent>>,
    /// The player's record as the referee tells it.
    pub record: WinLossDraw,
}

/// Why a move is not the one that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// Nothing was chosen in time.
    Missing,
    /// What was chosen was not among the options.
    Illegal,
}

/// How a player stands; open choices are not in it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayerView {
    /// The name that people see.
    pub display_name: String,
    /// Its id, once it is admitted.
    pub player_id: Option<PlayerId>,
    /// Its league, once it is admitted.
    pub league_id: Option<LeagueId>,
    /// Where it is on its way through the league.
    pub phase: Phase,
    /// Its figures over all remembered matches.
    pub statistics: Statistics,
    /// Its row in the last table that it was told.
    pub standing: Option<StandingRow>,
    /// The matches that it plays now.
    pub open_matches: Vec<MatchId>,
    /// The latest matches, oldest first.
    pub history: Vec<Arc<MatchRecord>>,
    /// The latest draws that it does not believe, oldest first.
    pub disputed: Vec<(MatchId, DrawProblem)>,
}

/// Where a player is on its way through a league.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was tried yet.
    Idle,
    /// It asks to be admitted.
    Registering,
    /// It was not admitted.
    Rejected,
    /// It is in.
    Enrolled,
    /// The league is over.
    Completed,
}
