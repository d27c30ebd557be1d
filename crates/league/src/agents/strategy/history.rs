//! What was drawn before, as far as the player's own results tell (000 §3.6.2).

use std::sync::Arc;

use league_core::player::{MatchOutcome, MatchRecord, Think};
use league_games::Dice;
use league_games::even_odd::Parity;
use league_protocol::id::GameType;
use serde_json::Value;

use super::{Strategy, parity};

/// Guesses what was drawn more often so far.
#[derive(Debug)]
pub(super) struct History;

impl Strategy for History {
    fn name(&self) -> &'static str {
        "history"
    }

    fn description(&self) -> &'static str {
        "the parity that was drawn more often in its own matches"
    }

    fn knows(&self, game: &GameType) -> bool {
        parity::is_even_odd(game)
    }

    fn idea(&self, _: &Think, memory: &[Arc<MatchRecord>], _: &mut Dice) -> Option<Value> {
        let matches = memory
            .iter()
            .filter(|record| parity::is_even_odd(&record.game_type));
        let drawn = matches.filter_map(|record| drawn(record));
        parity::majority(drawn).map(parity::written)
    }
}

/// What was drawn in a match: the guess of its winner.
///
/// If both guessed alike the result does not tell, and in a match that was not played out nothing
/// was drawn.
fn drawn(record: &MatchRecord) -> Option<Parity> {
    let own = parity::read(record.my_choice.as_ref()?)?;
    let other = parity::read(record.opponent_choice.as_ref()?)?;
    match record.result {
        _ if own == other => None,
        MatchOutcome::Win => Some(own),
        MatchOutcome::Loss => Some(other),
        MatchOutcome::Draw | MatchOutcome::TechnicalLoss => None,
    }
}
