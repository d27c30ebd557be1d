//! What each strategy says in Even/Odd, by what it remembers.

use league_core::player::MatchOutcome;
use league_games::Dice;
use serde_json::{Value, json};

use crate::strategy::Chair;

/// How the choice is made: the same with any dice, or by the dice.
#[derive(Debug, PartialEq)]
enum Said {
    Surely(Value),
    ByChance,
}

/// How a match ended, and what the player and its opponent said in it.
type Past = (MatchOutcome, [Option<&'static str>; 2]);

fn said(chair: &mut Chair, opponent: &str) -> Said {
    let options = [json!("even"), json!("odd")];
    // A call for a parity in the dialect of 000 brings no view.
    let think = chair.think("even_odd", Value::Null, &options, opponent);
    chair.dice = Dice::lowest();
    let lowest = chair.choose(&think);
    chair.dice = Dice::highest();
    let highest = chair.choose(&think);
    if lowest == highest {
        Said::Surely(lowest)
    } else {
        Said::ByChance
    }
}

fn surely(parity: &str) -> Said {
    Said::Surely(Value::from(parity))
}

fn opposite(parity: &str) -> &'static str {
    if parity == "even" { "odd" } else { "even" }
}

/// Remembers draws in which an opponent said what the letters tell.
fn watch(chair: &mut Chair, opponent: &str, letters: &str) {
    for letter in letters.chars() {
        let choice = if letter == 'e' { "even" } else { "odd" };
        chair.remember(opponent, MatchOutcome::Draw, [Some(choice), Some(choice)]);
    }
}

#[test]
fn strategy_without_history_plays_at_random() {
    for strategy in [
        "random",
        "history",
        "frequency",
        "pattern",
        "markov",
        "minimax",
    ] {
        let mut chair = Chair::new(strategy, 0);
        assert_eq!(said(&mut chair, "P02"), Said::ByChance, "{strategy}");
    }
}

#[test]
fn fixed_strategies_ignore_history() {
    for letters in ["", "eeee", "oooo"] {
        for parity in ["even", "odd"] {
            let mut chair = Chair::new(&format!("always-{parity}"), 0);
            watch(&mut chair, "P02", letters);
            assert_eq!(said(&mut chair, "P02"), surely(parity), "{letters}");
        }
        let mut chair = Chair::new("random", 0);
        watch(&mut chair, "P02", letters);
        assert_eq!(said(&mut chair, "P02"), Said::ByChance, "{letters}");
    }
}

#[test]
fn history_follows_the_drawn_numbers() {
    use MatchOutcome::{Draw, Loss, TechnicalLoss, Win};
    let table: [(&[Past], Option<&str>); 7] = [
        (&[(Win, [Some("even"), Some("odd")])], Some("even")),
        (&[(Loss, [Some("even"), Some("odd")])], Some("odd")),
        (&[(Draw, [Some("even"), Some("even")])], None),
        // Nobody drew a number where a player stayed away.
        (&[(Win, [Some("even"), None])], None),
        (&[(TechnicalLoss, [None, Some("odd")])], None),
        (
            &[
                (Win, [Some("even"), Some("odd")]),
                (Loss, [Some("even"), Some("odd")]),
            ],
            None,
        ),
        (
            &[
                (Win, [Some("even"), Some("odd")]),
                (Loss, [Some("odd"), Some("even")]),
                (Loss, [Some("even"), Some("odd")]),
            ],
            Some("even"),
        ),
    ];
    for (matches, expected) in table {
        let mut chair = Chair::new("history", 0);
        for (result, choices) in matches {
            chair.remember("P02", *result, *choices);
        }
        let expected = expected.map_or(Said::ByChance, surely);
        assert_eq!(said(&mut chair, "P03"), expected, "{matches:?}");
    }
}

#[test]
fn frequency_pattern_and_markov_choose_against_their_prediction() {
    for (strategy, letters, expected) in [
        ("frequency", "e", Some("even")),
        ("frequency", "eo", None),
        ("frequency", "eoo", Some("odd")),
        // More than the latest guesses are counted.
        (
            "frequency",
            "eeeeeeeeeeeeeeeeeeeoooooooooooooooo",
            Some("even"),
        ),
        ("pattern", "e", None),
        ("pattern", "eee", Some("even")),
        ("pattern", "eoeo", Some("even")),
        ("pattern", "eooeoo", Some("even")),
        ("markov", "e", None),
        ("markov", "ee", Some("even")),
        ("markov", "eoe", Some("odd")),
        ("markov", "eeeooeo", None),
    ] {
        let mut chair = Chair::new(strategy, 0);
        watch(&mut chair, "P02", letters);
        let wanted = expected.map_or(Said::ByChance, |parity| surely(opposite(parity)));
        assert_eq!(said(&mut chair, "P02"), wanted, "{strategy} {letters}");
    }
}

#[test]
fn new_opponent_is_predicted_from_the_others() {
    for strategy in ["frequency", "pattern", "markov"] {
        let mut chair = Chair::new(strategy, 0);
        watch(&mut chair, "P02", "ee");
        watch(&mut chair, "P03", "ee");
        assert_eq!(said(&mut chair, "P04"), surely("odd"), "{strategy}");
        watch(&mut chair, "P04", "ooo");
        assert_eq!(said(&mut chair, "P04"), surely("even"), "{strategy}");
    }
}
