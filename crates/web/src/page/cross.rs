//! Who met whom.

use maud::{Markup, html};

use super::words::{grouped, name};
use super::{Links, marks};
use crate::model::{Cell, Cross, Named};
use crate::parts::Item;

/// The row of column heads.
pub(super) fn head(cross: &Cross, links: Links) -> Markup {
    html! {
        tr #cross-head {
            th.text scope="col" {
                @if cross.unlisted > 0 { span.more { (grouped(cross.unlisted as u64)) " players are left out" } }
                @else { "Player" }
            }
            @for player in &cross.players {
                th scope="col" { a href=(links.of_player(&player.id)) title=(player.name) { (player.id) } }
            }
        }
    }
}

/// A row for each player, in the order of ids.
pub(super) fn rows(cross: &Cross, links: Links) -> Vec<Item> {
    let rows = cross.players.iter().zip(&cross.cells).enumerate();
    rows.map(|(place, (player, cells))| {
        let key = format!("cross-{}", player.id);
        let html = row(&key, player, (place, cells), links).into_string();
        Item { key, html }
    })
    .collect()
}

fn row(
    key: &str,
    player: &Named,
    (place, cells): (usize, &[Option<Cell>]),
    links: Links,
) -> Markup {
    html! {
        tr id=(key) {
            th scope="row" { span.id { (player.id) } a href=(links.of_player(&player.id)) { (name(player)) } }
            @for (column, cell) in cells.iter().enumerate() {
                @if column == place { td.self {} } @else { (self::cell(cell.as_ref(), links)) }
            }
        }
    }
}

fn cell(cell: Option<&Cell>, links: Links) -> Markup {
    let class = |cell: &Cell| cell.ended.map_or("now", marks::class);
    let text = |cell: &Cell| cell.ended.map_or("…", marks::letter);
    html! {
        td { @if let Some(cell) = cell {
            a class=(class(cell)) href=(links.of_match(&cell.match_id)) { (text(cell)) }
        } }
    }
}
