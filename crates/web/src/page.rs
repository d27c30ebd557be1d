//! Pages as HTML: each thing is drawn in one place, for the live site and for the report alike.
//!
//! Every text goes through `maud`, which escapes it. There is no inline style or script, so that a
//! strict content security policy can stand. Serving is left to others.

mod agents;
mod board;
mod chart;
mod cross;
mod draw;
mod latest;
mod marks;
mod matches;
mod players;
mod positions;
mod rounds;
mod sequence;
mod shell;
mod standings;
mod summary;
mod words;

use league_protocol::id::{MatchId, PlayerId};
use maud::Markup;

use crate::model::{Board, MatchPage, PlayerPage, RoundPage};
use crate::parts::Parts;

pub(crate) use shell::{footer, header, script_free_head};

/// Where links lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// To other pages of the live site.
    Site,
    /// To other places of the same file.
    File,
}

impl Links {
    /// The board.
    pub fn board(self) -> &'static str {
        match self {
            Self::Site => "/",
            Self::File => "#board",
        }
    }

    /// A match.
    pub fn of_match(self, id: &MatchId) -> String {
        match self {
            Self::Site => format!("/match/{id}"),
            Self::File => format!("#match-{id}"),
        }
    }

    /// A player.
    pub fn of_player(self, id: &PlayerId) -> String {
        match self {
            Self::Site => format!("/player/{id}"),
            Self::File => format!("#player-{id}"),
        }
    }

    /// A round.
    pub fn of_round(self, round: u32) -> String {
        match self {
            Self::Site => format!("/round/{round}"),
            Self::File => format!("#round-{round}"),
        }
    }

    /// The id of an element that each page has once: in a file with many pages it names its page.
    fn own_id(self, id: &str, page: &str) -> String {
        match self {
            Self::Site => id.to_owned(),
            Self::File => format!("{id}-{page}"),
        }
    }
}

/// Draws the parts of the board that change.
pub fn board_parts(board: &Board, links: &Links) -> Parts {
    board::parts(board, *links)
}

/// Draws the board as a document.
pub fn board(board: &Board, parts: &Parts, links: &Links) -> String {
    let page = shell::Page {
        kind: "board",
        id: "",
        title: &board.league.title,
        over: board.league.is_over(),
    };
    shell::document(&page, &board_main(parts), *links)
}

/// Draws what stands in `<main>` on the board.
pub(crate) fn board_main(parts: &Parts) -> Markup {
    board::main(parts)
}

/// Draws a match as a document.
pub fn match_page(page: &MatchPage, links: &Links) -> String {
    let [a, b] = &page.players;
    let title = format!("{}: {} – {}", page.match_id, a.name, b.name);
    let shell = shell::Page {
        kind: "match",
        id: page.match_id.as_str(),
        title: &title,
        over: page.league.is_over(),
    };
    shell::document(&shell, &match_main(page, *links), *links)
}

/// Draws what stands in `<main>` on the page of a match.
fn match_main(page: &MatchPage, links: Links) -> Markup {
    matches::main(page, links)
}

/// Draws who met in a match, and how it ended.
pub(crate) fn match_result(page: &MatchPage, links: Links) -> Markup {
    matches::result(page, links)
}

/// Draws how a match came to its end.
pub(crate) fn match_details(page: &MatchPage, links: Links) -> Markup {
    matches::details(page, links)
}

/// Draws a player as a document.
pub fn player_page(page: &PlayerPage, links: &Links) -> String {
    let shell = shell::Page {
        kind: "player",
        id: page.standing.player_id.as_str(),
        title: &page.standing.name,
        over: page.league.is_over(),
    };
    shell::document(&shell, &player_main(page, *links), *links)
}

/// Draws what stands in `<main>` on the page of a player.
pub(crate) fn player_main(page: &PlayerPage, links: Links) -> Markup {
    players::main(page, links)
}

/// Draws a round as a document.
pub fn round_page(page: &RoundPage, links: &Links) -> String {
    let shell = shell::Page {
        kind: "round",
        id: &format!("R{}", page.round),
        title: &format!("Round {} · {}", page.round, page.league.title),
        over: page.league.is_over(),
    };
    shell::document(&shell, &round_main(page, *links), *links)
}

/// Draws what stands in `<main>` on the page of a round.
pub(crate) fn round_main(page: &RoundPage, links: Links) -> Markup {
    rounds::main(page, links)
}

/// Draws the answer to an address that leads nowhere; `what` was looked for.
pub fn not_found(what: &str) -> String {
    shell::not_found(what)
}

/// Draws the answer while there is nothing to show, and why.
pub fn unavailable(words: &str) -> String {
    shell::unavailable(words)
}

#[cfg(test)]
mod tests;
