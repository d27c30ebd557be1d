//! Pages as HTML. Each thing is drawn in one place, for the live site and for the report alike.
//!
//! `maud` escapes every text. There are no inline styles or scripts, so that a strict content
//! security policy can stand. Serving is left to others.

mod board;
mod bracket;
mod chart;
pub(crate) mod face;
mod format;
mod groups;
mod live;
mod lobby;
pub(crate) mod match_page;
mod model_use;
mod organiser_page;
mod picture;
pub(crate) mod player_page;
mod ratings;
pub(crate) mod round_page;
mod rows;
mod scores;
mod seat;
mod sequence;
mod stage;
mod story;
mod technical;

use league_protocol::id::{MatchId, PlayerId};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::model::{Board, MatchPage, PlayerPage, RoundPage, Stage};
use crate::parts::PageParts;
use crate::season::Season;

pub(crate) use board::main as board_main;
pub use board::parts as board_parts;
pub use organiser_page::OrganiserPage;
pub(crate) use ratings::sentence as rating_sentence;
pub use seat::{SeatMove, SeatPage, SeatResult, SeatStage, SeatTurn, label, seat, seat_page};

/// Without a script, a page of a running league is reloaded after so many seconds.
const RELOAD_SECONDS: u32 = 10;

/// The kind of a page that does not follow the feed.
const STILL: &str = "still";

/// Where links lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// To other pages of the live site, from one that stands beside its board.
    Site,
    /// The same, from one below, such as `match/R1M1`.
    Below,
    /// To other places of the same file.
    File,
}

impl Links {
    /// The way to the place of the board, which may be any path of a server.
    pub(crate) fn up(self) -> &'static str {
        match self {
            Self::Site | Self::File => "",
            Self::Below => "../",
        }
    }

    pub fn board(self) -> &'static str {
        match self {
            Self::Site => "./",
            Self::Below => "../",
            Self::File => "#board",
        }
    }

    pub fn of_match(self, id: &MatchId) -> String {
        match self {
            Self::Site | Self::Below => format!("{}match/{id}", self.up()),
            Self::File => format!("#match-{id}"),
        }
    }

    pub fn of_player(self, id: &PlayerId) -> String {
        match self {
            Self::Site | Self::Below => format!("{}player/{id}", self.up()),
            Self::File => format!("#player-{id}"),
        }
    }

    pub fn of_round(self, round: u32) -> String {
        match self {
            Self::Site | Self::Below => format!("{}round/{round}", self.up()),
            Self::File => format!("#round-{round}"),
        }
    }

    /// The id of an element that each page has once. A file has many pages, so the id names its
    /// page there.
    fn own_id(self, id: &str, page: &str) -> String {
        match self {
            Self::Site | Self::Below => id.to_owned(),
            Self::File => format!("{id}-{page}"),
        }
    }
}

/// The board as a document, from its parts.
pub fn board(board: &Board, parts: &PageParts, links: Links) -> String {
    let page = Document {
        kind: "board",
        id: "",
        title: &board.league.title,
        over: board.league.is_over(),
    };
    page.draw(&board_main(parts), links)
}

pub fn match_page(page: &MatchPage, links: Links) -> String {
    let [a, b] = &page.players;
    let document = Document {
        kind: "match",
        id: page.match_id.as_str(),
        title: &format!(
            "{}: {} – {}",
            page.match_id,
            isolated(&a.name),
            isolated(&b.name)
        ),
        over: page.league.is_over(),
    };
    document.draw(&match_page::main(page, links), links)
}

pub fn player_page(page: &PlayerPage, links: Links) -> String {
    let standing = &page.row.standing;
    let document = Document {
        kind: "player",
        id: standing.player_id.as_str(),
        title: &standing.display_name,
        over: page.league.is_over(),
    };
    document.draw(&player_page::main(page, links), links)
}

pub fn round_page(page: &RoundPage, links: Links) -> String {
    let document = Document {
        kind: "round",
        id: &format!("R{}", page.round),
        title: &format!("Round {} · {}", page.round, page.league.title),
        over: page.league.is_over(),
    };
    document.draw(&round_page::main(page, links), links)
}

/// The view for projectors: its slides follow each other by themselves.
pub fn stage(page: &Stage) -> String {
    let league = &page.board.league;
    let document = Document {
        kind: "stage",
        id: "",
        title: &format!("Stage · {}", league.title),
        over: league.is_over(),
    };
    document.draw(&stage::main(page), Links::Site)
}

