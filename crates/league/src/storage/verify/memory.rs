//! What a player remembers of a match, held against how it ended.

use league_core::player::{MatchOutcome, MatchRecord};
use league_protocol::id::{GameType, PlayerId};
use league_protocol::message::{MatchResult, MatchStatus};
use serde::Serialize;
use serde_json::Value;

use super::difference::{Difference, first_difference};

/// What a player remembers of a match; what it never heard it does not have.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    /// What was played; that of another game is of another league, whatever its name.
    #[serde(skip)]
    pub(super) game: GameType,
    player_id: PlayerId,
    opponent_id: Option<PlayerId>,
    result: MatchOutcome,
    points: u32,
    my_choice: Option<Value>,
    opponent_choice: Option<Value>,
}

impl Memory {
    pub(super) fn of(player: &PlayerId, record: &MatchRecord) -> Self {
        let opponent = Some(&record.opponent_id).filter(|opponent| !opponent.is_unknown());
        Self {
            game: record.game_type.clone(),
            player_id: player.clone(),
            opponent_id: opponent.cloned(),
            result: record.result,
            points: record.points,
            my_choice: record.my_choice.clone(),
            opponent_choice: record.opponent_choice.clone(),
        }
    }

    /// Where it first differs from what the player can have heard of this end.
    pub(super) fn difference(&self, result: &MatchResult) -> Option<Difference> {
        let Some(seat) = result.players.iter().position(|id| *id == self.player_id) else {
            return Some(Difference {
                path: "player_id".to_owned(),
                found: format!("`{}`", self.player_id),
                expected: format!("`{}` and `{}`", result.players[0], result.players[1]),
            });
        };
        let opponent = &result.players[1 - seat.min(1)];
        let chosen = |player: &PlayerId, remembered: &Option<Value>| {
            let heard = remembered.is_some();
            result.choices.get(player).filter(|_| heard).cloned()
        };
        let expected = Self {
            game: self.game.clone(),
            player_id: self.player_id.clone(),
            opponent_id: self.opponent_id.as_ref().map(|_| opponent.clone()),
            result: verdict(result, &self.player_id),
            points: result.points[seat],
            my_choice: chosen(&self.player_id, &self.my_choice),
            opponent_choice: chosen(opponent, &self.opponent_choice),
        };
        first_difference(self, &expected)
    }
}

/// How an end looks from a player's side.
fn verdict(result: &MatchResult, player: &PlayerId) -> MatchOutcome {
    match result.status {
        MatchStatus::Draw => MatchOutcome::Draw,
        _ if result.winner.as_ref() == Some(player) => MatchOutcome::Win,
        MatchStatus::Win => MatchOutcome::Loss,
        MatchStatus::TechnicalLoss => MatchOutcome::TechnicalLoss,
    }
}
