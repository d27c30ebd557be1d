//! The keyed lists of the first page: standings, running matches, latest results, cross table and
//! agents.

use league_core::league::{AgentState, ExitCause, Expulsion, Phase};
use league_protocol::id::PlayerId;
use maud::{Markup, html};

use super::Links;
use super::face::face;
use super::format::{
    agent_state, bare_name, counted, form, grouped, latency, mark, mark_class, mark_letter, name,
    sentence, tile_class, tile_state, time_of_day,
};
use super::{live, model_use, story};
use crate::model::{AgentRow, Board, Cross, CrossCell, ResultLine, SeatOutcome, TableRow, Tile};
use crate::parts::ListItem;

/// Pairings of the next round below the running matches.
const MAX_NEXT_PAIRS: usize = 4;

/// Draws a list; `draw` returns the key and the element of an item.
pub(crate) fn items<T>(all: &[T], draw: impl Fn(&T) -> (String, Markup)) -> Vec<ListItem> {
    let item = |(key, html): (String, Markup)| ListItem {
        key,
        html: html.into_string(),
    };
    all.iter().map(draw).map(item).collect()
}

pub(crate) fn standings_head() -> Markup {
    html! {
        thead { tr {
            th scope="col" { abbr title="Rank" { "#" } }
            th scope="col" { span.hush { "Places gained since the last round" } }
            th.text scope="col" { "Player" }
            th scope="col" { abbr title="Points" { "Pts" } }
            th scope="col" { abbr title="Played" { "P" } }
            th scope="col" { abbr title="Won" { "W" } }
            th scope="col" { abbr title="Drawn" { "D" } }
            th scope="col" { abbr title="Lost" { "L" } }
            th.text scope="col" { abbr title="The last five matches, oldest first" { "Form" } }
        } }
    }
}

pub(crate) fn standings(rows: &[TableRow], links: Links) -> Vec<ListItem> {
    items(rows, |table_row| {
        let row = &table_row.standing;
        let key = format!("row-{}", row.player_id);
        let html = html! {
            tr id=(key) {
                td { (row.place()) }
                td { (climbed(table_row.climbed)) }
                th scope="row" {
                    a href=(links.of_player(&row.player_id)) { (face(&row.player_id)) bdi { (row.display_name) } }
                    (badges(table_row))
                }
                td { (row.points) }
                td { (row.played) }
                td { (row.wins) }
                td { (row.draws) }
                td { (row.losses) }
                td { (form(&table_row.form)) }
            }
        };
        (key, html)
    })
}

pub(crate) fn climbed(places: i64) -> Markup {
    html! {
        @if places > 0 { span.up { "▲" (places) } }
        @else if places < 0 { span.down { "▼" (places.unsigned_abs()) } }
    }
}

fn badges(row: &TableRow) -> Markup {
    let losses = row.standing.technical_losses;
    let byes = row.standing.byes;
    html! {
        @if let Some(decided_by) = row.decided_by { " " span.badge { "by " (decided_by) } }
        @if byes > 0 {
            " " span.badge title="Rounds without an opponent, paid as a win" {
                (counted(byes.into(), "bye", "byes"))
            }
        }
        @if row.human {
            " " span.badge.human title="A person chooses its moves, as it says of itself." { "human" }
        }
        @if losses > 0 {
            " " span.badge title=(counted(losses.into(), "technical loss", "technical losses")) {
                "T " (losses)
            }
        }
        @if row.deviations > 0 {
            " " span.badge.deviates title="protocol deviations" { "⚠ " (grouped(row.deviations)) }
        }
        @if let Some(expulsion) = row.expulsion {
            " " span.badge.gone title=(expulsion_note(expulsion)) { (expulsion) }
        } @else if let Some(reason) = &row.away {
            " " span.badge.gone title=(reason) { "gone" }
        } @else if row.state == AgentState::Suspended {
            " " span.badge.gone { (agent_state(row.state, false)) }
        }
        @if let Some(sum) = &row.model { (model_use::badge(sum)) }
    }
}

