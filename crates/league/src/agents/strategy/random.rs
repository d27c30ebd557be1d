//! Chance alone (000 §3.6.1).

use std::sync::Arc;

use league_core::player::{MatchRecord, Think};
use league_games::Dice;
use league_protocol::id::GameType;
use serde_json::Value;

use super::Strategy;

/// Plays any legal move, all equally likely.
#[derive(Debug)]
pub(super) struct Random;

impl Strategy for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn description(&self) -> &'static str {
        "any legal move, by chance"
    }

    fn knows(&self, _game: &GameType) -> bool {
        true
    }

    fn idea(&self, _: &Think, _: &[Arc<MatchRecord>], _: &mut Dice) -> Option<Value> {
        None
    }
}
