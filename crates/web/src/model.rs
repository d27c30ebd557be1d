//! What the pages show, as plain facts: no HTML, no JSON, no file.
//!
//! The [`Gallery`](crate::gallery::Gallery) fills these in, `page` draws them.

mod pages;
mod rounds;

use std::time::Duration;

use league_core::league::{AgentState, Phase};
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::time::Timestamp;

pub use pages::{
    Deviation, Failure, Life, MatchPage, Meeting, PlayerPage, Position, Said, Verbatim,
};
pub use rounds::{Coming, Course, Encounter, RoundPage};

/// The first page: a league at a glance.
#[derive(Debug, Clone, PartialEq)]
pub struct Board {
    /// Which league.
    pub league: LeagueCard,
    /// How far it is.
    pub progress: Progress,
    /// The table from its top; at most [`MOST_ROWS`](crate::gallery::MOST_ROWS) rows.
    pub standings: Vec<Standing>,
    /// How many players the table leaves out.
    pub unlisted: usize,
    /// Matches of this round without a result; at most [`MOST_TILES`](crate::gallery::MOST_TILES).
    pub tiles: Vec<Tile>,
    /// How many such matches are left out.
    pub untiled: usize,
    /// The latest results, newest first.
    pub latest: Vec<ResultLine>,
    /// Who met whom.
    pub cross: Cross,
    /// Points over rounds.
    pub chart: Chart,
    /// Everyone that takes part: referees, then players; as many as the table has rows.
    pub agents: Vec<Agent>,
    /// Whether all that is shown follows from the journal, if it was looked into.
    pub verdict: Option<Verdict>,
}

/// Which league.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueCard {
    /// Its id.
    pub league_id: String,
    /// Its name for people.
    pub title: String,
    /// What is played.
    pub game_type: String,
    /// What is played, for people.
    pub game: String,
    /// Whether it gathers, runs or is over.
    pub phase: Phase,
    /// How many players and referees are in.
    pub players: usize,
    /// How many referees are in.
    pub referees: usize,
    /// Whether all chance came from a seed that was given: not for prizes.
    pub reproducible: bool,
    /// Whether messages are read strictly.
    pub strict: bool,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it was over.
    pub ended: Option<Timestamp>,
    /// The present round, from 1; 0 before the first.
    pub round: u32,
    /// Results so far.
    pub played: u64,
    /// Matches in all; 0 before the league began.
    pub matches: u64,
    /// Why it does not go on though it is not over; `None` while somebody plays it.
    pub standstill: Option<Standstill>,
}

/// A league that is not over and that nobody plays on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standstill {
    /// When its last entry was written.
    pub since: Timestamp,
    /// The command that takes it up.
    pub resume: String,
}

impl LeagueCard {
    /// Whether all its matches are played.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Completed
    }
}

/// How far a league is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Progress {
    /// The present round, from 1; 0 before the first.
    pub round: u32,
    /// How many rounds there are; 0 before the league began.
    pub rounds: u32,
    /// Results so far.
    pub played: u64,
    /// Matches in all; 0 before the league began.
    pub matches: u64,
    /// Results in the present round.
    pub round_played: u32,
    /// Matches of a round.
    pub round_matches: u32,
    /// Technical losses so far.
    pub technical_losses: u64,
    /// How long the rest will take at the pace so far.
    pub time_left: Option<Duration>,
    /// How long it has taken.
    pub elapsed: Option<Duration>,
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// 1, 2, 3, …
    pub rank: u32,
    /// How many places it has gained since the last round ended; negative if it fell.
    pub climbed: i64,
    /// Who.
    pub player_id: PlayerId,
    /// Its name; whatever its author wrote.
    pub name: String,
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
    /// Its last five matches, oldest first.
    pub form: Vec<Met>,
    /// How often it left the protocol.
    pub deviations: u64,
    /// Whether it takes part still.
    pub state: AgentState,
}

/// How a match ended for one player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It won.
    Won,
    /// Nobody won.
    Drew,
    /// It lost.
    Lost,
    /// It lost by not playing.
    Forfeited,
}

/// A match as one of its players sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Met {
    /// Which match.
    pub match_id: MatchId,
    /// Whom.
    pub opponent: PlayerId,
    /// How it ended for the player.
    pub ended: Ended,
    /// The points of the player.
    pub points: u32,
}

/// A match that is not over.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// Which match.
    pub match_id: MatchId,
    /// Both players, seat A first.
    pub players: [Named; 2],
    /// Who runs it, or will.
    pub referee: Option<RefereeId>,
    /// How far it is.
    pub state: TileState,
    /// Counts the referees that were told to run it.
    pub attempt: u32,
    /// Since when it is so.
    pub since: Option<Timestamp>,
}

/// How far a match is that is not over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TileState {
    /// All moves are in; chance decides.
    Drawing,
    /// Moves are asked for.
    Choosing,
    /// Players are invited.
    Inviting,
    /// Its referee was told to run it.
    Ordered,
    /// Its referee has others to run first.
    Queued,
    /// No referee can take it for now.
    Waiting,
}

/// A player by id and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its id.
    pub id: PlayerId,
    /// Its name; whatever its author wrote.
    pub name: String,
}

/// A result in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultLine {
    /// Which match.
    pub match_id: MatchId,
    /// Both players, seat A first.
    pub players: [Named; 2],
    /// The seat that won, 0 or 1.
    pub winner: Option<usize>,
    /// Whether a seat did not play.
    pub technical: bool,
    /// One sentence for people.
    pub reason: String,
    /// When the result was taken.
    pub at: Timestamp,
}

/// Who met whom, in the order of ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cross {
    /// The players, at most [`MOST_CROSSED`](crate::gallery::MOST_CROSSED).
    pub players: Vec<Named>,
    /// For each player a cell for each player; `None` on the diagonal and where there was no
    /// match yet.
    pub cells: Vec<Vec<Option<Cell>>>,
    /// How many players are left out.
    pub unlisted: usize,
}

/// A match in the cross table, as the player of its row sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Which match.
    pub match_id: MatchId,
    /// How it ended; `None` while it is played.
    pub ended: Option<Ended>,
}

/// Points over rounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// A line for each player, the leader first; at most
    /// [`MOST_LINES`](crate::gallery::MOST_LINES).
    pub lines: Vec<Line>,
    /// How many rounds the league has.
    pub rounds: u32,
}

/// The points of one player after each round that is over, from 0 before the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Who.
    pub player: Named,
    /// Points after 0, 1, 2, … rounds.
    pub points: Vec<u32>,
}

/// Someone that takes part.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// Its name; whatever its author wrote.
    pub name: String,
    /// Whether it is a referee.
    pub is_referee: bool,
    /// Whether it takes part.
    pub state: AgentState,
    /// How it speaks: `v2`, `v2-api`, `v1`.
    pub dialect: &'static str,
    /// Its own version; whatever its author wrote.
    pub version: String,
    /// How long it takes to answer, if anyone here has called it.
    pub latency: Option<Latency>,
    /// Matches lost by not playing; for a referee matches that were taken from it.
    pub technical_losses: u32,
    /// How often it left the protocol.
    pub deviations: u64,
}

/// How long an agent takes to answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// How many calls were measured.
    pub calls: u64,
    /// Half of them took at most so long, in milliseconds.
    pub median: f64,
    /// Nineteen of twenty took at most so long, in milliseconds.
    pub p95: f64,
}

/// Whether a league is what its journal says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether all that was looked at holds.
    pub holds: bool,
    /// What was looked at, or what is wrong and where.
    pub words: String,
}
