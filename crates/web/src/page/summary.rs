//! Which league it is, how far it is, who has won it, and whether all of it holds.

use league_core::league::Phase;
use maud::{Markup, html};

use super::Links;
use super::words::{counted, duration, grouped, moment, phase};
use crate::model::{Board, LeagueCard, Progress, Standing, Verdict};

/// Title, game and phase; the champion once there is one.
pub(super) fn summary(board: &Board, links: Links) -> Markup {
    let league = &board.league;
    let over = league.phase == Phase::Completed;
    let champion = board.standings.split_first().filter(|_| over);
    html! {
        section #summary .summary {
            h1 { bdi { (league.title) } }
            p.lead {
                (how_it_is(league))
                span { @if league.game.is_empty() { (league.game_type) } @else { (league.game) } }
                span { (counted(league.players as u64, "player", "players")) }
                span { (counted(league.referees as u64, "referee", "referees")) }
                @if let Some(at) = league.ended { span { "ended " (moment(at)) } }
                @else if let Some(at) = league.started { span { "began " (moment(at)) } }
                @if league.strict { span { "strict reading" } }
                @if league.reproducible { span.note { "drawn from a given seed: not for prizes" } }
            }
            (standstill(league))
            @if let Some((first, others)) = champion { (champion_of(first, others, links)) }
        }
    }
}

/// Whether it gathers, is played, stands still or is over.
fn how_it_is(league: &LeagueCard) -> Markup {
    let (class, words) = match &league.standstill {
        Some(_) => ("halted", "Interrupted"),
        None => (phase_class(league.phase), phase(league.phase)),
    };
    html! { span class={ "phase " (class) } { (words) } }
}

/// Where a league stands still, and how to go on.
fn standstill(league: &LeagueCard) -> Markup {
    let Some(halt) = &league.standstill else {
        return Markup::default();
    };
    html! {
        p.standstill {
            strong {
                @match (league.phase, league.round) {
                    (Phase::Registering, _) => "Interrupted before it began",
                    (_, 0) => "Interrupted before the first round",
                    (_, round) => { "Interrupted in round " (round) }
                }
                @if league.matches > 0 { ", " (grouped(league.played)) " of " (counted(league.matches, "match", "matches")) " played" }
                "; last entry " (moment(halt.since)) "."
            }
            " Nobody writes its journal here. If it is not played elsewhere, go on with "
            code { (halt.resume) } "."
        }
    }
}

fn champion_of(first: &Standing, others: &[Standing], links: Links) -> Markup {
    let link =
        |row: &Standing| html! { a href=(links.of_player(&row.player_id)) { bdi { (row.name) } } };
    html! {
        div.champion {
            h2 { "Champion" }
            p.first { (link(first)) }
            p.tally {
                (counted(first.points.into(), "point", "points")) " · "
                (first.wins) " won, " (first.draws) " drawn, " (first.losses) " lost"
            }
            ol { @for (row, place) in others.iter().zip(["Second", "Third"]) {
                li { (place) " " (link(row)) ", " (counted(row.points.into(), "point", "points")) }
            } }
        }
    }
}

const fn phase_class(phase: Phase) -> &'static str {
    match phase {
        Phase::Registering => "gathering",
        Phase::Running => "running",
        Phase::Completed => "over",
    }
}

/// Round, matches, time.
pub(super) fn progress(board: &Board, links: Links) -> Markup {
    let now = &board.progress;
    let running = board.league.phase == Phase::Running && board.league.standstill.is_none();
    let left = now.time_left.filter(|_| running);
    html! {
        section #progress .progress aria-label="Progress" data-played=(now.played) data-left-ms=[left.map(|left| left.as_millis())] data-elapsed-ms=[now.elapsed.filter(|_| running).map(|time| time.as_millis())] {
            @if now.matches > 0 {
                progress max=(now.matches) value=(now.played) aria-label="Matches played" {
                    (now.played) " of " (now.matches)
                }
                dl.facts { (facts(now, left.map(duration), links)) }
            } @else {
                p { "The first round is drawn up when registration closes." }
            }
        }
    }
}

fn facts(now: &Progress, left: Option<String>, links: Links) -> Markup {
    html! {
        div { dt { "Round" } dd { a href=(links.of_round(now.round.max(1))) { (now.round) span.of { " of " (now.rounds) } } } }
        @if now.round_played < now.round_matches {
            div { dt { "In this round" } dd { (now.round_played) span.of { " of " (now.round_matches) } } }
        }
        div { dt { "Matches" } dd { (grouped(now.played)) span.of { " of " (grouped(now.matches)) } } }
        @if let Some(left) = left { div { dt { "Time left" } dd.left { (left) } } }
        @if let Some(elapsed) = now.elapsed { div { dt { "Elapsed" } dd.elapsed { (duration(elapsed)) } } }
        div { dt { "Technical losses" } dd { (grouped(now.technical_losses)) } }
    }
}

/// What every page says of a league that does not hold, or does not go on.
pub(super) fn warning(league: &LeagueCard, verdict: Option<&Verdict>) -> Markup {
    let broken = verdict.filter(|verdict| !verdict.holds);
    html! {
        (standstill(league))
        @if let Some(broken) = broken {
            p.verdict.broken {
                strong { "✗ This league does not hold, so nothing here may be believed." } " " (broken.words)
            }
        }
    }
}

/// Whether all that is shown follows from the journal.
pub(super) fn verdict(board: &Board) -> Markup {
    html! {
        @match &board.verdict {
            None => div #verdict {},
            Some(verdict) if verdict.holds => {
                p #verdict .verdict.holds { strong { "✓ Everything holds." } " " (verdict.words) }
            },
            Some(verdict) => {
                p #verdict .verdict.broken { strong { "✗ Something does not hold." } " " (verdict.words) }
            },
        }
    }
}
