//! Fair dice over any source of 64-bit words, and loaded ones for tests.
//!
//! The caller supplies the words, and the way to check them.

use std::fmt;
use std::ops::RangeInclusive;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Whole numbers by chance, all equally likely.
///
/// # How a number is made
///
/// Players compute this again, so it is fixed. To roll `low..=high`, with `n = high - low + 1`
/// faces and `limit = floor(2^64 / n) * n`:
///
/// 1. Take the next word, a number from 0 to 2^64 - 1.
/// 2. If it is below `limit`, the number is `low + word % n`. Otherwise go back to 1.
///
/// Exactly `limit / n` words lead to each face, so none is favoured.
///
/// A source that sends [`MAX_WORDS_PER_ROLL`] words in a row to no avail is not asked again: the
/// last of them counts as if it were below `limit`. With fair words this has a chance below 2^-128
/// in any range, and for the ranges of our games one far smaller still.
pub struct Dice(WordSource);

/// How many words one roll takes at most.
pub const MAX_WORDS_PER_ROLL: u32 = 128;

enum WordSource {
    Words(Box<dyn FnMut() -> u64 + Send>),
    Lowest,
    Highest,
}

impl Dice {
    /// Makes dice that roll the same numbers for the same seed, on every machine.
    pub fn seeded(seed: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        Self::from_words(Box::new(move || generator.next_u64()))
    }

    /// Makes dice from the caller's words.
    pub fn from_words(words: Box<dyn FnMut() -> u64 + Send>) -> Self {
        Self(WordSource::Words(words))
    }

    /// Makes loaded dice that always show the lowest face.
    pub fn lowest() -> Self {
        Self(WordSource::Lowest)
    }

    /// Makes loaded dice that always show the highest face.
    pub fn highest() -> Self {
        Self(WordSource::Highest)
    }

    /// Rolls a number in the range, both ends included.
    ///
    /// A range with nothing in it gives its start, and takes no word.
    pub fn roll(&mut self, faces: RangeInclusive<u64>) -> u64 {
        let (low, high) = faces.into_inner();
        if high < low {
            return low;
        }
        match &mut self.0 {
            WordSource::Words(words) => low + below(high - low, words),
            WordSource::Lowest => low,
            WordSource::Highest => high,
        }
    }

    /// Picks one of several things; none if there are none.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> Option<&'a T> {
        let last = things.len().checked_sub(1)?;
        things.get(self.roll(0..=last as u64) as usize)
    }
}

/// Says nothing of the words to come.
impl fmt::Debug for Dice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dice(…)")
    }
}

/// Draws a number from 0 to `highest` as [`Dice`] promises.
fn below(highest: u64, words: &mut dyn FnMut() -> u64) -> u64 {
    let Some(faces) = highest.checked_add(1) else {
        return words();
    };
    let rejected = (u64::MAX % faces + 1) % faces;
    let highest_accepted = u64::MAX - rejected;
    let mut word = words();
    for _ in 1..MAX_WORDS_PER_ROLL {
        if word <= highest_accepted {
            break;
        }
        word = words();
    }
    word % faces
}

#[cfg(test)]
mod tests;
