//! The page of a player.

use maud::{Markup, html};

use super::board::warning;
use super::face::face;
use super::format::{
    agent_state, counted, form, grouped, latency, mark, name, sentence, tile_state, time_of_day,
};
use super::{Links, chart};
use crate::model::{PlayedMatch, PlayerPage, PlayerRef};

/// The content of `<main>`.
pub(crate) fn main(page: &PlayerPage, links: Links) -> Markup {
    let (row, standing) = (&page.row, &page.row.standing);
    html! {
        (warning(&page.league))
        section.summary {
            p.crumbs { a href=(links.board()) { bdi { (page.league.title) } } span { (standing.player_id) } }
            h1 { (face(&standing.player_id)) bdi { (standing.display_name) } }
            dl.facts { (facts(page)) }
            @if !row.form.is_empty() { p.form { span { "Form" } (form(&row.form)) } }
        }
        @if page.points.len() > 1 || !page.choices.is_empty() {
            div.columns {
                @if page.points.len() > 1 {
                    section.card { h2 { "Points over the rounds" } (chart::single(&page.points)) }
                }
                (choices(page))
            }
        }
        (upcoming(page, links))
        (failures(page, links))
        (deviations(page))
        (history(page, links))
    }
}

fn facts(page: &PlayerPage) -> Markup {
    let (row, agent) = (&page.row.standing, &page.agent);
    html! {
        div { dt { "Rank" } dd { (row.place()) span.of { " of " (page.league.players) } } }
        div { dt { "Points" } dd { (row.points) } }
        div { dt { "Won, drawn, lost" } dd { (row.wins) "–" (row.draws) "–" (row.losses) } }
        div { dt { "Technical losses" } dd { (row.technical_losses) } }
        div { dt { "Latency" } dd { (latency(agent.latency)) } }
        div { dt { "Speaks" } dd { (agent.dialect) } }
        div { dt { "Version" } dd { bdi { (agent.version) } } }
        div { dt { "State" } dd { @match page.row.expulsion {
            Some(expulsion) => (expulsion),
            None => (agent_state(page.row.state, page.league.is_over())),
        } } }
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
            h2 { "Failed attempts" }
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
            h2 { "Protocol deviations" }
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

fn upcoming(page: &PlayerPage, links: Links) -> Markup {
    if page.upcoming.is_empty() {
        return Markup::default();
    }
    html! {
        section.card {
            h2 { "Still to play" }
            ol.coming { @for next in &page.upcoming {
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
                tbody { @for played in &page.matches { (played_match(page, played, links)) } }
            } } }
            @if page.unlisted > 0 { p.more { "and " (counted(page.unlisted as u64, "older match", "older matches")) } }
        }
    }
}

fn played_match(page: &PlayerPage, played: &PlayedMatch, links: Links) -> Markup {
    let own = PlayerRef {
        id: page.row.standing.player_id.clone(),
        name: page.row.standing.display_name.to_string(),
    };
    let players = [own, played.opponent.clone()];
    html! {
        tr {
            th.text scope="row" { a href=(links.of_match(&played.match_id)) { (played.match_id) } }
            td { (mark(played.outcome)) " " (played.points) }
            td.text.who { a href=(links.of_player(&played.opponent.id)) { (name(&played.opponent)) } }
            td.text { (choice(played.choice.as_deref())) }
            td.text { (choice(played.opponent_choice.as_deref())) }
            td.text.words { (sentence(&played.reason, &players)) }
            td { (time_of_day(played.at)) }
        }
    }
}

fn choice(choice: Option<&str>) -> Markup {
    html! { @match choice { Some(choice) => bdi { (choice) }, None => span.none { "nothing" } } }
}
