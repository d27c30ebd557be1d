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
        ("gredy", Some("greedy")),
        ("tit_for_tat", Some("tit-for-tat")),
        ("fish", None),
        ("", None),
        ("ÄÖÜ", None),
    ] {
        assert_eq!(find(written).unwrap_err().nearest(), expected, "{written}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_a_suggestion_and_the_list() {
    let listed = names();
    let strategies = listed.split(", ").count();
    assert_eq!(strategies, all().len());
    assert!(listed.starts_with("`random`, `always-even`, "), "{listed}");
    assert_eq!(
        find("minmax").unwrap_err().to_string(),
        format!("there is no strategy `minmax`; did you mean `minimax`? there are {listed}")
    );
    assert_eq!(
        find("\u{1b}[2J").unwrap_err().to_string(),
        format!("there is no strategy `\\u{{1b}}[2J`; there are {listed}")
    );
    let long = find(&"x".repeat(1_000_000)).unwrap_err();
    assert_eq!(long.name.len(), MAX_NAME);
}

#[test]
fn strategies_are_dealt_out_in_turn() {
    let known: Vec<&str> = all()
        .iter()
        .filter(|strategy| strategy.knows(&game("even_odd")))
        .map(|strategy| strategy.name)
        .collect();
    let dealt = names_of(&deal(&game("even_odd"), known.len() + 2));
    assert_eq!(dealt[..known.len()], known);
    assert_eq!(dealt[known.len()..], ["random", "always-even"]);
    let tic_tac_toe = names_of(&deal(&game("tic_tac_toe"), 3));
    assert_eq!(tic_tac_toe, ["random", "minimax", "random"]);
    assert_eq!(names_of(&deal(&game("chess"), 2)), ["random"; 2]);
    assert!(deal(&game("even_odd"), 0).is_empty());
}

#[test]
fn every_game_has_two_strategies_besides_chance() {
    for listing in league_games::all() {
        let game = game(listing.rules.game_type);
        let known = all().iter().filter(|strategy| strategy.knows(&game));
        let least = if game.as_str() == "tic_tac_toe" { 2 } else { 3 };
        assert!(known.count() >= least, "{game}");
    }
    for game in all().iter().flat_map(|strategy| strategy.games) {
        assert!(league_games::find(game).is_some(), "{game}");
    }
}

#[test]
fn the_page_has_a_row_for_every_strategy() {
    let page = include_str!("../../../../docs/strategies.md");
    for strategy in all() {
        let row = format!("\n| `{}` | ", strategy.name);
        assert!(page.contains(&row), "{}", strategy.name);
    }
}
