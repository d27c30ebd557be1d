//! What the lab finds: luck in Even/Odd, skill elsewhere, and the same for the same seed.

use league_core::lab::{Lab, LabScores};
use league_core::rating::{PairScore, Ratings, luck_test};
use league_core::strategy::{all, find};
use league_protocol::id::GameType;

/// How often a pair meets in a season.
const MEETINGS: u32 = 20;

/// The share of the full figures that a test plays; `cargo xtask campaign lab` plays them whole.
#[expect(
    clippy::disallowed_methods,
    reason = "the campaign asks for more by the environment"
)]
fn scaled(matches: u64) -> u64 {
    let percent = std::env::var("LEAGUE_LAB_PERCENT").ok();
    let percent = percent.map_or(10, |it| it.parse().expect("LEAGUE_LAB_PERCENT is a number"));
    matches * percent / 100
}

fn lab(game: &str, strategies: &[&str], seed: u64) -> Lab {
    let strategies = strategies.iter().map(|name| find(name).unwrap());
    Lab::new(&GameType::new(game).unwrap(), strategies.collect(), seed).unwrap()
}

fn play(lab: &Lab, matches: u64) -> LabScores {
    let mut sum = LabScores::default();
    for season in 0..matches.div_ceil(u64::from(MEETINGS)) {
        sum.add(&lab.season(season, MEETINGS));
    }
    sum
}

/// The results of one strategy against another.
fn pair(game: &str, one: &str, other: &str, matches: u64) -> PairScore {
    play(&lab(game, &[one, other], 1), matches).pairs()[0]
}

#[test]
fn nobody_beats_a_fair_draw() {
    let game = GameType::new("even_odd").unwrap();
    let known = all().iter().filter(|strategy| strategy.knows(&game));
    let known: Vec<&str> = known.map(|strategy| strategy.name).collect();
    let matches = scaled(10_000);
    let scores = play(&lab("even_odd", &known, 1), matches);
    let test = luck_test(known.len(), &scores.seated);
    println!(
        "even_odd: {} pairs, {matches} matches each: chi-square {:.1}, p = {:.3}",
        test.degrees, test.chi_square, test.p
    );
    assert_eq!(test.degrees as usize, known.len() * (known.len() - 1) / 2);
    assert!(test.p > 0.001, "{test:?}");
}

#[test]
fn minimax_never_loses() {
    let score = pair("tic_tac_toe", "minimax", "random", scaled(100_000));
    println!("minimax against random: {score:?}");
    assert_eq!(score.losses, 0);
    assert!(score.wins > 5 * score.draws, "{score:?}");
    let perfect = lab("tic_tac_toe", &["minimax", "random"], 2).season(0, MEETINGS);
    assert_eq!(perfect.pairs()[0].games(), u64::from(MEETINGS));
}

#[test]
fn adaptive_beats_predictable_players() {
    for other in ["alternating", "mirror", "pattern"] {
        let score = pair("rock_paper_scissors", "adaptive", other, scaled(10_000));
        let share = score.wins as f64 / score.decided() as f64;
        println!(
            "adaptive against {other}: {score:?}, {:.1} %",
            100.0 * share
        );
        assert!(share > 0.6, "{other}: {score:?}");
    }
}

#[test]
fn strategies_of_skill_beat_simpler_ones() {
    for (game, better, worse) in [
        ("tic_tac_toe", "minimax", "random"),
        ("rock_paper_scissors", "markov", "alternating"),
        ("rock_paper_scissors", "bayesian", "mirror"),
        ("connect_four", "greedy", "random"),
        ("connect_four", "alpha-beta", "greedy"),
        ("nim", "solver", "greedy"),
        ("nim", "solver", "random"),
        ("memory", "recall", "forgetful"),
        ("memory", "forgetful", "random"),
        ("twenty_one_questions", "halving", "random"),
        ("twenty_one_questions", "guesser", "random"),
        ("kuhn_poker", "equilibrium", "random"),
        ("kuhn_poker", "bold", "random"),
        ("iterated_prisoners_dilemma", "always-defect", "tit-for-tat"),
        ("iterated_prisoners_dilemma", "grim", "random"),
    ] {
        let score = pair(game, better, worse, 1_000);
        println!("{game}, {better} against {worse}: {score:?}");
        let ratings = Ratings::estimate(2, &[score], false).difference(0, 1);
        assert!(ratings.low > 0.0, "{game}, {better}: {score:?}");
    }
}

#[test]
fn nobody_gains_against_the_equilibrium_of_poker() {
    for other in ["bold", "random"] {
        let score = pair("kuhn_poker", "equilibrium", other, 4_000);
        println!("equilibrium against {other}: {score:?}");
        let difference = Ratings::estimate(2, &[score], false).difference(0, 1);
        assert!(difference.high > 0.0, "{other}: {score:?}");
    }
}

#[test]
fn tit_for_tat_never_wins_and_defection_never_loses() {
    for other in all() {
        if !other.knows(&GameType::new("iterated_prisoners_dilemma").unwrap()) {
            continue;
        }
        let kind = pair("iterated_prisoners_dilemma", "tit-for-tat", other.name, 100);
        assert_eq!(kind.wins, 0, "{}", other.name);
        let hard = pair(
            "iterated_prisoners_dilemma",
            "always-defect",
            other.name,
            100,
        );
        assert_eq!(hard.losses, 0, "{}", other.name);
    }
}

#[test]
fn first_seat_of_nim_wins_between_perfect_players() {
    // 3, 4 and 5 sticks are won for the seat that begins.
    let solver = find("solver").unwrap();
    let game = GameType::new("nim").unwrap();
    let lab = Lab::new(&game, vec![solver, solver], 1).unwrap();
    let seated = play(&lab, 1_000).seated;
    let sum = |count: fn(&PairScore) -> u64| seated.iter().map(count).sum::<u64>();
    let first_seat = [sum(|it| it.wins), sum(|it| it.draws), sum(|it| it.losses)];
    assert_eq!(first_seat, [1_000, 0, 0]);
}

#[test]
fn same_seed_gives_the_same_scores_in_every_game() {
    for listing in league_games::all() {
        let game = GameType::new(listing.rules.game_type).unwrap();
        let known = all().iter().filter(|strategy| strategy.knows(&game));
        let known: Vec<&str> = known.map(|strategy| strategy.name).collect();
        let seasons = |seed: u64| {
            let lab = lab(game.as_str(), &known, seed);
            [0, 1].map(|season| lab.season(season, 4))
        };
        let once = seasons(7);
        assert_eq!(once, seasons(7), "{game}");
        let pairs = (known.len() * (known.len() - 1) / 2) as u64;
        for season in &once {
            let games: u64 = season.seated.iter().map(PairScore::games).sum();
            assert_eq!(games, 4 * pairs);
        }
        assert!(Lab::new(&GameType::new("chess").unwrap(), Vec::new(), 1).is_none());
    }
    let [one, other] = [1, 2].map(|seed| play(&lab("even_odd", &["random", "markov"], seed), 400));
    assert_ne!(one, other);
}

#[test]
fn order_of_seasons_does_not_matter() {
    let lab = lab("rock_paper_scissors", &["adaptive", "random", "mirror"], 5);
    let seasons: Vec<LabScores> = (0..6).map(|number| lab.season(number, 3)).collect();
    let (mut forwards, mut backwards) = (LabScores::default(), LabScores::default());
    seasons.iter().for_each(|season| forwards.add(season));
    seasons
        .iter()
        .rev()
        .for_each(|season| backwards.add(season));
    assert_eq!(forwards, backwards);
}
