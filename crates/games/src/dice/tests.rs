//! The rule of the dice against a second reading of it, and against statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;

use super::*;

/// Dice over the given words, the last one for ever after.
fn dice_of(words: Vec<u64>) -> Dice {
    let mut next = 0;
    Dice::from_words(Box::new(move || {
        let word = words[next.min(words.len() - 1)];
        next += 1;
        word
    }))
}

/// The rule as the documentation of [`Dice`] has it, in wide arithmetic.
fn by_the_book(low: u64, high: u64, words: &[u64]) -> Option<u64> {
    let faces = u128::from(high - low) + 1;
    let limit = (1 << 64) / faces * faces;
    let word = words
        .iter()
        .map(|&word| u128::from(word))
        .find(|&word| word < limit)?;
    u64::try_from(u128::from(low) + word % faces).ok()
}

/// Pearson's statistic of `rolls` rolls against equal chances.
fn chi_square(low: u64, high: u64, rolls: u32, seed: u64) -> f64 {
    let mut dice = Dice::seeded(seed);
    let mut counts = vec![0_u32; (high - low + 1) as usize];
    for _ in 0..rolls {
        counts[(dice.roll(low..=high) - low) as usize] += 1;
    }
    let expected = f64::from(rolls) / counts.len() as f64;
    counts
        .iter()
        .map(|&count| (f64::from(count) - expected).powi(2) / expected)
        .sum()
}

#[test]
fn faces_come_up_equally_often() {
    // With 9 and 99 degrees of freedom, 99 % of fair dice lie between these two values.
    for seed in 1..=3 {
        let ten = chi_square(1, 10, 200_000, seed);
        assert!((1.735..23.589).contains(&ten), "1-10, seed {seed}: {ten}");
        let hundred = chi_square(0, 99, 200_000, seed);
        assert!(
            (66.510..138.987).contains(&hundred),
            "0-99, seed {seed}: {hundred}"
        );
    }
}

#[test]
fn same_seed_rolls_the_same_numbers_on_every_machine() {
    let mut dice = Dice::seeded(2025);
    let rolls: Vec<u64> = (0..16).map(|_| dice.roll(1..=10)).collect();
    assert_eq!(rolls, [6, 4, 6, 4, 6, 2, 8, 2, 10, 1, 5, 4, 9, 4, 2, 5]);
}

#[test]
fn word_counts_only_below_the_limit() {
    // 2^64 leaves 6 when divided by 10, so the six greatest words are rejected.
    let last = u64::MAX - 6;
    assert_eq!(dice_of(vec![last, 0]).roll(1..=10), 10);
    assert_eq!(dice_of(vec![last + 1, 3]).roll(1..=10), 4);
    assert_eq!(dice_of(vec![u64::MAX, last + 1, 8]).roll(1..=10), 9);
    assert_eq!(
        dice_of(vec![u64::MAX]).roll(0..=15),
        15,
        "16 divides 2^64: nothing to reject"
    );
}

#[test]
fn roll_ends_after_the_bound_on_words() {
    let asked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&asked);
    let mut dice = Dice::from_words(Box::new(move || {
        counter.fetch_add(1, Ordering::Relaxed);
        u64::MAX
    }));
    assert_eq!(dice.roll(1..=10), 1 + u64::MAX % 10);
    assert_eq!(asked.load(Ordering::Relaxed), MAX_WORDS_PER_ROLL);
}

#[test]
fn loaded_dice_show_the_ends_of_any_range() {
    for (low, high) in [
        (1, 10),
        (0, 99),
        (7, 7),
        (0, u64::MAX),
        (u64::MAX, u64::MAX),
    ] {
        assert_eq!(Dice::lowest().roll(low..=high), low);
        assert_eq!(Dice::highest().roll(low..=high), high);
    }
}

#[test]
#[expect(
    clippy::reversed_empty_ranges,
    reason = "an empty range is what is tested"
)]
fn empty_range_gives_its_start() {
    for mut dice in [Dice::seeded(1), Dice::lowest(), Dice::highest()] {
        assert_eq!(dice.roll(5..=4), 5);
    }
}

#[test]
fn pick_reaches_every_item() {
    let things = ["first", "middle", "last"];
    assert_eq!(Dice::lowest().pick(&things), Some(&"first"));
    assert_eq!(Dice::highest().pick(&things), Some(&"last"));
    assert_eq!(Dice::seeded(1).pick::<u8>(&[]), None);
}

#[test]
fn debug_output_of_dice_shows_no_word() {
    assert_eq!(format!("{:?}", Dice::seeded(1)), "Dice(…)");
}

proptest! {
    #[test]
    fn every_roll_follows_the_documented_rule(
        ends in any::<(u64, u64)>(),
        small in prop::option::of(1_u64..1000),
        words in prop::collection::vec(
            prop_oneof![any::<u64>(), (0_u64..1000).prop_map(|less| u64::MAX - less)],
            1..20,
        ),
    ) {
        let low = ends.0.min(ends.1);
        let high = small.map_or(ends.0.max(ends.1), |faces| low.saturating_add(faces - 1));
        let rolled = dice_of(words.clone()).roll(low..=high);
        prop_assert!((low..=high).contains(&rolled));
        if let Some(expected) = by_the_book(low, high, &words) {
            prop_assert_eq!(rolled, expected);
        }
    }

    #[test]
    fn each_face_has_equally_many_words(faces in 1_u64..=1_000_000) {
        let limit = (1_u128 << 64) / u128::from(faces) * u128::from(faces);
        let last_accepted = u64::try_from(limit - 1).unwrap();
        // Accepted words are whole turns of the faces: they begin with the first and end with the last.
        prop_assert_eq!(dice_of(vec![0]).roll(1..=faces), 1);
        prop_assert_eq!(dice_of(vec![last_accepted, 0]).roll(1..=faces), faces);
        if let Ok(first_rejected) = u64::try_from(limit) {
            let next = faces / 2;
            prop_assert_eq!(dice_of(vec![first_rejected, next]).roll(0..=faces - 1), next);
        }
    }
}
