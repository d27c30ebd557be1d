//! Ratings from results of pairs: strengths with their errors, rank groups, and whether the results
//! show more than luck.
//!
//! The model is Bradley–Terry with draws (Davidson 1970): with strengths `a` and `b` on a logarithmic
//! scale, a win, a draw and a loss of the first have weights `exp((a-b)/2)`, `exp(draw)` and
//! `exp((b-a)/2)`. A weak prior keeps every estimate finite. The order of results does not matter:
//! the players do not learn or tire in this model.

mod normal;
mod sequential;
mod statistics;

pub use sequential::{SequentialOutcome, SequentialTest};
pub use statistics::{Interval, chi_square_tail, share, sign_test};

use normal::Matrix;

/// Elo points of one unit of the logarithmic scale.
pub const ELO: f64 = 400.0 / std::f64::consts::LN_10;
/// The half width of a 95 % interval, in standard errors.
pub const Z95: f64 = 1.959_963_984_540_054;

/// The prior's standard deviation of a strength, about 700 Elo points.
const STRENGTH_PRIOR: f64 = 4.0;
/// The prior's standard deviation of the draw parameter; 0 stands for a third of draws among equals.
const DRAW_PRIOR: f64 = 5.0;
const MAX_STEPS: usize = 100;
/// The change of every parameter below which the estimate has converged.
const PRECISION: f64 = 1e-10;
/// The longest step of one parameter, so that no step overshoots far.
const MAX_STEP: f64 = 2.0;
/// The fewest decided games of a pair, on average, for which pairs are tested one by one.
const MIN_DECIDED: f64 = 5.0;

/// The results of one pair, as its first player sees them; the players are numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PairScore {
    pub first: usize,
    pub second: usize,
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
}

impl PairScore {
    pub fn games(&self) -> u64 {
        self.wins + self.draws + self.losses
    }

    pub fn decided(&self) -> u64 {
        self.wins + self.losses
    }

    /// Wins minus losses.
    fn surplus(&self) -> f64 {
        self.wins as f64 - self.losses as f64
    }
}

/// The ratings of some players from their results.
#[derive(Debug, Clone)]
pub struct Ratings {
    strengths: Vec<f64>,
    /// The covariance of the strengths, around their mean.
    covariance: Matrix,
    games: Vec<u64>,
}

/// A rating on the Elo scale; the mean of all players is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rating {
    pub elo: f64,
    /// The half width of the 95 % interval.
    pub error: f64,
}

/// The ranks that a player may truly have: "1–3".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankGroup {
    pub best: usize,
    pub worst: usize,
}

impl std::fmt::Display for RankGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { best, worst } = self;
        if best == worst {
            write!(f, "{best}")
        } else {
            write!(f, "{best}–{worst}")
        }
    }
}

impl Ratings {
    /// Estimates the strengths of so many players; scores of players beyond are left out.
    pub fn estimate(players: usize, scores: &[PairScore]) -> Self {
        let is_valid = |score: &&PairScore| {
            score.first < players && score.second < players && score.first != score.second
        };
        let scores: Vec<PairScore> = scores.iter().filter(is_valid).copied().collect();
        let mut games = vec![0; players];
        for score in &scores {
            games[score.first] += score.games();
            games[score.second] += score.games();
        }
        // The last parameter is the draw parameter.
        let mut parameters = vec![0.0; players + 1];
        for _ in 0..MAX_STEPS {
            let (gradient, information) = derivatives(&parameters, &scores);
            let mut step = information.cholesky().solve(&gradient);
            let longest = step.iter().fold(0.0_f64, |most, part| most.max(part.abs()));
            let scale = (MAX_STEP / longest.max(MAX_STEP)).min(1.0);
            step.iter_mut().for_each(|part| *part *= scale);
            for (parameter, part) in parameters.iter_mut().zip(&step) {
                *parameter += part;
            }
            if longest < PRECISION {
                break;
            }
        }
        let (_, information) = derivatives(&parameters, &scores);
        parameters.pop();
        Self {
            strengths: centred(parameters),
            covariance: around_mean(&information.cholesky().inverse(), players),
            games,
        }
    }

    /// A player's rating; `None` if it has not played.
    pub fn rating(&self, player: usize) -> Option<Rating> {
        let has_played = *self.games.get(player)? > 0;
        has_played.then(|| Rating {
            elo: ELO * self.strengths[player],
            error: ELO * Z95 * self.covariance.at(player, player).max(0.0).sqrt(),
        })
    }

    /// The players from the strongest to the weakest; players without a game last.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.strengths.len()).collect();
        order.sort_by(|&a, &b| {
            let played = (self.games[b] > 0).cmp(&(self.games[a] > 0));
            played.then(self.strengths[b].total_cmp(&self.strengths[a]))
        });
        order
    }

    /// By how much the first of two players is stronger, with its error.
    pub fn difference(&self, one: usize, other: usize) -> Rating {
        let variance = self.covariance.at(one, one) + self.covariance.at(other, other)
            - 2.0 * self.covariance.at(one, other);
        Rating {
            elo: ELO * (self.strengths[one] - self.strengths[other]),
            error: ELO * Z95 * variance.max(0.0).sqrt(),
        }
    }

    /// The ranks between which a player stands: another player is ahead of it or behind it only if
    /// the 95 % interval of their difference says so.
    pub fn rank_group(&self, player: usize) -> RankGroup {
        let others = (0..self.strengths.len()).filter(|other| *other != player);
        let (mut ahead, mut behind) = (0, 0);
        for other in others {
            let difference = self.difference(player, other);
            ahead += usize::from(difference.elo + difference.error < 0.0);
            behind += usize::from(difference.elo - difference.error > 0.0);
        }
        RankGroup {
            best: 1 + ahead,
            worst: self.strengths.len() - behind,
        }
    }

    /// The probability that the player with the highest rating is truly the strongest.
    pub fn certainty_of_first(&self) -> f64 {
        let order = self.order();
        let candidates = &order[..order.len().min(normal::MAX_CANDIDATES)];
        let means: Vec<f64> = candidates.iter().map(|&at| self.strengths[at]).collect();
        normal::probability_of_first(&means, &self.covariance.of(candidates))
    }
}

