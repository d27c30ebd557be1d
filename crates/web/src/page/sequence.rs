//! What was said in a match: a diagram of messages, each of which opens to its JSON.

use league_protocol::time::Timestamp;
use maud::{Markup, html};
use serde_json::Value;

use super::Links;
use super::words::{cut, moment, offset, time_of_day};
use crate::model::{MatchPage, Said, Verbatim};

/// The most lanes of the diagram; of a match with more speakers only the words are shown.
const MOST_LANES: usize = 8;
/// The longest code of an error that is written out, in characters.
const LONGEST_CODE: usize = 24;
/// How wide a lane is.
const LANE: usize = 84;
/// How high a line of the diagram is.
const HEIGHT: usize = 28;

/// The messages of a match, oldest first.
pub(super) fn sequence(page: &MatchPage, links: Links) -> Markup {
    let id = links.own_id("said-title", page.match_id.as_str());
    html! {
        section.card.said.silent[is_silent(page)] aria-labelledby=(id) {
            h2 id=(id) { "What was said" }
            @match page.said.first() {
                None => p.more { (nothing(page)) },
                Some(first) => (diagram(page, first.at)),
            }
        }
    }
}

/// Why no message is there.
fn nothing(page: &MatchPage) -> Markup {
    html! {
        @match (&page.result, &page.referee) {
            (None, _) => "Nothing is told of a match before it is over.",
            (Some(result), None) => {
                "Nothing was said: " bdi { (result.reason) } ", so the manager decided the match, and no referee ran it."
            },
            (Some(_), Some(referee)) if page.life.is_some() => {
                "No message is in the record that " (referee) " kept of this match."
            },
            (Some(_), Some(referee)) => {
                "It stands in the record of " (referee) ", which ran this match; that record does not lie here."
            },
        }
    }
}

/// Whether no message will come any more: nobody ran the match.
fn is_silent(page: &MatchPage) -> bool {
    page.result.is_some() && page.referee.is_none()
}

fn diagram(page: &MatchPage, start: Timestamp) -> Markup {
    let lanes = lanes(page);
    html! {
        p.more { "From " (moment(start)) ". Open a line to read the message." }
        @if lanes.len() <= MOST_LANES { (head(&lanes)) }
        ol.messages { @for (place, said) in page.said.iter().enumerate() {
            @for words in states(page, place) { li.state { (words) } }
            li { (message(page, place, said, &lanes)) }
        }
        @for words in states(page, page.said.len()) { li.state { (words) } }
        }
    }
}

/// Everyone that spoke or was spoken to: manager, referees, players.
fn lanes(page: &MatchPage) -> Vec<&str> {
    let mut lanes: Vec<&str> = Vec::new();
    for said in &page.said {
        for speaker in [said.from.as_str(), said.to.as_str()] {
            if lanes.len() <= MOST_LANES && !lanes.contains(&speaker) {
                lanes.push(speaker);
            }
        }
    }
    let seat = |lane: &str| {
        let id = lane.strip_prefix("player:");
        let seats = page.players.iter();
        seats
            .map(|player| player.id.as_str())
            .position(|player| Some(player) == id)
    };
    lanes.sort_by_key(|lane| match (lane.split(':').next(), seat(lane)) {
        (_, Some(seat)) => 2 + seat,
        (Some("referee"), None) => 1,
        (Some("player"), None) => 4,
        _ => 0,
    });
    lanes
}

fn head(lanes: &[&str]) -> Markup {
    html! {
        div.message.lanes aria-hidden="true" {
            span.at {}
            svg viewBox=(format!("0 0 {} {HEIGHT}", lanes.len() * LANE)) {
                @for (place, lane) in lanes.iter().enumerate() {
                    text x=(centre(place)) y="18" text-anchor="middle" { (short(lane)) }
                }
            }
            span.kind {}
        }
    }
}

fn message(page: &MatchPage, place: usize, said: &Said, lanes: &[&str]) -> Markup {
    let start = page.said.first().map_or(said.at, |first| first.at);
    let unread = said.verbatim.as_ref();
    let unread = unread.is_some_and(|said| said.problem.is_some());
    let wrong = said.kind.contains("ERROR") || unread;
    html! {
        details {
            summary.message.wrong[wrong] {
                span.at { (offset(said.at, start)) }
                @if lanes.len() <= MOST_LANES { (arrow(lanes, said)) }
                span.kind {
                    code { @if said.kind.is_empty() { "answer" } @else { (said.kind) } }
                    span.way { (said.from) " → " (said.to) }
                    (remarks(page, place, said))
                }
            }
            (body(said))
        }
    }
}

