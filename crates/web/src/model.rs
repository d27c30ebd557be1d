//! What the pages show, as plain data without HTML, JSON or files.
//!
//! The [`LeagueView`](crate::league_view::LeagueView) fills it in; [`page`](crate::page) draws it.

mod views;

use std::sync::Arc;
use std::time::Duration;

use league_core::league::{AgentState, Expulsion, Phase};
use league_core::rating::{RankGroup, SeatAdvantage};
use league_core::referee::SpectatorView;
use league_games::Picture;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, ModelUse, StandingRow};
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use views::{
    Group, GroupPlayer, LadderRow, LeagueViews, ScoreCell, ScoreRow, ScoreTable, Tie, TieGame,
    TiePlace, TiePlayer,
};

/// What every page shows of the league.
#[derive(Debug, Clone, PartialEq)]
pub struct LeagueSummary {
    pub league_id: String,
    pub title: String,
    pub game_type: String,
    /// The display name of the game; empty if the game is unknown.
    pub game: String,
    pub phase: Phase,
    pub players: usize,
    pub referees: usize,
    /// Whether all randomness came from a given seed, so that the league is not for prizes.
    pub reproducible: bool,
    /// How many results have a draw that is not proven.
    pub draws_not_proven: u64,
    /// The referees whose tokens players have seen.
    pub exposed_referees: Vec<String>,
    /// What the organiser did, the latest first; at most [`MAX_ACTS`](crate::league_view::MAX_ACTS).
    pub acts: Vec<OrganiserAct>,
    /// How many earlier acts are left out.
    pub unlisted_acts: u64,
    /// Whether the organiser holds the league.
    pub paused: bool,
    /// When registration closes, before the start.
    pub registration_until: Option<Timestamp>,
    /// How many players wait for a seat.
    pub waiting: usize,
    /// Whether messages are read strictly.
    pub strict: bool,
    pub started: Option<Timestamp>,
    pub ended: Option<Timestamp>,
    /// The current round, from 1; 0 before the first.
    pub round: u32,
    /// Matches that are over.
    pub played: u64,
    /// How many of them do not count.
    pub uncounted: u64,
    /// Matches in total; 0 before the league has started.
    pub matches: u64,
    /// Set if the league is unfinished and no process plays it.
    pub stall: Option<Stall>,
    /// Whether all that is shown follows from the journal; `None` if that was not checked.
    pub verification: Option<Verification>,
}

impl LeagueSummary {
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Completed
    }
}

/// Something that the organiser did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganiserAct {
    pub at: Timestamp,
    pub sentence: String,
    /// Empty if the organiser gave none.
    pub reason: String,
    /// Whether it is a message to all.
    pub is_message: bool,
}

/// An unfinished league that no process plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stall {
    /// When the last journal entry was written.
    pub since: Timestamp,
    /// The command that resumes the league.
    pub resume: String,
}

/// The result of verifying a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    pub holds: bool,
    /// What was checked, or what is wrong and where.
    pub detail: String,
}

/// The first page: a league at a glance.
#[derive(Debug, Clone, PartialEq)]
pub struct Board {
    pub league: LeagueSummary,
    pub progress: LeagueProgress,
    /// The table from its top; at most [`MAX_ROWS`](crate::league_view::MAX_ROWS) rows.
    pub standings: Vec<TableRow>,
    /// The players of the first three places of a league that is over, with these places; at most
    /// [`MAX_ROWS`](crate::league_view::MAX_ROWS).
    pub winners: Vec<(u32, StandingRow)>,
    /// How many players the table leaves out.
    pub unlisted: usize,
    /// Matches of this round without a result; at most
    /// [`MAX_TILES`](crate::league_view::MAX_TILES).
    pub tiles: Vec<Tile>,
    /// How many such matches are left out.
    pub untiled: usize,
    /// The latest results, newest first.
    pub latest: Vec<ResultLine>,
    /// `None` once the league has begun.
    pub lobby: Option<Lobby>,
    pub next: Option<NextRound>,
    /// Empty if the format shows something else.
    pub cross: Cross,
    pub views: LeagueViews,
    pub chart: Chart,
    /// `None` before a round has ended, and for very many players.
    pub ratings: Option<RatingTable>,
    /// Referees, then players; as many players as the table has rows.
    pub agents: Vec<AgentRow>,
}

