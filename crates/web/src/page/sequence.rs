//! The messages of a match as a sequence diagram; each opens to its JSON.

use league_protocol::time::Timestamp;
use maud::{Markup, html};
use serde_json::Value;

use super::Links;
use super::format::{cut, moment, offset, time_of_day};
use crate::model::{MatchPage, OriginalText, TranscriptMessage};

/// A match with more speakers is shown without a diagram.
const MAX_LANES: usize = 8;
/// The length of an error code, in characters.
const MAX_CODE_CHARS: usize = 24;
const LANE_WIDTH: usize = 84;
/// The height of a line of the diagram.
const HEIGHT: usize = 28;

pub(crate) fn sequence(page: &MatchPage, links: Links) -> Markup {
    let id = links.own_id("said-title", page.match_id.as_str());
    html! {
        section.card.said.silent[is_silent(page)] aria-labelledby=(id) {
            h2 id=(id) { "Messages" }
            @match page.messages.first() {
                None => p.more { (nothing(page)) },
                Some(first) => (diagram(page, first.at)),
            }
        }
    }
}

/// Why there are no messages.
fn nothing(page: &MatchPage) -> Markup {
    html! {
        @match (&page.result, &page.referee) {
            (None, _) if page.state.is_none() => "The match was closed before it had a result; its messages stay with its referee.",
            (None, _) => "Messages are shown when the match is over.",
            (Some(result), None) => {
                "There are no messages: " bdi { (result.reason) } ", so the manager decided the match, and no referee ran it."
            },
            (Some(_), Some(referee)) if page.times.is_some() => {
                "The record of " (referee) " holds no messages of this match."
            },
            (Some(_), Some(referee)) => {
                "The messages are in the record of " (referee) ", which ran this match; that record is not in this folder."
            },
        }
    }
}

/// Whether no message will follow, since no referee ran the match.
fn is_silent(page: &MatchPage) -> bool {
    page.state.is_none() && (page.result.is_none() || page.referee.is_none())
}

fn diagram(page: &MatchPage, start: Timestamp) -> Markup {
    let lanes = lanes(page);
    html! {
        p.more { "From " (moment(start)) ". Open a line to read the message." }
        @if lanes.len() <= MAX_LANES { (head(&lanes)) }
        ol.messages { @for (place, message) in page.messages.iter().enumerate() {
            @for words in states(page, place) { li.state { (words) } }
            li { (message_line(page, place, message, &lanes)) }
        }
        @for words in states(page, page.messages.len()) { li.state { (words) } }
        }
    }
}

