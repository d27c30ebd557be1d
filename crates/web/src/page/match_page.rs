//! The page of a match: result, draw and positions. The messages are left to `sequence`.

use league_protocol::message::{MatchResult, MatchStatus, OpenedDraw};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::board::warning;
use super::format::{
    bare_name, counted, cut, duration, mark, mark_class, moment, name, sentence, tile_state,
};
use super::picture::picture;
use super::{Links, live, model_use, sequence, technical};
use crate::model::{DrawnPosition, MatchPage, SeatOutcome, TileState};

/// The length of a choice, in characters.
const MAX_CHOICE_CHARS: usize = 60;

/// What the organiser said of the match, the latest first.
fn amendments(page: &MatchPage) -> Markup {
    let id = page.match_id.as_str();
    let names = |sentence: &str| {
        let mut words = sentence.split(|letter: char| !letter.is_ascii_alphanumeric());
        words.any(|word| word == id)
    };
    html! {
        @for act in page.league.acts.iter().filter(|act| !act.is_message && names(&act.sentence)) {
            p.standstill {
                strong { "Organiser: " } bdi { (act.sentence) }
                @if !act.reason.is_empty() { ", because: " bdi { (act.reason) } }
            }
        }
    }
}

/// The content of `<main>`.
pub(crate) fn main(page: &MatchPage, links: Links) -> Markup {
    html! { (result(page, links)) (details(page, links)) }
}

/// The players and the result.
pub(crate) fn result(page: &MatchPage, links: Links) -> Markup {
    html! {
        (warning(&page.league))
        (amendments(page))
        section.duel {
            p.crumbs {
                a href=(links.board()) { bdi { (page.league.title) } }
                a href=(links.of_round(page.round)) { "Round " (page.round) } span { (page.match_id) }
            }
            h1.hush { (page.match_id) ": " (bare_name(&page.players[0])) " – " (bare_name(&page.players[1])) }
            div.seats {
                (seat(page, 0, links))
                div.middle { (middle(page)) }
                (seat(page, 1, links))
            }
            @if let Some(note) = &page.note { p.reason { strong { "This match " (sentence(note, &page.players)) } } }
            p.reason { (reason(page)) }
            @if page.contradicted {
                p.verdict.broken { "While this match was played, its referee showed a position that does not occur in it." }
            }
            dl.facts { (facts(page)) }
        }
    }
}

/// How the result came about: draw, positions, messages.
pub(crate) fn details(page: &MatchPage, links: Links) -> Markup {
    html! {
        @if let Some(result) = &page.result { (technical::section(page, result)) (draw(page, result, links)) }
        (positions(page, links))
        @if let Some(result) = &page.result { (model_use::section(page, result, links)) }
        (sequence::sequence(page, links))
    }
}

fn seat(page: &MatchPage, seat: usize, links: Links) -> Markup {
    let player = &page.players[seat];
    let result = page.result.as_deref();
    let counted_here = page.counted.map(|counted| counted[seat]);
    let outcome = counted_here.map(|(outcome, _)| outcome);
    html! {
        div class={ "seat" @if let Some(outcome) = outcome { " " (mark_class(outcome)) } } {
            p.who { a href=(links.of_player(&player.id)) { (name(player)) } }
            @if let Some(result) = result { p.choice { (chosen(result, seat)) } }
            @if let Some((outcome, points)) = counted_here {
                p.outcome { (mark(outcome)) " " (outcome_text(outcome)) " · " (counted(points.into(), "point", "points")) }
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
            (Some(Value::Array(moves)), None) => span.moves {
                (counted(moves.len() as u64, "move", "moves")) ": " bdi { (moves_text(moves)) }
            },
            (Some(choice), None) => bdi { (choice_text(choice)) },
            (None, None) => "–",
        }
    }
}

/// A string as it is, all else as JSON.
fn choice_text(choice: &Value) -> String {
    match choice {
        Value::String(text) => cut(text, MAX_CHOICE_CHARS),
        other => cut(&other.to_string(), MAX_CHOICE_CHARS),
    }
}

/// The moves of a player, one after the other.
fn moves_text(moves: &[Value]) -> String {
    let moves: Vec<String> = moves.iter().map(choice_text).collect();
    cut(&moves.join(", "), MAX_CHOICE_CHARS)
}

const fn outcome_text(outcome: SeatOutcome) -> &'static str {
    match outcome {
        SeatOutcome::Won => "won",
        SeatOutcome::Drew => "drew",
        SeatOutcome::Lost => "lost",
        SeatOutcome::Forfeited => "did not play",
        SeatOutcome::LostByRuling => "lost by ruling",
        SeatOutcome::NotCounted => "not counted",
    }
}