/// How strong the players are by their results.
#[derive(Debug, Clone, PartialEq)]
pub struct RatingTable {
    /// The round that it was made after; of a season, how many leagues it was made of.
    pub round: u32,
    /// How many matches it was made of, where matches join a round while it is played.
    pub matches: Option<u64>,
    /// The strongest first.
    pub rows: Vec<RatedPlayer>,
    /// In how many of a hundred leagues players of equal strength would differ as much; `None` if that
    /// is too rare for luck.
    pub luck: Option<u32>,
    /// The probability that the first is truly the strongest, in per cent.
    pub certainty: u32,
    /// What seat A is worth among equals; `None` if the seat does not matter.
    pub seat: Option<SeatAdvantage>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RatedPlayer {
    pub player: PlayerRef,
    /// On the Elo scale.
    pub elo: i64,
    /// The 95 % interval.
    pub low: i64,
    pub high: i64,
    /// The ranks that it may truly have.
    pub ranks: RankGroup,
}

/// The round after the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextRound {
    pub round: u32,
    /// The first pairings, at most [`MAX_NEXT`](crate::league_view::MAX_NEXT).
    pub pairings: Vec<[PlayerRef; 2]>,
    /// When it begins if the current round is over by then; `None` if that has no set time.
    pub opens: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct LeagueProgress {
    /// How many rounds there are; 0 before the league has started.
    pub rounds: u32,
    /// Results in the current round.
    pub round_played: u32,
    /// Matches of the current round.
    pub round_matches: u32,
    pub technical_losses: u64,
    /// How long the rest will take at the current pace.
    pub time_left: Option<Duration>,
    pub elapsed: Option<Duration>,
}

impl Board {
    /// Whether several players have a place.
    pub(crate) fn is_shared(&self, place: u32) -> bool {
        self.winners.iter().filter(|(own, _)| *own == place).count() > 1
    }
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRow {
    pub standing: StandingRow,
    /// What put it below the row above, if the points did not.
    pub decided_by: Option<&'static str>,
    /// Places gained since the last round ended; negative if the player fell.
    pub climbed: i64,
    /// The last five matches that count, oldest first.
    pub form: Vec<SeatOutcome>,
    /// How often the player deviated from the protocol.
    pub deviations: u64,
    pub state: AgentState,
    /// Why it is out of the league, if it is.
    pub expulsion: Option<Expulsion>,
    /// Why it cannot be reached now; `None` if it can, or if that was not tried.
    pub away: Option<String>,
    /// What it tells of its language model, if it has one.
    pub model: Option<ModelSum>,
    /// Whether it says that a person chooses its moves.
    pub human: bool,
}

/// What a player tells of its language model, summed over its moves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelSum {
    /// The name of the latest model, whatever the player wrote.
    pub model: String,
    pub moves: u64,
    /// Moves that a strategy made in its place.
    pub fallbacks: u64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    /// All times to a first token, and how many there were.
    pub first_token_ms: u64,
    pub first_tokens: u64,
    pub latency_ms: u64,
}

impl ModelSum {
    pub fn add(&mut self, told: &ModelUse) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        self.model.clone_from(&told.model);
        add(&mut self.moves, 1);
        add(&mut self.fallbacks, u64::from(told.fallback.is_some()));
        add(&mut self.tokens_in, told.tokens_in);
        add(&mut self.tokens_out, told.tokens_out);
        if let Some(time) = told.first_token_ms {
            add(&mut self.first_token_ms, time);
            add(&mut self.first_tokens, 1);
        }
        add(&mut self.latency_ms, told.latency_ms);
    }
}

/// How a match ended for one of its players.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatOutcome {
    Won,
    Drew,
    Lost,
    /// Lost by not playing.
    Forfeited,
    /// The organiser ruled that both lose.
    LostByRuling,
    /// The match does not count.
    NotCounted,
}

/// A match of the current round without a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    pub match_id: MatchId,
    /// Seat A first.
    pub players: [PlayerRef; 2],
    pub referee: Option<RefereeId>,
    pub state: TileState,
    /// Counts the referees that were told to run it.
    pub attempt: u32,
    /// When the match reached its state, if its referee recorded that.
    pub since: Option<Timestamp>,
    /// What its referee shows of it now, if it is asked.
    pub live: Option<SpectatorView>,
}

/// A league before its start.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lobby {
    /// How many players and referees start the league by themselves, if so many are awaited.
    pub awaited: Option<(u32, u32)>,
    /// The latest player first; at most [`MAX_ARRIVALS`](crate::league_view::MAX_ARRIVALS).
    pub arrivals: Vec<PlayerRef>,
    /// Players that cannot be reached, and why; at most as many.
    pub away: Vec<(PlayerRef, String)>,
    /// When registration closes, if a time is set.
    pub closes: Option<Timestamp>,
    /// `None` where the page does not know, as in a copied league.
    pub joining: Option<Joining>,
}

/// How to join a league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joining {
    /// The address of the page.
    pub page: String,
    /// The command that a player enters; `None` if the process plays alone.
    pub command: Option<String>,
    /// Where people take their seats, if there are seats for them. The organiser hands out the code.
    pub people: Option<String>,
}

