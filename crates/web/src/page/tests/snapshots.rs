//! How each thing is drawn, to the letter.

mod board;
mod pages;

use crate::parts::Item;

/// HTML with a line for each element that follows another.
fn lines(html: impl Into<String>) -> String {
    let html = html.into();
    let mut text = String::with_capacity(html.len());
    let mut closed = false;
    for piece in html.split_inclusive('>') {
        if closed && piece.starts_with('<') && !piece.starts_with("</") {
            text.push('\n');
        }
        closed = piece.contains("</");
        text.push_str(piece);
    }
    text
}

fn first(items: Vec<Item>) -> String {
    let item = items.into_iter().next();
    lines(item.map(|item| item.html).unwrap_or_default())
}