/// The probabilities of a win, a draw and a loss.
fn probabilities(difference: f64, draw: f64) -> [f64; 3] {
    let exponents = [difference / 2.0, draw, -difference / 2.0];
    let highest = exponents.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let weights = exponents.map(|exponent| (exponent - highest).exp());
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// The gradient of the log-posterior, and the information matrix: minus its second derivative.
fn derivatives(parameters: &[f64], scores: &[PairScore]) -> (Vec<f64>, Matrix) {
    let size = parameters.len();
    let last = size - 1;
    let mut gradient = vec![0.0; size];
    let mut information = Matrix::zero(size);
    for (at, parameter) in parameters.iter().enumerate() {
        let deviation = if at == last {
            DRAW_PRIOR
        } else {
            STRENGTH_PRIOR
        };
        let precision = 1.0 / (deviation * deviation);
        gradient[at] -= parameter * precision;
        information.add(at, at, precision);
    }
    for score in scores {
        let (a, b) = (score.first, score.second);
        let games = score.games() as f64;
        let [win, draw, loss] = probabilities(parameters[a] - parameters[b], parameters[last]);
        let slope = (score.surplus() - games * (win - loss)) / 2.0;
        gradient[a] += slope;
        gradient[b] -= slope;
        gradient[last] += score.draws as f64 - games * draw;
        let spread = games * (win + loss - (win - loss) * (win - loss)) / 4.0;
        let mixed = -games * draw * (win - loss) / 2.0;
        for (row, sign) in [(a, 1.0), (b, -1.0)] {
            information.add(row, a, sign * spread);
            information.add(row, b, -sign * spread);
            information.add(row, last, sign * mixed);
            information.add(last, row, sign * mixed);
        }
        information.add(last, last, games * draw * (1.0 - draw));
    }
    (gradient, information)
}

fn centred(mut strengths: Vec<f64>) -> Vec<f64> {
    let mean = strengths.iter().sum::<f64>() / strengths.len().max(1) as f64;
    strengths.iter_mut().for_each(|strength| *strength -= mean);
    strengths
}

/// Leaves the draw parameter out, and the uncertainty of the mean: only the prior tells the mean,
/// and independently of all differences.
fn around_mean(covariance: &Matrix, players: usize) -> Matrix {
    let of_mean = STRENGTH_PRIOR * STRENGTH_PRIOR / players.max(1) as f64;
    let mut centred = covariance.of(&(0..players).collect::<Vec<_>>());
    for row in 0..players {
        for column in 0..players {
            centred.add(row, column, -of_mean);
        }
    }
    centred
}

/// The test of "all players are equal".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LuckTest {
    pub chi_square: f64,
    pub degrees: u64,
    /// How often luck alone would give results as far from equal, or farther.
    pub p: f64,
}

impl LuckTest {
    /// Whether the results show no more than luck, at 5 %.
    pub fn is_luck(&self) -> bool {
        self.p >= 0.05
    }
}

/// Tests whether the decided games are as between equals, by chi-square.
///
/// Pairs with many decided games are tested one by one, which also shows circles (each of three beats
/// the next). With few games a pair, the sums of the players are tested.
pub fn luck_test(players: usize, scores: &[PairScore]) -> LuckTest {
    let decided = scores.iter().filter(|score| score.decided() > 0);
    let decided: Vec<&PairScore> = decided
        .filter(|score| score.first.max(score.second) < players)
        .collect();
    let games: u64 = decided.iter().map(|score| score.decided()).sum();
    let (chi_square, degrees) = if games as f64 >= MIN_DECIDED * decided.len() as f64 {
        let parts = decided.iter();
        let sum = parts.map(|score| score.surplus().powi(2) / score.decided() as f64);
        (sum.sum(), decided.len() as u64)
    } else {
        of_players(players, &decided)
    };
    LuckTest {
        chi_square,
        degrees,
        p: chi_square_tail(chi_square, degrees),
    }
}

/// The score test of the Bradley–Terry model: how far the players' surpluses are from 0.
fn of_players(players: usize, decided: &[&PairScore]) -> (f64, u64) {
    /// Makes the matrix solvable although the surpluses sum up to 0.
    const RIDGE: f64 = 1e-9;
    let mut surplus = vec![0.0; players];
    let mut spread = Matrix::zero(players);
    for score in decided {
        let (a, b, games) = (score.first, score.second, score.decided() as f64);
        surplus[a] += score.surplus();
        surplus[b] -= score.surplus();
        for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
            spread.add(row, column, sign * games);
        }
    }
    (0..players).for_each(|player| spread.add(player, player, RIDGE));
    let solved = spread.cholesky().solve(&surplus);
    let statistic = surplus.iter().zip(&solved).map(|(a, b)| a * b).sum();
    (statistic, degrees(players, decided))
}

/// The players, minus one for each group whose members met each other directly or by others.
fn degrees(players: usize, decided: &[&PairScore]) -> u64 {
    let mut group: Vec<usize> = (0..players).collect();
    let mut joined = 0;
    for score in decided {
        let (from, to) = (group[score.first], group[score.second]);
        if from != to {
            joined += 1;
            group
                .iter_mut()
                .filter(|it| **it == from)
                .for_each(|it| *it = to);
        }
    }
    joined
}

#[cfg(test)]
mod tests;
