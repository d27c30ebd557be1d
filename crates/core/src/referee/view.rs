//! What anybody may know of a match.

use std::sync::Arc;

use league_games::{Seat, Turn};
use league_protocol::message::MatchState;

use super::command::MatchView;
use super::fixture::Sealed;
use super::running::Match;

impl Match {
    /// Where the match stands.
    pub(super) fn state(&self) -> MatchState {
        if self.ending.is_some() {
            return MatchState::Finished;
        }
        if !self.started {
            return MatchState::WaitingForPlayers;
        }
        match self.table.turn() {
            Turn::Seats(_) => MatchState::CollectingChoices,
            Turn::Dice | Turn::Over(_) => MatchState::DrawingNumber,
        }
    }

    /// What anybody may know.
    pub(super) fn view(&self) -> MatchView {
        let fixture = &self.fixture;
        let ending = self.ending.as_ref();
        let shown = ending.filter(|ending| ending.shown_at.is_some());
        let moves = if self.rules().hidden_moves {
            &[]
        } else {
            &self.moves[..]
        };
        let named = |(seat, sealed): &(Seat, Arc<Sealed>)| {
            (self.seated(*seat).player_id.clone(), sealed.choice.clone())
        };
        MatchView {
            league_id: fixture.league_id.clone(),
            round_id: fixture.round_id,
            match_id: fixture.match_id.clone(),
            attempt: fixture.attempt,
            game_type: fixture.game_type.clone(),
            state: self.state(),
            players: [0, 1].map(|seat| fixture.players[seat].player_id.clone()),
            moves: moves.iter().map(named).collect(),
            result: shown.map(|ending| ending.result.clone()),
        }
    }
}
