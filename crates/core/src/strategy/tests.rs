//! The table: names, suggestions for misspelled names, assignment to players.

use super::*;

fn game(name: &str) -> GameType {
    GameType::new(name).expect("it is an id")
}

fn names_of(strategies: &[&'static Strategy]) -> Vec<&'static str> {
    strategies.iter().map(|strategy| strategy.name).collect()
}

#[test]
fn every_strategy_is_found_by_its_name_and_says_what_it_does() {
    for strategy in all() {
        let Strategy { name, about, .. } = strategy;
        assert_eq!(find(name).unwrap().name, *name);
        assert!(!about.is_empty() && !about.contains('\n'), "{name}");
    }
}

#[test]
fn a_misspelled_or_shortened_name_gets_a_suggestion() {
    for (written, expected) in [
        ("rand", Some("random")),
        ("andom", Some("random")),
        ("Random", Some("random")),
        ("always_even", Some("always-even")),
        ("alwaysodd", Some("always-odd")),
        ("even", Some("always-even")),
        ("histroy", Some("history")),
        ("freq", Some("frequency")),
        ("pttern", Some("pattern")),
        ("makov", Some("markov")),
        ("minmax", Some("minimax")),
        ("m", None),
        ("greedy", None),
        ("best", None),
        ("", None),
        ("ÄÖÜ", None),
    ] {
        assert_eq!(find(written).unwrap_err().nearest(), expected, "{written}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_a_suggestion_and_the_list() {
    let names = "`random`, `always-even`, `always-odd`, `history`, `frequency`, `pattern`, \
                 `markov`, `minimax`";
    assert_eq!(
        find("minmax").unwrap_err().to_string(),
        format!("there is no strategy `minmax`; did you mean `minimax`? there are {names}")
    );
    assert_eq!(
        find("\u{1b}[2J").unwrap_err().to_string(),
        format!("there is no strategy `\\u{{1b}}[2J`; there are {names}")
    );
    let long = find(&"x".repeat(1_000_000)).unwrap_err();
    assert_eq!(long.name.len(), MAX_NAME);
}

#[test]
fn strategies_are_dealt_out_in_turn() {
    let even_odd = names_of(&deal(&[], &game("even_odd"), 9));
    let expected = [
        "random",
        "always-even",
        "always-odd",
        "history",
        "frequency",
        "pattern",
        "markov",
        "random",
        "always-even",
    ];
    assert_eq!(even_odd, expected);
    let tic_tac_toe = names_of(&deal(&[], &game("tic_tac_toe"), 3));
    assert_eq!(tic_tac_toe, ["random", "minimax", "random"]);
    assert_eq!(names_of(&deal(&[], &game("chess"), 2)), ["random"; 2]);
    let chosen = [find("markov").unwrap(), find("minimax").unwrap()];
    let dealt = names_of(&deal(&chosen, &game("even_odd"), 3));
    assert_eq!(dealt, ["markov", "minimax", "markov"]);
    assert!(deal(&chosen, &game("even_odd"), 0).is_empty());
}

#[test]
fn the_page_has_a_row_for_every_strategy() {
    let page = include_str!("../../../../docs/strategies.md");
    for strategy in all() {
        let row = format!("\n| `{}` | ", strategy.name);
        assert!(page.contains(&row), "{}", strategy.name);
    }
}
