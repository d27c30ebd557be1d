//! Ratings against closed forms, published figures, and players of known strength.

use league_games::Dice;

use super::*;

fn score(first: usize, second: usize, [wins, draws, losses]: [u64; 3]) -> PairScore {
    PairScore {
        first,
        second,
        wins,
        draws,
        losses,
    }
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found}, not {expected}"
    );
}

#[test]
fn two_players_have_the_ratings_of_the_closed_form() {
    // The strengths differ by ln(wins / losses).
    let ratings = Ratings::estimate(2, &[score(0, 1, [4_000, 4_000, 2_000])], false);
    near(ratings.difference(0, 1).elo, ELO * 2_f64.ln(), 0.2);
    near(ratings.rating(0).unwrap().elo, ELO * 2_f64.ln() / 2.0, 0.1);

    // Without draws the error is that of a logistic regression: 1 / sqrt(n p q).
    let decided = Ratings::estimate(2, &[score(0, 1, [600, 0, 400])], false);
    let found = decided.difference(0, 1);
    near(found.elo, ELO * 1.5_f64.ln(), 0.3);
    near(found.error(), Z95 * ELO / (1_000.0 * 0.24_f64).sqrt(), 0.3);
}

#[test]
fn published_example_of_four_players_is_met() {
    // The worked example of the article "Bradley–Terry model" in Wikipedia, each result a thousand
    // times, so that the prior does not matter.
    let pairs = [(0, 1, 2, 3), (0, 3, 1, 4), (1, 2, 5, 3), (2, 3, 1, 3)];
    let scores = pairs.map(|(a, b, wins, losses)| score(a, b, [wins * 1_000, 0, losses * 1_000]));
    let ratings = Ratings::estimate(4, &scores, false);
    for (player, strength) in [0.640, 1.043, 0.660, 2.270_f64].into_iter().enumerate() {
        near(ratings.strengths[player].exp(), strength, 0.005);
    }
    assert_eq!(ratings.order(), [3, 1, 2, 0]);
}

#[test]
fn one_sided_and_empty_results_have_finite_ratings() {
    for counts in [[4, 0, 0], [0, 4, 0], [0, 0, 1_000_000], [1, 0, 0]] {
        let ratings = Ratings::estimate(2, &[score(0, 1, counts)], false);
        let Rating { elo, low, high } = ratings.difference(0, 1);
        assert!(low.is_finite() && high.is_finite() && low < high, "{elo}");
        assert!(ratings.certainty_of_first().is_finite());
    }
    let four = Ratings::estimate(2, &[score(0, 1, [4, 0, 0])], false).difference(0, 1);
    assert!(four.elo > 300.0 && four.elo < 1_500.0, "{four:?}");
    let alone = Ratings::estimate(3, &[score(0, 1, [1, 1, 1]), score(0, 9, [1, 0, 0])], false);
    assert_eq!(alone.rating(2), None);
    assert_eq!(alone.rating(3), None);
    assert_eq!(alone.order()[2], 2);
    assert!(Ratings::estimate(0, &[], true).order().is_empty());
}

#[test]
fn ranks_are_groups_where_intervals_overlap() {
    let clear = [
        score(0, 1, [800, 0, 200]),
        score(1, 2, [800, 0, 200]),
        score(0, 2, [950, 0, 50]),
    ];
    let ratings = Ratings::estimate(3, &clear, false);
    let groups = [0, 1, 2].map(|player| ratings.rank_group(player).to_string());
    assert_eq!(groups, ["1", "2", "3"]);
    assert!(ratings.certainty_of_first() > 0.999);

    let close = [
        score(0, 1, [52, 0, 48]),
        score(1, 2, [90, 0, 10]),
        score(0, 2, [90, 0, 10]),
    ];
    let ratings = Ratings::estimate(3, &close, false);
    let groups = [0, 1, 2].map(|player| ratings.rank_group(player).to_string());
    assert_eq!(groups, ["1–2", "1–2", "3"]);
    let certainty = ratings.certainty_of_first();
    assert!(certainty > 0.5 && certainty < 0.8, "{certainty}");
}

#[test]
fn player_without_a_game_is_not_a_rival() {
    let scores = [score(0, 1, [80, 0, 20])];
    let [two, three] = [2, 3].map(|players| Ratings::estimate(players, &scores, false));
    near(three.certainty_of_first(), two.certainty_of_first(), 0.01);
    for player in [0, 1] {
        assert_eq!(three.rank_group(player), two.rank_group(player));
    }
}

/// Plays every pair of players of these strengths so often.
fn play(strengths: &[f64], draw: f64, games: u64, dice: &mut Dice) -> Vec<PairScore> {
    const PARTS: u64 = 1 << 32;
    let mut scores = Vec::new();
    for first in 0..strengths.len() {
        for second in first + 1..strengths.len() {
            let [win, draw, _] = outcome_shares(strengths[first] - strengths[second], draw);
            let mut counts = [0; 3];
            for _ in 0..games {
                let at = dice.roll(0..=PARTS - 1) as f64 / PARTS as f64;
                counts[usize::from(at >= win) + usize::from(at >= win + draw)] += 1;
            }
            scores.push(score(first, second, counts));
        }
    }
    scores
}

#[test]
fn first_is_truly_best_as_often_as_its_certainty_says() {
    let mut dice = Dice::seeded(11);
    let (mut promised, mut kept) = (0.0, 0.0);
    for _ in 0..400 {
        // Strengths by chance, about as far apart as ten games can tell.
        let strengths = [0; 4].map(|_| dice.roll(0..=1_000) as f64 / 1_000.0);
        let ratings = Ratings::estimate(4, &play(&strengths, -1.0, 10, &mut dice), false);
        let best = (0..4).max_by(|a, b| strengths[*a].total_cmp(&strengths[*b]));
        promised += ratings.certainty_of_first();
        kept += f64::from(u8::from(Some(ratings.order()[0]) == best));
    }
    near(kept / 400.0, promised / 400.0, 0.1);
}

