//! What shows a league beside its table, as plain data: bracket, score groups, groups, ladder.

use league_core::league::format::BracketPart;
use league_protocol::id::MatchId;

use super::{PlayerRef, SeatOutcome};

/// What the format of a league shows; what does not fit it is empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeagueViews {
    /// All ties, in the order of their stages.
    pub bracket: Vec<Tie>,
    pub scores: ScoreTable,
    /// On the board at most [`MAX_ROWS`](crate::league_view::MAX_ROWS) players in all.
    pub groups: Vec<Group>,
    /// The top first; on the board at most [`MAX_ROWS`](crate::league_view::MAX_ROWS).
    pub ladder: Vec<LadderRow>,
    /// How many players of the groups or the ladder are left out.
    pub unlisted: usize,
}

/// A tie of a bracket.
#[derive(Debug, Clone, PartialEq)]
pub struct Tie {
    pub part: BracketPart,
    pub stage: u32,
    /// `None` for a tie that has no two players, which other ties do not name.
    pub number: Option<u32>,
    pub places: [TiePlace; 2],
    pub games: Vec<TieGame>,
}

/// A place in a tie.
#[derive(Debug, Clone, PartialEq)]
pub struct TiePlace {
    pub player: TiePlayer,
    /// Games won.
    pub wins: u32,
    /// Whether the player goes on.
    pub is_winner: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TiePlayer {
    Known(PlayerRef),
    /// No player comes here.
    Empty,
    /// By the number of the tie.
    WinnerOf(u32),
    LoserOf(u32),
}

/// A game of a tie.
#[derive(Debug, Clone, PartialEq)]
pub struct TieGame {
    pub match_id: MatchId,
    /// Of both places; `None` until the match is over.
    pub outcomes: Option<[SeatOutcome; 2]>,
}

/// The rounds of each player, in groups of equal points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScoreTable {
    /// How many rounds there are.
    pub rounds: u32,
    /// The rounds before those that are shown.
    pub before: u32,
    /// The last round that is shown; at most
    /// [`MAX_SCORE_ROUNDS`](crate::league_view::MAX_SCORE_ROUNDS) are.
    pub last: u32,
    /// The tiebreakers that are shown, in words.
    pub tiebreakers: Vec<&'static str>,
    /// The first first; at most [`MAX_SCORES`](crate::league_view::MAX_SCORES).
    pub rows: Vec<ScoreRow>,
    /// How many players are left out.
    pub unlisted: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRow {
    /// Such as `=2` for a shared place.
    pub place: String,
    pub player: PlayerRef,
    pub points: u32,
    /// How many players have as many points.
    pub group: usize,
    /// A cell for each round that is shown and has begun.
    pub cells: Vec<ScoreCell>,
    /// What each tiebreaker says.
    pub figures: Vec<f64>,
    /// The tiebreaker that put it below the row above, in words, if the points did not.
    pub decided_by: Option<&'static str>,
}

/// A player in a round.
#[derive(Debug, Clone, PartialEq)]
pub enum ScoreCell {
    Played {
        match_id: MatchId,
        opponent: PlayerRef,
        /// The seat of the player, 0 for A.
        seat: usize,
        /// `None` until the match is over.
        outcome: Option<SeatOutcome>,
        /// The points of the player after the round.
        points: u32,
    },
    /// Without an opponent, and paid for it.
    Bye { points: u32 },
    /// Not paired.
    Out,
}

/// A group with its own table.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Such as `A`.
    pub name: String,
    pub rows: Vec<GroupPlayer>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GroupPlayer {
    pub player: PlayerRef,
    pub played: u32,
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
    pub points: u32,
    /// Whether it goes on; `None` while that is open.
    pub goes_on: Option<bool>,
}

/// A player on a ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderRow {
    pub player: PlayerRef,
    /// Places gained in the last round that has a result; negative if it fell.
    pub climbed: i64,
}