/// Between the seats: the drawn number, the last position, or what is played now.
fn middle(page: &MatchPage) -> Markup {
    let number = page.result.as_deref().and_then(drawn_number);
    html! {
        @match (number, page.state, &page.live, page.positions.last()) {
            (Some(number), ..) => { span.number { (number) } span.of { "drawn" } },
            (None, _, Some(shown), _) => (live::live(shown, &page.players)),
            (None, Some(state), ..) => span.state { (tile_state(state)) },
            (None, None, _, Some(last)) => (picture(last)),
            (None, None, ..) => span.of { "against" },
        }
    }
}

fn reason(page: &MatchPage) -> Markup {
    html! {
        @match &page.result {
            Some(result) if page.note.is_some() => { "Recorded: " (sentence(&result.reason, &page.players)) },
            Some(result) => (sentence(&result.reason, &page.players)),
            None if page.state.is_none() => "The organiser closed this match before it had a result.",
            None if page.state == Some(TileState::Dropped) => "The league ended before this match was over.",
            None if page.live.is_some() => "The position is as the referee shows it now; its report is checked. Choices that the rules hide, and messages, are shown when the match is over.",
            None => "Choices and messages are shown here when the match is over.",
        }
    }
}

fn facts(page: &MatchPage) -> Markup {
    let times = page.times.unwrap_or_default();
    let took = times.finished.zip(times.created);
    html! {
        @if let Some(referee) = &page.referee { div { dt { "Referee" } dd { (referee) } } }
        @if page.attempt > 1 { div { dt { "Attempt" } dd { (page.attempt) } } }
        @if let Some(at) = times.created { div { dt { "Called" } dd { (moment(at)) } } }
        @if let Some(at) = page.at { div { dt { "Result taken" } dd { (moment(at)) } } }
        @if let Some((end, start)) = took { div { dt { "Took" } dd { (duration(end.since(start))) } } }
    }
}

fn drawn_number(result: &MatchResult) -> Option<u64> {
    result.details.get("drawn_number")?.as_u64()
}

/// The draw with everything needed to repeat it, which the browser does (`draw.js`).
pub(crate) fn draw(page: &MatchPage, result: &MatchResult, links: Links) -> Markup {
    let id = |id: &str| links.own_id(id, page.match_id.as_str());
    let Some(draw) = &result.draw else {
        return html! {
            section.card.draw id=(id("told-draw")) aria-labelledby=(id("told-draw-title")) {
                h2 id=(id("told-draw-title")) { "The draw" }
                p.draw-verdict.unchecked { "Draw not proven: the referee drew and told the number itself." }
            }
        };
    };
    let range = page.range.filter(|_| drawn_number(result).is_some());
    let [a, b] = &draw.nonces;
    html! {
        section.card.draw id=(id("draw")) aria-labelledby=(id("draw-title"))
            data-league=(page.league.league_id) data-match=(page.match_id) data-attempt=(draw.attempt)
            data-nonce-a=(a) data-nonce-b=(b) data-nonces=[exact(draw)]
            data-mode=(draw.mode.as_str()) data-seed=[draw.seed.map(|seed| seed.to_hex())]
            data-commitment=(draw.commitment.to_hex())
            data-promise=[&page.promise] data-lowest=[range.map(|range| range.0)]
            data-highest=[range.map(|range| range.1)] data-number=[drawn_number(result)]
            data-evidence=[evidence(page, result)] {
            h2 id=(id("draw-title")) { "The draw" }
            p.draw-verdict.unchecked id=(id("draw-verdict")) role="status" {
                @if draw.seed.is_some() {
                    "Not checked yet: checking needs a script, or " code { "league verify" } "."
                } @else {
                    "Not proven: the seed of this draw was not opened."
                }
            }
            @if let Some(unchecked) = unchecked_proofs(result) {
                p.proof-verdict.unchecked id=(id("proof-verdict")) role="status" { (unchecked) }
            }
            details {
                summary { "How it was drawn, and how to draw it again" }
                (values(page, draw, drawn_number(result)))
                (recipe(page))
            }
        }
    }
}

