//! Why a player lost without playing: what its referee told it, and what it had answered.

use league_protocol::message::MatchResult;
use maud::{Markup, html};

use super::format::{bare_name, cut, offset};
use crate::model::{MatchPage, PlayerRef, TranscriptMessage};

/// Failed attempts that are quoted for each player.
const MAX_ATTEMPTS: usize = 8;
/// The length of a quoted answer, in characters.
const MAX_QUOTE: usize = 300;

/// The failed attempts of the players that lost without playing; nothing without their messages.
pub(crate) fn section(page: &MatchPage, result: &MatchResult) -> Markup {
    let lost = page
        .players
        .iter()
        .filter(|player| result.failed.contains_key(&player.id));
    let lost: Vec<(&PlayerRef, Vec<Attempt<'_>>)> = lost
        .map(|player| (player, attempts(&page.messages, player)))
        .filter(|(_, attempts)| !attempts.is_empty())
        .collect();
    let start = page.messages.first().map(|message| message.at);
    html! {
        @if let Some(start) = start.filter(|_| !lost.is_empty()) {
            section.card.technical {
                h2 { "Why a player lost without playing" }
                @for (player, attempts) in lost {
                    p { (bare_name(player)) ":" }
                    ol { @for attempt in attempts { (told(&attempt, start)) } }
                }
            }
        }
    }
}

/// A failed attempt: the referee's error, and the answer before it.
struct Attempt<'m> {
    error: &'m TranscriptMessage,
    answer: Option<&'m TranscriptMessage>,
}

/// The errors that a player was told, each with the player's answer since the one before.
fn attempts<'m>(messages: &'m [TranscriptMessage], player: &PlayerRef) -> Vec<Attempt<'m>> {
    let agent = format!("player:{}", player.id);
    let mut answer = None;
    let mut attempts = Vec::new();
    for message in messages {
        if message.from == agent {
            answer = Some(message);
        } else if message.to == agent && message.kind == "GAME_ERROR" {
            let error = message;
            attempts.push(Attempt {
                error,
                answer: answer.take(),
            });
        }
    }
    attempts.truncate(MAX_ATTEMPTS);
    attempts
}

fn told(attempt: &Attempt<'_>, start: league_protocol::time::Timestamp) -> Markup {
    let error = &attempt.error.message;
    let word = |key: &str| error.get(key).and_then(|word| word.as_str());
    let code = word("error_code").unwrap_or_default();
    let detail = error
        .pointer("/error_description")
        .or_else(|| error.pointer("/context/detail"));
    let detail = detail.and_then(|detail| detail.as_str());
    html! {
        li {
            span.id { (offset(attempt.error.at, start)) } " " strong { (code) }
            @if let Some(detail) = detail { ": " bdi { (cut(detail, MAX_QUOTE)) } }
            @match attempt.answer {
                Some(answer) => { ". It had answered " code { bdi { (quote(answer)) } } },
                None => ". It had not answered.",
            }
        }
    }
}

/// What came, as it came where that is known.
fn quote(answer: &TranscriptMessage) -> String {
    let original = answer
        .original
        .as_ref()
        .and_then(|original| original.text.clone());
    cut(
        &original.unwrap_or_else(|| answer.message.to_string()),
        MAX_QUOTE,
    )
}
