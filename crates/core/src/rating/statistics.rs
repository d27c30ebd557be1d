//! Intervals of shares, and the tails of a few distributions.

use super::Z95;

/// A 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// The share of points among games, by Wilson's interval; a draw is half a point.
///
/// Draws vary less than wins and losses, so with draws the interval is somewhat too wide.
pub fn share(points: f64, games: u64) -> Interval {
    if games == 0 {
        let (low, high) = (0.0, 1.0);
        return Interval { low, high };
    }
    let games = games as f64;
    let found = (points / games).clamp(0.0, 1.0);
    let square = Z95 * Z95 / games;
    let middle = found + square / 2.0;
    let half = (square * (found * (1.0 - found) + square / 4.0)).sqrt();
    Interval {
        low: ((middle - half) / (1.0 + square)).max(0.0),
        high: ((middle + half) / (1.0 + square)).min(1.0),
    }
}

/// How often equal players would be as far apart as these wins and losses, or farther: the two-sided
/// sign test.
pub fn sign_test(wins: u64, losses: u64) -> f64 {
    /// Terms below this share of the sum change nothing.
    const NEGLIGIBLE: f64 = 1e-18;
    let games = (wins + losses) as f64;
    let mut fewer = wins.min(losses) as f64;
    let ways = ln_gamma(games + 1.0) - ln_gamma(fewer + 1.0) - ln_gamma(games - fewer + 1.0);
    let mut term = (ways - games * std::f64::consts::LN_2).exp();
    let mut tail = 0.0;
    while term > tail * NEGLIGIBLE {
        tail += term;
        term *= fewer / (games - fewer + 1.0);
        fewer -= 1.0;
    }
    (2.0 * tail).min(1.0)
}

/// The probability that chi-square with so many degrees of freedom is at least this large.
pub fn chi_square_tail(statistic: f64, degrees: u64) -> f64 {
    if degrees == 0 || statistic <= 0.0 {
        return 1.0;
    }
    upper_gamma(degrees as f64 / 2.0, statistic / 2.0)
}

const MAX_TERMS: usize = 10_000;
const PRECISION: f64 = 1e-15;

/// The regularised upper incomplete gamma function.
fn upper_gamma(shape: f64, at: f64) -> f64 {
    let scale = (shape * at.ln() - at - ln_gamma(shape)).exp();
    if at < shape + 1.0 {
        (1.0 - scale * lower_series(shape, at)).clamp(0.0, 1.0)
    } else {
        (scale * upper_fraction(shape, at)).clamp(0.0, 1.0)
    }
}

fn lower_series(shape: f64, at: f64) -> f64 {
    let mut term = 1.0 / shape;
    let mut sum = term;
    for step in 1..=MAX_TERMS {
        term *= at / (shape + step as f64);
        sum += term;
        if term < sum * PRECISION {
            break;
        }
    }
    sum
}

/// The continued fraction, by Lentz's method.
fn upper_fraction(shape: f64, at: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = at + 1.0 - shape;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for step in 1..=MAX_TERMS {
        let step = step as f64;
        let a = -step * (step - shape);
        b += 2.0;
        let next = a * d + b;
        d = 1.0 / if next.abs() < TINY { TINY } else { next };
        let next = b + a / c;
        c = if next.abs() < TINY { TINY } else { next };
        let change = d * c;
        fraction *= change;
        if (change - 1.0).abs() < PRECISION {
            break;
        }
    }
    fraction
}

/// The logarithm of the gamma function, by Stirling's series; from 1/2 on.
fn ln_gamma(x: f64) -> f64 {
    /// From here on the series is exact enough.
    const FAR: f64 = 12.0;
    let (mut shift, mut x) = (0.0, x);
    while x < FAR {
        shift += x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + std::f64::consts::TAU.ln() / 2.0 + series - shift
}