/// What is remarkable about a result, by plain rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Story {
    /// The seat beat a player that stood far above it; both ranks before the round.
    Upset { winner: usize, ranks: [u32; 2] },
    /// The first win of the seat after so many losses in a row.
    FirstWin { winner: usize, losses: u32 },
    /// The seat has won so often in a row.
    Streak { winner: usize, wins: u32 },
    /// The seat lost after so many wins in a row.
    StreakOver { loser: usize, wins: u32 },
}

/// The view for projectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    pub board: Board,
    /// The last remarkable result.
    pub surprise: Option<ResultLine>,
}

/// The state of a match without a result, the most advanced first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TileState {
    /// All moves are in; the draw decides.
    Drawing,
    /// The players are asked for moves.
    Choosing,
    /// The players are invited.
    Inviting,
    /// The referee was told to run it.
    Ordered,
    /// The referee has other matches to run first.
    Queued,
    /// No referee is available.
    Waiting,
    /// The league ended before.
    Dropped,
}

/// A player's id and name. The name is whatever the player's author wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerRef {
    pub id: PlayerId,
    pub name: String,
}

/// An entry of the latest results.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultLine {
    pub match_id: MatchId,
    /// Seat A first.
    pub players: [PlayerRef; 2],
    pub outcomes: [SeatOutcome; 2],
    pub reason: String,
    pub at: Timestamp,
    pub stories: Vec<Story>,
}

/// The cross table, in the order of ids.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cross {
    /// At most [`MAX_CROSS_PLAYERS`](crate::league_view::MAX_CROSS_PLAYERS).
    pub players: Vec<PlayerRef>,
    /// A row for each player with a cell for each player; `None` on the diagonal and for matches
    /// that have not started.
    pub cells: Vec<Vec<Option<CrossCell>>>,
    /// How many players are left out.
    pub unlisted: usize,
}

/// A match in the cross table, from the view of the row's player.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossCell {
    pub match_id: MatchId,
    /// `None` while the match is being played.
    pub outcome: Option<SeatOutcome>,
}

/// Points over rounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// A line for each player, the leader first; at most
    /// [`MAX_CHART_LINES`](crate::league_view::MAX_CHART_LINES).
    pub lines: Vec<ChartLine>,
    /// How many rounds the league has.
    pub rounds: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChartLine {
    pub player: PlayerRef,
    /// Points after 0, 1, 2, … finished rounds.
    pub points: Vec<u32>,
}

/// A player or referee.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRow {
    pub id: String,
    /// Whatever the agent's author wrote.
    pub name: String,
    pub is_referee: bool,
    pub state: AgentState,
    /// `v2`, `v2-api` or `v1`.
    pub dialect: &'static str,
    /// Whatever the agent's author wrote.
    pub version: String,
    /// `None` if no process recorded a call to the agent.
    pub latency: Option<LatencySummary>,
    /// For a referee, matches that were taken away from it.
    pub technical_losses: u32,
    /// How often the agent deviated from the protocol.
    pub deviations: u64,
}

/// How long an agent takes to answer, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatencySummary {
    /// How many calls were measured.
    pub calls: u64,
    pub median: f64,
    pub p95: f64,
}

/// A way in which an agent deviated from the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    pub clause: String,
    /// Where in the message.
    pub path: String,
    /// What was found, and what to do.
    pub detail: String,
    pub count: u64,
}

/// How often an agent's attempts failed with one code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureCount {
    pub code: Code,
    pub count: u64,
    /// What happened the last time.
    pub detail: String,
    /// The match of the last time.
    pub match_id: MatchId,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlayerPage {
    pub league: LeagueSummary,
    pub row: TableRow,
    pub agent: AgentRow,
    /// Matches to come, the next one first; at most
    /// [`MAX_UPCOMING`](crate::league_view::MAX_UPCOMING).
    pub upcoming: Vec<UpcomingMatch>,
    /// How many come after those.
    pub later: usize,
    /// Matches so far, newest first; at most [`MAX_PLAYED`](crate::league_view::MAX_PLAYED).
    pub matches: Vec<PlayedMatch>,
    /// How many matches so far are left out.
    pub unlisted: usize,
    /// How often the player made each choice, the most frequent first.
    pub choices: Vec<(String, u64)>,
    /// Points after 0, 1, 2, … finished rounds.
    pub points: Vec<u32>,
    /// The most frequent first.
    pub deviations: Vec<Deviation>,
    /// Failed attempts in finished matches, the most frequent first.
    pub failures: Vec<FailureCount>,
}

/// A finished match on the page of a player.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayedMatch {
    pub match_id: MatchId,
    pub opponent: PlayerRef,
    pub outcome: SeatOutcome,
    pub points: u32,
    /// `None` if the player sent no choice.
    pub choice: Option<String>,
    pub opponent_choice: Option<String>,
    pub reason: String,
    pub at: Timestamp,
}

