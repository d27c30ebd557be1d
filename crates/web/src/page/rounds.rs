//! The page of one round: who meets whom, and how it went.

use maud::{Markup, html};

use super::words::{counted, name, tile_state, time_of_day};
use super::{Links, marks, summary};
use crate::model::{Course, Encounter, RoundPage};

/// In a league of more rounds only those beside the shown one are linked.
const MOST_LINKED: u32 = 60;

/// What stands in `<main>`.
pub(super) fn main(page: &RoundPage, links: Links) -> Markup {
    html! {
        (summary::warning(&page.league, page.verdict.as_ref()))
        section.summary {
            p.crumbs {
                a href=(links.board()) { bdi { (page.league.title) } }
                span { "Round " (page.round) }
            }
            h1 { "Round " (page.round) " of " (page.rounds) }
            p.lead { (how_far(page)) }
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
                tbody { @for encounter in &page.encounters { (row(encounter, links)) } }
            } }
            @if page.unlisted > 0 { p.more { "and " (counted(page.unlisted as u64, "more match", "more matches")) } }
            @if let Some(resting) = &page.resting {
                p.more { a href=(links.of_player(&resting.id)) { (name(resting)) } " rests in this round." }
            }
        }
    }
}

fn how_far(page: &RoundPage) -> Markup {
    let all = page.encounters.len() + page.unlisted;
    let planned = |encounter: &Encounter| encounter.course == Course::Planned;
    let open = |encounter: &&Encounter| matches!(encounter.course, Course::Open(_));
    let open = page.encounters.iter().filter(open).count();
    html! {
        span { (counted(all as u64, "match", "matches")) }
        @if page.encounters.iter().all(planned) { span { "to come" } }
        @else if open > 0 { span { (open) " without a result" } }
        @else if page.unlisted == 0 { span { "all played" } }
    }
}

/// The way to the other rounds.
fn others(page: &RoundPage, links: Links) -> Markup {
    let near = if page.rounds <= MOST_LINKED {
        1..=page.rounds
    } else {
        let first = page.round.saturating_sub(MOST_LINKED / 2).max(1);
        first..=first.saturating_add(MOST_LINKED - 1).min(page.rounds)
    };
    html! {
        nav.rounds aria-label="Rounds" {
            @for round in near {
                @if round == page.round { a aria-current="page" href=(links.of_round(round)) { (round) } }
                @else { a href=(links.of_round(round)) { (round) } }
            }
        }
    }
}

fn row(encounter: &Encounter, links: Links) -> Markup {
    let [a, b] = &encounter.players;
    html! {
        tr {
            th.text scope="row" {
                @if encounter.course == Course::Planned || encounter.course == Course::Forgotten { (encounter.match_id) }
                @else { a href=(links.of_match(&encounter.match_id)) { (encounter.match_id) } }
            }
            td.who { a href=(links.of_player(&a.id)) { (name(a)) } }
            td { (score(&encounter.course, 0)) }
            td { (score(&encounter.course, 1)) }
            td.who { a href=(links.of_player(&b.id)) { (name(b)) } }
            td.text.words { (told(&encounter.course)) }
            td.text { @if let Some(referee) = &encounter.referee { (referee) } }
            td { @if let Course::Over { at, .. } = &encounter.course { (time_of_day(*at)) } }
        }
    }
}

fn score(course: &Course, seat: usize) -> Markup {
    html! {
        @if let Course::Over { ends, points, .. } = course { (marks::mark(ends[seat])) " " (points[seat]) }
    }
}

fn told(course: &Course) -> Markup {
    html! {
        @match course {
            Course::Planned => span.none { "to come" },
            Course::Open(state) => (tile_state(*state)),
            Course::Over { reason, .. } => bdi { (reason) },
            Course::Forgotten => span.none { "played; too long ago to be kept here" },
        }
    }
}