#[test]
fn luck_looks_like_luck_and_skill_does_not() {
    for games in [1, 2, 40] {
        let mut dice = Dice::seeded(games);
        let found = |strengths: &[f64], dice: &mut Dice| {
            let tests = (0..500).map(|_| luck_test(8, &play(strengths, 0.0, games, dice)));
            tests.filter(|test| !test.is_luck()).count()
        };
        let alarms = found(&[0.0; 8], &mut dice);
        // With few games the test errs towards luck.
        let least = if games < 40 { 0 } else { 5 };
        assert!((least..=45).contains(&alarms), "{games}: {alarms} of 500");
        let ladder: Vec<f64> = (0..8).map(f64::from).collect();
        let skill = found(&ladder, &mut dice);
        assert!(skill > 450, "{games}: {skill} of 500");
    }
}

#[test]
fn circle_of_equal_ratings_is_not_luck() {
    let circle = [(0, 1), (1, 2), (2, 0)].map(|(a, b)| score(a, b, [60, 10, 30]));
    let ratings = Ratings::estimate(3, &circle, false);
    assert_eq!(ratings.rank_group(0).to_string(), "1–3");
    let test = luck_test(3, &circle);
    assert_eq!(test.degrees, 3);
    near(test.chi_square, 30.0, 1e-9);
    assert!(!test.is_luck());
    let nothing = luck_test(3, &[]);
    assert_eq!((nothing.degrees, nothing.p), (0, 1.0));
}

#[test]
fn groups_that_never_met_cost_a_degree_of_freedom() {
    let scores = [(0, 1), (1, 2), (3, 4)].map(|(a, b)| score(a, b, [1, 0, 0]));
    assert_eq!(luck_test(5, &scores).degrees, 3);
}

#[test]
fn tails_are_those_of_the_tables() {
    for (statistic, degrees) in [(3.841, 1), (18.307, 10), (124.342, 100), (1_074.679, 1_000)] {
        near(chi_square_tail(statistic, degrees), 0.05, 1e-4);
    }
    near(chi_square_tail(6.635, 1), 0.01, 1e-5);
    near(chi_square_tail(4.351, 5), 0.5, 1e-3);
    for (wins, losses, p) in [
        (9, 3, 598.0 / 4_096.0),
        (3, 9, 598.0 / 4_096.0),
        (6, 0, 0.03125),
        (5, 5, 1.0),
        (0, 0, 1.0),
        (5_100, 4_900, 0.046_6),
    ] {
        near(sign_test(wins, losses), p, 1e-4);
    }
    assert!(sign_test(10_000, 0) < 1e-300);
}

#[test]
fn shares_have_wilsons_interval() {
    for (points, games, low, high) in [
        (8.0, 10, 0.490_2, 0.943_3),
        (0.0, 10, 0.0, 0.277_5),
        (10.0, 10, 0.722_5, 1.0),
        (0.0, 0, 0.0, 1.0),
    ] {
        let found = share(points, games);
        near(found.low, low, 1e-3);
        near(found.high, high, 1e-3);
    }
}

fn test_of(elo0: f64, elo1: f64) -> SequentialTest {
    SequentialTest {
        elo0,
        elo1,
        alpha: 0.05,
        beta: 0.05,
    }
}

#[test]
fn log_likelihood_ratio_is_that_of_published_matches() {
    // The figures of the tests of fastchess for the logistic model.
    for (elo0, elo1, [wins, draws, losses], expected) in [
        (0.5, 2.5, [21_404, 40_708, 21_184], -1.57),
        (0.0, 2.0, [57_433, 106_593, 57_030], -2.59),
    ] {
        let found = test_of(elo0, elo1).log_likelihood_ratio(wins, draws, losses);
        near(found, expected, 0.01);
    }
    let [lower, upper] = test_of(0.0, 10.0).bounds();
    near(lower, -2.944, 1e-3);
    near(upper, 2.944, 1e-3);
}

#[test]
fn sequential_test_decides_and_errs_no_more_often_than_allowed() {
    let test = test_of(0.0, 60.0);
    let mut dice = Dice::seeded(3);
    let mut run = |strength: f64| {
        let mut counts = [0; 3];
        loop {
            for pair in play(&[strength, 0.0], 0.0, 10, &mut dice) {
                counts[0] += pair.wins;
                counts[1] += pair.draws;
                counts[2] += pair.losses;
            }
            match test.verdict(counts[0], counts[1], counts[2]) {
                SequentialOutcome::Open => {}
                decided => return decided,
            }
        }
    };
    // With a third of draws, this strength has the expected score of 60 points.
    let stronger = 60.0 / ELO * 1.5;
    let wrong =
        |strength: f64, right: SequentialOutcome, run: &mut dyn FnMut(f64) -> SequentialOutcome| {
            (0..200).filter(|_| run(strength) != right).count()
        };
    let errors = wrong(0.0, SequentialOutcome::Weaker, &mut run);
    assert!(errors <= 20, "{errors} of 200");
    let errors = wrong(stronger, SequentialOutcome::Stronger, &mut run);
    assert!(errors <= 20, "{errors} of 200");
    assert_eq!(test.verdict(0, 0, 0), SequentialOutcome::Open);
    assert!(test.log_likelihood_ratio(4, 0, 0).is_finite());
}
