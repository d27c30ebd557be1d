//! A position of a game as SVG: labelled rows of cells, in the colours of the seats.

use league_games::{PictureCell, PictureRow, Tone};
use maud::{Markup, html};

use super::format::cut;
use crate::model::DrawnPosition;

/// The size of a cell that holds one or two characters.
const CELL: usize = 40;
/// The width of a character.
const CHARACTER: usize = 11;
/// The space between two cells, and around a text.
const GAP: usize = 4;
/// Cells side by side; a longer row goes on below.
const MAX_COLUMNS: usize = 20;
/// The length of a text in a cell, in characters.
const MAX_TEXT: usize = 16;
/// The length of a label, in characters.
const MAX_LABEL: usize = 20;

/// Draws a position; its words are also there for those who do not see it.
pub(crate) fn picture(position: &DrawnPosition) -> Markup {
    let rows = &position.picture.rows;
    let labels = rows.iter().filter_map(|row| row.label.as_ref());
    let labels = labels.map(|label| label.chars().count().min(MAX_LABEL));
    let left = labels
        .max()
        .map_or(0, |longest| longest * CHARACTER + 2 * GAP);
    let cells = || rows.iter().flat_map(|row| &row.cells);
    let texts = cells().map(|cell| cell.text.chars().count().min(MAX_TEXT));
    let width = CELL.max(texts.max().unwrap_or(0) * CHARACTER + 4 * GAP);
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let bands = columns.div_ceil(MAX_COLUMNS).max(1);
    let total = left + columns.clamp(1, MAX_COLUMNS) * width;
    let height = bands * rows.len() * CELL + (bands - 1) * CELL / 2;
    html! {
        svg.picture viewBox=(format!("0 0 {total} {height}")) role="img" aria-label=(words(rows))
            width=(total * 3 / 2) {
            @for band in 0..bands {
                @for (number, row) in rows.iter().enumerate() {
                    @let y = (band * rows.len() + number) * CELL + band * CELL / 2;
                    @if let Some(label) = &row.label {
                        text.label x=(GAP) y=(y + CELL / 2) { (cut(label, MAX_LABEL)) }
                    }
                    @for (place, cell) in row.cells.iter().enumerate().skip(band * MAX_COLUMNS).take(MAX_COLUMNS) {
                        @let x = left + place % MAX_COLUMNS * width;
                        (drawn(cell, (x, y, width), position.changed.contains(&(number, place))))
                    }
                }
            }
        }
    }
}

fn drawn(cell: &PictureCell, (x, y, width): (usize, usize, usize), is_new: bool) -> Markup {
    let tone = match cell.tone {
        Tone::A => "tone-a",
        Tone::B => "tone-b",
        Tone::Neutral => "tone-none",
        Tone::Hidden => "tone-hidden",
    };
    html! {
        g class={ "cell " (tone) @if is_new { " new" } } {
            rect x=(x + GAP / 2) y=(y + GAP / 2) width=(width - GAP) height=(CELL - GAP) rx=(GAP) {}
            text x=(x + width / 2) y=(y + CELL / 2) { (cut(&cell.text, MAX_TEXT)) }
        }
    }
}

/// The rows in words: `A: rock, B: paper`.
fn words(rows: &[PictureRow]) -> String {
    let text = |cell: &PictureCell| match cell.text.as_str() {
        "" => "empty".to_owned(),
        text => cut(text, MAX_TEXT),
    };
    let row = |row: &PictureRow| {
        let cells: Vec<String> = row.cells.iter().map(text).collect();
        let label = row
            .label
            .as_ref()
            .map(|label| format!("{}: ", cut(label, MAX_LABEL)));
        format!("{}{}", label.unwrap_or_default(), cells.join(" "))
    };
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}
