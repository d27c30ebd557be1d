//! The middle and the ends of figures that were measured more than once.

/// The middle and the ends of some figures.
pub(crate) struct Spread {
    pub(crate) median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    /// Of figures in any order.
    pub(crate) fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.collect();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        Self {
            median: f64::midpoint(at(sorted.len().saturating_sub(1) / 2), at(sorted.len() / 2)),
            least: at(0),
            most: at(sorted.len().saturating_sub(1)),
        }
    }

    /// The median, and the range in brackets.
    pub(crate) fn shown(&self, digits: usize) -> String {
        let Self {
            median,
            least,
            most,
        } = self;
        format!("{median:.digits$} [{least:.digits$}-{most:.digits$}]")
    }
}
