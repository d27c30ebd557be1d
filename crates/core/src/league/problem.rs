//! What can be wrong with the report of a referee that may report.

use league_protocol::id::{GameType, LeagueId, PlayerId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a report is not believed.
///
/// It is written into the journal while the match may still be running, so it never repeats a
/// choice, a number or a seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum ReportProblem {
    /// Another league.
    #[error("this is not league `{0}`")]
    League(LeagueId),
    /// Another round.
    #[error("the match belongs to round `{expected}`, not `{found}`")]
    Round {
        /// The match's round.
        expected: u32,
        /// The round that was told.
        found: u32,
    },
    /// Another game.
    #[error("the league does not play `{0}`")]
    Game(GameType),
    /// Other players, or at other seats.
    #[error("the players are `{}` at A and `{}` at B", .0[0], .0[1])]
    Players([PlayerId; 2]),
    /// A technical loss of someone who does not sit there, or of nobody, or beside another end.
    #[error("`failed` names the one or two players of a technical loss, and nobody otherwise")]
    Failed,
    /// A winner that does not go with the status.
    #[error("the winner does not go with the status")]
    Winner,
    /// Points that do not follow.
    #[error("the points of this end are `{}` and `{}`", .0[0], .0[1])]
    Points([u32; 2]),
    /// A choice of someone who does not sit there.
    #[error("`choices` names the players of the match only")]
    Choosers,
    /// A part that is longer than it can honestly be.
    #[error("`{0}` is too long")]
    TooLong(ReportPart),
    /// The game never came to an end, and yet there are details of one.
    #[error("a technical loss has no details of the game")]
    Unplayed,
    /// The draw is not opened.
    #[error("the draw must be opened: commitment, seed, attempt, nonces")]
    DrawMissing,
    /// The draw does not keep the promise.
    #[error("the opened draw is not the one that was promised for this match and attempt")]
    Draw,
    /// The choices are no whole game.
    #[error("the choices do not make a game that ends")]
    Choices,
    /// The choices and the draw lead to another end.
    #[error("the choices and the draw lead to another end")]
    End,
    /// The choices and the draw lead to other details.
    #[error("the choices and the draw lead to other details")]
    Details,
}

/// A part of a report that has a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportPart {
    /// The sentence for people.
    Reason,
    /// What a player chose.
    Choices,
    /// What a player put into the draw.
    Nonces,
}

impl std::fmt::Display for ReportPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reason => "reason",
            Self::Choices => "choices",
            Self::Nonces => "nonces",
        })
    }
}

impl ReportProblem {
    /// Where in the report the problem is.
    pub const fn path(&self) -> &'static str {
        match self {
            Self::League(_) => "league_id",
            Self::Round { .. } => "round_id",
            Self::Game(_) => "game_type",
            Self::Players(_) => "result.players",
            Self::Failed => "result.failed",
            Self::Winner => "result.winner",
            Self::Points(_) => "result.score",
            Self::Choosers | Self::Choices | Self::TooLong(ReportPart::Choices) => {
                "result.details.choices"
            }
            Self::TooLong(ReportPart::Reason) => "result.reason",
            Self::TooLong(ReportPart::Nonces) => "result.draw.nonces",
            Self::DrawMissing | Self::Draw => "result.draw",
            Self::End => "result.status",
            Self::Unplayed | Self::Details => "result.details",
        }
    }
}
