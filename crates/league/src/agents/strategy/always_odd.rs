//! The same guess in every match: odd.

use std::sync::Arc;

use league_core::player::{MatchRecord, Think};
use league_games::Dice;
use league_games::even_odd::Parity;
use league_protocol::id::GameType;
use serde_json::Value;

use super::{Strategy, parity};

/// Says `odd` whatever happens.
#[derive(Debug)]
pub(super) struct AlwaysOdd;

impl Strategy for AlwaysOdd {
    fn name(&self) -> &'static str {
        "always-odd"
    }

    fn description(&self) -> &'static str {
        "odd, whatever happens"
    }

    fn knows(&self, game: &GameType) -> bool {
        parity::is_even_odd(game)
    }

    fn idea(&self, _: &Think, _: &[Arc<MatchRecord>], _: &mut Dice) -> Option<Value> {
        Some(parity::written(Parity::Odd))
    }
}
