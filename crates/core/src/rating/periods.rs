//! Elo and Glicko-2: ratings that go from one period to the next. All games of a period are rated by
//! the ratings before it, as both systems have it.

use skillratings::Outcomes;
use skillratings::glicko2::{Glicko2Config, Glicko2Rating, glicko2_rating_period};

use super::normal::Matrix;
use super::{ELO, Interval, PairScore, Ratings, Z95, games_of};

/// The rating with which a player begins.
const START: f64 = 1_500.0;
/// The games during which a player is new (FIDE 8.3.3).
const NEW_GAMES: u64 = 30;
/// How far a game moves the rating of a new player and of another.
const NEW_K: f64 = 40.0;
const USUAL_K: f64 = 20.0;
/// The factor times the games of a period is at most this (FIDE 8.3.3).
const MAX_K_TIMES_GAMES: f64 = 700.0;
/// A larger difference counts as this one (FIDE 8.3.1).
const MAX_DIFFERENCE: f64 = 400.0;

/// Rates by Elo, with the factors of FIDE.
pub(super) fn elo(players: usize, periods: &[Vec<PairScore>]) -> Ratings {
    let mut ratings = vec![START; players];
    let mut games = vec![0; players];
    for scores in periods {
        let scores = among(players, scores);
        let mut gains = vec![0.0; players];
        for score in &scores {
            let [one, other] = [score.first, score.second];
            let gain = surplus(ratings[one] - ratings[other], score);
            gains[one] += gain;
            gains[other] -= gain;
        }
        let of_period = games_of(players, &scores);
        for (player, gain) in gains.into_iter().enumerate() {
            ratings[player] += gain * factor(games[player], of_period[player]);
        }
        add_games(&mut games, &scores);
    }
    let strengths: Vec<f64> = ratings.iter().map(|it| (it - START) / ELO).collect();
    let exactly = |strength: &f64| Interval {
        low: *strength,
        high: *strength,
    };
    Ratings {
        base: START,
        intervals: strengths.iter().map(exactly).collect(),
        strengths,
        covariance: Matrix::zero(players),
        games,
        seat: None,
    }
}

/// How far a game moves the rating of a player with so many games before the period and in it.
fn factor(before: u64, of_period: u64) -> f64 {
    let usual = if before < NEW_GAMES { NEW_K } else { USUAL_K };
    usual.min(MAX_K_TIMES_GAMES / of_period.max(1) as f64)
}

/// The points of the first player beyond those that its lead in ratings makes expected.
fn surplus(lead: f64, score: &PairScore) -> f64 {
    let points = score.wins as f64 + score.draws as f64 / 2.0;
    points - score.games() as f64 * expected(lead)
}

/// The points of a game that a lead in ratings makes expected.
fn expected(lead: f64) -> f64 {
    let lead = lead.clamp(-MAX_DIFFERENCE, MAX_DIFFERENCE);
    1.0 / (1.0 + (-lead / ELO).exp())
}

/// Rates by Glicko-2, with Glickman's start and a volatility that changes little (τ = 0.5).
pub(super) fn glicko2(players: usize, periods: &[Vec<PairScore>]) -> Ratings {
    let mut ratings = vec![Glicko2Rating::new(); players];
    let mut games = vec![0; players];
    for scores in periods {
        let scores = among(players, scores);
        ratings = after_period(&ratings, &scores);
        add_games(&mut games, &scores);
    }
    let mut covariance = Matrix::zero(players);
    for (player, rating) in ratings.iter().enumerate() {
        covariance.add(player, player, (rating.deviation / ELO).powi(2));
    }
    let interval = |rating: &Glicko2Rating| Interval {
        low: (rating.rating - START - Z95 * rating.deviation) / ELO,
        high: (rating.rating - START + Z95 * rating.deviation) / ELO,
    };
    Ratings {
        base: START,
        intervals: ratings.iter().map(interval).collect(),
        strengths: ratings.iter().map(|it| (it.rating - START) / ELO).collect(),
        covariance,
        games,
        seat: None,
    }
}

/// The ratings after one period.
fn after_period(before: &[Glicko2Rating], scores: &[PairScore]) -> Vec<Glicko2Rating> {
    let mut results: Vec<Vec<(Glicko2Rating, Outcomes)>> = vec![Vec::new(); before.len()];
    for score in scores {
        let outcomes = [
            (score.wins, Outcomes::WIN, Outcomes::LOSS),
            (score.draws, Outcomes::DRAW, Outcomes::DRAW),
            (score.losses, Outcomes::LOSS, Outcomes::WIN),
        ];
        for (count, of_first, of_second) in outcomes {
            for _ in 0..count {
                results[score.first].push((before[score.second], of_first));
                results[score.second].push((before[score.first], of_second));
            }
        }
    }
    let config = Glicko2Config::new();
    let players = before.iter().zip(&results);
    players
        .map(|(player, results)| glicko2_rating_period(player, results, &config))
        .collect()
}

