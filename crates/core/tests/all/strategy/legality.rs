//! Whatever a referee shows and a player remembers, the choice is one of the options.

use league_core::strategy::all;
use league_core::player::MatchOutcome;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::strategy::Chair;

fn games() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("even_odd"), Just("tic_tac_toe"), Just("chess")]
}

fn choices() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("even")),
        Just(json!("odd")),
        Just(json!({"even": null})),
        Just(Value::Null),
        (0..12_u8).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-zA-Z]{0,6}".prop_map(Value::from),
    ]
}

fn marks() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!("X")),
        Just(json!("O")),
        Just(json!(7)),
    ]
}

fn views() -> impl Strategy<Value = Value> {
    let board = prop::collection::vec(marks(), 0..12);
    let nine = prop::collection::vec(marks(), 9);
    let shown = (prop_oneof![board, nine], marks());
    prop_oneof![
        choices(),
        shown.prop_map(|(board, mark)| json!({"board": board, "your_mark": mark})),
    ]
}

fn results() -> impl Strategy<Value = MatchOutcome> {
    prop_oneof![
        Just(MatchOutcome::Win),
        Just(MatchOutcome::Draw),
        Just(MatchOutcome::Loss),
        Just(MatchOutcome::TechnicalLoss),
    ]
}

fn texts() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![
        Just(Some("even")),
        Just(Some("odd")),
        Just(Some("7")),
        Just(None)
    ]
}

proptest! {
    #[test]
    fn choice_is_always_one_of_the_options(
        game in games(),
        view in views(),
        options in prop::collection::vec(choices(), 1..10),
        past in prop::collection::vec((results(), texts(), texts(), "P0[12]"), 0..40),
        seed: u64,
    ) {
        for strategy in all() {
            let mut chair = Chair::new(strategy.name, seed);
            for (result, own, other, opponent) in &past {
                chair.remember(opponent, *result, [*own, *other]);
            }
            let think = chair.think(game, view.clone(), &options, "P01");
            let choice = chair.choose(&think);
            prop_assert!(options.contains(&choice), "{} chose {choice}", strategy.name);
        }
    }

    #[test]
    fn strategy_without_options_chooses_nothing(game in games(), view in views(), seed: u64) {
        for strategy in all() {
            let mut chair = Chair::new(strategy.name, seed);
            let think = chair.think(game, view.clone(), &[], "P01");
            prop_assert_eq!(chair.choose(&think), Value::Null);
        }
    }
}
