//! The positions of a board game, one after the other; the script makes a viewer of them.

use maud::{Markup, html};

use super::Links;
use super::words::name;
use crate::model::{MatchPage, Position};

/// All positions; nothing in a game without a board.
pub(super) fn positions(page: &MatchPage, links: Links) -> Markup {
    if page.positions.is_empty() {
        return Markup::default();
    }
    let id = |id: &str| links.own_id(id, page.match_id.as_str());
    html! {
        section.card.positions id=(id("positions")) aria-labelledby=(id("positions-title")) {
            h2 id=(id("positions-title")) { "Move by move" }
            ol { @for (number, position) in page.positions.iter().enumerate() {
                li { (self::position(page, number, position)) }
            } }
        }
    }
}

fn position(page: &MatchPage, number: usize, position: &Position) -> Markup {
    html! {
        table.grid {
            caption { (caption(page, number, position)) }
            tbody { @for (row, cells) in position.cells.chunks(position.columns.max(1)).enumerate() {
                tr { @for (column, cell) in cells.iter().enumerate() {
                    td class=[(position.last == Some(row * position.columns + column)).then_some("last")] { (cell) }
                } }
            } }
        }
    }
}

fn caption(page: &MatchPage, number: usize, position: &Position) -> Markup {
    html! {
        @match position.seat.and_then(|seat| page.players.get(seat)) {
            Some(player) => { (number) ". " (name(player)) },
            None => "Before the first move",
        }
    }
}
