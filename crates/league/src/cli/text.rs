//! Text for people: counts, paragraphs of eighty columns, the standings.

use std::collections::BTreeMap;
use std::io::{self, Write};

use league_protocol::id::PlayerId;
use league_protocol::message::StandingRow;
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cli::Output;
use crate::cli::arguments::CommonArgs;

/// The widest line, in characters.
pub(crate) const WIDTH: usize = 80;
/// The widest player name in the standings, in columns.
const MAX_NAME: usize = 28;
/// The columns of the widest letter.
const WIDEST_LETTER: usize = 2;
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

/// Prints one thing that happened: as an object, or as text unless little is to be printed.
pub(crate) fn tell(
    common: &CommonArgs,
    mut out: impl Write,
    object: &Value,
    text: &str,
) -> io::Result<()> {
    match common.output {
        Output::Json => print_object(&mut out, object),
        Output::Text if common.quiet => Ok(()),
        Output::Text => writeln!(out, "{text}").and_then(|()| out.flush()),
    }
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
    marks: &BTreeMap<PlayerId, String>,
) -> io::Result<()> {
    let shown = &rows[..rows.len().min(limit)];
    let label = |row: &StandingRow| {
        let name = one_line(&row.display_name);
        let name = cut(&name, MAX_NAME);
        let mark = marks.get(&row.player_id);
        let mark = mark.map_or_else(String::new, |mark| format!(" ({})", one_line(mark)));
        let byes = match row.byes {
            0 => String::new(),
            byes => format!(" ({})", count(byes.into(), "bye")),
        };
        format!("{} {name}{mark}{byes}", row.player_id)
    };
    let width = shown.iter().map(|row| label(row).width()).max();
    let width = width.unwrap_or(0).max("player".len());
    writeln!(out, "   #  {:<width$}  {}", "player", COLUMNS.join("  "))?;
    for row in shown {
        let label = label(row);
        let space = " ".repeat(width - label.width());
        write!(out, "{:>4}  {label}{space}", row.place())?;
        for (figure, column) in figures(row).iter().zip(COLUMNS) {
            write!(out, "  {figure:>0$}", column.len())?;
        }
        writeln!(out)?;
    }
    if rows.len() > shown.len() {
        writeln!(out, "      and {} more", rows.len() - shown.len())?;
    }
    let first: Vec<&StandingRow> = shown.iter().filter(|row| row.tie == Some(1)).collect();
    if let Some(shared) = shared_first(&first) {
        writeln!(out, "{}", paragraph("      ", 6, &shared))?;
    }
    Ok(())
}

/// The beginning of a text, at most so many columns wide on a terminal: a letter of some scripts
/// takes two columns, an accent none.
pub(crate) fn cut(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let mut letters = text.char_indices();
    let end = letters.find(|(_, letter)| {
        taken += letter.width().unwrap_or(0);
        taken > columns
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// Says who shares the first place, if players do.
fn shared_first(first: &[&StandingRow]) -> Option<String> {
    let names: Vec<String> = first
        .iter()
        .map(|row| one_line(&row.display_name))
        .collect();
    let (last, others) = names.split_last()?;
    Some(format!(
        "{} and {last} share the first place",
        others.join(", ")
    ))
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
        let length = word.width();
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
    let mut pieces = Vec::new();
    let mut rest = word;
    while rest.width() > width {
        let piece = cut(rest, width.max(WIDEST_LETTER));
        pieces.push(piece.to_owned());
        rest = &rest[piece.len()..];
    }
    pieces.push(rest.to_owned());
    pieces
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
    fn columns_stand_below_each_other_whatever_the_script() {
        let row = |rank, name: &str| StandingRow {
            rank,
            byes: 0,
            tie: None,
            shared_rank: rank,
            player_id: league_protocol::id::PlayerId::numbered(rank),
            display_name: name.into(),
            played: 2,
            wins: 1,
            draws: 0,
            losses: 1,
            technical_losses: 0,
            points: 3,
        };
        let long = "囲碁の先生は毎日ゲームをしています";
        let rows = [
            row(1, "Ada"),
            row(2, "囲碁"),
            row(3, "e\u{301}te\u{301}"),
            row(4, "שלום"),
            row(5, long),
        ];
        let mut printed = Vec::new();
        print_standings(&mut printed, &rows, 9, &BTreeMap::new()).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        let widths: Vec<usize> = printed.lines().map(UnicodeWidthStr::width).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{printed}");
    }

    #[test]
    fn short_text_is_one_line() {
        assert_eq!(paragraph("a ", 2, "short text"), "a short text");
        assert_eq!(paragraph("a ", 2, ""), "a ");
    }
}