/// A name in a text without markup, isolated from the writing direction around it.
pub(crate) fn isolated(name: &str) -> String {
    format!("\u{2068}{name}\u{2069}")
}

/// The page of the leagues of a folder.
pub fn season(season: &Season) -> String {
    Document::still("Season").draw(&ratings::season(season), Links::Site)
}

/// The page on which the organiser logs in, and why the last try failed.
pub fn organiser_login(problem: Option<&str>) -> String {
    // A problem is the answer to a form, whose address is below that of the page.
    let links = problem.map_or(Links::Site, |_| Links::Below);
    Document::still("Organiser").draw(&organiser_page::login(problem, links), links)
}

/// The page of the organiser, who has logged in.
pub fn organiser(page: &OrganiserPage) -> String {
    Document::still("Organiser").draw(&organiser_page::main(page), Links::Site)
}

/// The response to an unknown address; `what` was looked for.
pub fn not_found(what: &str, links: Links) -> String {
    let main = html! {
        section.summary {
            h1 { "There is no " bdi { (what) } " here" }
            p.lead { "The address may be wrong, or it has not started yet. " a href=(links.board()) { "Go to the board" } }
        }
    };
    Document::nowhere("Not found").draw(&main, links)
}

/// The response while there is nothing to show, and why.
pub fn unavailable(reason: &str, links: Links) -> String {
    let main = html! {
        section.summary {
            h1 { "This league cannot be shown now" }
            p.lead { bdi { (reason) } }
        }
    };
    Document::nowhere("Not yet").draw(&main, links)
}

/// A document of the live site.
struct Document<'a> {
    kind: &'static str,
    /// What the page is about, so that the script knows when that has changed.
    id: &'a str,
    title: &'a str,
    /// Whether the league is over.
    over: bool,
}

impl<'a> Document<'a> {
    fn nowhere(title: &'a str) -> Self {
        Self {
            kind: "nowhere",
            id: "",
            title,
            over: false,
        }
    }

    /// A page that does not change by itself.
    fn still(title: &'a str) -> Self {
        Self {
            kind: STILL,
            over: true,
            ..Self::nowhere(title)
        }
    }

    fn draw(&self, main: &Markup, links: Links) -> String {
        let up = links.up();
        let feed = (self.kind != STILL).then(|| format!("{up}feed"));
        let id = Some(self.id).filter(|id| !id.is_empty());
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    (common_head(self.title))
                    @if !self.over { noscript { meta http-equiv="refresh" content=(RELOAD_SECONDS); } }
                    link rel="icon" href={ (up) "assets/icon.svg" } type="image/svg+xml";
                    link rel="stylesheet" href={ (up) "assets/style.css" };
                    link rel="stylesheet" href={ (up) "assets/details.css" };
                    link rel="stylesheet" href={ (up) "assets/views.css" };
                    @if self.kind == "stage" { link rel="stylesheet" href={ (up) "assets/stage.css" }; }
                    script type="module" src={ (up) "assets/page.js" } {}
                }
                body data-page=(self.kind) data-feed=[feed] data-id=[id] data-over[self.over] {
                    a.skip href="#main" { "Skip to the content" }
                    (header(links))
                    main #main tabindex="-1" { (main) }
                    (footer())
                }
            }
        };
        markup.into_string()
    }
}

/// What every head holds, before styles and scripts.
pub(crate) fn common_head(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        title { (title) " · League" }
    }
}

/// The bar at the top: the link to the board, and on the site the state of the connection.
pub(crate) fn header(links: Links) -> Markup {
    html! {
        (face::shapes())
        header.bar {
            a.brand href=(links.board()) { (logo()) "League" }
            @if links != Links::File {
                p #touch role="status" {}
                nav { a href={ (links.up()) "stage" } { "Stage" } " " a href={ (links.up()) "season" } { "Season" } }
            }
        }
    }
}

pub(crate) fn footer() -> Markup {
    html! {
        footer.foot {
            p {
                "W won, D drew, L lost, T lost by not playing, – does not count. " span #zone { "Times are in UTC." } " "
                "Results and draws follow from the journal, and " code { "league verify" } " checks them; messages and latencies are as the agents recorded them."
            }
        }
    }
}

fn logo() -> Markup {
    PreEscaped(
        r#"<svg class="logo" viewBox="0 0 24 24" aria-hidden="true"><path d="M2 4h6v6h5M2 20h6v-6h5m0-4v4m0-2h9" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/></svg>"#
            .to_owned(),
    )
}

#[cfg(test)]
pub(crate) mod tests;