/// All senders and receivers: manager, referees, players.
fn lanes(page: &MatchPage) -> Vec<&str> {
    let mut lanes: Vec<&str> = Vec::new();
    for message in &page.messages {
        for speaker in [message.from.as_str(), message.to.as_str()] {
            if lanes.len() <= MAX_LANES && !lanes.contains(&speaker) {
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
            svg viewBox=(format!("0 0 {} {HEIGHT}", lanes.len() * LANE_WIDTH)) {
                @for (place, lane) in lanes.iter().enumerate() {
                    text x=(centre(place)) y="18" text-anchor="middle" { (short(lane)) }
                }
            }
            span.kind {}
        }
    }
}

fn message_line(
    page: &MatchPage,
    place: usize,
    message: &TranscriptMessage,
    lanes: &[&str],
) -> Markup {
    let start = page.messages.first().map_or(message.at, |first| first.at);
    let original = message.original.as_ref();
    let unread = original.is_some_and(|original| original.problem.is_some());
    let wrong = unread || message.kind.contains("ERROR");
    html! {
        details {
            summary.message.wrong[wrong] {
                span.at { (offset(message.at, start)) }
                @if lanes.len() <= MAX_LANES { (arrow(lanes, message)) }
                span.kind {
                    code { @if message.kind.is_empty() { "answer" } @else { (message.kind) } }
                    span.way { (message.from) " → " (message.to) }
                    (remarks(page, place, message))
                }
            }
            (body(message))
        }
    }
}

fn arrow(lanes: &[&str], message: &TranscriptMessage) -> Markup {
    let place = |speaker: &str| lanes.iter().position(|lane| *lane == speaker);
    let middle = HEIGHT / 2;
    html! {
        svg viewBox=(format!("0 0 {} {HEIGHT}", lanes.len() * LANE_WIDTH)) aria-hidden="true" {
            @for lane in 0..lanes.len() {
                line.lane x1=(centre(lane)) x2=(centre(lane)) y1="0" y2=(HEIGHT) {}
            }
            @if let (Some(from), Some(to)) = (place(&message.from), place(&message.to)) {
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
    lane * LANE_WIDTH + LANE_WIDTH / 2
}

/// The id of a speaker, or its role if it has none.
fn short(lane: &str) -> &str {
    match lane.split_once(':') {
        Some((_, id)) => id,
        None => lane.strip_prefix("league_").unwrap_or(lane),
    }
}

/// Whether the message is a retry, its deadline, and what is wrong with it.
fn remarks(page: &MatchPage, place: usize, message: &TranscriptMessage) -> Markup {
    let alike = |other: &&TranscriptMessage| {
        (&other.kind, &other.from, &other.to) == (&message.kind, &message.from, &message.to)
    };
    let before = page.messages.iter().take(place).filter(alike).count();
    let text = |key: &str| message.message.get(key).and_then(Value::as_str);
    let deadline = text("deadline").and_then(|text| Timestamp::parse(text).ok());
    let board_game = !page.positions.is_empty();
    html! {
        @if before > 0 && !board_game { span.badge { "try " (before + 1) } }
        @if let Some(deadline) = deadline { span.badge { "until " (time_of_day(deadline)) } }
        @if let Some(original) = &message.original { span.badge.deviates { (reading(original)) } }
        @if let Some(code) = text("error_code") { span.badge.deviates { (cut(code, MAX_CODE_CHARS)) } }
    }
}

/// The states that the match reached just before a message, or after the last one.
///
/// The referee sends a message when the state has changed, so a state is placed before the referee's
/// next message and after the answers that caused it. A whole match may take one millisecond, so
/// messages that only precede a state are never placed after it.
fn states(page: &MatchPage, place: usize) -> impl Iterator<Item = &'static str> {
    let times = page.times.unwrap_or_default();
    let inviting: &[&str] = &["INVIT"];
    let asking: &[&str] = &["INVIT", "START", "CALL", "REQUEST", "VALIDATION"];
    let states = [
        (times.created, "The referee accepted the match", &[][..]),
        (times.started, "Both players joined", inviting),
        (times.finished, "The result is final", asking),
    ];
    let stands = |moment: Timestamp, before: &[&str]| {
        let next = page.messages.iter().position(|message| {
            let is_before = before.iter().any(|part| message.kind.contains(part));
            message.from.starts_with("referee") && message.at >= moment && !is_before
        });
        next.unwrap_or(page.messages.len()) == place
    };
    let states = states.map(|(moment, words, before)| {
        let stands = moment.is_some_and(|moment| stands(moment, before));
        stands.then_some(words)
    });
    let is_resumed = page
        .messages
        .get(place)
        .is_some_and(|message| message.resumed);
    let resumed = is_resumed.then_some(RESUMED);
    resumed.into_iter().chain(states.into_iter().flatten())
}

const RESUMED: &str = "The referee was started again; messages just before this may be missing";

/// How a malformed message was read.
const fn reading(original: &OriginalText) -> &'static str {
    match original.problem {
        Some(_) => "not decoded",
        None => "repaired",
    }
}

fn body(message: &TranscriptMessage) -> Markup {
    html! {
        @match (&message.message, &message.original) {
            _ if message.lost => p.more { "It was hidden when the referee ended, so only its hash is known." },
            (Value::Null, Some(_)) => {},
            (Value::Null, None) => p.more { "The message was too long to keep." },
            (decoded, _) => pre tabindex="0" { code { (serde_json::to_string_pretty(decoded).unwrap_or_default()) } },
        }
        @if let Some(original) = &message.original { (original_text(original)) }
    }
}

/// The text as it was received, and why it could not be decoded.
fn original_text(original: &OriginalText) -> Markup {
    html! {
        @if let Some(problem) = &original.problem { p.more { "It could not be decoded: " (problem) } }
        @match &original.text {
            None => p.more { "The original text (" (original.bytes) " bytes) is not shown: it may contain a token." },
            Some(text) => {
                p.more {
                    "Original text"
                    @if original.cut { ", the beginning of " (original.bytes) " bytes" }
                    ":"
                }
                pre tabindex="0" { code { (text) } }
            },
        }
    }
}
