//! The strategies for games of turns that need a thought and not a search: nim and memory.

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
    let seen = latest.iter().filter_map(|card| Some((card.get("card")?.as_u64()?, card.get("value")?)));
    let known: BTreeMap<u64, &Value> = seen.collect();
    let value_of = |option: &Value| known.get(&option.as_u64()?).copied();
    let cards = think.view.get("cards")?.as_array()?;
    // The first card of this turn, if it lies face up.
    let first = cards.iter().find(|card| card.is_number());
    let completes = |option: &&Value| match (value_of(option), first) {
        (None, _) => false,
        (Some(value), Some(first)) => value == first,
        (Some(value), None) => {
            let same = think.options.iter().filter(|other| value_of(other) == Some(value));
            same.count() > 1
        }
    };
    let options = || think.options.iter();
    if let Some(option) = options().find(completes) {
        return Some(option.clone());
    }
    let unknown: Vec<&Value> = options().filter(|option| value_of(option).is_none()).collect();
    dice.pick(&unknown).copied().cloned()
}