fn among(players: usize, scores: &[PairScore]) -> Vec<PairScore> {
    let mut scores = scores.to_vec();
    scores.retain(|score| score.is_among(players));
    scores
}

fn add_games(games: &mut [u64], scores: &[PairScore]) {
    let more = games_of(games.len(), scores);
    games
        .iter_mut()
        .zip(more)
        .for_each(|(sum, part)| *sum += part);
}

#[cfg(test)]
mod tests {
    use super::super::tests::{near, score};
    use super::*;

    #[test]
    fn glicko2_gives_the_figures_of_glickmans_example() {
        let rating = |rating, deviation| Glicko2Rating {
            rating,
            deviation,
            volatility: 0.06,
        };
        let before = [
            rating(1_500.0, 200.0),
            rating(1_400.0, 30.0),
            rating(1_550.0, 100.0),
            rating(1_700.0, 300.0),
        ];
        let scores = [
            score(0, 1, [1, 0, 0]),
            score(2, 0, [1, 0, 0]),
            score(0, 3, [0, 0, 1]),
        ];
        let after = after_period(&before, &scores)[0];
        near(after.rating, 1_464.06, 0.01);
        near(after.deviation, 151.52, 0.01);
        near(after.volatility, 0.059_99, 0.000_01);
    }

    #[test]
    fn elo_gives_the_figures_of_published_examples() {
        // The table of FIDE's rating regulations, 8.1.2, to two digits.
        for (lead, points) in [(0.0, 0.50), (100.0, 0.64), (200.0, 0.76), (300.0, 0.85)] {
            near(expected(lead), points, 0.005);
            near(expected(-lead), 1.0 - points, 0.005);
        }
        near(expected(2_000.0), expected(400.0), 0.0);
        // The player of 1613 in the article "Elo rating system" of Wikipedia.
        let games = [
            (1_609.0, [0, 0, 1]),
            (1_477.0, [0, 1, 0]),
            (1_388.0, [1, 0, 0]),
            (1_586.0, [1, 0, 0]),
            (1_720.0, [0, 0, 1]),
        ];
        let gains = games.map(|(other, counts)| surplus(1_613.0 - other, &score(0, 1, counts)));
        let gain: f64 = gains.iter().sum();
        near(1_613.0 + 32.0 * gain, 1_601.0, 0.5);
    }

    #[test]
    fn periods_are_rated_by_the_ratings_before_them() {
        let games = [score(0, 1, [1, 0, 0]), score(1, 0, [0, 0, 1])];
        let rating = |periods: &[Vec<PairScore>]| elo(2, periods).rating(0).unwrap().elo;
        let (together, one_by_one) = (
            rating(&[games.to_vec()]),
            rating(&games.map(|game| vec![game])),
        );
        near(together, START + NEW_K, 1e-9);
        near(
            one_by_one,
            START + NEW_K * (0.5 + 1.0 - expected(NEW_K)),
            1e-9,
        );
        // After thirty games a game counts half.
        let many = rating(&[vec![score(0, 1, [15, 0, 15])], vec![games[0]]]);
        near(many, START + USUAL_K / 2.0, 1e-9);
    }

    #[test]
    fn long_period_moves_a_rating_by_a_smaller_factor() {
        // K times the games of a period is at most 700 (FIDE 8.3.3).
        for (wins, gain) in [(17, 17.0 * 20.0), (18, 350.0), (200, 350.0)] {
            let found = elo(2, &[vec![score(0, 1, [wins, 0, 0])]]);
            near(found.rating(0).unwrap().elo, START + gain, 1e-9);
        }
        // Each player by its own games.
        let found = elo(3, &[vec![score(0, 1, [0, 0, 35]), score(1, 2, [35, 0, 0])]]);
        near(found.rating(0).unwrap().elo, START - 350.0, 1e-9);
        near(found.rating(1).unwrap().elo, START + 350.0, 1e-9);
        // Two leagues of two players and 200 legs.
        let found = elo(2, &vec![vec![score(0, 1, [200, 0, 0])]; 2]);
        let lead = found.rating(0).unwrap().elo - found.rating(1).unwrap().elo;
        assert!(lead < 1_000.0, "{lead}");
    }

    #[test]
    fn deviation_shrinks_with_games_and_players_without_one_have_no_rating() {
        let periods = vec![vec![score(0, 1, [1, 1, 0])]; 5];
        let found = glicko2(3, &periods);
        let [winner, loser] = [0, 1].map(|player| found.rating(player).unwrap());
        assert!(winner.elo > START && loser.elo < START);
        assert!(winner.error() < Z95 * 200.0, "{winner:?}");
        assert_eq!(found.rating(2), None);
        assert_eq!(elo(3, &periods).order(), [0, 1, 2]);
    }
}
