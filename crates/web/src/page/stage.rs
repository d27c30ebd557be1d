//! The stage: the league on a projector, as slides that follow each other by themselves
//! (`stage.js`). Without a script they stand one below the other.

use maud::{Markup, html};

use super::format::{
    AFTER_THIS_ROUND, countdown, counted, form, moment, name, phase, sentence, tile_state,
};
use super::{Links, live, lobby, rows, story};
use crate::model::{Board, NextRound, PlayerRef, ResultLine, Stage, TableRow, Tile};

/// Rows of the table on one slide.
const ROWS_ON_A_SLIDE: usize = 30;
/// Slides of the table.
const MAX_TABLE_SLIDES: usize = 2;
/// Matches on the slide of running ones, with their positions and without.
const MAX_LIVE: usize = 6;
const MAX_PLAIN_LIVE: usize = 9;

/// The content of `<main>`.
pub(crate) fn main(stage: &Stage) -> Markup {
    let board = &stage.board;
    html! {
        h1.hush { bdi { (board.league.title) } ": stage" }
        @if let Some(lobby) = board.lobby.as_ref() {
            (slide("lobby", "Lobby", html! { div.lobby { (lobby::inside(board, lobby)) } }))
        }
        @if let Some(podium) = podium(board) { (slide("podium", "Podium", podium)) }
        @for (number, rows) in board.standings.chunks(ROWS_ON_A_SLIDE).take(MAX_TABLE_SLIDES).enumerate() {
            (slide(["standings", "standings-2"][number.min(1)], "Standings", standings(board, rows)))
        }
        @if !board.tiles.is_empty() { (slide("live", "Being played", running(board))) }
        @if let Some(line) = &stage.surprise { (slide("surprise", "The last surprise", surprise(line))) }
        @if let Some(coming) = &board.next { (slide("next", "Next", next(coming, board.league.paused))) }
        (controls())
    }
}

fn slide(id: &'static str, title: &'static str, content: Markup) -> Markup {
    html! {
        section.slide id={ "slide-" (id) } data-title=(title) aria-labelledby={ "title-" (id) } {
            h2 id={ "title-" (id) } { (title) }
            (content)
        }
    }
}

/// The script shows them, and sets the words.
fn controls() -> Markup {
    html! {
        nav #stage-controls hidden aria-label="Slides" {
            button #stage-back type="button" { "Back" }
            button #stage-pause type="button" { "Pause" }
            button #stage-forward type="button" { "Forward" }
            p #stage-label role="status" {}
            p.keys { "Keys: ← → slides, space pause, F full screen" }
        }
    }
}

fn standings(board: &Board, rows: &[TableRow]) -> Markup {
    let league = &board.league;
    html! {
        p.lead {
            span { bdi { (league.title) } }
            span { (phase(league.phase)) }
            @if league.round > 0 { span { "Round " (league.round) " of " (board.progress.rounds) } }
            @if let Some(opens) = board.next.as_ref().and_then(|next| next.opens) {
                span { "Next round " (countdown(opens, AFTER_THIS_ROUND)) }
            }
            @if league.matches > 0 { span { (league.played) " of " (counted(league.matches, "match", "matches")) } }
        }
        ol.ranks.many[rows.len() > ROWS_ON_A_SLIDE / 2] {
            @for row in rows { (rank(row)) }
        }
    }
}

fn rank(row: &TableRow) -> Markup {
    let standing = &row.standing;
    let player = PlayerRef {
        id: standing.player_id.clone(),
        name: standing.display_name.to_string(),
    };
    html! {
        li.gone[row.away.is_some() || row.expulsion.is_some()] {
            span.rank { (standing.place()) }
            span.who { (name(&player)) @if let Some(out) = row.expulsion { " (" (out.cause.word()) ")" } }
            span.form { (form(&row.form)) }
            strong { (standing.points) }
        }
    }
}