/// Both shares as JSON, where HTML would change a character: it reads every line end as `\n`.
fn exact(draw: &OpenedDraw) -> Option<String> {
    let changes = |nonce: &String| nonce.contains(char::is_control);
    if !draw.nonces.iter().any(changes) {
        return None;
    }
    serde_json::to_string(&draw.nonces).ok()
}

/// What the players signed, with what it must agree with, as `draw.js` reads it.
fn evidence(page: &MatchPage, result: &MatchResult) -> Option<String> {
    let evidence = &result.evidence;
    if evidence.is_empty() {
        return None;
    }
    let played = result.status != MatchStatus::TechnicalLoss;
    let record = json!({
        "seats": result.players, "players": evidence.players, "moves": evidence.moves,
        "hidden": page.hidden_moves, "simultaneous": page.simultaneous, "choices": played.then_some(&result.choices),
    });
    Some(record.to_string())
}

/// What is said of the players' proofs before they are checked; nothing of a match without a move.
fn unchecked_proofs(result: &MatchResult) -> Option<&'static str> {
    if !result.evidence.is_empty() {
        return Some("Proofs of the players: not checked yet.");
    }
    let played = result.status != MatchStatus::TechnicalLoss;
    played.then_some("No player signed: the moves are as the referee told them.")
}

fn values(page: &MatchPage, draw: &OpenedDraw, number: Option<u64>) -> Markup {
    let [a, b] = &draw.nonces;
    html! {
        dl.values {
            dt { "League, match, attempt" } dd { code { (page.league.league_id) } " " code { (page.match_id) } " " code { (draw.attempt) } }
            @if let Some(promise) = &page.promise { dt { "Promised before the round" } dd { code { (promise) } } }
            dt { "Commitment" } dd { code { (draw.commitment.to_hex()) } }
            dt { "Mode" } dd { code { (draw.mode.as_str()) } }
            @if let Some(seed) = draw.seed { dt { "Seed" } dd { code { (seed.to_hex()) } } }
            dt { "Share of seat A" } dd { (share(a)) }
            dt { "Share of seat B" } dd { (share(b)) }
            @if let Some(number) = number { dt { "Number" } dd { code { (number) } } }
        }
    }
}

fn share(nonce: &str) -> Markup {
    html! { @if nonce.is_empty() { "not sent" } @else { code { bdi { (nonce) } } } }
}

fn recipe(page: &MatchPage) -> Markup {
    html! {
        ol.recipe {
            li { "The SHA-256 of the compact JSON " code { r#"["league.draw",league,match,mode,seed]"# } ", with the seed in hex, is the commitment. It was promised before anyone chose." }
            li { "The attempt's seed is the HMAC-SHA-256 with the 32 bytes of the seed as its key over " code { r#"["attempt_seed",attempt]"# } ". The referee got it when both choices were written down." }
            li { "Block " i { "k" } ", from 0, is the HMAC-SHA-256 with the 32 bytes of the attempt's seed as its key over the compact JSON " code { "[league,match,attempt,share A,share B,k]" } ". Each block gives four words of 64 bits, the highest byte first." }
            @if let Some((low, high)) = page.range {
                li { "With " i { "n" } " = " (high.saturating_sub(low).saturating_add(1)) " faces, the first word below the largest multiple of " i { "n" } " that 64 bits hold gives the number: " (low) " + word mod " i { "n" } "." }
            }
        }
    }
}

/// The positions of a game; the script turns them into a viewer.
pub(crate) fn positions(page: &MatchPage, links: Links) -> Markup {
    if page.positions.is_empty() {
        return Markup::default();
    }
    let id = |id: &str| links.own_id(id, page.match_id.as_str());
    html! {
        section.card.positions id=(id("positions")) aria-labelledby=(id("positions-title")) {
            h2 id=(id("positions-title")) { "Move by move" }
            ol { @for (number, position) in page.positions.iter().enumerate() {
                li { figure { (picture(position)) figcaption { (caption(page, number, position)) } } }
            } }
        }
    }
}

fn caption(page: &MatchPage, number: usize, position: &DrawnPosition) -> Markup {
    let movers = position
        .seats
        .iter()
        .filter_map(|seat| page.players.get(*seat));
    html! {
        @match (number, position.seats.is_empty()) {
            (0, _) => "Before the first move",
            (_, true) => { (number) ". Rolled" },
            _ => { (number) "." @for player in movers { " " (name(player)) } },
        }
    }
}
