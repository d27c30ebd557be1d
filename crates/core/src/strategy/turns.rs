//! The strategies for games of turns that need a thought and not a search: nim, memory, twenty-one
//! questions, Kuhn poker.

use std::collections::BTreeMap;
use std::sync::Arc;

use league_games::Dice;
use serde_json::Value;

use crate::player::{MatchRecord, Think};

type Matches = [Arc<MatchRecord>];

/// Wins every won position of nim: after its move the heaps cancel out in binary.
///
/// From a lost position it takes one stick, so that the opponent has most occasions to err.
pub(crate) fn nim_solver(think: &Think, _: &Matches, dice: &mut Dice) -> Option<Value> {
    let heaps = heaps(&think.view)?;
    let sum = heaps.iter().fold(0, |sum, sticks| sum ^ sticks);
    let worth = |(heap, taken): (usize, u64)| -> Option<i64> {
        let sticks = heaps.get(heap)?;
        let left = sticks.checked_sub(taken)?;
        let wins = sum ^ sticks ^ left == 0;
        Some(if wins { 1 } else { -i64::try_from(taken).ok()? })
    };
    let options = think.options.iter();
    let weighed = options.filter_map(|option| Some((worth(take(option)?)?, option)));
    super::best_of(weighed.collect(), dice)
}

/// Takes as many sticks as it can.
pub(crate) fn nim_greedy(think: &Think, _: &Matches, dice: &mut Dice) -> Option<Value> {
    let options = think.options.iter();
    let weighed = options.filter_map(|option| Some((take(option)?.1, option)));
    super::best_of(weighed.collect(), dice)
}

fn heaps(view: &Value) -> Option<Vec<u64>> {
    let heaps = view.get("heaps")?.as_array()?;
    heaps.iter().map(Value::as_u64).collect()
}

/// The heap, from 0, and the number of sticks that a move takes.
fn take(option: &Value) -> Option<(usize, u64)> {
    let number = option.as_u64()?;
    let heap = usize::try_from(number / 10).ok()?.checked_sub(1)?;
    Some((heap, number % 10))
}

/// Remembers every card that was turned over.
pub(crate) fn recall(think: &Think, _: &Matches, dice: &mut Dice) -> Option<Value> {
    turn_card(think, usize::MAX, dice)
}

/// Remembers the last cards that were turned over, and no others.
pub(crate) fn forgetful(think: &Think, _: &Matches, dice: &mut Dice) -> Option<Value> {
    const REMEMBERED: usize = 4;
    turn_card(think, REMEMBERED, dice)
}

/// Turns over a card of a known pair; if there is none, a card that it does not know.
fn turn_card(think: &Think, remembered: usize, dice: &mut Dice) -> Option<Value> {
    let turned = think.view.get("turned")?.as_array()?;
    let latest = &turned[turned.len().saturating_sub(remembered)..];
    let seen = latest
        .iter()
        .filter_map(|card| Some((card.get("card")?.as_u64()?, card.get("value")?)));
    let known: BTreeMap<u64, &Value> = seen.collect();
    let value_of = |option: &Value| known.get(&option.as_u64()?).copied();
    let cards = think.view.get("cards")?.as_array()?;
    // The first card of this turn, if it lies face up.
    let first = cards.iter().find(|card| card.is_number());
    let completes = |option: &&Value| match (value_of(option), first) {
        (None, _) => false,
        (Some(value), Some(first)) => value == first,
        (Some(value), None) => {
            let same = think
                .options
                .iter()
                .filter(|other| value_of(other) == Some(value));
            same.count() > 1
        }
    };
    let options = || think.options.iter();
    if let Some(option) = options().find(completes) {
        return Some(option.clone());
    }
    let unknown: Vec<&Value> = options()
        .filter(|option| value_of(option).is_none())
        .collect();
    dice.pick(&unknown).copied().cloned()
}

