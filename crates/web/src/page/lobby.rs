//! The lobby: who is there before a league begins, and how to join it.

use maud::{Markup, html};
use qrcode::{Color, QrCode};

use super::format::{countdown, counted, name};
use crate::model::{Board, Joining, Lobby};

/// Light modules around a code, as its standard wants.
const QUIET_ZONE: usize = 4;

/// The lobby as a part of the board; empty once the league has begun.
pub(crate) fn lobby(board: &Board) -> Markup {
    html! {
        @match board.lobby.as_ref().filter(|_| board.league.stall.is_none()) {
            None => div #lobby {},
            Some(lobby) => section #lobby .card.lobby aria-labelledby="lobby-title" { (inside(board, lobby)) },
        }
    }
}

/// What the lobby shows, on the board and on the stage.
pub(crate) fn inside(board: &Board, lobby: &Lobby) -> Markup {
    html! {
        div.arrivals {
            h2 #lobby-title { (headcount(board, lobby)) }
            (waiting(board, lobby))
            @if let Some(closes) = lobby.closes {
                p.more { "Registration closes " (countdown(closes, "now")) "." }
            }
            @if !lobby.arrivals.is_empty() {
                p.more { "Latest arrival first:" }
                ol.faces { @for player in &lobby.arrivals { li { (name(player)) } } }
            }
            @if !lobby.away.is_empty() {
                p.away { "These players do not answer:" }
                ul.away { @for (player, reason) in &lobby.away { li { (name(player)) ": " bdi { (reason) } } } }
            }
        }
        @if let Some(joining) = &lobby.joining { (how_to_join(joining)) }
    }
}

fn headcount(board: &Board, lobby: &Lobby) -> Markup {
    let here = board.league.players;
    html! {
        @match lobby.awaited {
            Some((players, _)) => { strong.count { (here) span.of { " of " (players) } } " players are here" },
            None => { strong.count { (here) } " " (if here == 1 { "player is" } else { "players are" }) " here" },
        }
    }
}

/// What the league waits for.
fn waiting(board: &Board, lobby: &Lobby) -> Markup {
    let referees = board.league.referees;
    html! {
        p.more {
            @match lobby.awaited {
                Some((_, awaited)) if referees < awaited as usize => {
                    (referees) " of " (counted(awaited.into(), "referee", "referees"))
                },
                _ => (counted(referees as u64, "referee", "referees")),
            }
            @if board.league.paused { ". The organiser has paused the league." }
            @else if lobby.awaited.is_some() { ". The league begins when all are here." }
            @else { ". The organiser begins the league." }
        }
    }
}

fn how_to_join(joining: &Joining) -> Markup {
    html! {
        div.join {
            @if let Some(command) = &joining.command {
                p { "Join with" }
                // A word goes to the next line as a whole, so that `--name` is not torn apart.
                p.command { code { @for (place, word) in command.split(' ').enumerate() {
                    @if place > 0 { " " } span { (word) }
                } } }
            }
            p { "This page: " a href=(joining.page) { (joining.page) } }
            @match &joining.people {
                None => (code(&joining.page, "QR code of this page's address")),
                Some(people) => {
                    p { "People play at " a href=(people) { (people) } ", with the code that the organiser gives" }
                    (code(people, "QR code of the address where people play"))
                },
            }
        }
    }
}

/// A text as a QR code, with a label; nothing if it is too long for one.
pub(crate) fn code(text: &str, label: &str) -> Markup {
    let Ok(code) = QrCode::new(text) else {
        return Markup::default();
    };
    let width = code.width();
    let dark = code.to_colors();
    let path: String = dark
        .iter()
        .enumerate()
        .filter(|(_, color)| **color == Color::Dark)
        .map(|(place, _)| {
            let (x, y) = (place % width + QUIET_ZONE, place / width + QUIET_ZONE);
            format!("M{x} {y}h1v1h-1z")
        })
        .collect();
    let size = width + 2 * QUIET_ZONE;
    html! {
        svg.qr viewBox=(format!("0 0 {size} {size}")) role="img" aria-label=(label) shape-rendering="crispEdges" {
            rect.light width=(size) height=(size) {}
            path.dark d=(path) {}
        }
    }
}

