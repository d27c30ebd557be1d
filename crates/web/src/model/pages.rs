//! What the pages of a match and of a player show.

use std::sync::Arc;

use league_protocol::fault::Code;
use league_protocol::id::{MatchId, RefereeId};
use league_protocol::message::MatchResult;
use league_protocol::time::Timestamp;
use serde_json::Value;

use super::{Agent, Coming, Ended, LeagueCard, Named, Standing, TileState, Verdict};

/// A way in which an agent left the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// Which clause.
    pub clause: String,
    /// Where in the message.
    pub path: String,
    /// What was found, and what to do.
    pub detail: String,
    /// How often.
    pub count: u64,
}

/// How often attempts of an agent failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which rule was broken.
    pub code: Code,
    /// How often.
    pub count: u64,
    /// What happened the last time, in a sentence for people.
    pub detail: String,
    /// In which match that was.
    pub match_id: MatchId,
}

/// The page of one player.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayerPage {
    /// Which league.
    pub league: LeagueCard,
    /// Whether the league is what its journal says, if somebody looked.
    pub verdict: Option<Verdict>,
    /// Its row of the table.
    pub standing: Standing,
    /// What is known of it as an agent.
    pub agent: Agent,
    /// The matches that it has still to play, the next one first; at most
    /// [`MOST_COMING`](crate::gallery::MOST_COMING).
    pub coming: Vec<Coming>,
    /// How many come after those.
    pub later: usize,
    /// Every match so far, newest first; at most
    /// [`MOST_MET`](crate::gallery::MOST_MET).
    pub matches: Vec<Meeting>,
    /// How many of its matches are left out.
    pub unlisted: usize,
    /// How often it made each choice, the most frequent first.
    pub choices: Vec<(String, u64)>,
    /// Its points after 0, 1, 2, … rounds.
    pub points: Vec<u32>,
    /// How it left the protocol, the most frequent first.
    pub deviations: Vec<Deviation>,
    /// What cost it attempts in matches that are over, the most frequent first.
    pub failures: Vec<Failure>,
}

/// A match on the page of a player.
#[derive(Debug, Clone, PartialEq)]
pub struct Meeting {
    /// Which match.
    pub match_id: MatchId,
    /// Which round.
    pub round: u32,
    /// Whom.
    pub opponent: Named,
    /// How it ended for the player.
    pub ended: Ended,
    /// The points of the player.
    pub points: u32,
    /// What it chose, written out; none if nothing came.
    pub choice: Option<String>,
    /// What the opponent chose.
    pub opponent_choice: Option<String>,
    /// One sentence for people.
    pub reason: String,
    /// When the result was taken.
    pub at: Timestamp,
}

/// The page of one match.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchPage {
    /// Which league.
    pub league: LeagueCard,
    /// Whether the league is what its journal says, if somebody looked.
    pub verdict: Option<Verdict>,
    /// Which match.
    pub match_id: MatchId,
    /// Which round.
    pub round: u32,
    /// Both players, seat A first.
    pub players: [Named; 2],
    /// Who runs it or ran it.
    pub referee: Option<RefereeId>,
    /// Counts the referees that were told to run it.
    pub attempt: u32,
    /// How far it is; `None` once it has its result.
    pub state: Option<TileState>,
    /// How it ended.
    pub result: Option<Arc<MatchResult>>,
    /// When its result was taken.
    pub at: Option<Timestamp>,
    /// What was promised on its draw before the round, in hex.
    pub promise: Option<String>,
    /// The lowest and highest number that can be drawn, if the game draws one.
    pub range: Option<(u64, u64)>,
    /// Its life as its referee wrote it, if that lies here.
    pub life: Option<Life>,
    /// What was said, oldest first; empty until the match is over, or if its referee keeps that
    /// elsewhere.
    pub said: Vec<Said>,
    /// The positions of a board game, the first one before the first move; empty otherwise.
    pub positions: Vec<Position>,
}

/// When a match came how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Life {
    /// When its referee took it.
    pub created: Option<Timestamp>,
    /// When both players had come.
    pub started: Option<Timestamp>,
    /// When the result stood.
    pub finished: Option<Timestamp>,
}

/// A message of a match.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// When.
    pub at: Timestamp,
    /// Who said it, such as `referee:REF01`.
    pub from: String,
    /// To whom.
    pub to: String,
    /// What kind of message it is.
    pub kind: String,
    /// The message as it was read, without tokens; `null` if it was too long to keep, or could not
    /// be read.
    pub message: Value,
    /// What was really said, where it was read as something else or not at all.
    pub verbatim: Option<Verbatim>,
}

/// What was really said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbatim {
    /// The beginning of it; nothing if it cannot be shown.
    pub text: Option<String>,
    /// How many bytes there were.
    pub bytes: u64,
    /// Whether it goes on where the text ends.
    pub cut: bool,
    /// Why it could not be read; nothing if it was read as the message.
    pub problem: Option<String>,
}

/// A position of a board game.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// How many cells there are in a row.
    pub columns: usize,
    /// The cells, row by row; empty where nothing lies.
    pub cells: Vec<String>,
    /// The cell of the last move.
    pub last: Option<usize>,
    /// Who moved, seat 0 or 1; `None` in the first position.
    pub seat: Option<usize>,
}
