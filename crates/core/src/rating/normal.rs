//! The little linear algebra that ratings need: symmetric matrices, and samples of several normal
//! variables.

use league_games::Dice;

/// The most players among which the strongest is looked for; with more, the highest ratings count.
pub(crate) const MAX_CANDIDATES: usize = 64;
const SAMPLES: u32 = 10_000;
/// The seed of the samples: the same results give the same figure.
const SEED: u64 = 1;

/// A square matrix.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Matrix {
    size: usize,
    cells: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zero(size: usize) -> Self {
        Self {
            size,
            cells: vec![0.0; size * size],
        }
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.size + column]
    }

    pub(crate) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.cells[row * self.size + column] += value;
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.size..(row + 1) * self.size]
    }

    /// The rows and columns of these numbers.
    pub(crate) fn of(&self, chosen: &[usize]) -> Self {
        let mut part = Self::zero(chosen.len());
        for (row, &from_row) in chosen.iter().enumerate() {
            for (column, &from_column) in chosen.iter().enumerate() {
                part.add(row, column, self.at(from_row, from_column));
            }
        }
        part
    }

    /// The lower triangle whose product with its transpose is this positive matrix.
    pub(crate) fn cholesky(&self) -> Triangle {
        /// The least pivot: rounding must not make a root of a negative number.
        const MIN_PIVOT: f64 = 1e-18;
        let mut lower = Self::zero(self.size);
        for row in 0..self.size {
            for column in 0..=row {
                let known = dot(&lower.row(row)[..column], &lower.row(column)[..column]);
                let rest = self.at(row, column) - known;
                let value = if row == column {
                    rest.max(MIN_PIVOT).sqrt()
                } else {
                    rest / lower.at(column, column)
                };
                lower.add(row, column, value);
            }
        }
        Triangle(lower)
    }
}

pub(crate) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The Cholesky factor of a matrix.
pub(crate) struct Triangle(Matrix);

impl Triangle {
    /// Solves the equation of the matrix with this right side.
    pub(crate) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let Self(lower) = self;
        let mut solved = right.to_vec();
        for row in 0..lower.size {
            let known = dot(&lower.row(row)[..row], &solved[..row]);
            solved[row] = (solved[row] - known) / lower.at(row, row);
        }
        for row in (0..lower.size).rev() {
            solved[row] /= lower.at(row, row);
            let value = solved[row];
            for (cell, factor) in solved[..row].iter_mut().zip(lower.row(row)) {
                *cell -= value * factor;
            }
        }
        solved
    }

    pub(crate) fn inverse(&self) -> Matrix {
        let size = self.0.size;
        let columns = (0..size).flat_map(|column| {
            let mut unit = vec![0.0; size];
            unit[column] = 1.0;
            self.solve(&unit)
        });
        // The inverse of a symmetric matrix is symmetric: columns are rows.
        Matrix {
            size,
            cells: columns.collect(),
        }
    }
}

/// The probability that the first of several normal variables is the largest.
pub(crate) fn probability_of_first(means: &[f64], covariance: &Matrix) -> f64 {
    if means.len() < 2 {
        return 1.0;
    }
    let Triangle(lower) = covariance.cholesky();
    let mut dice = Dice::seeded(SEED);
    let mut best = 0_u32;
    for _ in 0..SAMPLES {
        let independent: Vec<f64> = means.iter().map(|_| standard_normal(&mut dice)).collect();
        let value = |at: usize| means[at] + dot(&lower.row(at)[..=at], &independent);
        let first = value(0);
        best += u32::from((1..means.len()).all(|at| value(at) <= first));
    }
    f64::from(best) / f64::from(SAMPLES)
}

/// A standard normal number (Box–Muller).
pub(crate) fn standard_normal(dice: &mut Dice) -> f64 {
    const PARTS: u64 = 1 << 53;
    let mut uniform = || dice.roll(1..=PARTS) as f64 / PARTS as f64;
    let (radius, angle) = (uniform(), uniform());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}
