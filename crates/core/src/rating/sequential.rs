//! The sequential probability ratio test (Wald): games are played until one of two hypotheses about
//! a pair is clear.
//!
//! The likelihood of wins, draws and losses under a hypothesis is the highest that any distribution
//! with the hypothesis' expected score gives them, so that the share of draws needs no assumption.

use std::f64::consts::LN_10;

/// Stands for a count of 0, so that every outcome stays possible.
const LEAST_COUNT: f64 = 1e-3;
const BISECTIONS: u32 = 200;

/// Two hypotheses about a player's strength against another, and the risks of error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SequentialTest {
    /// The first hypothesis: the player is so many Elo points stronger, or fewer.
    pub elo0: f64,
    /// The second hypothesis: the player is so many Elo points stronger, or more.
    pub elo1: f64,
    /// The risk to accept the second hypothesis although the first is true.
    pub alpha: f64,
    /// The risk to accept the first hypothesis although the second is true.
    pub beta: f64,
}

/// What the results say so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequentialOutcome {
    /// The first hypothesis is accepted.
    Weaker,
    /// The second hypothesis is accepted.
    Stronger,
    /// More games are needed.
    Open,
}

impl SequentialTest {
    /// Below the first the first hypothesis is accepted, above the second the second.
    pub fn bounds(&self) -> [f64; 2] {
        [
            (self.beta / (1.0 - self.alpha)).ln(),
            ((1.0 - self.beta) / self.alpha).ln(),
        ]
    }

    /// The logarithm of the ratio of the second hypothesis' likelihood to the first's.
    pub fn log_likelihood_ratio(&self, wins: u64, draws: u64, losses: u64) -> f64 {
        if wins + draws + losses == 0 {
            return 0.0;
        }
        let counts = [wins, draws, losses].map(|count| (count as f64).max(LEAST_COUNT));
        let [likely0, likely1] =
            [self.elo0, self.elo1].map(|elo| likeliest(&counts, score_of(elo)));
        let parts = counts.iter().zip(likely0.iter().zip(&likely1));
        parts.map(|(count, (p0, p1))| count * (p1 / p0).ln()).sum()
    }

    pub fn verdict(&self, wins: u64, draws: u64, losses: u64) -> SequentialOutcome {
        let [lower, upper] = self.bounds();
        let ratio = self.log_likelihood_ratio(wins, draws, losses);
        if ratio <= lower {
            SequentialOutcome::Weaker
        } else if ratio >= upper {
            SequentialOutcome::Stronger
        } else {
            SequentialOutcome::Open
        }
    }
}

/// The score that is expected of a player so many points stronger.
fn score_of(elo: f64) -> f64 {
    1.0 / (1.0 + (-elo * LN_10 / 400.0).exp())
}

/// The distribution of win, draw and loss with this expected score that makes the counts likeliest.
///
/// It is `p / (1 + t (points - score))`, with the `t` for which it has that score.
fn likeliest(counts: &[f64; 3], score: f64) -> [f64; 3] {
    let sum: f64 = counts.iter().sum();
    let distances = [1.0 - score, 0.5 - score, -score];
    let excess = |t: f64| -> f64 {
        let parts = counts.iter().zip(distances);
        parts
            .map(|(count, distance)| count * distance / (1.0 + t * distance))
            .sum()
    };
    // Within these bounds every probability is positive; the excess falls from +inf to -inf.
    let (mut low, mut high) = (-1.0 / (1.0 - score), 1.0 / score);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if excess(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = f64::midpoint(low, high);
    let mut at = 0;
    counts.map(|count| {
        let distance = distances[at];
        at += 1;
        count / sum / (1.0 + t * distance)
    })
}
