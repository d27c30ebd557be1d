//! The page of a round: its matches and their results.

use maud::{Markup, html};

use super::Links;
use super::board::warning;
use super::format::{counted, mark, name, sentence, tile_state, time_of_day};
use crate::model::{RoundMatch, RoundMatchState, RoundPage, TileState};

/// A league of more rounds links only those near the shown one.
const MAX_LINKED: u32 = 60;

/// The content of `<main>`.
pub(crate) fn main(page: &RoundPage, links: Links) -> Markup {
    html! {
        (warning(&page.league))
        section.summary {
            p.crumbs {
                a href=(links.board()) { bdi { (page.league.title) } }
                span { "Round " (page.round) }
            }
            h1 { "Round " (page.round) " of " (page.rounds) }
            p.lead { (progress(page)) }
        }
        (others(page, links))
        section.card {
            h2 { "Matches" }
            div.scroll tabindex="0" role="region" aria-label="Matches" { table.round {
                thead { tr {
                    th.text scope="col" { "Match" }
                    th.text scope="col" { "Seat A" }
                    th scope="col" { "A" }
                    th scope="col" { "B" }
                    th.text scope="col" { "Seat B" }
                    th.text scope="col" { "How it went" }
                    th.text scope="col" { "Referee" }
                    th scope="col" { "At" }
                } }
                tbody { @for fixture in &page.matches { (row(page, fixture, links)) } }
            } }
            @if page.unlisted > 0 { p.more { "and " (counted(page.unlisted as u64, "more match", "more matches")) } }
            @if let Some(resting) = &page.resting {
                p.more { a href=(links.of_player(&resting.id)) { (name(resting)) } " rests in this round." }
            }
        }
    }
}

fn progress(page: &RoundPage) -> Markup {
    let all = page.matches.len() + page.unlisted;
    let planned = |fixture: &RoundMatch| fixture.state == RoundMatchState::Planned;
    let is_open = |fixture: &&RoundMatch| matches!(fixture.state, RoundMatchState::Open(_));
    let open = page.matches.iter().filter(is_open).count();
    html! {
        span { (counted(all as u64, "match", "matches")) }
        @if page.matches.iter().all(planned) { span { (coming(page)) } }
        @else if open > 0 { span { (open) " without a result" } }
        @else if page.unlisted == 0 { span { "all played" } }
    }
}

/// The words for a match whose round has not begun.
fn coming(page: &RoundPage) -> &'static str {
    if page.league.is_over() {
        tile_state(TileState::Dropped)
    } else {
        "to come"
    }
}

/// Links to the other rounds.
fn others(page: &RoundPage, links: Links) -> Markup {
    let near = if page.rounds <= MAX_LINKED {
        1..=page.rounds
    } else {
        let first = page.round.saturating_sub(MAX_LINKED / 2).max(1);
        first..=first.saturating_add(MAX_LINKED - 1).min(page.rounds)
    };
    html! {
        nav.rounds aria-label="Rounds" {
            @if *near.start() > 1 { a href=(links.of_round(1)) { "1" } span { "…" } }
            @for round in near.clone() {
                @if round == page.round { a aria-current="page" href=(links.of_round(round)) { (round) } }
                @else { a href=(links.of_round(round)) { (round) } }
            }
            @if *near.end() < page.rounds {
                span { "…" } a href=(links.of_round(page.rounds)) { (page.rounds) }
            }
        }
    }
}

fn row(page: &RoundPage, fixture: &RoundMatch, links: Links) -> Markup {
    let [a, b] = &fixture.players;
    html! {
        tr {
            th.text scope="row" {
                @if fixture.state == RoundMatchState::Planned || fixture.state == RoundMatchState::Forgotten { (fixture.match_id) }
                @else { a href=(links.of_match(&fixture.match_id)) { (fixture.match_id) } }
            }
            td.who { a href=(links.of_player(&a.id)) { (name(a)) } }
            td { (score(&fixture.state, 0)) }
            td { (score(&fixture.state, 1)) }
            td.who { a href=(links.of_player(&b.id)) { (name(b)) } }
            td.text.words { (description(page, fixture)) }
            td.text { @if let Some(referee) = &fixture.referee { (referee) } }
            td { @if let RoundMatchState::Over { at, .. } = &fixture.state { (time_of_day(*at)) } }
        }
    }
}

fn score(state: &RoundMatchState, seat: usize) -> Markup {
    html! {
        @if let RoundMatchState::Over { outcomes, points, .. } = state { (mark(outcomes[seat])) " " (points[seat]) }
    }
}

fn description(page: &RoundPage, fixture: &RoundMatch) -> Markup {
    html! {
        @match &fixture.state {
            RoundMatchState::Planned => span.none { (coming(page)) },
            RoundMatchState::Open(state) => (tile_state(*state)),
            RoundMatchState::Over { reason, .. } => (sentence(reason, &fixture.players)),
            RoundMatchState::Forgotten => span.none { "played; the result is too old to be kept here" },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::models;

    #[test]
    fn first_and_last_round_are_linked_from_every_round() {
        let mut page = models::rounds().remove(0);
        let shown = |page: &RoundPage| others(page, Links::Site).into_string();
        assert!(!shown(&page).contains('…'), "all are there");
        page.rounds = 399;
        for (round, gaps) in [(1, 1), (200, 2), (399, 1)] {
            page.round = round;
            let html = shown(&page);
            assert_eq!(html.matches('…').count(), gaps, "{html}");
            assert!(
                html.contains(">1</a>") && html.contains(">399</a>"),
                "{html}"
            );
        }
    }
}
