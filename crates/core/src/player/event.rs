//! The events of a player.
//!
//! Journal events can be serialised; memory events cannot, so that no choice reaches a file before
//! its match is over.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{MoveResponse, Rows, SignedMove, StandingRow};
use league_protocol::secret::Commitment;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::command::Fallback;
use super::memory::MatchRecord;
use super::news::DrawProblem;
use crate::machine::Persistence;

/// A fact of a player's life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The manager admitted the player.
    Enrolled {
        /// Its id from now on.
        player_id: PlayerId,
        /// The league it is in.
        league_id: LeagueId,
        /// The address it is known by there.
        endpoint: String,
        /// What the manager's token must hash to; `None` if this answer brought none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        manager: Option<TokenHash>,
        at: Timestamp,
    },
    /// The manager did not admit the player, and asking again would not help.
    Rejected {
        /// Why, in the manager's words.
        reason: String,
        at: Timestamp,
    },
    /// A match of this player was announced, and the token its referee will show.
    Announced {
        round_id: u32,
        match_id: MatchId,
        /// Counts the referees that were told to run this match, from 1; a higher one takes the
        /// place of all that belongs to a lower one.
        attempt: u32,
        /// What the token must hash to.
        token: TokenHash,
        /// What the referee's own token hashes to, which it may show as well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        referee_token: Option<TokenHash>,
        /// The promise on its draw, where one was made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commitment: Option<Commitment>,
    },
    /// The draw of a match does not fit its commitment, or not what this player sent.
    DrawDisputed {
        match_id: MatchId,
        problem: DrawProblem,
        at: Timestamp,
    },
    /// A match is over and belongs to the player's memory.
    Remembered { record: Arc<MatchRecord> },
    LeagueCompleted {
        league_id: LeagueId,
        champion: Option<PlayerId>,
        at: Timestamp,
    },

    /// The manager is asked to admit the player.
    #[serde(skip)]
    ManagerAsked {
        /// Whether the token of an earlier registration is shown, if there is one.
        show_token: bool,
        /// Counts the letters to the manager, from 1.
        number: u32,
        at: Timestamp,
    },
    /// The manager gave no answer that could be used.
    #[serde(skip)]
    ManagerSilent {
        code: Code,
        /// When it is asked again.
        retry_at: Timestamp,
    },
    /// The manager nodded at a registration and left the answer for later.
    #[serde(skip)]
    ManagerNodded {
        /// When it is asked again, if no answer comes.
        retry_at: Timestamp,
    },
    /// The player has the token that it comes back and signs with.
    #[serde(skip)]
    ReturnTokenKept { token: AuthToken },
    /// An attempt was announced in this life, so that the player would know of each call in it.
    #[serde(skip)]
    AttemptWatched { match_id: MatchId },
    /// A referee found the player's token wrong.
    #[serde(skip)]
    TokenDoubted { match_id: MatchId },
    #[serde(skip)]
    Joined {
        match_id: MatchId,
        game_type: GameType,
        /// The opponent, if the invitation named it.
        opponent_id: PlayerId,
        accept: bool,
        at: Timestamp,
    },
    #[serde(skip)]
    Asked {
        match_id: MatchId,
        question: MoveQuestion,
    },
    #[serde(skip)]
    Answered {
        match_id: MatchId,
        /// Which move of this player it is.
        turn: u32,
        response: Arc<MoveResponse>,
        /// Why the chosen move was replaced, if it was.
        fallback: Option<Fallback>,
    },
    /// The referee refused a move, so that the next request is thought about anew.
    #[serde(skip)]
    MoveRefused { match_id: MatchId },
    /// A match that is remembered already has ended again.
    #[serde(skip)]
    Left { match_id: MatchId },
    /// The table of the league changed.
    #[serde(skip)]
    Ranked { standings: Rows<StandingRow> },
}

/// A move that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct MoveQuestion {
    /// Which move of this player it is, from 1.
    pub turn: u32,
    pub game_type: GameType,
    /// What kind of move is asked for.
    pub move_type: Arc<str>,
    /// What the player may see.
    pub view: Arc<Value>,
    /// What it may do; never empty.
    pub options: Arc<[Value]>,
    /// The moves so far, which the proof of the move covers.
    pub moves: Arc<[SignedMove]>,
    /// Whether the player signs its answer, so that it gives only one.
    pub signed: bool,
    /// Whether the options are those of the rules, so that a refusal does not change the answer.
    pub by_rules: bool,
}

impl Event {
    /// Where the fact is kept.
    pub fn keep(&self) -> Persistence {
        match self {
            Self::Enrolled { .. }
            | Self::Rejected { .. }
            | Self::Announced { .. }
            | Self::DrawDisputed { .. }
            | Self::Remembered { .. }
            | Self::LeagueCompleted { .. } => Persistence::Journal,
            Self::ManagerAsked { .. }
            | Self::ManagerSilent { .. }
            | Self::ManagerNodded { .. }
            | Self::ReturnTokenKept { .. }
            | Self::AttemptWatched { .. }
            | Self::TokenDoubted { .. }
            | Self::Joined { .. }
            | Self::Asked { .. }
            | Self::Answered { .. }
            | Self::MoveRefused { .. }
            | Self::Left { .. }
            | Self::Ranked { .. } => Persistence::Memory,
        }
    }
}
