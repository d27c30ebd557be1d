//! How a player chooses: the strategies there are, found by name and dealt out.
//!
//! A strategy is a function of what a player sees and remembers, and of dice. Watching the
//! deadline is left to whoever asks it, and remembering to the player's machine. What each of
//! them is good for: `docs/strategies.md`.

mod always_even;
mod always_odd;
mod frequency;
mod history;
mod markov;
mod minimax;
mod parity;
mod pattern;
mod random;

use std::fmt;
use std::sync::Arc;

use league_core::player::{MatchRecord, Think};
use league_games::Dice;
use league_protocol::id::GameType;
use serde_json::Value;
use thiserror::Error;

/// A way to choose moves; it keeps nothing between two choices.
pub trait Strategy: fmt::Debug + Send + Sync {
    /// The name by which users ask for it.
    fn name(&self) -> &'static str;

    /// Says in one line what it does.
    fn description(&self) -> &'static str;

    /// Tells whether it has ideas about this game.
    fn knows(&self, game: &GameType) -> bool;

    /// The move it would like to make in a game that it knows; nothing if all are alike to it.
    fn idea(&self, think: &Think, memory: &[Arc<MatchRecord>], dice: &mut Dice) -> Option<Value>;

    /// Chooses one of the options: its idea if that is legal, otherwise any by chance.
    ///
    /// `memory` holds the player's own latest matches, oldest first. Without options, which the
    /// machine never asks about, the choice is `null`.
    fn choose(&self, think: &Think, memory: &[Arc<MatchRecord>], dice: &mut Dice) -> Value {
        let idea = if self.knows(&think.game_type) {
            self.idea(think, memory, dice)
        } else {
            None
        };
        idea.filter(|idea| think.options.contains(idea))
            .or_else(|| dice.pick(&think.options).cloned())
            .unwrap_or_default()
    }
}

/// The list of strategies; whoever adds one adds it here.
static STRATEGIES: [&dyn Strategy; 8] = [
    &random::Random,
    &always_even::AlwaysEven,
    &always_odd::AlwaysOdd,
    &history::History,
    &frequency::Frequency,
    &pattern::Pattern,
    &markov::Markov,
    &minimax::Minimax,
];

/// Lists every strategy; the first knows every game.
pub fn all() -> &'static [&'static dyn Strategy] {
    &STRATEGIES
}

/// Finds a strategy by its name, which is spelled exactly as in the list.
pub fn find(name: &str) -> Result<&'static dyn Strategy, UnknownStrategy> {
    let found = STRATEGIES.iter().find(|strategy| strategy.name() == name);
    found.copied().ok_or_else(|| UnknownStrategy {
        name: name.chars().take(LONGEST_NAME).collect(),
    })
}

/// Deals strategies out in turn, one to each of so many players.
///
/// They come from those that were chosen; if none was, from all that know the game.
pub fn deal(
    chosen: &[&'static dyn Strategy],
    game: &GameType,
    players: usize,
) -> Vec<&'static dyn Strategy> {
    let fitting: Vec<_> = STRATEGIES
        .iter()
        .copied()
        .filter(|strategy| strategy.knows(game))
        .collect();
    let pack = if chosen.is_empty() { &fitting } else { chosen };
    pack.iter().copied().cycle().take(players).collect()
}

/// How much of a name that nobody knows is repeated, in characters.
const LONGEST_NAME: usize = 64;

/// A name that no strategy has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no strategy `{}`; {}there are {}", name.escape_debug(), self.guess(), names())]
pub struct UnknownStrategy {
    /// The name, cut if it is very long.
    pub name: String,
}

impl UnknownStrategy {
    /// The name that was probably meant: the one that begins and ends most like the unknown one.
    ///
    /// At least half of what was written must be found in it, and more than a letter.
    pub fn nearest(&self) -> Option<&'static str> {
        let written = self.name.to_lowercase().replace('_', "-");
        let likeness = |name: &&str| shared_letters(&written, name);
        // Of several that are equally like it, the first of the list.
        let best = all().iter().rev().map(|strategy| strategy.name());
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
    let names: Vec<String> = all()
        .iter()
        .map(|strategy| format!("`{}`", strategy.name()))
        .collect();
    names.join(", ")
}

/// Keeps the page about strategies true: its example is compiled and run with the other tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/strategies.md")]
struct Guide;

#[cfg(test)]
mod tests;
