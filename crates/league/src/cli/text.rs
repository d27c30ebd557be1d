//! Texts for people on a terminal, broken into lines of eighty columns.

use std::io::{self, Write};

use league_protocol::message::StandingRow;

/// The widest line, in characters.
pub const WIDTH: usize = 80;

/// A text broken into lines, the first behind a label, which is as wide as the indentation of the
/// others; a word that is too long for a line is broken too.
///
/// The width is told apart from the label, as that may be coloured.
pub fn paragraph(label: &str, indent: usize, text: &str) -> String {
    let room = WIDTH.saturating_sub(indent).max(1);
    let mut lines = label.to_owned();
    let mut taken = 0;
    for word in text.split(' ').flat_map(|word| pieces(word, room)) {
        let long = word.chars().count();
        if taken > 0 && taken + 1 + long > room {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            taken = 0;
        }
        if taken > 0 {
            lines.push(' ');
            taken += 1;
        }
        lines.push_str(&word);
        taken += long;
    }
    lines
}

/// A word in pieces that fit a line.
fn pieces(word: &str, widest: usize) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    let pieces = characters.chunks(widest);
    pieces.map(|piece| piece.iter().collect()).collect()
}

/// The longest name that is shown whole.
const LONGEST_NAME: usize = 28;

/// Prints a table, at most so many rows of it.
pub(crate) fn standings(out: &mut impl Write, rows: &[StandingRow], most: usize) -> io::Result<()> {
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

/// A number of things, in words.
pub(crate) fn count(number: u64, thing: &str) -> String {
    let ending = match (number, thing.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {thing}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_hangs_below_its_first_word() {
        let text = "word ".repeat(30);
        let shown = paragraph("  found  ", 9, text.trim());
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 3, "{shown}");
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{shown}");
        assert!(
            lines[1..]
                .iter()
                .all(|line| line.starts_with("         word"))
        );
    }

    #[test]
    fn a_word_that_fits_no_line_is_broken() {
        let shown = paragraph("> ", 2, &"ü".repeat(200));
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn a_short_text_is_one_line() {
        assert_eq!(paragraph("a ", 2, "short text"), "a short text");
        assert_eq!(paragraph("a ", 2, ""), "a ");
    }
}
