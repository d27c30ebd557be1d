//! Whatever a referee shows and a player remembers, the choice is one of the options.

use league_core::player::MatchOutcome;
use league_core::strategy::all;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::strategy::Chair;

fn games() -> impl Strategy<Value = &'static str> {
    let listed = league_games::all().iter().map(|it| it.rules.game_type);
    prop::sample::select(listed.chain(["chess"]).collect::<Vec<_>>())
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

/// Views with the fields of our games, and anything in them.
fn views() -> impl Strategy<Value = Value> {
    let board = prop::collection::vec(marks(), 0..12);
    let nine = prop::collection::vec(marks(), 9);
    let shown = (prop_oneof![board, nine], marks());
    let rows = prop::collection::vec(prop::collection::vec(marks(), 7), 5..7);
    let list = || prop::collection::vec(choices(), 0..8);
    let turned = prop::collection::vec((choices(), choices()), 0..8);
    let lists = (list(), list(), turned, choices());
    prop_oneof![
        choices(),
        shown.prop_map(|(board, mark)| json!({"board": board, "your_mark": mark})),
        (rows, marks()).prop_map(|(board, disc)| json!({"board": board, "your_disc": disc})),
        lists.prop_map(|(one, other, turned, any)| {
            let cards = turned
                .iter()
                .map(|(card, value)| json!({"card": card, "value": value}));
            let answers = turned
                .iter()
                .map(|(question, answer)| json!({"question": question, "answer": answer}));
            json!({
                "heaps": one, "cards": other, "turned": cards.collect::<Value>(),
                "items": {"even": one, "odd": other}, "answers": answers.collect::<Value>(),
                "your_throws": one, "opponent_throws": other, "your_choices": other,
                "opponent_choices": one, "your_card": any, "you_move_first": any,
            })
        }),
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
