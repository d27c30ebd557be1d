//! What is around every page: head, header, footer.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Links;

/// A page that has no script to follow the league is loaded anew after so many seconds.
const RENEWED_AFTER: u32 = 10;

/// A page of the live site.
pub(super) struct Page<'a> {
    pub(super) kind: &'static str,
    /// What the page is about, so that it knows when that changed.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// Whether the league is over.
    pub(super) over: bool,
}

/// A whole document.
pub(super) fn document(page: &Page<'_>, main: &Markup, links: Links) -> String {
    let id = Some(page.id).filter(|id| !id.is_empty());
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (script_free_head(page.title))
                @if !page.over { noscript { meta http-equiv="refresh" content=(RENEWED_AFTER); } }
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/style.css";
                link rel="stylesheet" href="/assets/details.css";
                script type="module" src="/assets/page.js" {}
            }
            body data-page=(page.kind) data-feed="/feed" data-id=[id] data-over[page.over] {
                a.skip href="#main" { "Skip to the content" }
                (header(links))
                main #main tabindex="-1" { (main) }
                (footer())
            }
        }
    };
    markup.into_string()
}

/// What every head holds, in whatever way style and script are brought.
pub(crate) fn script_free_head(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        title { (title) " · League" }
    }
}

/// The bar at the top: the way to the board, and whether the page is in touch with the league.
pub(crate) fn header(links: Links) -> Markup {
    html! {
        header.bar {
            a.brand href=(links.board()) { (logo()) "League" }
            @if links == Links::Site { p #touch role="status" {} }
        }
    }
}

/// The line at the bottom.
pub(crate) fn footer() -> Markup {
    html! {
        footer.foot {
            p {
                "W won, D drew, L lost, T lost by not playing. Times are in UTC. "
                "Results and draws follow from the journal, and " code { "league verify" } " checks them; messages and latencies are what those noted who heard them."
            }
        }
    }
}

/// The answer while there is nothing to show.
pub(super) fn unavailable(words: &str) -> String {
    let page = Page {
        kind: "nowhere",
        id: "",
        title: "Not yet",
        over: false,
    };
    let main = html! {
        section.summary {
            h1 { "This league cannot be shown now" }
            p.lead { bdi { (words) } }
        }
    };
    document(&page, &main, Links::Site)
}

/// The answer to an address that leads nowhere.
pub(super) fn not_found(what: &str) -> String {
    let page = Page {
        kind: "nowhere",
        id: "",
        title: "Not found",
        over: false,
    };
    let main = html! {
        section.summary {
            h1 { "There is no " bdi { (what) } " here" }
            p.lead { "The address may be wrong, or it has not begun yet. " a href=(Links::Site.board()) { "To the board" } }
        }
    };
    document(&page, &main, Links::Site)
}

fn logo() -> Markup {
    PreEscaped(
        r#"<svg class="logo" viewBox="0 0 24 24" aria-hidden="true"><path d="M2 4h6v6h5M2 20h6v-6h5m0-4v4m0-2h9" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/></svg>"#
            .to_owned(),
    )
}
