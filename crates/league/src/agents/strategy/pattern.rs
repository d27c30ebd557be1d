//! What the opponent did the last time that things went as they went just now (003, pattern
//! matching).

use std::sync::Arc;

use league_core::player::{MatchRecord, Think};
use league_games::Dice;
use league_games::even_odd::Parity;
use league_protocol::id::GameType;
use serde_json::Value;

use super::{Strategy, parity};

/// How many guesses make a pattern at least; one alone is what `markov` goes by.
const SHORTEST_PATTERN: usize = 2;

/// Finds the opponent's latest guesses in its earlier ones and expects what followed there.
#[derive(Debug)]
pub(super) struct Pattern;

impl Strategy for Pattern {
    fn name(&self) -> &'static str {
        "pattern"
    }

    fn description(&self) -> &'static str {
        "the opposite of what continues the opponent's repeating pattern"
    }

    fn knows(&self, game: &GameType) -> bool {
        parity::is_even_odd(game)
    }

    fn idea(&self, think: &Think, memory: &[Arc<MatchRecord>], _: &mut Dice) -> Option<Value> {
        continuation(&parity::guesses(think, memory)).map(parity::against)
    }
}

/// What followed the longest run of latest guesses that had occurred before; of several
/// occurrences the last counts.
fn continuation(guesses: &[Parity]) -> Option<Parity> {
    let before = 1..guesses.len();
    let (_, place) = before
        .map(|place| (common_end(&guesses[..place], guesses), place))
        .filter(|(length, _)| *length >= SHORTEST_PATTERN)
        .max()?;
    guesses.get(place).copied()
}

/// How many guesses at the ends of two runs are the same.
fn common_end(one: &[Parity], other: &[Parity]) -> usize {
    let pairs = one.iter().rev().zip(other.iter().rev());
    pairs.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parities(letters: &str) -> Vec<Parity> {
        let parity = |letter| match letter {
            'e' => Parity::Even,
            _ => Parity::Odd,
        };
        letters.chars().map(parity).collect()
    }

    #[test]
    fn a_pattern_goes_on_as_it_went_before() {
        for (guesses, expected) in [
            ("", ""),
            ("e", ""),
            ("ee", ""),
            ("eo", ""),
            ("eoe", ""),
            ("eee", "e"),
            ("eoeo", "e"),
            ("eoeoe", "o"),
            ("eeoeeo", "e"),
            ("eeoee", "o"),
            ("eooeooe", "o"),
            // The longer run decides, not the later one.
            ("eoeeooeeeoee", "o"),
            // Of equally long ones the later decides.
            ("eoeeooeo", "o"),
        ] {
            let guesses = parities(guesses);
            let expected = parities(expected).first().copied();
            assert_eq!(continuation(&guesses), expected, "{guesses:?}");
        }
    }
}
