//! How a player chooses: the table of strategies, lookup by name, and assignment to players.
//!
//! A strategy is a function of a player's view and memory, and of dice. The caller watches the
//! deadline, and the player's machine keeps the memory. `docs/strategies.md` describes each
//! strategy.

mod connect_four;
mod simultaneous;
mod tic_tac_toe;
mod turns;

use std::fmt;
use std::sync::Arc;

use league_games::Dice;
use league_protocol::id::GameType;
use serde_json::Value;
use thiserror::Error;

use crate::player::{MatchRecord, Think};
use simultaneous::{DILEMMA, EVEN_ODD, ROCK_PAPER_SCISSORS};

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
    /// The games that it supports; empty if it fits every game.
    pub games: &'static [&'static str],
    pub idea: &'static Idea,
    /// Whether it takes no more than a moment. Others have a thread of their own, so that the deadline
    /// of a move ends the wait for them.
    pub is_quick: bool,
}

impl fmt::Debug for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Strategy").field(&self.name).finish()
    }
}

impl Strategy {
    const fn new(name: &'static str, games: &'static [&'static str], idea: &'static Idea) -> Self {
        let about = "";
        Self {
            name,
            about,
            games,
            idea,
            is_quick: false,
        }
    }

    const fn quick(self) -> Self {
        Self {
            is_quick: true,
            ..self
        }
    }

    const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// Whether it fits this game.
    pub fn knows(&self, game: &GameType) -> bool {
        self.games.is_empty() || self.games.contains(&game.as_str())
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

const CONNECT_FOUR: &str = "connect_four";
const NIM: &str = "nim";
/// The games in which both sides choose at once.
const SIMULTANEOUS: &[&str] = &[EVEN_ODD, ROCK_PAPER_SCISSORS, DILEMMA];

static STRATEGIES: [Strategy; 25] = [
    Strategy::new("random", &[], &|_, _, _| None)
        .about("any legal move, by chance")
        .quick(),
    Strategy::new("always-even", &[EVEN_ODD], &|_, _, _| Some("even".into()))
        .about("even, whatever happens")
        .quick(),
    Strategy::new("always-odd", &[EVEN_ODD], &|_, _, _| Some("odd".into()))
        .about("odd, whatever happens")
        .quick(),
    Strategy::new("history", &[EVEN_ODD], &simultaneous::history)
        .about("the parity that was drawn more often in its own matches")
        .quick(),
    Strategy::new("frequency", SIMULTANEOUS, &simultaneous::frequency)
        .about("the reply to the opponent's most frequent choice")
        .quick(),
    Strategy::new("pattern", SIMULTANEOUS, &simultaneous::pattern)
        .about("the reply to what continues the opponent's repeating pattern"),
    Strategy::new("markov", SIMULTANEOUS, &simultaneous::markov)
        .about("the reply to what most often follows the opponent's last choice"),
    Strategy::new("minimax", &["tic_tac_toe"], &tic_tac_toe::minimax)
        .about("perfect tic-tac-toe: it never loses"),
    Strategy::new("alternating", SIMULTANEOUS, &simultaneous::alternating)
        .about("its choices in turn, whatever happens")
        .quick(),
    Strategy::new("mirror", SIMULTANEOUS, &simultaneous::mirror)
        .about("what the opponent chose last")
        .quick(),
    Strategy::new("bayesian", SIMULTANEOUS, &simultaneous::bayesian)
        .about("the highest expected payoff, by what followed such a turn before"),
    Strategy::new("bandit", SIMULTANEOUS, &simultaneous::bandit)
        .about("the choice that paid most so far, and now and then another")
        .quick(),
    Strategy::new("adaptive", SIMULTANEOUS, &simultaneous::adaptive)
        .about("the reply to the opponent model that was right most often"),
    Strategy::new("tit-for-tat", &[DILEMMA], &simultaneous::tit_for_tat)
        .about("cooperates, then does what the opponent did last")
        .quick(),
    Strategy::new("grim", &[DILEMMA], &simultaneous::grim)
        .about("cooperates until the opponent defects, and never again")
        .quick(),
    Strategy::new("always-defect", &[DILEMMA], &|_, _, _| {
        Some("defect".into())
    })
    .about("defects, whatever happens")
    .quick(),
    Strategy::new("greedy", &[CONNECT_FOUR, NIM], &greedy)
        .about("the nearest gain: a win or a stopped win in connect four, most sticks in nim")
        .quick(),
    Strategy::new("alpha-beta", &[CONNECT_FOUR], &connect_four::alpha_beta)
        .about("connect four, six moves ahead"),
    Strategy::new("solver", &[NIM], &turns::nim_solver)
        .about("perfect nim: it wins every won position")
        .quick(),
    Strategy::new("recall", &["memory"], &turns::recall)
        .about("memory, with every card that was turned over in mind")
        .quick(),
    Strategy::new("forgetful", &["memory"], &turns::forgetful)
        .about("memory, with the last four cards in mind")
        .quick(),
    Strategy::new("halving", &["twenty_one_questions"], &turns::halving)
        .about("21 questions: asks what halves the items that are left")
        .quick(),
    Strategy::new("guesser", &["twenty_one_questions"], &turns::guesser)
        .about("21 questions: guesses an item that fits, and never asks")
        .quick(),
    Strategy::new("equilibrium", &["kuhn_poker"], &turns::equilibrium)
        .about("Kuhn poker so that no opponent gains against it in the long run")
        .quick(),
    Strategy::new("bold", &["kuhn_poker"], &turns::bold)
        .about("Kuhn poker: bets whenever it can, and folds the jack alone")
        .quick(),
];

/// What is nearest: it looks one move ahead in connect four, and takes most sticks in nim.
fn greedy(think: &Think, memory: &[Arc<MatchRecord>], dice: &mut Dice) -> Option<Value> {
    if think.game_type.as_str() == NIM {
        turns::nim_greedy(think, memory, dice)
    } else {
        connect_four::greedy(think, memory, dice)
    }
}

/// The option with the highest worth; among several, one by chance.
fn best_of<W: Copy + Ord>(weighed: Vec<(W, &Value)>, dice: &mut Dice) -> Option<Value> {
    let highest = weighed.iter().map(|(worth, _)| *worth).max()?;
    let best = weighed.into_iter().filter(|(worth, _)| *worth == highest);
    let best: Vec<&Value> = best.map(|(_, option)| option).collect();
    dice.pick(&best).copied().cloned()
}

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

/// Assigns the strategies that fit a game to this many players in turn.
pub fn deal(game: &GameType, players: usize) -> Vec<&'static Strategy> {
    let known = STRATEGIES.iter().filter(|strategy| strategy.knows(game));
    known.cycle().take(players).collect()
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

#[cfg(test)]
mod tests;
