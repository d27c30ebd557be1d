//! The figures as a table; what is compared is compared within a round.

use std::process::ExitCode;

use crate::measure::Row;
use crate::spread::Spread;

/// Prints the table; the first row is what all are compared with. Fails if a bound does not hold.
pub(crate) fn tell(rows: &[Row<'_>]) -> ExitCode {
    let Some(bare) = rows.first() else {
        return ExitCode::FAILURE;
    };
    println!(
        "\n{:<28}{:<26}{:<26}{:<22}",
        "", "µs of CPU per call", "against the bare handler", "instructions per call"
    );
    let mut held = true;
    for row in rows {
        let ratios = row.cost.iter().zip(&bare.cost);
        let ratio = Spread::of(ratios.map(|(cost, bare)| cost / bare));
        let holds = row.bound.is_none_or(|bound| ratio.median <= bound);
        held &= holds;
        let bound = row.bound.map(|bound| format!("bound {bound:.2}"));
        println!(
            "{:<28}{:<26}{:<26}{:<22}{}{}",
            row.name,
            Spread::of(row.cost.iter().copied()).shown(1),
            ratio.shown(2),
            counted(row, bare),
            bound.unwrap_or_default(),
            if holds { "" } else { "  <-- FAILED" }
        );
    }
    println!("\nmedian [least-most] of {} rounds", bare.cost.len());
    println!("test result: {}", if held { "ok" } else { "FAILED" });
    if held {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn counted(row: &Row<'_>, bare: &Row<'_>) -> String {
    match (row.instructions, bare.instructions) {
        (Some(count), Some(bare)) => format!("{count:.0} ({:.2})", count / bare),
        _ => String::new(),
    }
}