/// A match that a player has yet to play.
#[derive(Debug, Clone, PartialEq)]
pub struct UpcomingMatch {
    pub match_id: MatchId,
    pub round: u32,
    pub opponent: PlayerRef,
    /// `None` if the round has not started.
    pub state: Option<TileState>,
}

/// The page of a round: finished, in progress, or to come.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundPage {
    pub league: LeagueSummary,
    /// From 1.
    pub round: u32,
    /// How many rounds there are.
    pub rounds: u32,
    /// In order; at most [`MAX_ROWS`](crate::league_view::MAX_ROWS).
    pub matches: Vec<RoundMatch>,
    /// How many matches are left out.
    pub unlisted: usize,
    /// The player without a match, if the number of players is odd.
    pub resting: Option<PlayerRef>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RoundMatch {
    pub match_id: MatchId,
    /// Seat A first.
    pub players: [PlayerRef; 2],
    pub referee: Option<RefereeId>,
    pub state: RoundMatchState,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RoundMatchState {
    /// The round has not started.
    Planned,
    /// No result yet.
    Open(TileState),
    Over {
        /// For each seat.
        outcomes: [SeatOutcome; 2],
        /// For each seat.
        points: [u32; 2],
        reason: String,
        at: Timestamp,
    },
    /// The result is too old to be kept here.
    Forgotten,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MatchPage {
    pub league: LeagueSummary,
    pub match_id: MatchId,
    pub round: u32,
    /// Seat A first.
    pub players: [PlayerRef; 2],
    pub referee: Option<RefereeId>,
    /// Counts the referees that were told to run it.
    pub attempt: u32,
    /// `None` once the match is over.
    pub state: Option<TileState>,
    /// The result that was recorded; the organiser may have closed the match without one.
    pub result: Option<Arc<MatchResult>>,
    /// How the match counts for each seat, with the points, once it is over.
    pub counted: Option<[(SeatOutcome, u32); 2]>,
    /// Why it counts in another way than it was recorded.
    pub note: Option<String>,
    /// When it was over.
    pub at: Option<Timestamp>,
    /// The commitment to the draw, published before the round, in hex.
    pub promise: Option<String>,
    /// The lowest and highest number that can be drawn, if the game draws one.
    pub range: Option<(u64, u64)>,
    /// Whether the game hides a move from the other player to the end.
    pub hidden_moves: bool,
    /// Whether both players move at once in every turn.
    pub simultaneous: bool,
    /// What its referee shows of it now, if it is asked; `None` once there is a result.
    pub live: Option<SpectatorView>,
    /// Whether the referee showed a position that its report contradicts.
    pub contradicted: bool,
    /// `None` if the referee's record is not in this folder.
    pub times: Option<MatchTimes>,
    /// Oldest first; empty until the match is over, or if the referee's record is elsewhere.
    pub messages: Vec<TranscriptMessage>,
    /// The positions of a game that draws them, starting before the first move; empty for others,
    /// and until the match is over.
    pub positions: Vec<DrawnPosition>,
    /// What players wrote down of their language models; empty until the match is over, or if their
    /// files are elsewhere.
    pub model_notes: Vec<ModelNote>,
}

/// A question to a language model, as its player wrote it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelNote {
    pub player_id: PlayerId,
    /// The move that it was about, by the player's own count.
    pub turn: u32,
    /// Prompt, thoughts, answer and what was wrong with it, each with its title.
    pub texts: Vec<(&'static str, String)>,
}

/// When a match reached its states, as its referee recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MatchTimes {
    /// When the referee accepted it.
    pub created: Option<Timestamp>,
    /// When both players had joined.
    pub started: Option<Timestamp>,
    pub finished: Option<Timestamp>,
}

/// A message of a match.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptMessage {
    pub at: Timestamp,
    /// The sender, such as `referee:REF01`.
    pub from: String,
    pub to: String,
    pub kind: String,
    /// The message as it was decoded, without tokens; `null` if it was too long to keep or could
    /// not be decoded.
    pub message: Value,
    /// The text as it was received, where it was repaired or could not be decoded.
    pub original: Option<OriginalText>,
    /// Whether only the hash of the message is known: it was hidden when the referee ended.
    pub lost: bool,
    /// Whether the referee was started again before it.
    pub resumed: bool,
}

/// A message as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalText {
    /// The beginning of the text; `None` if it must not be shown.
    pub text: Option<String>,
    /// The length of the whole text.
    pub bytes: u64,
    /// Whether `text` is shorter than the whole text.
    pub cut: bool,
    /// Why it could not be decoded; `None` if it was repaired.
    pub problem: Option<String>,
}

/// A position of a game, drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnPosition {
    pub picture: Picture,
    /// The cells that differ from the position before, as row and column.
    pub changed: Vec<(usize, usize)>,
    /// The seats that moved, 0 or 1; none in the first position and where dice were rolled.
    pub seats: Vec<usize>,
}