#[cfg(test)]
mod tests {
    use league_protocol::time::Timestamp;

    use super::*;
    use crate::model::Stall;
    use crate::page::tests::models::{empty_board, lobby as hostile_lobby};

    /// What the lobby says to people with so many players and referees.
    fn told(here: [usize; 2], awaited: Option<(u32, u32)>, paused: bool) -> String {
        let mut board = empty_board();
        [board.league.players, board.league.referees] = here;
        board.league.paused = paused;
        let lobby = Lobby {
            awaited,
            arrivals: Vec::new(),
            away: Vec::new(),
            joining: None,
            closes: None,
        };
        let html = inside(&board, &lobby).into_string();
        let mut is_tag = false;
        let text = html.chars().filter(|letter| {
            let is_text = !is_tag && *letter != '<';
            is_tag = (is_tag || *letter == '<') && *letter != '>';
            is_text
        });
        text.collect()
    }

    #[test]
    fn lobby_counts_who_is_here_and_says_what_it_waits_for() {
        for (here, awaited, paused, words) in [
            (
                [29, 1],
                Some((30, 2)),
                false,
                "29 of 30 players are here1 of 2 referees. The league begins when all are here.",
            ),
            (
                [30, 2],
                Some((30, 2)),
                true,
                "30 of 30 players are here2 referees. The organiser has paused the league.",
            ),
            (
                [1, 1],
                None,
                false,
                "1 player is here1 referee. The organiser begins the league.",
            ),
            (
                [0, 0],
                None,
                false,
                "0 players are here0 referees. The organiser begins the league.",
            ),
        ] {
            assert_eq!(told(here, awaited, paused), words);
        }
    }

    #[test]
    fn lobby_tells_arrivals_absences_and_the_end_of_registration() {
        let (board, mut lobby) = (empty_board(), hostile_lobby());
        let parts = [
            "Registration closes ",
            "Latest arrival first",
            "do not answer",
        ];
        let html = inside(&board, &lobby).into_string();
        for part in parts {
            assert!(html.contains(part), "no {part} in {html}");
        }
        (lobby.closes, lobby.arrivals, lobby.away) = (None, Vec::new(), Vec::new());
        let html = inside(&board, &lobby).into_string();
        for part in parts {
            assert!(!html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn stalled_league_has_no_lobby() {
        let mut board = empty_board();
        let shown = |board: &Board| lobby(board).into_string();
        assert!(shown(&board).contains("lobby-title"));
        board.league.stall = Some(Stall {
            since: Timestamp::from_millis(0),
            resume: "league manager".to_owned(),
        });
        assert_eq!(shown(&board), r#"<div id="lobby"></div>"#);
        board.league.stall = None;
        board.lobby = None;
        assert_eq!(shown(&board), r#"<div id="lobby"></div>"#);
    }

    #[test]
    fn a_code_has_a_quiet_zone_and_its_finder_patterns() {
        let html = code("http://192.168.0.7:8000/", "QR code").into_string();
        assert!(html.contains(r#"viewBox="0 0 33 33""#), "{html}");
        // The three corners begin with a dark module, the fourth does not have a pattern.
        for corner in ["M4 4h1", "M28 4h1", "M4 28h1"] {
            assert!(html.contains(corner), "{corner}");
        }
    }

    #[test]
    fn people_are_led_to_their_seats() {
        let mut joining = Joining {
            page: "http://192.0.2.7:8000/".to_owned(),
            command: None,
            people: Some("http://192.0.2.7:8000/play".to_owned()),
        };
        let html = how_to_join(&joining).into_string();
        assert!(
            html.contains(r#"href="http://192.0.2.7:8000/play""#),
            "{html}"
        );
        assert!(
            html.contains("QR code of the address where people play"),
            "{html}"
        );
        assert!(!html.contains("Join with"), "{html}");
        joining.people = None;
        let html = how_to_join(&joining).into_string();
        assert!(!html.contains("/play"), "{html}");
    }

    #[test]
    fn a_text_that_fits_no_code_has_none() {
        assert_eq!(code(&"x".repeat(10_000), "").into_string(), "");
    }
}
