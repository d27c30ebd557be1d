//! The figures as a table; what is compared is compared within a round.

use std::process::ExitCode;

use crate::measure::Row;

/// Prints the table; the first row is what all are compared with. Fails if a bound does not hold.
pub(crate) fn tell(rows: &[Row<'_>], per_tick: f64) -> ExitCode {
    println!(
        "\n{:<28}{:<26}against the bare handler",
        "", "µs of CPU per call"
    );
    let bare = rows.first().map(|row| row.cost.clone()).unwrap_or_default();
    let mut held = true;
    for row in rows {
        let ratios = row.cost.iter().zip(&bare).map(|(cost, bare)| cost / bare);
        let (cost, ratio) = (
            Spread::of(&row.cost),
            Spread::of(&ratios.collect::<Vec<_>>()),
        );
        let verdict = match row.bound {
            Some(bound) if ratio.median > bound => {
                held = false;
                format!("  bound {bound:.2}  <-- FAILED")
            }
            Some(bound) => format!("  bound {bound:.2}"),
            None => String::new(),
        };
        println!(
            "{:<28}{:<26}{}{verdict}",
            row.name,
            cost.shown(1),
            ratio.shown(2)
        );
    }
    println!(
        "\nmedian [least-most] of {} rounds; the system counts in steps of {per_tick:.2} µs per call",
        bare.len()
    );
    println!("test result: {}", if held { "ok" } else { "FAILED" });
    if held {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The middle and the ends of some figures.
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        Self {
            median: f64::midpoint(at(sorted.len().saturating_sub(1) / 2), at(sorted.len() / 2)),
            least: at(0),
            most: at(sorted.len().saturating_sub(1)),
        }
    }

    fn shown(&self, digits: usize) -> String {
        let Self {
            median,
            least,
            most,
        } = self;
        format!("{median:.digits$} [{least:.digits$}-{most:.digits$}]")
    }
}
