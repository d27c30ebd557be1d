//! Rounds, standings, and the end of a league.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::secret::Commitment;
use crate::token::AuthToken;

use super::query::RoundListing;

/// The league begins.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueStart {
    /// Which league.
    pub league_id: LeagueId,
    /// How many rounds it has.
    pub total_rounds: u32,
    /// How many players it has.
    pub total_players: u32,
    /// What is played.
    pub game_type: GameType,
    /// The rounds, or as many as fit.
    pub schedule: Arc<[RoundListing]>,
}

/// A round begins; what is told to one player.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundAnnouncement {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// The matches of the round, or the receiver's own in a large league.
    pub matches: Arc<[AnnouncedMatch]>,
    /// The receiver's own match and the token its referee will show; none for a bye.
    pub own: Option<(MatchId, AuthToken)>,
}

/// A match of a round that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnouncedMatch {
    /// Which match.
    pub match_id: MatchId,
    /// What is played.
    pub game_type: GameType,
    /// Who sits at seat A.
    pub player_a: PlayerId,
    /// Who sits at seat B.
    pub player_b: PlayerId,
    /// Where its referee answers.
    pub referee_endpoint: Arc<str>,
    /// The promise on the draw, where one is made.
    pub commitment: Option<Commitment>,
}

/// A round is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundCompleted {
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// The round that comes next, if one does.
    pub next_round_id: Option<u32>,
    /// How it went.
    pub summary: RoundSummary,
    /// The table at its end, for the dialect that tells it here.
    pub standings: Arc<[StandingRow]>,
}

/// How the matches of a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoundSummary {
    /// Matches in all.
    pub total_matches: u32,
    /// Matches won.
    pub wins: u32,
    /// Matches drawn.
    pub draws: u32,
    /// Matches lost by not playing.
    pub technical_losses: u32,
}

/// The table, after a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingsUpdate {
    /// Which league.
    pub league_id: LeagueId,
    /// After which round.
    pub round_id: u32,
    /// The rows, or the top ones and the receiver's own in a large league.
    pub standings: Arc<[StandingRow]>,
}

/// One player's row in the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingRow {
    /// 1, 2, 3, 4: no two rows share one.
    pub rank: u32,
    /// The rank by `v1`, where equal records share one.
    pub shared_rank: u32,
    /// Who.
    pub player_id: PlayerId,
    /// The name that people see.
    pub display_name: Arc<str>,
    /// Matches played.
    pub played: u32,
    /// Matches won.
    pub wins: u32,
    /// Matches drawn.
    pub draws: u32,
    /// Matches lost, technical losses among them.
    pub losses: u32,
    /// Matches lost by not playing.
    pub technical_losses: u32,
    /// Points.
    pub points: u32,
}

/// A player's record before a match, as it is told to that player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WinLossDraw {
    /// Matches won.
    pub wins: u32,
    /// Matches lost.
    pub losses: u32,
    /// Matches drawn.
    pub draws: u32,
}

/// The league is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeagueCompleted {
    /// Which league.
    pub league_id: LeagueId,
    /// How many rounds were played.
    pub total_rounds: u32,
    /// How many matches were played.
    pub total_matches: u32,
    /// Who came first.
    pub champion: Option<Champion>,
    /// The final table, or the top rows and the receiver's own in a large league.
    pub final_standings: Arc<[StandingRow]>,
}

/// Who came first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Champion {
    /// Who.
    pub player_id: PlayerId,
    /// The name that people see.
    pub display_name: Arc<str>,
    /// Points.
    pub points: u32,
    /// Matches won.
    pub wins: u32,
    /// Matches lost.
    pub losses: u32,
    /// Matches played.
    pub played: u32,
}
