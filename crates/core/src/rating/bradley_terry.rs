//! The Bradley–Terry model with draws (Davidson 1970), and an advantage of seat A.
//!
//! With strengths `a` and `b` on a logarithmic scale, the first of them at seat A, and `d = a - b +
//! seat`, a win, a draw and a loss of the first have weights `exp(d/2)`, `exp(draw)` and `exp(-d/2)`.
//! Where no game was drawn, draws count as impossible: then it is the model without draws.
//! Weak priors keep every estimate finite. The order of results does not matter: the players do not
//! learn or tire in this model.

use super::normal::{Matrix, dot};
use super::{Interval, MAX_RATED, PairScore, Ratings, Z95, by_seats, games_of};

/// The prior's standard deviation of a strength, about 430 Elo points. With it and profile likelihood,
/// the intervals of small leagues hold what they promise (`tests/all/coverage.rs`).
const STRENGTH_PRIOR: f64 = 2.5;
/// The prior's standard deviation of the draw parameter; 0 stands for a third of draws among equals.
const DRAW_PRIOR: f64 = 5.0;
/// The prior's standard deviation of the advantage of seat A; 1 stands for 73 % among equals.
const SEAT_PRIOR: f64 = 3.0;
const MAX_STEPS: usize = 100;
/// The change of every parameter below which the estimate has converged.
const PRECISION: f64 = 1e-10;
/// The same for the ends of intervals, which are shown in whole points.
const END_PRECISION: f64 = 1e-6;
/// The longest step of one parameter, so that no step overshoots far.
const MAX_STEP: f64 = 2.0;
/// How far the log-likelihood falls from its highest point to the end of a 95 % interval.
const FALL: f64 = Z95 * Z95 / 2.0;
/// How often a step is halved at most.
const MAX_HALVINGS: u32 = 20;

/// How often seat A wins decided matches among players of equal strength, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeatAdvantage {
    pub share: f64,
    pub interval: Interval,
}

impl SeatAdvantage {
    /// What it is, in a sentence.
    pub fn sentence(&self) -> String {
        /// An interval of less than this width deserves a decimal.
        const NARROW: f64 = 0.05;
        let Interval { low, high } = self.interval;
        let verdict = if low > 0.5 {
            "an advantage"
        } else if high < 0.5 {
            "a disadvantage"
        } else {
            "no advantage that shows"
        };
        let digits = usize::from(high - low < NARROW);
        let [share, low, high] =
            [self.share, low, high].map(|it| format!("{:.digits$}", 100.0 * it));
        format!(
            "Among equals seat A wins {share} % of the decided matches ({low}–{high} %): {verdict}."
        )
    }
}

impl Ratings {
    /// Estimates the strengths of so many players; scores of players beyond are left out.
    /// `sides_matter` says whether seat A may be an advantage.
    ///
    /// Intervals are of the profile likelihood; for more than [`MAX_RATED`] players they are those of a
    /// normal approximation, which takes less time.
    pub fn estimate(players: usize, scores: &[PairScore], sides_matter: bool) -> Self {
        let known = scores.iter().filter(|score| score.is_among(players));
        // Its work grows with the scores, and a long league has many of each pair.
        let scores = by_seats(known.copied());
        let model = Model {
            players,
            has_draws: scores.iter().any(|score| score.draws > 0),
            scores: &scores,
            sides_matter,
        };
        let best = model.best();
        let factor = best.information.cholesky();
        let covariance = around_mean(&factor.inverse(), players);
        let interval = |contrast: &[f64]| Interval {
            low: model.end(&best, contrast, -1.0),
            high: model.end(&best, contrast, 1.0),
        };
        let intervals = (0..players).map(|player| match players <= MAX_RATED {
            true => interval(&model.around_mean(player)),
            false => normal(best.parameters[player], covariance.at(player, player)),
        });
        let seat = model.sides_matter.then(|| {
            let mut contrast = vec![0.0; best.parameters.len()];
            contrast[model.seat()] = 1.0;
            let Interval { low, high } = interval(&contrast);
            SeatAdvantage {
                share: logistic(best.parameters[model.seat()]),
                interval: Interval {
                    low: logistic(low),
                    high: logistic(high),
                },
            }
        });
        Self {
            intervals: intervals.collect(),
            strengths: centred(best.parameters[..players].to_vec()),
            covariance,
            games: games_of(players, &scores),
            seat: seat.filter(|_| scores.iter().any(|score| score.decided() > 0)),
        }
    }
}

/// The 95 % interval of a normal variable.
fn normal(mean: f64, variance: f64) -> Interval {
    let error = Z95 * variance.max(0.0).sqrt();
    Interval {
        low: mean - error,
        high: mean + error,
    }
}

fn logistic(logarithm: f64) -> f64 {
    1.0 / (1.0 + (-logarithm).exp())
}

/// The results to which strengths are fitted. The parameters are the strengths, then the draw
/// parameter, then the advantage of seat A.
struct Model<'s> {
    players: usize,
    scores: &'s [PairScore],
    has_draws: bool,
    sides_matter: bool,
}

/// The logarithm of the posterior at some parameters, and its derivatives.
struct Point {
    parameters: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    /// Minus the second derivative.
    information: Matrix,
}

