//! The strategies for Even/Odd: decoding guesses, counting them, countering them.

use std::cmp::Ordering;
use std::sync::Arc;

use league_core::player::{MatchOutcome, MatchRecord, Opponent, Think};
use league_games::even_odd::{EvenOdd, NumberParity};
use league_games::{Dice, Game};
use serde::Deserialize;
use serde_json::Value;

/// The most guesses of other players that a strategy considers.
const LOOK_BACK: usize = 64;
/// The least guesses that make a pattern; `markov` uses only one.
const MIN_PATTERN: usize = 2;

type Matches = [Arc<MatchRecord>];

pub(crate) fn always_even(_: &Think, _: &Matches, _: &mut Dice) -> Option<Value> {
    Some(written(NumberParity::Even))
}

pub(crate) fn always_odd(_: &Think, _: &Matches, _: &mut Dice) -> Option<Value> {
    Some(written(NumberParity::Odd))
}

/// The parity that was drawn more often, as far as the player's own results show (000 §3.6.2).
pub(crate) fn history(_: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    majority(own_matches(memory).filter_map(drawn)).map(written)
}

/// The opposite of what the opponent guesses most (003, frequency counter).
pub(crate) fn frequency(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    let (even, odd) = think.opponent.as_deref().map_or((0, 0), counts);
    let expected = if even == 0 && odd == 0 {
        majority(guesses(think, memory).into_iter())
    } else {
        larger(even, odd)
    };
    expected.map(opposite)
}

/// The opposite of the opponent's guess after the latest earlier run that equals its recent guesses
/// (003, pattern matching).
pub(crate) fn pattern(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    continuation(&guesses(think, memory)).map(opposite)
}

/// The opposite of what most often follows the opponent's last guess: a first-order Markov chain
/// (003).
pub(crate) fn markov(think: &Think, memory: &Matches, _: &mut Dice) -> Option<Value> {
    likeliest(&guesses(think, memory)).map(opposite)
}

fn own_matches(memory: &Matches) -> impl DoubleEndedIterator<Item = &MatchRecord> {
    let records = memory.iter().map(Arc::as_ref);
    records.filter(|record| record.game_type.as_str() == EvenOdd::RULES.game_type)
}

/// The parity drawn in a match: the guess of its winner.
///
/// If both guesses are the same, the result does not show the parity; in a match that was not
/// played to the end, nothing was drawn.
fn drawn(record: &MatchRecord) -> Option<NumberParity> {
    let own = read(record.my_choice.as_ref()?)?;
    let other = read(record.opponent_choice.as_ref()?)?;
    match record.result {
        _ if own == other => None,
        MatchOutcome::Win => Some(own),
        MatchOutcome::Loss => Some(other),
        MatchOutcome::Draw | MatchOutcome::TechnicalLoss => None,
    }
}

/// How often an opponent guessed even and odd in all matches against it.
fn counts(opponent: &Opponent) -> (u32, u32) {
    let count = |parity: NumberParity| opponent.counts.get(&parity.to_string()).copied();
    (
        count(NumberParity::Even).unwrap_or(0),
        count(NumberParity::Odd).unwrap_or(0),
    )
}

/// The guesses of this opponent, oldest first; if none is known, the guesses of all other players.
fn guesses(think: &Think, memory: &Matches) -> Vec<NumberParity> {
    let known = think.opponent.iter();
    let of_opponent: Vec<NumberParity> = known.flat_map(|it| &it.recent).filter_map(read).collect();
    if !of_opponent.is_empty() {
        return of_opponent;
    }
    let latest = own_matches(memory)
        .rev()
        .filter_map(|record| read(record.opponent_choice.as_ref()?));
    let mut of_all: Vec<NumberParity> = latest.take(LOOK_BACK).collect();
    of_all.reverse();
    of_all
}

/// The guess after the longest run of latest guesses that had occurred before; of several
/// occurrences the last counts.
fn continuation(guesses: &[NumberParity]) -> Option<NumberParity> {
    let (_, place) = (1..guesses.len())
        .map(|place| (common_end(&guesses[..place], guesses), place))
        .filter(|(length, _)| *length >= MIN_PATTERN)
        .max()?;
    guesses.get(place).copied()
}

/// The number of equal guesses at the ends of two runs.
fn common_end(one: &[NumberParity], other: &[NumberParity]) -> usize {
    let pairs = one.iter().rev().zip(other.iter().rev());
    pairs.take_while(|(a, b)| a == b).count()
}

/// The guess that most often followed a guess equal to the last.
fn likeliest(guesses: &[NumberParity]) -> Option<NumberParity> {
    let last = guesses.last()?;
    let steps = guesses.iter().zip(guesses.iter().skip(1));
    majority(steps.filter(|(from, _)| *from == last).map(|(_, to)| *to))
}

/// Decodes a guess; `None` for a move of another game.
fn read(choice: &Value) -> Option<NumberParity> {
    NumberParity::deserialize(choice).ok()
}

fn written(parity: NumberParity) -> Value {
    Value::from(parity.to_string())
}

/// The guess that guarantees a winner if the opponent guesses as expected.
fn opposite(expected: NumberParity) -> Value {
    written(match expected {
        NumberParity::Even => NumberParity::Odd,
        NumberParity::Odd => NumberParity::Even,
    })
}

/// The parity that occurs more often; `None` if both occur equally often.
fn majority(seen: impl Iterator<Item = NumberParity>) -> Option<NumberParity> {
    let (mut even, mut odd) = (0, 0);
    for parity in seen {
        match parity {
            NumberParity::Even => even += 1,
            NumberParity::Odd => odd += 1,
        }
    }
    larger(even, odd)
}

/// The parity with the larger count; `None` if they are equal.
fn larger(even: u32, odd: u32) -> Option<NumberParity> {
    match even.cmp(&odd) {
        Ordering::Greater => Some(NumberParity::Even),
        Ordering::Less => Some(NumberParity::Odd),
        Ordering::Equal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parities(letters: &str) -> Vec<NumberParity> {
        let parity = |letter| match letter {
            'e' => NumberParity::Even,
            _ => NumberParity::Odd,
        };
        letters.chars().map(parity).collect()
    }

    #[test]
    fn the_most_frequent_step_from_the_last_guess_is_expected() {
        for (guesses, expected) in [
            ("", ""),
            ("e", ""),
            ("eo", ""),
            ("ee", "e"),
            ("eoe", "o"),
            ("eeoe", ""),
            ("eeoeoe", "o"),
            ("oooeo", "o"),
        ] {
            let expected = parities(expected).first().copied();
            assert_eq!(likeliest(&parities(guesses)), expected, "{guesses}");
        }
    }

    #[test]
    fn a_pattern_continues_as_it_did_before() {
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
            // Among equally long runs, the later decides.
            ("eoeeooeo", "o"),
        ] {
            let guesses = parities(guesses);
            let expected = parities(expected).first().copied();
            assert_eq!(continuation(&guesses), expected, "{guesses:?}");
        }
    }
}
