//! The draw of a match, with all that is needed to make it again.
//!
//! The browser does so (`draw.js`); without it the values and the recipe can be read.

use league_protocol::message::{MatchResult, OpenedDraw};
use maud::{Markup, html};

use super::Links;
use crate::model::MatchPage;

/// The number that was drawn, in a game that draws one.
pub(super) fn number(result: &MatchResult) -> Option<u64> {
    result.details.get("drawn_number")?.as_u64()
}

/// The draw; nothing in a match without one.
pub(super) fn draw(page: &MatchPage, result: &MatchResult, links: Links) -> Markup {
    let Some(draw) = &result.draw else {
        return Markup::default();
    };
    let id = |id: &str| links.own_id(id, page.match_id.as_str());
    let range = page.range.filter(|_| number(result).is_some());
    let [a, b] = &draw.nonces;
    html! {
        section.card.draw id=(id("draw")) aria-labelledby=(id("draw-title"))
            data-league=(page.league.league_id) data-match=(page.match_id) data-attempt=(draw.attempt)
            data-nonce-a=(a) data-nonce-b=(b) data-nonces=[exact(draw)]
            data-seed=(draw.seed.to_hex()) data-commitment=(draw.commitment.to_hex())
            data-promise=[&page.promise] data-lowest=[range.map(|range| range.0)]
            data-highest=[range.map(|range| range.1)] data-number=[number(result)] {
            h2 id=(id("draw-title")) { "The draw" }
            p.draw-verdict.unchecked id=(id("draw-verdict")) role="status" {
                "Not checked yet: that needs a script, or " code { "league verify" } "."
            }
            details {
                summary { "How it was drawn, and how to draw it again" }
                (values(page, draw, number(result)))
                (recipe(page))
            }
        }
    }
}

/// Both shares as JSON, where HTML would change a sign in them: it reads every line end as `\n`.
fn exact(draw: &OpenedDraw) -> Option<String> {
    let changes = |nonce: &String| nonce.contains(|sign: char| sign.is_control());
    let any = draw.nonces.iter().any(changes);
    serde_json::to_string(&draw.nonces).ok().filter(|_| any)
}

fn values(page: &MatchPage, draw: &OpenedDraw, number: Option<u64>) -> Markup {
    let [a, b] = &draw.nonces;
    html! {
        dl.values {
            dt { "League, match, attempt" } dd { code { (page.league.league_id) } " " code { (page.match_id) } " " code { (draw.attempt) } }
            @if let Some(promise) = &page.promise { dt { "Promised before the round" } dd { code { (promise) } } }
            dt { "Commitment" } dd { code { (draw.commitment.to_hex()) } }
            dt { "Seed" } dd { code { (draw.seed.to_hex()) } }
            dt { "Share of seat A" } dd { (share(a)) }
            dt { "Share of seat B" } dd { (share(b)) }
            @if let Some(number) = number { dt { "Number" } dd { code { (number) } } }
        }
    }
}

fn share(nonce: &str) -> Markup {
    html! { @if nonce.is_empty() { "none was sent" } @else { code { bdi { (nonce) } } } }
}

fn recipe(page: &MatchPage) -> Markup {
    html! {
        ol.recipe {
            li { "The SHA-256 of the compact JSON " code { r#"["league.draw",league,match,seed]"# } ", with the seed in hex, is the commitment. It was promised before anyone chose." }
            li { "Block " i { "k" } ", from 0, is the HMAC-SHA-256 with the 32 bytes of the seed as its key over the compact JSON " code { "[league,match,attempt,share A,share B,k]" } ". Each block gives four words of 64 bits, the highest byte first." }
            @if let Some((low, high)) = page.range {
                li { "With " i { "n" } " = " (high.saturating_sub(low).saturating_add(1)) " faces, the first word below the largest multiple of " i { "n" } " that 64 bits hold gives the number: " (low) " + word mod " i { "n" } "." }
            }
        }
    }
}
