//! The table.

use league_core::league::AgentState;
use maud::{Markup, html};

use super::words::{agent_state, counted, grouped};
use super::{Links, marks};
use crate::model::Standing;
use crate::parts::Item;

/// The head of the table.
pub(super) fn head() -> Markup {
    html! {
        thead { tr {
            th scope="col" { abbr title="Rank" { "#" } }
            th scope="col" { span.hush { "Places gained since the last round" } }
            th.text scope="col" { "Player" }
            th scope="col" { abbr title="Points" { "Pts" } }
            th scope="col" { abbr title="Played" { "P" } }
            th scope="col" { abbr title="Won" { "W" } }
            th scope="col" { abbr title="Drawn" { "D" } }
            th scope="col" { abbr title="Lost" { "L" } }
            th.text scope="col" { abbr title="The last five matches, oldest first" { "Form" } }
        } }
    }
}

/// The rows of the table, each by its player.
pub(super) fn rows(standings: &[Standing], links: Links) -> Vec<Item> {
    let row = |standing: &Standing| {
        let key = format!("row-{}", standing.player_id);
        let html = row(&key, standing, links).into_string();
        Item { key, html }
    };
    standings.iter().map(row).collect()
}

fn row(key: &str, row: &Standing, links: Links) -> Markup {
    html! {
        tr id=(key) {
            td { (row.rank) }
            td { (climbed(row.climbed)) }
            th scope="row" {
                a href=(links.of_player(&row.player_id)) { bdi { (row.name) } }
                (badges(row))
            }
            td { (row.points) }
            td { (row.played) }
            td { (row.wins) }
            td { (row.draws) }
            td { (row.losses) }
            td { (marks::form(&row.form)) }
        }
    }
}

fn climbed(places: i64) -> Markup {
    html! {
        @if places > 0 { span.up { "▲" (places) } }
        @else if places < 0 { span.down { "▼" (places.unsigned_abs()) } }
    }
}

fn badges(row: &Standing) -> Markup {
    html! {
        @if row.technical_losses > 0 {
            " " span.badge title=(counted(row.technical_losses.into(), "technical loss", "technical losses")) {
                "T " (row.technical_losses)
            }
        }
        @if row.deviations > 0 {
            " " span.badge.deviates title="times that it left the protocol" { "⚠ " (grouped(row.deviations)) }
        }
        @if matches!(row.state, AgentState::Suspended | AgentState::Shutdown) {
            " " span.badge.gone { (agent_state(row.state, false)) }
        }
    }
}

/// How many players are left out, or that there are none.
pub(super) fn note(unlisted: usize, empty: bool) -> Markup {
    html! {
        p #standings-note .more {
            @if empty { "Nobody has registered yet." }
            @else if unlisted > 0 { "and " (grouped(unlisted as u64)) " more" }
        }
    }
}
