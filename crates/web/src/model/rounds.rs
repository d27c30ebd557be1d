//! What the page of a round shows.

use league_protocol::id::{MatchId, RefereeId};
use league_protocol::time::Timestamp;

use super::{Ended, LeagueCard, Named, TileState, Verdict};

/// The page of one round: played, being played, or to come.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundPage {
    /// Which league.
    pub league: LeagueCard,
    /// Whether the league is what its journal says, if somebody looked.
    pub verdict: Option<Verdict>,
    /// Which round, from 1.
    pub round: u32,
    /// How many rounds there are.
    pub rounds: u32,
    /// Its matches in order; at most [`MOST_ROWS`](crate::gallery::MOST_ROWS).
    pub encounters: Vec<Encounter>,
    /// How many of its matches are left out.
    pub unlisted: usize,
    /// Who has no match in it, if the players are odd in number.
    pub resting: Option<Named>,
}

/// A match on the page of its round.
#[derive(Debug, Clone, PartialEq)]
pub struct Encounter {
    /// Which match.
    pub match_id: MatchId,
    /// Both players, seat A first.
    pub players: [Named; 2],
    /// Who runs it or ran it.
    pub referee: Option<RefereeId>,
    /// How far it is.
    pub course: Course,
}

/// How far a match of a round is.
#[derive(Debug, Clone, PartialEq)]
pub enum Course {
    /// Its round has not begun.
    Planned,
    /// It has no result yet.
    Open(TileState),
    /// It has its result.
    Over {
        /// How it ended for each seat.
        ends: [Ended; 2],
        /// The points of each seat.
        points: [u32; 2],
        /// One sentence for people.
        reason: String,
        /// When the result was taken.
        at: Timestamp,
    },
    /// It has its result, which is too old to be kept here.
    Forgotten,
}

/// A match that a player has still to play.
#[derive(Debug, Clone, PartialEq)]
pub struct Coming {
    /// Which match.
    pub match_id: MatchId,
    /// Which round.
    pub round: u32,
    /// Whom.
    pub opponent: Named,
    /// How far it is; `None` if its round has not begun.
    pub state: Option<TileState>,
}
