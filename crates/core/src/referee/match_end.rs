//! What others see of a match: its result with the points and the evidence, and before the end
//! what spectators may see. A hidden choice is not in it; that a player has chosen is.

use std::sync::Arc;

use league_games::{Picture, Seat, Turn};
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::id::MatchId;
use league_protocol::message::{ByPlayer, MatchResult, PlayerEvidence};
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::match_state::{Loss, Match, SEATS};
use crate::judge::{Judged, judge};
use crate::league::MAX_REASON;

/// The cause of a loss by a refused invitation: no code of the documents says it better.
const DECLINED: Code = Code::OutOfTurn;
/// The longest account of a failure in the reason of a result, in characters.
const MAX_ACCOUNT: usize = 200;

impl Match {
    /// The result of a game that was played to its end, or that a player, or both, did not play; none
    /// while it goes on. The seed and the keys are opened by the manager.
    pub(crate) fn result(&self) -> Option<Arc<MatchResult>> {
        let (game, source) = (&*self.opening.table, self.draw_source());
        let (players, moves) = (self.players(), self.signed_moves());
        let (failed, score) = (self.failed(), &self.fixture.score);
        let judged = judge(game, &source, &players, &moves, &failed, score);
        let Ok(Judged::Over(mut result)) = judged else {
            return None;
        };
        if !failed.is_empty() {
            let causes = SEATS.into_iter().filter_map(|seat| self.cause(seat));
            result.reason = within(causes.collect::<Vec<_>>().join("; "), MAX_REASON);
        }
        let joined = SEATS.into_iter().filter_map(|seat| {
            Some(PlayerEvidence {
                player_id: self.seated(seat).player_id.clone(),
                join: Some(self.slot(seat).join?),
                key: None,
            })
        });
        result.evidence.players = joined.collect();
        Some(result.into())
    }

    fn failed(&self) -> ByPlayer<Code> {
        let lost = SEATS.into_iter().filter_map(|seat| {
            let code = match self.slot(seat).loss? {
                Loss::Declined => DECLINED,
                Loss::Failed(code) => code,
            };
            Some((self.seated(seat).player_id.clone(), code))
        });
        lost.collect()
    }

    /// Why a player lost without playing. Its answer is not a secret once the match is over, so it
    /// is quoted.
    fn cause(&self, seat: Seat) -> Option<String> {
        let player = &self.seated(seat).player_id;
        let account = self.slot(seat).account.as_ref();
        let account = account.map(|account| format!(": {}", harmless(&account.0, MAX_ACCOUNT)));
        Some(match self.slot(seat).loss? {
            Loss::Declined => format!("{player} declined the invitation"),
            Loss::Failed(Code::Timeout) => format!("{player} did not answer in time (E001)"),
            Loss::Failed(Code::Connection) => format!("{player} could not be reached (E009)"),
            Loss::Failed(code) => format!(
                "{player} gave no answer that counts ({code}){}",
                account.unwrap_or_default()
            ),
        })
    }
}

/// The beginning of a text, in so many bytes.
fn within(mut text: String, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rfind(|&end| text.is_char_boundary(end));
    text.truncate(end.unwrap_or_default());
    text
}

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
