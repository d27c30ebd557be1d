//! What the opponent tends to do after its last guess: a chain of first order (003).

use std::sync::Arc;

use league_core::player::{MatchRecord, Think};
use league_games::Dice;
use league_games::even_odd::Parity;
use league_protocol::id::GameType;
use serde_json::Value;

use super::{Strategy, parity};

/// Expects what followed most often on the opponent's last guess and says the other.
#[derive(Debug)]
pub(super) struct Markov;

impl Strategy for Markov {
    fn name(&self) -> &'static str {
        "markov"
    }

    fn description(&self) -> &'static str {
        "the opposite of what most often follows the opponent's last guess"
    }

    fn knows(&self, game: &GameType) -> bool {
        parity::is_even_odd(game)
    }

    fn idea(&self, think: &Think, memory: &[Arc<MatchRecord>], _: &mut Dice) -> Option<Value> {
        likeliest(&parity::guesses(think, memory)).map(parity::against)
    }
}

/// The guess that most often followed on one like the last.
fn likeliest(guesses: &[Parity]) -> Option<Parity> {
    let last = guesses.last()?;
    let steps = guesses.iter().zip(guesses.iter().skip(1));
    let next = steps.filter(|(from, _)| *from == last).map(|(_, to)| *to);
    parity::majority(next)
}

#[cfg(test)]
mod tests {
    use super::Parity::{Even, Odd};
    use super::*;

    #[test]
    fn the_most_frequent_step_from_the_last_guess_is_expected() {
        let table: [(&[Parity], Option<Parity>); 8] = [
            (&[], None),
            (&[Even], None),
            (&[Even, Odd], None),
            (&[Even, Even], Some(Even)),
            (&[Even, Odd, Even], Some(Odd)),
            (&[Even, Even, Odd, Even], None),
            (&[Even, Even, Odd, Even, Odd, Even], Some(Odd)),
            (&[Odd, Odd, Odd, Even, Odd], Some(Odd)),
        ];
        for (guesses, expected) in table {
            assert_eq!(likeliest(guesses), expected, "{guesses:?}");
        }
    }
}
