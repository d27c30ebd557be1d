//! Text for people: counts, paragraphs of eighty columns, the standings.

use std::collections::BTreeSet;
use std::io::{self, Write};

use league_protocol::id::PlayerId;
use league_protocol::message::StandingRow;
use serde_json::Value;

/// The widest line, in characters.
pub(crate) const WIDTH: usize = 80;
/// The longest player name in the standings, in characters.
const MAX_NAME: usize = 28;
/// The columns of the standings after the player.
pub(crate) const COLUMNS: [&str; 5] = ["played", "won", "drawn", "lost", "points"];

/// A number of things: `1 match`, `2 matches`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    let ending = match (number, thing.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {thing}{ending}")
}

/// A text of another agent on one line, so that it cannot pass as a line of ours; [`Screen`] escapes
/// all other characters that could mislead.
///
/// [`Screen`]: crate::cli::screen::Screen
pub(crate) fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// Prints one JSON object as a line, at once.
pub(crate) fn print_object(out: &mut impl Write, object: &Value) -> io::Result<()> {
    writeln!(out, "{object}")?;
    out.flush()
}

/// The figures of a row of the standings, in the order of [`COLUMNS`].
pub(crate) fn figures(row: &StandingRow) -> [String; 5] {
    let StandingRow {
        played,
        wins,
        draws,
        losses,
        points,
        ..
    } = row;
    [played, wins, draws, losses, points].map(u32::to_string)
}

/// Prints the standings, at most `limit` rows of them, and says which players are `people`.
pub(crate) fn print_standings(
    out: &mut impl Write,
    rows: &[StandingRow],
    limit: usize,
    people: &BTreeSet<PlayerId>,
) -> io::Result<()> {
    let shown = &rows[..rows.len().min(limit)];
    let label = |row: &StandingRow| {
        let name = one_line(&row.display_name);
        let name: String = name.chars().take(MAX_NAME).collect();
        let mark = match people.contains(&row.player_id) {
            true => " (human)",
            false => "",
        };
        format!("{} {name}{mark}", row.player_id)
    };
    let width = shown.iter().map(|row| label(row).chars().count()).max();
    let width = width.unwrap_or(0).max("player".len());
    writeln!(out, "   #  {:<width$}  {}", "player", COLUMNS.join("  "))?;
    for row in shown {
        write!(out, "{:>4}  {:<width$}", row.rank, label(row))?;
        for (figure, column) in figures(row).iter().zip(COLUMNS) {
            write!(out, "  {figure:>0$}", column.len())?;
        }
        writeln!(out)?;
    }
    if rows.len() > shown.len() {
        writeln!(out, "      and {} more", rows.len() - shown.len())?;
    }
    Ok(())
}

/// A text broken into lines. The first stands behind a label, the others are indented as far as the
/// label is wide; a word too long for a line is broken too.
///
/// The width is passed apart from the label because the label may hold colour codes.
pub fn paragraph(label: &str, indent: usize, text: &str) -> String {
    let width = WIDTH.saturating_sub(indent).max(1);
    let mut lines = label.to_owned();
    let mut taken = 0;
    for word in text.split(' ').flat_map(|word| pieces(word, width)) {
        let length = word.chars().count();
        if taken > 0 && taken + 1 + length > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            taken = 0;
        }
        if taken > 0 {
            lines.push(' ');
            taken += 1;
        }
        lines.push_str(&word);
        taken += length;
    }
    lines
}

/// A word in pieces that fit a line.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    let pieces = characters.chunks(width);
    pieces.map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_hangs_below_its_first_word() {
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
    fn word_too_long_for_a_line_is_broken() {
        let shown = paragraph("> ", 2, &"ü".repeat(200));
        assert_eq!(shown.lines().count(), 3);
        assert!(shown.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn short_text_is_one_line() {
        assert_eq!(paragraph("a ", 2, "short text"), "a short text");
        assert_eq!(paragraph("a ", 2, ""), "a ");
    }
}