fn expulsion_note(expulsion: Expulsion) -> &'static str {
    match expulsion.cause {
        _ if expulsion.is_absence => "It was absent, and is in again when it returns.",
        ExitCause::Losses => "It did not play by the rules.",
        ExitCause::Withdrawn => "It left; its results count.",
        _ if expulsion.is_annulled => "The organiser put it out; none of its matches counts.",
        ExitCause::Removed | ExitCause::Disqualified => {
            "The organiser put it out; its results count."
        }
    }
}

/// How many players are left out, or that there are none.
pub(crate) fn standings_note(board: &Board) -> Markup {
    html! {
        p #standings-note .more {
            @if board.standings.is_empty() { "No player has registered yet." }
            @else if board.unlisted > 0 { "and " (grouped(board.unlisted as u64)) " more" }
        }
    }
}

pub(crate) fn tiles(tiles: &[Tile], links: Links) -> Vec<ListItem> {
    items(tiles, |tile| {
        let key = format!("tile-{}", tile.match_id);
        let [a, b] = &tile.players;
        let html = html! {
            li id=(key) class={ "tile " (tile_class(tile.state)) } {
                a href=(links.of_match(&tile.match_id)) {
                    span.who { (name(a)) }
                    span.versus { "–" }
                    span.who { (name(b)) }
                }
                p {
                    span.state { (tile_state(tile.state)) }
                    " " span.id { (tile.match_id) }
                    @if let Some(referee) = &tile.referee { " · " (referee) }
                    @if let Some(since) = tile.since { " · since " (time_of_day(since)) }
                    @if tile.attempt > 1 { " · attempt " (tile.attempt) }
                }
                @if let Some(shown) = &tile.live { (live::live(shown, &tile.players)) }
            }
        };
        (key, html)
    })
}

/// How many running matches are left out, or why there are none.
pub(crate) fn tiles_note(board: &Board, links: Links) -> Markup {
    let round = board.league.round;
    html! {
        p #tiles-note .more {
            @if !board.tiles.is_empty() && board.league.stall.is_some() { "Their states when the league was interrupted. " }
            @if board.untiled > 0 { "and " (grouped(board.untiled as u64)) " more" }
            @else if board.tiles.is_empty() {
                @match board.league.phase {
                    _ if board.league.stall.is_some() => "No match is being played.",
                    Phase::Registering => "The league has not started.",
                    Phase::Running => "Between two rounds.",
                    Phase::Completed if board.league.played < board.league.matches => {
                        "The league ended early in round " (round) " of " (board.progress.rounds) ", "
                        (grouped(board.league.played)) " of " (grouped(board.league.matches)) " matches played."
                    },
                    Phase::Completed => "All matches are played.",
                }
            }
            @if round > 0 { " " a href=(links.of_round(round)) { "All of round " (round) } }
            (next(board, links))
        }
    }
}

/// The first pairings of the next round.
fn next(board: &Board, links: Links) -> Markup {
    let Some(next) = &board.next else {
        return Markup::default();
    };
    let (round, pairings) = (next.round, &next.pairings);
    html! {
        span.next {
            a href=(links.of_round(round)) { "Next, in round " (round) } ": "
            @for (place, [a, b]) in pairings.iter().take(MAX_NEXT_PAIRS).enumerate() {
                @if place > 0 { ", " } (bare_name(a)) " – " (bare_name(b))
            }
            @if pairings.len() > MAX_NEXT_PAIRS { " …" }
        }
    }
}

pub(crate) fn latest(results: &[ResultLine], links: Links) -> Vec<ListItem> {
    items(results, |line| {
        let key = format!("latest-{}", line.match_id);
        let (relation, end) = relation(line.outcomes);
        let html = html! {
            li id=(key) {
                a href=(links.of_match(&line.match_id)) {
                    (seat_in_result(line, 0))
                    span.versus { (relation) }
                    (seat_in_result(line, 1))
                    @if !end.is_empty() { span.versus { (end) } }
                }
                p { span.id { (line.match_id) } " · " (time_of_day(line.at)) " · " (sentence(&line.reason, &line.players)) }
                @for told in &line.stories { p.story { (story::sentence(told, &line.players)) } }
            }
        };
        (key, html)
    })
}