fn running(board: &Board) -> Markup {
    let has_position = |tile: &Tile| {
        let shown = tile.live.as_ref();
        shown.is_some_and(|shown| !shown.position.rows.is_empty())
    };
    let most = match board.tiles.iter().any(has_position) {
        true => MAX_LIVE,
        false => MAX_PLAIN_LIVE,
    };
    html! {
        ol.matches { @for tile in board.tiles.iter().take(most) {
            li {
                p.pair { span.who { (name(&tile.players[0])) } "–" span.who { (name(&tile.players[1])) } }
                @match &tile.live {
                    Some(shown) => (live::live(shown, &tile.players)),
                    None => p.more { (tile_state(tile.state)) },
                }
            }
        } }
        @let more = board.tiles.len().saturating_sub(most) + board.untiled;
        @if more > 0 { p.more { "and " (counted(more as u64, "more match", "more matches")) } }
    }
}

fn surprise(line: &ResultLine) -> Markup {
    let (relation, end) = rows::relation(line.outcomes);
    html! {
        p.pair { span.who { (name(&line.players[0])) } (relation) " " span.who { (name(&line.players[1])) } (end) }
        @for told in &line.stories { p.story { (story::sentence(told, &line.players)) } }
        p.more { (sentence(&line.reason, &line.players)) }
        p.more { a href=(Links::Site.of_match(&line.match_id)) { (line.match_id) } " · " (moment(line.at)) }
    }
}

fn next(coming: &NextRound, is_paused: bool) -> Markup {
    html! {
        p.lead {
            span { "Round " (coming.round) }
            span {
                @match coming.opens {
                    _ if is_paused => "when the organiser goes on",
                    Some(opens) => (countdown(opens, AFTER_THIS_ROUND)),
                    None => (AFTER_THIS_ROUND),
                }
            }
        }
        ol.pairings.many[coming.pairings.len() > 8] { @for [a, b] in &coming.pairings {
            li { span.who { (name(a)) } span.versus { "–" } span.who { (name(b)) } }
        } }
    }
}

/// The first three of a league that is over.
fn podium(board: &Board) -> Option<Markup> {
    let winners = &board.winners;
    let steps = ["first", "second", "third"];
    let more = winners.len().saturating_sub(steps.len());
    let top = winners.iter().zip(steps);
    (!winners.is_empty()).then(|| html! {
        p.lead { span { bdi { (board.league.title) } } @if let Some(at) = board.league.ended { span { "ended " (moment(at)) } } }
        ol.podium { @for ((place, standing), step) in top {
            @let player = PlayerRef { id: standing.player_id.clone(), name: standing.display_name.to_string() };
            li class=(step) {
                span.rank { @if board.is_shared(*place) { "=" } (place) }
                span.who { (name(&player)) }
                span.more { (counted(standing.points.into(), "point", "points")) }
            }
        } }
        @if more > 0 { p.more { "and " (more) " more" } }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::models;

    fn shown(rows: usize, tiles: usize) -> String {
        shown_with(rows, vec![models::tile(); tiles])
    }

    fn shown_with(rows: usize, tiles: Vec<Tile>) -> String {
        let mut board = models::board();
        board.standings = vec![board.standings[0].clone(); rows];
        board.tiles = tiles;
        board.untiled = 3;
        let surprise = None;
        main(&Stage { board, surprise }).into_string()
    }

    #[test]
    fn table_has_two_columns_from_the_sixteenth_row_and_two_slides_at_most() {
        assert!(!shown(15, 0).contains("ranks many"));
        assert!(shown(16, 0).contains("ranks many"));
        for (rows, slides) in [(30, 1), (31, 2), (400, 2)] {
            let html = shown(rows, 0);
            assert_eq!(html.matches("class=\"ranks").count(), slides, "{rows} rows");
        }
    }

    #[test]
    fn matches_that_have_no_place_on_the_slide_are_counted() {
        let drawn = Tile {
            live: Some(models::live()),
            ..models::tile()
        };
        for (tile, most) in [(drawn, MAX_LIVE), (models::tile(), MAX_PLAIN_LIVE)] {
            let html = shown_with(4, vec![tile; most + 2]);
            assert_eq!(html.matches("<p class=\"pair\">").count(), most);
            assert!(html.contains("and 5 more matches"), "{html}");
        }
    }
}
