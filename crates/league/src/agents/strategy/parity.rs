//! What the strategies for Even/Odd have in common: reading guesses, counting them, answering.

use std::sync::Arc;

use league_core::player::{MatchRecord, Think};
use league_games::Game;
use league_games::even_odd::{EvenOdd, Parity};
use league_protocol::id::GameType;
use serde::Deserialize;
use serde_json::Value;

/// How many guesses of others a strategy looks back at.
pub(super) const LOOK_BACK: usize = 64;

pub(super) fn is_even_odd(game: &GameType) -> bool {
    game.as_str() == EvenOdd::RULES.game_type
}

/// Reads a guess; nothing if it is a move of another game.
pub(super) fn read(choice: &Value) -> Option<Parity> {
    Parity::deserialize(choice).ok()
}

pub(super) fn written(parity: Parity) -> Value {
    Value::from(parity.to_string())
}

/// The guess that makes sure of a winner if the opponent guesses as expected.
pub(super) fn against(expected: Parity) -> Value {
    written(match expected {
        Parity::Even => Parity::Odd,
        Parity::Odd => Parity::Even,
    })
}

/// The guesses of this opponent, oldest first; if none is known, those of all others.
pub(super) fn guesses(think: &Think, memory: &[Arc<MatchRecord>]) -> Vec<Parity> {
    let known = think.opponent.iter();
    let of_opponent: Vec<Parity> = known.flat_map(|it| &it.recent).filter_map(read).collect();
    if !of_opponent.is_empty() {
        return of_opponent;
    }
    let matches = memory
        .iter()
        .filter(|record| is_even_odd(&record.game_type));
    let latest = matches
        .rev()
        .filter_map(|record| read(record.opponent_choice.as_ref()?));
    let mut of_all: Vec<Parity> = latest.take(LOOK_BACK).collect();
    of_all.reverse();
    of_all
}

/// The parity that occurs more often; nothing if both do equally.
pub(super) fn majority(seen: impl Iterator<Item = Parity>) -> Option<Parity> {
    let (mut even, mut odd) = (0, 0);
    for parity in seen {
        match parity {
            Parity::Even => even += 1,
            Parity::Odd => odd += 1,
        }
    }
    larger(even, odd)
}

/// The parity with the larger count; nothing if they are equal.
pub(super) fn larger(even: u32, odd: u32) -> Option<Parity> {
    match even.cmp(&odd) {
        std::cmp::Ordering::Greater => Some(Parity::Even),
        std::cmp::Ordering::Less => Some(Parity::Odd),
        std::cmp::Ordering::Equal => None,
    }
}