fn arrow(lanes: &[&str], said: &Said) -> Markup {
    let place = |speaker: &str| lanes.iter().position(|lane| *lane == speaker);
    let middle = HEIGHT / 2;
    html! {
        svg viewBox=(format!("0 0 {} {HEIGHT}", lanes.len() * LANE)) aria-hidden="true" {
            @for lane in 0..lanes.len() {
                line.lane x1=(centre(lane)) x2=(centre(lane)) y1="0" y2=(HEIGHT) {}
            }
            @if let (Some(from), Some(to)) = (place(&said.from), place(&said.to)) {
                @let back = if from < to { -8 } else { 8 };
                @let tip = i64::try_from(centre(to)).unwrap_or_default();
                line.shaft x1=(centre(from)) x2=(tip + back / 2) y1=(middle) y2=(middle) {}
                circle.tail cx=(centre(from)) cy=(middle) r="3.5" {}
                path.tip d=(format!("M{tip} {middle}l{back} -5v10z")) {}
            }
        }
    }
}

const fn centre(lane: usize) -> usize {
    lane * LANE + LANE / 2
}

/// The id of a speaker, or what it is called if it has none.
fn short(lane: &str) -> &str {
    match lane.split_once(':') {
        Some((_, id)) => id,
        None => lane.strip_prefix("league_").unwrap_or(lane),
    }
}

/// Whether it is said again, until when an answer is awaited, and what is wrong.
fn remarks(page: &MatchPage, place: usize, said: &Said) -> Markup {
    let alike =
        |other: &&Said| (&other.kind, &other.from, &other.to) == (&said.kind, &said.from, &said.to);
    let before = page.said.iter().take(place).filter(alike).count();
    let text = |key: &str| said.message.get(key).and_then(Value::as_str);
    let deadline = text("deadline").and_then(|text| Timestamp::parse(text).ok());
    let board_game = !page.positions.is_empty();
    html! {
        @if before > 0 && !board_game { span.badge { "try " (before + 1) } }
        @if let Some(deadline) = deadline { span.badge { "until " (time_of_day(deadline)) } }
        @if let Some(verbatim) = &said.verbatim { span.badge.deviates { (reading(verbatim)) } }
        @if let Some(code) = text("error_code") { span.badge.deviates { (cut(code, LONGEST_CODE)) } }
    }
}

/// What the match became just before a message, or after the last one.
///
/// The referee speaks when something has changed, so a change stands before its next word; the
/// answers that brought it about stand above. A whole match may be played in one millisecond: what
/// is said only before a change does not come after it.
fn states(page: &MatchPage, place: usize) -> impl Iterator<Item = &'static str> {
    let life = page.life.unwrap_or_default();
    let inviting: &[&str] = &["INVIT"];
    let asking: &[&str] = &["INVIT", "START", "CALL", "REQUEST", "VALIDATION"];
    let states = [
        (life.created, "The referee has taken the match", &[][..]),
        (life.started, "Both players have come", inviting),
        (life.finished, "The result stands", asking),
    ];
    let stands = |moment: Timestamp, before: &[&str]| {
        let next = page.said.iter().position(|said| {
            let is_before = before.iter().any(|part| said.kind.contains(part));
            said.from.starts_with("referee") && said.at >= moment && !is_before
        });
        next.unwrap_or(page.said.len()) == place
    };
    let states = states.map(|(moment, words, before)| {
        let stands = moment.is_some_and(|moment| stands(moment, before));
        stands.then_some(words)
    });
    states.into_iter().flatten()
}

/// How something was read that is no message as it stands.
const fn reading(verbatim: &Verbatim) -> &'static str {
    match verbatim.problem {
        Some(_) => "not read",
        None => "made out",
    }
}

fn body(said: &Said) -> Markup {
    html! {
        @match (&said.message, &said.verbatim) {
            (Value::Null, Some(_)) => {},
            (Value::Null, None) => p.more { "It was too long to be kept." },
            (message, _) => pre tabindex="0" { code { (serde_json::to_string_pretty(message).unwrap_or_default()) } },
        }
        @if let Some(verbatim) = &said.verbatim { (really(verbatim)) }
    }
}

/// What was really said, and why it was not read.
fn really(verbatim: &Verbatim) -> Markup {
    html! {
        @if let Some(problem) = &verbatim.problem { p.more { "It could not be read: " (problem) } }
        @match &verbatim.text {
            None => p.more { "What was said, " (verbatim.bytes) " bytes, is not shown: it may hold a token." },
            Some(text) => {
                p.more {
                    "This was said"
                    @if verbatim.cut { ", cut short of its " (verbatim.bytes) " bytes" }
                    ":"
                }
                pre tabindex="0" { code { (text) } }
            },
        }
    }
}
