//! A running match as spectators may see it. A hidden choice is not in it; that a player has chosen
//! is.

use league_games::{Picture, Turn};
use league_protocol::id::MatchId;
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::match_state::{Match, SEATS};

/// What spectators see of a match that is being played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpectatorView {
    pub match_id: MatchId,
    /// Counts the referees that were ordered to run it, from 1.
    pub attempt: u32,
    /// The seats that owe a move.
    pub awaited: [bool; 2],
    /// When the referee gives up waiting for the next of them, this time.
    pub deadline: Option<Timestamp>,
    /// Empty if the game draws none.
    pub position: Picture,
}

impl Match {
    /// The view of spectators once both players have joined; `None` before, and from the end on.
    ///
    /// The position in which a game is over is not shown: it opens all choices, and the manager has
    /// not taken the result yet. Where moves are hidden, it must not be told from one in which the
    /// dice decide.
    pub(crate) fn spectator_view(&self) -> Option<SpectatorView> {
        if !self.started || !self.is_playing() {
            return None;
        }
        let (awaited, position) = match self.course.table.turn() {
            Turn::Seats(seats) => (
                SEATS.map(|seat| seats.contains(&seat)),
                self.course.table.picture(),
            ),
            Turn::Dice if !self.rules().hidden_moves => ([false; 2], self.course.table.picture()),
            Turn::Dice | Turn::Over(_) => ([false; 2], Picture::default()),
        };
        let open = SEATS.into_iter().filter(|seat| awaited[seat.index()]);
        let questions = open.filter_map(|seat| self.slot(seat).question);
        Some(SpectatorView {
            match_id: self.fixture.match_id.clone(),
            attempt: self.fixture.attempt,
            awaited,
            deadline: questions.map(|question| question.deadline).min(),
            position,
        })
    }
}