/// The words between the players of a result, and after them.
pub(crate) fn relation(outcomes: [SeatOutcome; 2]) -> (&'static str, &'static str) {
    use SeatOutcome::{Forfeited, LostByRuling, NotCounted, Won};
    match outcomes {
        [NotCounted, _] => ("–", ""),
        [Forfeited, Forfeited] => ("and", "did not play"),
        [LostByRuling, _] => ("and", "lost by ruling"),
        [Won, _] => ("beat", ""),
        [_, Won] => ("lost to", ""),
        _ => ("drew with", ""),
    }
}

/// A player in a result; the mark of a technical loss stands at the player that did not play.
fn seat_in_result(line: &ResultLine, seat: usize) -> Markup {
    let outcome = line.outcomes[seat];
    html! {
        span.who.won[outcome == SeatOutcome::Won] {
            (name(&line.players[seat]))
            @if outcome == SeatOutcome::Forfeited { " " (mark(outcome)) }
        }
    }
}

pub(crate) fn cross_head(cross: &Cross, links: Links) -> Markup {
    html! {
        tr #cross-head {
            th.text scope="col" {
                @if cross.unlisted > 0 { span.more { (grouped(cross.unlisted as u64)) " players are left out" } }
                @else { "Player" }
            }
            @for player in &cross.players {
                th scope="col" { a href=(links.of_player(&player.id)) title=(player.name) { (player.id) } }
            }
        }
    }
}

/// A row for each player, in the order of ids.
pub(crate) fn cross(cross: &Cross, links: Links) -> Vec<ListItem> {
    let rows: Vec<_> = cross.players.iter().zip(&cross.cells).enumerate().collect();
    items(&rows, |(place, (player, cells))| {
        let key = format!("cross-{}", player.id);
        let html = html! {
            tr id=(key) {
                th scope="row" { span.id { (player.id) } a href=(links.of_player(&player.id)) { (name(player)) } }
                @for (column, cell) in cells.iter().enumerate() {
                    @if column == *place { td.self {} } @else { (cross_cell(cell.as_ref(), links)) }
                }
            }
        };
        (key, html)
    })
}

fn cross_cell(cell: Option<&CrossCell>, links: Links) -> Markup {
    let class = |cell: &CrossCell| cell.outcome.map_or("now", mark_class);
    let text = |cell: &CrossCell| cell.outcome.map_or("…", mark_letter);
    html! {
        td { @if let Some(cell) = cell {
            a class=(class(cell)) href=(links.of_match(&cell.match_id)) { (text(cell)) }
        } }
    }
}

pub(crate) fn agents_head() -> Markup {
    html! {
        thead { tr {
            th.text scope="col" { "Agent" }
            th.text scope="col" { "Role" }
            th.text scope="col" { "State" }
            th.text scope="col" { "Speaks" }
            th.text scope="col" { "Version" }
            th scope="col" { abbr title="Median and 95th percentile" { "Latency" } }
            th scope="col" { abbr title="Matches lost by not playing; for a referee, matches taken from it" { "Technical" } }
            th scope="col" { abbr title="How often it deviated from the protocol" { "Deviations" } }
        } }
    }
}

/// A row for each agent; `over` says that the league is.
pub(crate) fn agents(agents: &[AgentRow], over: bool, links: Links) -> Vec<ListItem> {
    items(agents, |agent| {
        let key = format!("agent-{}", agent.id);
        let state = agent_state(agent.state, over);
        let player = PlayerId::new(&agent.id).ok().filter(|_| !agent.is_referee);
        let html = html! {
            tr id=(key) {
                th scope="row" {
                    @match player {
                        Some(id) => a href=(links.of_player(&id)) { (face(&id)) bdi { (agent.name) } },
                        None => bdi { (agent.name) },
                    }
                    span.id { (agent.id) }
                }
                td { @if agent.is_referee { "referee" } @else { "player" } }
                td class=(state) { (state) }
                td { (agent.dialect) }
                td { bdi { (agent.version) } }
                td { (latency(agent.latency)) }
                td {
                    (grouped(u64::from(agent.technical_losses)))
                    @if agent.is_referee && agent.technical_losses > 0 { " taken away" }
                }
                td { (grouped(agent.deviations)) }
            }
        };
        (key, html)
    })
}