impl Point {
    /// The point one step away; no parameter moves far at once.
    fn after(&self, step: &[f64]) -> (Vec<f64>, f64) {
        let longest = step.iter().fold(0.0_f64, |most, part| most.max(part.abs()));
        let scale = MAX_STEP / longest.max(MAX_STEP);
        let moved = self.parameters.iter().zip(step);
        (moved.map(|(at, part)| at + scale * part).collect(), longest)
    }
}

impl Model<'_> {
    fn draw(&self) -> usize {
        self.players
    }

    fn seat(&self) -> usize {
        self.players + 1
    }

    /// The strength of a player around the mean of all, as a combination of parameters.
    fn around_mean(&self, player: usize) -> Vec<f64> {
        let mut contrast = vec![0.0; self.players + 2];
        contrast[..self.players].fill(-1.0 / self.players as f64);
        contrast[player] += 1.0;
        contrast
    }

    /// The most probable parameters, by Newton's method.
    fn best(&self) -> Point {
        let mut point = self.at(vec![0.0; self.players + 2]);
        for _ in 0..MAX_STEPS {
            let step = point.information.cholesky().solve(&point.gradient);
            let (parameters, longest) = point.after(&step);
            point = self.at(parameters);
            if longest < PRECISION {
                break;
            }
        }
        point
    }

    /// The end of the 95 % interval of a combination of parameters: the farthest value at which the
    /// best of all other parameters leave the likelihood high enough (Venzon and Moolgavkar 1988).
    fn end(&self, best: &Point, contrast: &[f64], direction: f64) -> f64 {
        let goal = best.value - FALL;
        let mut point = self.at(best.parameters.clone());
        for _ in 0..MAX_STEPS {
            let factor = point.information.cholesky();
            let (up, along) = (factor.solve(&point.gradient), factor.solve(contrast));
            let rest = 2.0 * (point.value - goal) + dot(&point.gradient, &up);
            let far = direction * (rest.max(0.0) / dot(contrast, &along)).sqrt();
            let mut step: Vec<f64> = up.iter().zip(&along).map(|(a, b)| a + far * b).collect();
            let (parameters, longest) = point.after(&step);
            let mut next = self.at(parameters);
            for _ in 0..MAX_HALVINGS {
                if next.value > goal - FALL {
                    break;
                }
                step.iter_mut().for_each(|part| *part /= 2.0);
                next = self.at(point.after(&step).0);
            }
            point = next;
            if longest < END_PRECISION {
                break;
            }
        }
        dot(contrast, &point.parameters)
    }

    /// The log-posterior at these parameters.
    fn at(&self, parameters: Vec<f64>) -> Point {
        let size = parameters.len();
        let mut point = Point {
            value: 0.0,
            gradient: vec![0.0; size],
            information: Matrix::zero(size),
            parameters,
        };
        for (at, parameter) in point.parameters.iter().enumerate() {
            let deviation = match at {
                at if at == self.draw() => DRAW_PRIOR,
                at if at == self.seat() => SEAT_PRIOR,
                _ => STRENGTH_PRIOR,
            };
            let precision = 1.0 / (deviation * deviation);
            point.value -= precision * parameter * parameter / 2.0;
            point.gradient[at] -= parameter * precision;
            point.information.add(at, at, precision);
        }
        for score in self.scores {
            self.add(score, &mut point);
        }
        point
    }

    /// Adds the likelihood of the games of a pair.
    fn add(&self, score: &PairScore, point: &mut Point) {
        let (last, seat) = (self.draw(), f64::from(u8::from(self.sides_matter)));
        let parts = [
            (score.first, 1.0),
            (score.second, -1.0),
            (self.seat(), seat),
        ];
        let difference: f64 = parts
            .iter()
            .map(|(at, sign)| sign * point.parameters[*at])
            .sum();
        let games = score.games() as f64;
        let drawn = match self.has_draws {
            true => point.parameters[last],
            false => f64::NEG_INFINITY,
        };
        let [win, draw, loss] = outcome_shares(difference, drawn);
        let counts = [score.wins, score.draws, score.losses];
        let terms = counts.into_iter().zip([win, draw, loss]);
        let terms = terms.filter(|(count, _)| *count > 0);
        point.value += terms
            .map(|(count, share)| count as f64 * share.ln())
            .sum::<f64>();
        let slope = (score.surplus() - games * (win - loss)) / 2.0;
        let spread = games * (win + loss - (win - loss) * (win - loss)) / 4.0;
        let mixed = -games * draw * (win - loss) / 2.0;
        for (row, sign) in parts {
            point.gradient[row] += sign * slope;
            for (column, other) in parts {
                point.information.add(row, column, sign * other * spread);
            }
            point.information.add(row, last, sign * mixed);
            point.information.add(last, row, sign * mixed);
        }
        point.gradient[last] += score.draws as f64 - games * draw;
        point
            .information
            .add(last, last, games * draw * (1.0 - draw));
    }
}

/// The probabilities of a win, a draw and a loss.
pub(crate) fn outcome_shares(difference: f64, draw: f64) -> [f64; 3] {
    let exponents = [difference / 2.0, draw, -difference / 2.0];
    let highest = exponents.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let weights = exponents.map(|exponent| (exponent - highest).exp());
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

fn centred(mut strengths: Vec<f64>) -> Vec<f64> {
    let mean = strengths.iter().sum::<f64>() / strengths.len().max(1) as f64;
    strengths.iter_mut().for_each(|strength| *strength -= mean);
    strengths
}

/// Leaves all parameters but strengths out, and the uncertainty of the mean: only the prior tells the
/// mean, and independently of all differences.
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
