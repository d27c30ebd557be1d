//! The board: a league at a glance.

use maud::{Markup, PreEscaped, html};

use super::{Links, agents, chart, cross, latest, standings, summary};
use crate::model::Board;
use crate::parts::Parts;

/// The parts of the board that change.
pub(super) fn parts(board: &Board, links: Links) -> Parts {
    let mut parts = Parts::default();
    parts.block("summary", summary::summary(board, links).into_string());
    parts.block("progress", summary::progress(board, links).into_string());
    parts.block("verdict", summary::verdict(board).into_string());
    parts.list("standings-rows", standings::rows(&board.standings, links));
    let note = standings::note(board.unlisted, board.standings.is_empty());
    parts.block("standings-note", note.into_string());
    parts.list("tiles", latest::tiles(&board.tiles, links));
    parts.block("tiles-note", latest::tiles_note(board, links).into_string());
    parts.list("latest-rows", latest::rows(&board.latest, links));
    parts.block("cross-head", cross::head(&board.cross, links).into_string());
    parts.list("cross-rows", cross::rows(&board.cross, links));
    parts.block("chart", chart::chart(&board.chart).into_string());
    parts.list(
        "agent-rows",
        agents::rows(&board.agents, board.league.is_over(), links),
    );
    parts
}

/// What stands in `<main>`.
pub(super) fn main(parts: &Parts) -> Markup {
    let block = |id: &str| PreEscaped(parts.of_block(id).to_owned());
    let list = |id: &str| PreEscaped(parts.of_list(id));
    html! {
        (block("summary"))
        (block("progress"))
        (block("verdict"))
        (replay())
        div.columns {
            section.card.standings aria-labelledby="standings-title" {
                h2 #standings-title { "Standings" }
                div.scroll tabindex="0" role="region" aria-labelledby="standings-title" {
                    table { (standings::head()) tbody #standings-rows { (list("standings-rows")) } }
                }
                (block("standings-note"))
            }
            div.side {
                section.card aria-labelledby="tiles-title" {
                    h2 #tiles-title { "On the tables now" }
                    ul #tiles { (list("tiles")) }
                    (block("tiles-note"))
                }
                section.card aria-labelledby="latest-title" {
                    h2 #latest-title { "Latest results" }
                    ol #latest-rows { (list("latest-rows")) }
                }
            }
        section.card aria-labelledby="chart-title" {
            h2 #chart-title { "Points over the rounds" }
            div.scroll tabindex="0" role="region" aria-labelledby="chart-title" { (block("chart")) }
        }
        }
        section.card aria-labelledby="cross-title" {
            h2 #cross-title { "Who met whom" }
            p.more { "Each row tells how its player did; a letter leads to the match." }
            div.scroll tabindex="0" role="region" aria-labelledby="cross-title" {
                table.cross {
                    caption.hush { "How each player did against each other" }
                    thead { (block("cross-head")) }
                    tbody #cross-rows { (list("cross-rows")) }
                }
            }
        }
        section.card aria-labelledby="agents-title" {
            h2 #agents-title { "Agents" }
            div.scroll tabindex="0" role="region" aria-labelledby="agents-title" {
                table.agents { (agents::head()) tbody #agent-rows { (list("agent-rows")) } }
            }
        }
    }
}

/// The controls of the replay; the script shows them, since without it they can do nothing.
fn replay() -> Markup {
    html! {
        section #replay .card hidden aria-label="Replay" {
            button #replay-open type="button" { "▶ Replay from the start" }
            div #replay-controls hidden {
                button #replay-back type="button" { "Back" }
                button #replay-play type="button" { "Pause" }
                button #replay-forward type="button" { "Forward" }
                label { span.hush { "Moment" } input #replay-moment type="range" min="0" max="0" value="0"; }
                label { "Speed " select #replay-speed {
                    option value="1" { "1 result a second" }
                    option value="4" selected { "4 a second" }
                    option value="16" { "16 a second" }
                    option value="64" { "64 a second" }
                    option value="256" { "256 a second" }
                    option value="1024" { "1,024 a second" }
                    option value="4096" { "4,096 a second" }
                } }
                button #replay-close type="button" { "Back to now" }
                p #replay-label aria-live="polite" {}
            }
        }
    }
}
