//! Questions to the manager and their answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{GameType, LeagueId, MatchId, PlayerId};

use super::round::StandingRow;

/// A question to the manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeagueQuery {
    /// Which league, if it was said.
    pub league_id: Option<LeagueId>,
    /// What is asked.
    pub query: Query,
    /// Whether it came as the API page's `QUERY_STANDINGS_REQUEST`.
    pub by_api_page: bool,
}

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// The table.
    Standings,
    /// Every round and its matches.
    Schedule,
    /// A player's next match.
    NextMatch(PlayerId),
    /// A player's own figures.
    PlayerStats(PlayerId),
}

impl Query {
    /// The type as the documents write it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Standings => "GET_STANDINGS",
            Self::Schedule => "GET_SCHEDULE",
            Self::NextMatch(_) => "GET_NEXT_MATCH",
            Self::PlayerStats(_) => "GET_PLAYER_STATS",
        }
    }
}

/// The manager's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueQueryResponse {
    /// Which league.
    pub league_id: LeagueId,
    /// The question's type, as the documents write it.
    pub query_type: &'static str,
    /// The answer, or why there is none.
    pub answer: Result<QueryAnswer, String>,
    /// Whether it is told as the API page's `QUERY_STANDINGS_RESPONSE`.
    pub by_api_page: bool,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryAnswer {
    /// The table.
    Standings {
        /// The last round that is over.
        round_id: u32,
        /// The rows.
        rows: Arc<[StandingRow]>,
    },
    /// The rounds; large leagues give those that fit.
    Schedule {
        /// Rounds in all.
        total_rounds: u32,
        /// The rounds told.
        rounds: Arc<[RoundListing]>,
    },
    /// A player's next match.
    NextMatch(NextMatch),
    /// A player's own figures.
    PlayerStats(PlayerStats),
}

/// One round and its matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundListing {
    /// Which round.
    pub round_id: u32,
    /// Its matches.
    pub matches: Vec<MatchListing>,
}

/// One match of the schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchListing {
    /// Which match.
    pub match_id: MatchId,
    /// What is played.
    pub game_type: GameType,
    /// Who sits at seat A.
    pub player_a: PlayerId,
    /// Who sits at seat B.
    pub player_b: PlayerId,
}

/// A player's next match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextMatch {
    /// Which match.
    pub match_id: MatchId,
    /// Which round.
    pub round_id: u32,
    /// Who sits opposite.
    pub opponent_id: PlayerId,
    /// Where its referee answers, once one is assigned.
    pub referee_endpoint: Option<Arc<str>>,
}

/// A player's own figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerStats {
    /// The player's row in the table.
    pub row: StandingRow,
    /// The player's state in the league: `ACTIVE`, `SUSPENDED`, ….
    pub state: &'static str,
}
