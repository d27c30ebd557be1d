//! The table of a league, for people.

use std::io::{self, Write};

use league_protocol::message::StandingRow;

/// The longest name that is shown whole.
const LONGEST_NAME: usize = 28;

/// Prints a table, at most so many rows of it.
pub(super) fn standings(out: &mut impl Write, rows: &[StandingRow], most: usize) -> io::Result<()> {
    let shown = &rows[..rows.len().min(most)];
    let label = |row: &StandingRow| {
        let name: String = row.display_name.chars().take(LONGEST_NAME).collect();
        format!("{} {name}", row.player_id)
    };
    let width = shown.iter().map(|row| label(row).chars().count()).max();
    let width = width.unwrap_or(0).max("player".len());
    writeln!(
        out,
        "   #  {:<width$}  played  won  drawn  lost  points",
        "player"
    )?;
    for row in shown {
        writeln!(
            out,
            "{:>4}  {:<width$}  {:>6}  {:>3}  {:>5}  {:>4}  {:>6}",
            row.rank,
            label(row),
            row.played,
            row.wins,
            row.draws,
            row.losses,
            row.points,
        )?;
    }
    if rows.len() > shown.len() {
        writeln!(out, "      and {} more", rows.len() - shown.len())?;
    }
    Ok(())
}
