//! What the opponent guesses most (003, frequency counter).

use std::sync::Arc;

use league_core::player::{MatchRecord, Opponent, Think};
use league_games::Dice;
use league_games::even_odd::Parity;
use league_protocol::id::GameType;
use serde_json::Value;

use super::{Strategy, parity};

/// Expects the opponent's most frequent guess and says the other.
#[derive(Debug)]
pub(super) struct Frequency;

impl Strategy for Frequency {
    fn name(&self) -> &'static str {
        "frequency"
    }

    fn description(&self) -> &'static str {
        "the opposite of the opponent's most frequent guess"
    }

    fn knows(&self, game: &GameType) -> bool {
        parity::is_even_odd(game)
    }

    fn idea(&self, think: &Think, memory: &[Arc<MatchRecord>], _: &mut Dice) -> Option<Value> {
        let (even, odd) = think.opponent.as_deref().map_or((0, 0), counts);
        let expected = if even == 0 && odd == 0 {
            parity::majority(parity::guesses(think, memory).into_iter())
        } else {
            parity::larger(even, odd)
        };
        expected.map(parity::against)
    }
}

/// How often an opponent said even and odd in all matches against it.
fn counts(opponent: &Opponent) -> (u32, u32) {
    let count = |parity: Parity| opponent.counts.get(&parity.to_string()).copied();
    (
        count(Parity::Even).unwrap_or(0),
        count(Parity::Odd).unwrap_or(0),
    )
}
