//! Errors that are told to an agent.

use serde_json::{Map, Value};

use crate::fault::Code;
use crate::id::{LeagueId, MatchId, PlayerId};
use crate::time::Timestamp;

use super::play::MatchState;

/// The manager, or any agent, refuses a message.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueError {
    /// Which rule.
    pub code: Code,
    /// What kind of message was refused, if it could be told.
    pub original_message_type: Option<String>,
    /// What went wrong and what to do, in a sentence for people.
    pub detail: String,
    /// Where in the message, as a path such as `player_meta.game_types[0]`.
    pub path: Option<String>,
    /// More that helps to find the cause; never a token.
    pub context: Map<String, Value>,
}

impl LeagueError {
    /// A refusal with a code and a sentence.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            original_message_type: None,
            detail: detail.into(),
            path: None,
            context: Map::new(),
        }
    }
}

/// Something went wrong in a match; told to the player whose doing it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameError {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// Whose doing.
    pub player_id: PlayerId,
    /// Which rule.
    pub code: Code,
    /// What went wrong, in a sentence for people.
    pub detail: String,
    /// The message that is still owed, in the words of `league.v2`.
    pub action_required: &'static str,
    /// Where the match stands.
    pub state: MatchState,
    /// How many attempts have failed.
    pub retry_count: u32,
    /// How many attempts there are in all.
    pub max_retries: u32,
    /// When the next attempt begins; `None` if there is none.
    pub next_retry_at: Option<Timestamp>,
}
