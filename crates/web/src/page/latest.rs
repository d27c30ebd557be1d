//! Matches that are being played, and those that ended last.

use league_core::league::Phase;
use maud::{Markup, html};

use super::Links;
use super::words::{grouped, name, tile_class, tile_state, time_of_day};
use crate::model::{Board, ResultLine, Tile};
use crate::parts::Item;

/// A tile for each match that is not over.
pub(super) fn tiles(tiles: &[Tile], links: Links) -> Vec<Item> {
    let tile = |tile: &Tile| {
        let key = format!("tile-{}", tile.match_id);
        let html = self::tile(&key, tile, links).into_string();
        Item { key, html }
    };
    tiles.iter().map(tile).collect()
}

fn tile(key: &str, tile: &Tile, links: Links) -> Markup {
    let [a, b] = &tile.players;
    html! {
        li id=(key) class={ "tile " (tile_class(tile.state)) } {
            a href=(links.of_match(&tile.match_id)) {
                span.who { (name(a)) }
                span.versus { "–" }
                span.who { (name(b)) }
            }
            p {
                span.state { (tile_state(tile.state)) }
                " " span.id { (tile.match_id) }
                @if let Some(referee) = &tile.referee { " · " (referee) }
                @if let Some(since) = tile.since { " · since " (time_of_day(since)) }
                @if tile.attempt > 1 { " · attempt " (tile.attempt) }
            }
        }
    }
}

/// How many such matches are left out, or why there are none.
pub(super) fn tiles_note(board: &Board, links: Links) -> Markup {
    let round = board.progress.round;
    html! {
        p #tiles-note .more {
            @if !board.tiles.is_empty() && board.league.standstill.is_some() { "So they stood when it was interrupted. " }
            @if board.untiled > 0 { "and " (grouped(board.untiled as u64)) " more" }
            @else if board.tiles.is_empty() {
                @match board.league.phase {
                    _ if board.league.standstill.is_some() => "Nothing is played now.",
                    Phase::Registering => "The league has not begun.",
                    Phase::Running => "Between two rounds.",
                    Phase::Completed => "All matches are played.",
                }
            }
            @if round > 0 { " " a href=(links.of_round(round)) { "All of round " (round) } }
        }
    }
}

/// The latest results, newest first.
pub(super) fn rows(latest: &[ResultLine], links: Links) -> Vec<Item> {
    let line = |line: &ResultLine| {
        let key = format!("latest-{}", line.match_id);
        let html = self::line(&key, line, links).into_string();
        Item { key, html }
    };
    latest.iter().map(line).collect()
}

fn line(key: &str, line: &ResultLine, links: Links) -> Markup {
    let won = |seat: usize| line.winner == Some(seat);
    let [a, b] = &line.players;
    html! {
        li id=(key) .technical[line.technical] {
            a href=(links.of_match(&line.match_id)) {
                span.who.won[won(0)] { (name(a)) }
                span.versus { (relation(line.winner)) }
                span.who.won[won(1)] { (name(b)) }
            }
            p { span.id { (line.match_id) } " · " (time_of_day(line.at)) " · " bdi { (line.reason) } }
        }
    }
}

/// What stands between the two players.
fn relation(winner: Option<usize>) -> &'static str {
    match winner {
        Some(0) => "beat",
        Some(_) => "lost to",
        None => "drew with",
    }
}
