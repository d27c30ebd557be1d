//! The page of one match.

use league_protocol::message::MatchResult;
use maud::{Markup, html};
use serde_json::Value;

use super::words::{counted, cut, duration, moment, name, tile_state};
use super::{Links, draw, marks, positions, sequence, summary};
use crate::gallery::ended;
use crate::model::{Ended, MatchPage};

/// The longest choice that is written out, in characters.
const LONGEST_CHOICE: usize = 60;

/// What stands in `<main>`.
pub(super) fn main(page: &MatchPage, links: Links) -> Markup {
    html! { (result(page, links)) (details(page, links)) }
}

/// Who met, and how it ended.
pub(super) fn result(page: &MatchPage, links: Links) -> Markup {
    html! {
        (summary::warning(&page.league, page.verdict.as_ref()))
        section.duel {
            p.crumbs {
                a href=(links.board()) { bdi { (page.league.title) } }
                a href=(links.of_round(page.round)) { "Round " (page.round) } span { (page.match_id) }
            }
            h1.hush { (page.match_id) ": " (name(&page.players[0])) " – " (name(&page.players[1])) }
            div.seats {
                (seat(page, 0, links))
                p.middle { (middle(page)) }
                (seat(page, 1, links))
            }
            p.reason { (told(page)) }
            dl.facts { (facts(page)) }
        }
    }
}

/// How it came to that: the draw, the positions, what was said.
pub(super) fn details(page: &MatchPage, links: Links) -> Markup {
    html! {
        @if let Some(result) = &page.result { (draw::draw(page, result, links)) }
        (positions::positions(page, links))
        (sequence::sequence(page, links))
    }
}

fn seat(page: &MatchPage, seat: usize, links: Links) -> Markup {
    let player = &page.players[seat];
    let result = page.result.as_deref();
    let ended = result.map(|result| ended(result, seat));
    html! {
        div class={ "seat" @if let Some(ended) = ended { " " (marks::class(ended)) } } {
            p.who { a href=(links.of_player(&player.id)) { (name(player)) } }
            @if let Some(result) = result {
                p.choice { (chosen(result, seat)) }
                @if let Some(ended) = ended {
                    p.outcome { (marks::mark(ended)) " " (outcome(ended)) " · " (points(result.points[seat])) }
                }
            }
            p.id { "seat " (["A", "B"][seat]) " · " (player.id) }
        }
    }
}

fn chosen(result: &MatchResult, seat: usize) -> Markup {
    let player = &result.players[seat];
    html! {
        @match (result.choices.get(player), result.failed.get(player)) {
            (_, Some(code)) => span.failed { (code) " " (code.name()) },
            (Some(choice), None) => bdi { (written(choice)) },
            (None, None) => "–",
        }
    }
}

/// A choice for people: a text as it is, moves one after the other, all else as JSON.
fn written(choice: &Value) -> String {
    let text = match choice {
        Value::String(text) => text.clone(),
        Value::Array(moves) => {
            let moves: Vec<String> = moves.iter().map(Value::to_string).collect();
            moves.join(" ")
        }
        other => other.to_string(),
    };
    cut(&text, LONGEST_CHOICE)
}

const fn outcome(ended: Ended) -> &'static str {
    match ended {
        Ended::Won => "won",
        Ended::Drew => "drew",
        Ended::Lost => "lost",
        Ended::Forfeited => "did not play",
    }
}

fn points(points: u32) -> String {
    counted(points.into(), "point", "points")
}

/// What stands between the seats: the number that was drawn, or how far the match is.
fn middle(page: &MatchPage) -> Markup {
    let number = page.result.as_deref().and_then(draw::number);
    html! {
        @match (number, page.state) {
            (Some(number), _) => { span.number { (number) } span.of { "drawn" } },
            (None, Some(state)) => span.state { (tile_state(state)) },
            (None, None) => span.of { "against" },
        }
    }
}

fn told(page: &MatchPage) -> Markup {
    html! {
        @match &page.result {
            Some(result) => bdi { (result.reason) },
            None => "What is chosen and said shows here when the match is over.",
        }
    }
}

fn facts(page: &MatchPage) -> Markup {
    let life = page.life.unwrap_or_default();
    let took = life.finished.zip(life.created);
    html! {
        @if let Some(referee) = &page.referee { div { dt { "Referee" } dd { (referee) } } }
        @if page.attempt > 1 { div { dt { "Attempt" } dd { (page.attempt) } } }
        @if let Some(at) = life.created { div { dt { "Called" } dd { (moment(at)) } } }
        @if let Some(at) = page.at { div { dt { "Result taken" } dd { (moment(at)) } } }
        @if let Some((end, start)) = took { div { dt { "Took" } dd { (duration(end.since(start))) } } }
    }
}
