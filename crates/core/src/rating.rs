//! Ratings from results of pairs: strengths with their errors, rank groups, and whether the results
//! show more than luck.

mod bradley_terry;
mod normal;
mod sequential;
mod statistics;

pub use bradley_terry::SeatAdvantage;
pub(crate) use bradley_terry::outcome_shares;
pub(crate) use normal::standard_normal;
pub use sequential::{SequentialOutcome, SequentialTest};
pub use statistics::{Interval, chi_square_tail, share, sign_test};

use std::collections::BTreeMap;

use normal::Matrix;

/// Elo points of one unit of the logarithmic scale.
pub const ELO: f64 = 400.0 / std::f64::consts::LN_10;
/// The half width of a 95 % interval, in standard errors.
pub const Z95: f64 = 1.959_963_984_540_054;
/// The most players that are rated: the work grows with the cube of their number.
pub const MAX_RATED: usize = 60;

/// The fewest decided games of a pair, on average, for which pairs are tested one by one.
const MIN_DECIDED: f64 = 5.0;

/// The results of one pair, as its first player sees them; the players are numbered from 0. The first
/// sat at seat A, where the seat matters.
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

    fn is_among(&self, players: usize) -> bool {
        self.first < players && self.second < players && self.first != self.second
    }
}

/// One score for each pair, from both seats; the lower number is first.
pub fn by_pair(scores: &[PairScore]) -> Vec<PairScore> {
    let turned = scores
        .iter()
        .map(|score| match score.first <= score.second {
            true => *score,
            false => PairScore {
                first: score.second,
                second: score.first,
                wins: score.losses,
                losses: score.wins,
                ..*score
            },
        });
    by_seats(turned)
}

/// One score for each pair and the player that sat at seat A.
pub fn by_seats(scores: impl Iterator<Item = PairScore>) -> Vec<PairScore> {
    let mut pairs: BTreeMap<[usize; 2], PairScore> = BTreeMap::new();
    for score in scores {
        let (first, second) = (score.first, score.second);
        let pair = pairs.entry([first, second]).or_default();
        *pair = PairScore {
            first,
            second,
            wins: pair.wins + score.wins,
            draws: pair.draws + score.draws,
            losses: pair.losses + score.losses,
        };
    }
    pairs.into_values().collect()
}

/// The ratings of some players from their results.
#[derive(Debug, Clone)]
pub struct Ratings {
    strengths: Vec<f64>,
    /// The covariance of the strengths, around their mean.
    covariance: Matrix,
    /// The 95 % interval of each strength.
    intervals: Vec<Interval>,
    games: Vec<u64>,
    seat: Option<SeatAdvantage>,
}

/// A rating on the Elo scale, and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rating {
    pub elo: f64,
    pub low: f64,
    pub high: f64,
}

impl Rating {
    /// Half the width of the interval.
    pub fn error(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
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
    /// A player's rating; `None` if it has not played.
    pub fn rating(&self, player: usize) -> Option<Rating> {
        let has_played = *self.games.get(player)? > 0;
        let Interval { low, high } = self.intervals[player];
        let [elo, low, high] = [self.strengths[player], low, high].map(|it| ELO * it);
        has_played.then_some(Rating { elo, low, high })
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

    /// By how much the first of two players is stronger.
    pub fn difference(&self, one: usize, other: usize) -> Rating {
        let variance = self.covariance.at(one, one) + self.covariance.at(other, other)
            - 2.0 * self.covariance.at(one, other);
        let elo = ELO * (self.strengths[one] - self.strengths[other]);
        let error = ELO * Z95 * variance.max(0.0).sqrt();
        Rating {
            elo,
            low: elo - error,
            high: elo + error,
        }
    }

    /// The ranks between which a player stands among those that have played: another player is ahead
    /// of it or behind it only if the 95 % interval of their difference says so.
    pub fn rank_group(&self, player: usize) -> RankGroup {
        let mut ranks = RankGroup { best: 1, worst: 1 };
        for other in self.played().filter(|other| *other != player) {
            let difference = self.difference(player, other);
            ranks.best += usize::from(difference.high < 0.0);
            ranks.worst += usize::from(difference.low <= 0.0);
        }
        ranks
    }

    fn played(&self) -> impl Iterator<Item = usize> {
        (0..self.games.len()).filter(|player| self.games[*player] > 0)
    }

    /// The probability that the player with the highest rating is truly the strongest of those that
    /// have played.
    pub fn certainty_of_first(&self) -> f64 {
        let order = self.order();
        let most = self.played().count().min(normal::MAX_CANDIDATES);
        let candidates = &order[..most];
        let means: Vec<f64> = candidates.iter().map(|&at| self.strengths[at]).collect();
        normal::probability_of_first(&means, &self.covariance.of(candidates))
    }

    /// What seat A is worth among equals; `None` if the seat does not matter in the game.
    pub const fn seat_advantage(&self) -> Option<SeatAdvantage> {
        self.seat
    }
}

/// The games of each player.
fn games_of(players: usize, scores: &[PairScore]) -> Vec<u64> {
    let mut games = vec![0; players];
    for score in scores {
        games[score.first] += score.games();
        games[score.second] += score.games();
    }
    games
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
    let mut decided = by_pair(scores);
    decided.retain(|score| score.decided() > 0 && score.is_among(players));
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
fn of_players(players: usize, decided: &[PairScore]) -> (f64, u64) {
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
fn degrees(players: usize, decided: &[PairScore]) -> u64 {
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
