//! The page of one player.

use maud::{Markup, html};

use super::words::{agent_state, counted, grouped, latency, name, tile_state, time_of_day};
use super::{Links, chart, marks, summary};
use crate::model::{Meeting, PlayerPage};

/// What stands in `<main>`.
pub(super) fn main(page: &PlayerPage, links: Links) -> Markup {
    let row = &page.standing;
    html! {
        (summary::warning(&page.league, page.verdict.as_ref()))
        section.summary {
            p.crumbs { a href=(links.board()) { bdi { (page.league.title) } } span { (row.player_id) } }
            h1 { bdi { (row.name) } }
            dl.facts { (facts(page)) }
            @if !row.form.is_empty() { p.form { span { "Form" } (marks::form(&row.form)) } }
        }
        @if page.points.len() > 1 || !page.choices.is_empty() {
            div.columns {
                @if page.points.len() > 1 {
                    section.card { h2 { "Points over the rounds" } (chart::single(&page.points)) }
                }
                (choices(page))
            }
        }
        (coming(page, links))
        (failures(page, links))
        (deviations(page))
        (history(page, links))
    }
}

fn facts(page: &PlayerPage) -> Markup {
    let (row, agent) = (&page.standing, &page.agent);
    html! {
        div { dt { "Rank" } dd { (row.rank) span.of { " of " (page.league.players) } } }
        div { dt { "Points" } dd { (row.points) } }
        div { dt { "Won, drawn, lost" } dd { (row.wins) "–" (row.draws) "–" (row.losses) } }
        div { dt { "Technical losses" } dd { (row.technical_losses) } }
        div { dt { "Latency" } dd { (latency(agent.latency)) } }
        div { dt { "Speaks" } dd { (agent.dialect) } }
        div { dt { "Version" } dd { bdi { (agent.version) } } }
        div { dt { "State" } dd { (agent_state(row.state, page.league.is_over())) } }
    }
}

fn choices(page: &PlayerPage) -> Markup {
    let most = page.choices.iter().map(|(_, count)| *count).max();
    let Some(most) = most else {
        return Markup::default();
    };
    let total: u64 = page.choices.iter().map(|(_, count)| count).sum();
    html! {
        section.card {
            h2 { "Choices" }
            table.choices {
                thead.hush { tr { th scope="col" { "Choice" } th scope="col" { "Share" } th scope="col" { "Times" } } }
                tbody { @for (choice, count) in &page.choices {
                    tr {
                        th.text scope="row" { bdi { (choice) } }
                        td.bar { progress max=(most) value=(count) aria-hidden="true" {} }
                        td { (grouped(*count)) span.of { " · " ((count * 200 + total) / (2 * total).max(1)) " %" } }
                    }
                } }
            }
        }
    }
}

fn failures(page: &PlayerPage, links: Links) -> Markup {
    if page.failures.is_empty() {
        return Markup::default();
    }
    html! {
        section.card {
            h2 { "What cost it attempts" }
            div.scroll tabindex="0" role="region" aria-label="Failed attempts" { table.deviations {
                thead { tr { th scope="col" { "Times" } th.text scope="col" { "Code" } th.text scope="col" { "The last time" } th.text scope="col" { "In" } } }
                tbody { @for failure in &page.failures {
                    tr {
                        td { (grouped(failure.count)) }
                        th.text scope="row" { code { (failure.code) } " " (failure.code.name()) }
                        td.text.words { bdi { (failure.detail) } }
                        td.text { a href=(links.of_match(&failure.match_id)) { (failure.match_id) } }
                    }
                } }
            } }
        }
    }
}

fn deviations(page: &PlayerPage) -> Markup {
    if page.deviations.is_empty() {
        return Markup::default();
    }
    html! {
        section.card {
            h2 { "Where it left the protocol" }
            div.scroll tabindex="0" role="region" aria-label="Deviations" { table.deviations {
                thead { tr { th scope="col" { "Times" } th.text scope="col" { "Clause" } th.text scope="col" { "Where" } th.text scope="col" { "What to do" } } }
                tbody { @for deviation in &page.deviations {
                    tr {
                        td { (grouped(deviation.count)) }
                        th.text scope="row" { code { (deviation.clause) } }
                        td.text { code { (deviation.path) } }
                        td.text.words { bdi { (deviation.detail) } }
                    }
                } }
            } }
        }
    }
}

fn coming(page: &PlayerPage, links: Links) -> Markup {
    if page.coming.is_empty() {
        return Markup::default();
    }
    html! {
        section.card {
            h2 { "Still to play" }
            ol.coming { @for next in &page.coming {
                li {
                    a href=(links.of_round(next.round)) { "Round " (next.round) } " "
                    a href=(links.of_player(&next.opponent.id)) { (name(&next.opponent)) }
                    @if let Some(state) = next.state { " · " a href=(links.of_match(&next.match_id)) { (tile_state(state)) } }
                }
            } }
            @if page.later > 0 { p.more { "and " (counted(page.later as u64, "later match", "later matches")) } }
        }
    }
}

fn history(page: &PlayerPage, links: Links) -> Markup {
    html! {
        section.card {
            h2 { "Matches" }
            @if page.matches.is_empty() { p.more { "No match is over yet." } }
            @else { div.scroll tabindex="0" role="region" aria-label="Matches" { table.history {
                thead { tr {
                    th.text scope="col" { "Match" }
                    th scope="col" { "Result" }
                    th.text scope="col" { "Against" }
                    th.text scope="col" { "Chose" }
                    th.text scope="col" { "Opponent chose" }
                    th.text scope="col" { "Why" }
                    th scope="col" { "At" }
                } }
                tbody { @for meeting in &page.matches { (self::meeting(meeting, links)) } }
            } } }
            @if page.unlisted > 0 { p.more { "and " (counted(page.unlisted as u64, "older match", "older matches")) } }
        }
    }
}

fn meeting(meeting: &Meeting, links: Links) -> Markup {
    html! {
        tr {
            th.text scope="row" { a href=(links.of_match(&meeting.match_id)) { (meeting.match_id) } }
            td { (marks::mark(meeting.ended)) " " (meeting.points) }
            td.text.who { a href=(links.of_player(&meeting.opponent.id)) { (name(&meeting.opponent)) } }
            td.text { (choice(meeting.choice.as_deref())) }
            td.text { (choice(meeting.opponent_choice.as_deref())) }
            td.text.words { bdi { (meeting.reason) } }
            td { (time_of_day(meeting.at)) }
        }
    }
}

fn choice(choice: Option<&str>) -> Markup {
    html! { @match choice { Some(choice) => bdi { (choice) }, None => span.none { "nothing" } } }
}