/// Asks what halves the items that are left, and guesses once an answer would help the opponent.
pub(crate) fn halving(think: &Think, _: &Matches, dice: &mut Dice) -> Option<Value> {
    /// With so few items left, the opponent would win after the next answer.
    const GUESSED: usize = 2;
    let candidates = Candidates::read(&think.view)?;
    let left = candidates.items.len();
    if left <= GUESSED {
        return candidates.guess(think, dice);
    }
    let worth = |option: &Value| {
        let having = candidates.having(option.as_str()?);
        // How many items either answer leaves out at least.
        (having > 0 && having < left).then_some(having.min(left - having))
    };
    let options = think.options.iter();
    let asked = options.filter(|option| !candidates.holds(option));
    let weighed = asked.filter_map(|option| Some((worth(option)?, option)));
    super::best_of(weighed.collect(), dice).or_else(|| candidates.guess(think, dice))
}

/// Guesses an item that fits all answers, and never asks.
pub(crate) fn guesser(think: &Think, _: &Matches, dice: &mut Dice) -> Option<Value> {
    Candidates::read(&think.view)?.guess(think, dice)
}

/// The items that fit all answers so far, with their attributes.
struct Candidates<'v> {
    items: BTreeMap<&'v str, Vec<&'v str>>,
}

impl<'v> Candidates<'v> {
    fn read(view: &'v Value) -> Option<Self> {
        let items = view.get("items")?.as_object()?.iter();
        let item = |(name, attributes): (&'v String, &'v Value)| {
            let attributes = attributes.as_array()?.iter().filter_map(Value::as_str);
            Some((name.as_str(), attributes.collect()))
        };
        let mut items: BTreeMap<&str, Vec<&str>> = items.filter_map(item).collect();
        for answer in view.get("answers")?.as_array()? {
            let question = answer.get("question")?.as_str()?;
            let expected = answer.get("answer")?.as_bool()?;
            items.retain(|name, attributes| {
                (*name == question || attributes.contains(&question)) == expected
            });
        }
        Some(Self { items })
    }

    fn holds(&self, option: &Value) -> bool {
        option
            .as_str()
            .is_some_and(|word| self.items.contains_key(word))
    }

    /// How many of them have an attribute.
    fn having(&self, attribute: &str) -> usize {
        let attributes = self.items.values();
        attributes.filter(|all| all.contains(&attribute)).count()
    }

    fn guess(&self, think: &Think, dice: &mut Dice) -> Option<Value> {
        let options = think.options.iter().filter(|option| self.holds(option));
        dice.pick(&options.collect::<Vec<_>>()).copied().cloned()
    }
}

/// Plays Kuhn poker so that no opponent gains in the long run (the equilibrium that bluffs most).
pub(crate) fn equilibrium(think: &Think, _: &Matches, dice: &mut Dice) -> Option<Value> {
    let mut in_three = |times: u64| dice.roll(1..=3) <= times;
    let is_first = think.view.get("you_move_first")?.as_bool()?;
    let stays = match (think.view.get("your_card")?.as_str()?, can_bet(think)) {
        ("king", _) => true,
        ("queen", true) | ("jack", false) => false,
        ("queen", false) => in_three(if is_first { 2 } else { 1 }),
        _ => in_three(1),
    };
    action(think, stays)
}

/// Bets whenever it can, and folds the jack alone.
pub(crate) fn bold(think: &Think, _: &Matches, _: &mut Dice) -> Option<Value> {
    let stays = can_bet(think) || think.view.get("your_card")?.as_str()? != "jack";
    action(think, stays)
}

/// Whether there is no bet yet.
fn can_bet(think: &Think) -> bool {
    think.options.iter().any(|option| option == "bet")
}

/// Puts a chip in, or not.
fn action(think: &Think, stays: bool) -> Option<Value> {
    let name = match (can_bet(think), stays) {
        (true, true) => "bet",
        (true, false) => "check",
        (false, true) => "call",
        (false, false) => "fold",
    };
    Some(name.into())
}
