//! How a player chooses: the table of strategies, lookup by name, and assignment to players.
//!
//! A strategy is a function of a player's view and memory, and of dice. The caller watches the
//! deadline, and the player's machine keeps the memory. `docs/strategies.md` describes each
//! strategy.

mod even_odd;
mod tic_tac_toe;

use std::fmt;
use std::sync::Arc;

use league_core::player::{MatchRecord, Think};
use league_games::even_odd::EvenOdd;
use league_games::tic_tac_toe::TicTacToe;
use league_games::{Dice, Game};
use league_protocol::id::GameType;
use serde_json::Value;
use thiserror::Error;

/// The move that a strategy prefers; `None` if it has no preference.
///
/// The matches are the player's own latest ones, oldest first.
pub type Idea = dyn Fn(&Think, &[Arc<MatchRecord>], &mut Dice) -> Option<Value> + Send + Sync;

/// A way to choose moves; it keeps no state between two choices.
pub struct Strategy {
    /// The name by which users ask for it.
    pub name: &'static str,
    /// One line on how it plays.
    pub about: &'static str,
    /// The only game that it supports; `None` if it fits every game.
    pub game: Option<&'static str>,
    pub idea: &'static Idea,
}

impl fmt::Debug for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Strategy").field(&self.name).finish()
    }
}

impl Strategy {
    /// Whether it fits this game.
    pub fn knows(&self, game: &GameType) -> bool {
        self.game.is_none_or(|own| game.as_str() == own)
    }

    /// Chooses one of the options: its preferred move if that is legal, otherwise a random one.
    ///
    /// `memory` holds the player's own latest matches, oldest first. Without options, which the
    /// machine never asks about, the choice is `null`.
    pub fn choose(&self, think: &Think, memory: &[Arc<MatchRecord>], dice: &mut Dice) -> Value {
        let idea = if self.knows(&think.game_type) {
            (self.idea)(think, memory, dice)
        } else {
            None
        };
        idea.filter(|idea| think.options.contains(idea))
            .or_else(|| dice.pick(&think.options).cloned())
            .unwrap_or_default()
    }
}

const EVEN_ODD: Option<&str> = Some(EvenOdd::RULES.game_type);

static STRATEGIES: [Strategy; 8] = [
    Strategy {
        name: "random",
        about: "any legal move, by chance",
        game: None,
        idea: &|_, _, _| None,
    },
    Strategy {
        name: "always-even",
        about: "even, whatever happens",
        game: EVEN_ODD,
        idea: &even_odd::always_even,
    },
    Strategy {
        name: "always-odd",
        about: "odd, whatever happens",
        game: EVEN_ODD,
        idea: &even_odd::always_odd,
    },
    Strategy {
        name: "history",
        about: "the parity that was drawn more often in its own matches",
        game: EVEN_ODD,
        idea: &even_odd::history,
    },
    Strategy {
        name: "frequency",
        about: "the opposite of the opponent's most frequent guess",
        game: EVEN_ODD,
        idea: &even_odd::frequency,
    },
    Strategy {
        name: "pattern",
        about: "the opposite of what continues the opponent's repeating pattern",
        game: EVEN_ODD,
        idea: &even_odd::pattern,
    },
    Strategy {
        name: "markov",
        about: "the opposite of what most often follows the opponent's last guess",
        game: EVEN_ODD,
        idea: &even_odd::markov,
    },
    Strategy {
        name: "minimax",
        about: "perfect tic-tac-toe: it never loses",
        game: Some(TicTacToe::RULES.game_type),
        idea: &tic_tac_toe::minimax,
    },
];

/// Lists every strategy; the first fits every game.
pub fn all() -> &'static [Strategy] {
    &STRATEGIES
}

/// Finds a strategy by its exact name.
pub fn find(name: &str) -> Result<&'static Strategy, UnknownStrategy> {
    let found = STRATEGIES.iter().find(|strategy| strategy.name == name);
    found.ok_or_else(|| UnknownStrategy {
        name: name.chars().take(MAX_NAME).collect(),
    })
}

/// Assigns strategies to this many players in turn: the chosen ones or, if none was chosen, all
/// that fit the game.
pub fn deal(
    chosen: &[&'static Strategy],
    game: &GameType,
    players: usize,
) -> Vec<&'static Strategy> {
    let known = STRATEGIES.iter().filter(|strategy| strategy.knows(game));
    let pack = if chosen.is_empty() {
        known.collect()
    } else {
        chosen.to_vec()
    };
    pack.into_iter().cycle().take(players).collect()
}

/// The most characters of an unknown name that are repeated in an error.
const MAX_NAME: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no strategy `{}`; {}there are {}", name.escape_debug(), self.guess(), names())]
pub struct UnknownStrategy {
    /// The name, truncated if it is very long.
    pub name: String,
}

impl UnknownStrategy {
    /// The name that was probably meant: the name whose beginning and end match the unknown one
    /// best.
    ///
    /// At least half of the unknown name must match, and more than one letter.
    pub fn nearest(&self) -> Option<&'static str> {
        let written = self.name.to_lowercase().replace('_', "-");
        let likeness = |name: &&str| shared_letters(&written, name);
        // Among equally good names, the first in the list.
        let best = STRATEGIES.iter().rev().map(|strategy| strategy.name);
        let enough = |shared: usize| shared > 1 && shared * 2 >= written.chars().count();
        best.max_by_key(likeness)
            .filter(|name| enough(likeness(name)))
    }

    fn guess(&self) -> String {
        let nearest = self.nearest();
        nearest.map_or_else(String::new, |name| format!("did you mean `{name}`? "))
    }
}

/// Counts the letters that two names share at their beginnings and at their ends.
fn shared_letters(one: &str, other: &str) -> usize {
    let same = |(a, b): &(char, char)| a == b;
    let first = one.chars().zip(other.chars()).take_while(same).count();
    let ends = one.chars().rev().zip(other.chars().rev());
    let last = ends.take_while(same).count();
    let shorter = one.chars().count().min(other.chars().count());
    (first + last).min(shorter)
}

/// The names of all strategies, in the order of the list.
pub fn names() -> String {
    listed(STRATEGIES.iter())
}

/// The names of the strategies that know a game.
pub fn names_for(game: &GameType) -> String {
    listed(STRATEGIES.iter().filter(|strategy| strategy.knows(game)))
}

fn listed(strategies: impl Iterator<Item = &'static Strategy>) -> String {
    let names = strategies.map(|strategy| format!("`{}`", strategy.name));
    names.collect::<Vec<_>>().join(", ")
}

/// Tests the page about strategies: its example is compiled and run with the other tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/strategies.md")]
struct Guide;

#[cfg(test)]
mod tests;
