//! What players tell of the language models that chose for them: for each move of a match, and
//! summed beside a name.

use std::time::Duration;

use league_protocol::message::{MatchResult, ModelUse};
use maud::{Markup, html};

use super::Links;
use super::format::{counted, cut, duration, grouped, name};
use crate::model::{MatchPage, ModelSum};

/// The length of a model's name, in characters.
const MAX_NAME: usize = 40;
/// The length of a prompt or an answer, in characters.
const MAX_WORDS: usize = 8_000;
/// The length of all prompts and answers on a page, in bytes; the rest is left out.
const MAX_ALL_WORDS: usize = 512 * 1_024;

/// The models of a match, move by move; nothing if no player told of one.
pub(crate) fn section(page: &MatchPage, result: &MatchResult, links: Links) -> Markup {
    let moves = result.evidence.moves.iter().enumerate();
    let told: Vec<_> = moves
        .filter_map(|(place, made)| Some((place + 1, &made.player_id, made.model.as_deref()?)))
        .collect();
    if told.is_empty() {
        return Markup::default();
    }
    let id = |id: &str| links.own_id(id, page.match_id.as_str());
    html! {
        section.card id=(id("models")) aria-labelledby=(id("models-title")) {
            h2 id=(id("models-title")) { "Language models" }
            p.more { "As the players tell it; nothing proves these figures." }
            div.scroll tabindex="0" role="region" aria-labelledby=(id("models-title")) {
                table {
                    thead { tr {
                        th scope="col" { "Move" }
                        th.text scope="col" { "Player" }
                        th.text scope="col" { "Model" }
                        th scope="col" { "Tokens in" }
                        th scope="col" { "Tokens out" }
                        th scope="col" { "First token" }
                        th scope="col" { "Took" }
                        th.text scope="col" { "Moved by" }
                    } }
                    tbody { @for (number, player, told) in &told {
                        @let seated = page.players.iter().find(|seated| seated.id == **player);
                        tr {
                            td { (number) }
                            th scope="row" { @if let Some(player) = seated { (name(player)) } }
                            (figures(told))
                        }
                    } }
                }
            }
            @if !page.model_notes.is_empty() { details { summary { "Prompts and answers" } (words(page)) } }
        }
    }
}

/// The questions to the models and what they said, as the players wrote it down.
fn words(page: &MatchPage) -> Markup {
    let mut length = 0;
    let notes = page.model_notes.iter().take_while(|note| {
        let texts = note.texts.iter();
        length += texts
            .map(|(_, text)| text.len().min(4 * MAX_WORDS))
            .sum::<usize>();
        length <= MAX_ALL_WORDS
    });
    let notes: Vec<_> = notes.collect();
    html! { @for note in &notes {
        @let seated = page.players.iter().find(|seated| seated.id == note.player_id);
        details.words {
            summary {
                "Prompt and answer, move " (note.turn) " of "
                @if let Some(player) = seated { (name(player)) }
            }
            @for (title, text) in &note.texts {
                h3 { (title) }
                pre tabindex="0" { bdi { (cut(text, MAX_WORDS)) } }
            }
        }
    }
    @if notes.len() < page.model_notes.len() {
        p.more { "Further prompts and answers are in the notes of the players." }
    } }
}

fn figures(told: &ModelUse) -> Markup {
    let time = |millis: u64| duration(Duration::from_millis(millis));
    html! {
        td { bdi { (cut(&told.model, MAX_NAME)) } }
        td { (grouped(told.tokens_in)) }
        td { (grouped(told.tokens_out)) }
        td { (told.first_token_ms.map_or_else(|| "–".to_owned(), time)) }
        td { (time(told.latency_ms)) }
        td { @match &told.fallback {
            None => "the model",
            Some(reason) => { "fallback: " bdi { (cut(reason, MAX_NAME)) } },
        } }
    }
}

/// The sums of a player, beside its name.
pub(crate) fn badge(sum: &ModelSum) -> Markup {
    html! {
        " " span.badge.model title=(explained(sum)) {
            bdi { (cut(&sum.model, MAX_NAME)) } (sum.figures())
        }
    }
}

impl ModelSum {
    /// The sums as they follow the model's name, on pages and in the terminal.
    pub fn figures(&self) -> String {
        let tokens = self.tokens_in.saturating_add(self.tokens_out);
        let mut text = format!(" · {} tokens", grouped(tokens));
        if self.fallbacks > 0 {
            text += &format!(" · {} by fallback", grouped(self.fallbacks));
        }
        text
    }
}

fn explained(sum: &ModelSum) -> String {
    let mean = |total: u64, count: u64| duration(Duration::from_millis(total / count.max(1)));
    let first_token = match sum.first_tokens {
        0 => String::new(),
        count => format!(", first token after {}", mean(sum.first_token_ms, count)),
    };
    format!(
        "language model, as the player tells: {} in {}, {} out; {} a move{first_token}",
        counted(sum.tokens_in, "token", "tokens"),
        counted(sum.moves, "move", "moves"),
        grouped(sum.tokens_out),
        mean(sum.latency_ms, sum.moves),
    )
}
