//! The first page: its layout, summary, progress and verification.

use league_core::league::Phase;
use league_protocol::message::StandingRow;
use maud::{Markup, PreEscaped, html};

use super::face::face;
use super::format::{AFTER_THIS_ROUND, countdown, counted, duration, grouped, moment, phase};
use super::{Links, bracket, chart, groups, lobby, ratings, rows, scores};
use crate::model::{Board, LeagueSummary};
use crate::parts::PageParts;

/// Players below the champion that are named.
const MAX_RUNNERS_UP: usize = 6;

/// Draws the parts of the board that change.
pub fn parts(board: &Board, links: Links) -> PageParts {
    let mut parts = PageParts::default();
    parts.block("summary", summary(board, links));
    parts.block("lobby", lobby::lobby(board));
    parts.block("progress", progress(board, links));
    parts.block("verdict", verification(&board.league));
    parts.list("standings-rows", rows::standings(&board.standings, links));
    parts.block("standings-note", rows::standings_note(board));
    parts.list("tiles", rows::tiles(&board.tiles, links));
    parts.block("tiles-note", rows::tiles_note(board, links));
    parts.list("latest-rows", rows::latest(&board.latest, links));
    parts.block("bracket", bracket::bracket(&board.views.bracket, links));
    parts.block("groups", groups::groups(&board.views, links));
    parts.list("ladder-rows", groups::ladder(&board.views.ladder, links));
    parts.block("ladder-note", groups::ladder_note(&board.views));
    parts.block("score-head", scores::head(&board.views.scores));
    parts.list("score-rows", scores::rows(&board.views.scores, links));
    parts.block("score-note", scores::note(&board.views.scores));
    parts.block("cross-head", rows::cross_head(&board.cross, links));
    parts.list("cross-rows", rows::cross(&board.cross, links));
    parts.block("chart", chart::chart(&board.chart));
    let rated = board.ratings.as_ref();
    parts.block("ratings-words", ratings::words(rated));
    parts.block("ratings-head", ratings::head(rated));
    parts.list("rating-rows", ratings::rows(rated));
    let agents = rows::agents(&board.agents, board.league.is_over(), links);
    parts.list("agent-rows", agents);
    parts
}

/// The content of `<main>`.
pub(crate) fn main(parts: &PageParts) -> Markup {
    let block = |id: &str| PreEscaped(parts.block_html(id).to_owned());
    let list = |id: &str| PreEscaped(parts.list_html(id));
    html! {
        (block("summary"))
        (block("lobby"))
        (block("progress"))
        (block("verdict"))
        (replay())
        (block("bracket"))
        (block("groups"))
        div.columns {
            section.card.standings aria-labelledby="standings-title" {
                h2 #standings-title { "Standings" }
                div.scroll tabindex="0" role="region" aria-labelledby="standings-title" {
                    table { (rows::standings_head()) tbody #standings-rows { (list("standings-rows")) } }
                }
                (block("standings-note"))
            }
            div.side {
                section.card aria-labelledby="tiles-title" {
                    h2 #tiles-title { "Matches in progress" }
                    ul #tiles { (list("tiles")) }
                    (block("tiles-note"))
                }
                section.card aria-labelledby="latest-title" {
                    h2 #latest-title { "Latest results" }
                    ol #latest-rows { (list("latest-rows")) }
                }
            }
            section.card aria-labelledby="chart-title" {
                h2 #chart-title { "Points over the rounds" }
                div.scroll tabindex="0" role="region" aria-labelledby="chart-title" { (block("chart")) }
            }
        }
        (views(parts))
        section.card aria-labelledby="cross-title" {
            h2 #cross-title { "Who met whom" }
            p.more { "Each row shows the results of one player; a letter links to the match." }
            div.scroll tabindex="0" role="region" aria-labelledby="cross-title" {
                table.cross {
                    caption.hush { "Results of each player against each other" }
                    thead { (block("cross-head")) }
                    tbody #cross-rows { (list("cross-rows")) }
                }
            }
        }
        section.card aria-labelledby="agents-title" {
            h2 #agents-title { "Agents" }
            div.scroll tabindex="0" role="region" aria-labelledby="agents-title" {
                table.agents { (rows::agents_head()) tbody #agent-rows { (list("agent-rows")) } }
            }
        }
    }
}

/// What the format shows below the standings, and ratings; parts without content are hidden.
fn views(parts: &PageParts) -> Markup {
    let block = |id: &str| PreEscaped(parts.block_html(id).to_owned());
    let list = |id: &str| PreEscaped(parts.list_html(id));
    html! {
        section.card.ladder aria-labelledby="ladder-title" {
            h2 #ladder-title { "Ladder" }
            p.more { "The arrows say how many places a player gained or lost in the last round." }
            div.scroll tabindex="0" role="region" aria-labelledby="ladder-title" { ol #ladder-rows { (list("ladder-rows")) } }
            (block("ladder-note"))
        }
        section.card aria-labelledby="ratings-title" {
            h2 #ratings-title { "Ratings" }
            (block("ratings-words"))
            div.scroll tabindex="0" role="region" aria-labelledby="ratings-title" {
                table.ratings { thead { (block("ratings-head")) } tbody #rating-rows { (list("rating-rows")) } }
            }
        }
        section.card aria-labelledby="scores-title" {
            h2 #scores-title { "Round by round" }
            p.more { "For each round the result, the number of the opponent and the own seat, and below them the points after the round." }
            div.scroll tabindex="0" role="region" aria-labelledby="scores-title" {
                table.scores {
                    caption.hush { "Opponents and results of each player, round by round, in groups of equal points" }
                    thead { (block("score-head")) }
                    tbody #score-rows { (list("score-rows")) }
                }
            }
            (block("score-note"))
        }
    }
}

/// The controls of the replay. They are useless without the script, which shows them.
fn replay() -> Markup {
    html! {
        section #replay .card hidden aria-label="Replay" {
            button #replay-open type="button" { "▶ Replay from the start" }
            div #replay-controls hidden {
                button #replay-back type="button" { "Back" }
                button #replay-play type="button" { "Pause" }
                button #replay-forward type="button" { "Forward" }
                label { span.hush { "Moment" } input #replay-moment type="range" min="0" max="0" value="0"; }
                label { "Speed " select #replay-speed {
                    option value="1" { "1 result a second" }
                    option value="4" selected { "4 a second" }
                    option value="16" { "16 a second" }
                    option value="64" { "64 a second" }
                    option value="256" { "256 a second" }
                    option value="1024" { "1,024 a second" }
                    option value="4096" { "4,096 a second" }
                } }
                button #replay-close type="button" { "Back to now" }
                p #replay-label aria-live="polite" {}
            }
        }
    }
}

/// Title, game and phase; the champion once there is one.
pub(crate) fn summary(board: &Board, links: Links) -> Markup {
    let league = &board.league;
    html! {
        section #summary .summary {
            h1 { bdi { (league.title) } }
            p.lead {
                (phase_label(league))
                span { @if league.game.is_empty() { (league.game_type) } @else { (league.game) } }
                span { (counted(league.players as u64, "player", "players")) }
                span { (counted(league.referees as u64, "referee", "referees")) }
                @if let Some(at) = league.ended { span { "ended " (moment(at)) } }
                @else if let Some(at) = league.started { span { "began " (moment(at)) } }
                @if league.strict { span { "strict reading" } }
                @if league.reproducible { span.note { "drawn from a given seed: not for prizes" } }
                @if league.draws_not_proven > 0 { span.note { (not_proven(league.draws_not_proven)) } }
                @if !league.exposed_referees.is_empty() { span.note { (exposed(&league.exposed_referees)) } }
                @if league.paused { span.note { "paused by the organiser" } }
                @if let Some(until) = league.registration_until { span.note { "registration until " (moment(until)) } }
                @if league.waiting > 0 { span { (counted(league.waiting as u64, "player waits", "players wait")) } }
            }
            (acts(league))
            (stall(league))
            (champion(board, links))
        }
    }
}

/// The last message of the organiser, and all that the organiser did.
fn acts(league: &LeagueSummary) -> Markup {
    let message = league.acts.iter().find(|act| act.is_message);
    html! {
        @if let Some(message) = message { p.standstill { strong { "Organiser: " } bdi { (message.sentence) } } }
        @if !league.acts.is_empty() {
            details.acts {
                summary { "The organiser acted " (times(league.acts.len() as u64 + league.unlisted_acts)) " " bdi { (league.acts[0].sentence) } }
                ol reversed { @for act in &league.acts {
                    li { (moment(act.at)) " " bdi { (act.sentence) } @if !act.reason.is_empty() { ", because: " bdi { (act.reason) } } }
                } }
                @if league.unlisted_acts > 0 { p.more { "and " (counted(league.unlisted_acts, "earlier act", "earlier acts")) ", which the journal holds" } }
            }
        }
    }
}

/// How often the organiser acted, before the last act.
fn times(acts: u64) -> String {
    match acts {
        1 => "once:".to_owned(),
        acts => format!("{} times, last:", grouped(acts)),
    }
}

/// Says that referees told the numbers of matches and did not prove them.
fn not_proven(draws: u64) -> String {
    let matches = counted(draws, "match", "matches");
    format!("draw not proven in {matches}")
}

/// Says whose token players have seen.
fn exposed(referees: &[String]) -> String {
    format!("referee token exposed: {}", referees.join(", "))
}

fn phase_label(league: &LeagueSummary) -> Markup {
    let (class, words) = match &league.stall {
        Some(_) => ("halted", "Interrupted"),
        None => (phase_class(league.phase), phase(league.phase)),
    };
    html! { span class={ "phase " (class) } { (words) } }
}

/// Where a league stalled, and how to resume it.
fn stall(league: &LeagueSummary) -> Markup {
    let Some(stall) = &league.stall else {
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
                "; last entry " (moment(stall.since)) "."
            }
            " No process here writes its journal. If it is not running elsewhere, resume it with "
            code { (stall.resume) } "."
        }
    }
}

fn champion(board: &Board, links: Links) -> Markup {
    let winners = &board.winners;
    let Some((_, first)) = winners.first() else {
        return Markup::default();
    };
    let (champions, others): (Vec<_>, Vec<_>) = winners.iter().partition(|(place, _)| *place == 1);
    let link = |row: &StandingRow| html! { a href=(links.of_player(&row.player_id)) { (face(&row.player_id)) bdi { (row.display_name) } } };
    html! {
        div.champion {
            h2 { @if champions.len() > 1 { "Champions, sharing the first place" } @else { "Champion" } }
            p.first { @for (number, (_, row)) in champions.iter().enumerate() { @if number > 0 { ", " } (link(row)) } }
            p.tally {
                (counted(first.points.into(), "point", "points")) " · "
                (first.wins) " won, " (first.draws) " drawn, " (first.losses) " lost"
            }
            ol { @for (place, row) in others.iter().take(MAX_RUNNERS_UP) {
                li {
                    (["Second", "Third"][usize::from(*place > 2)]) @if board.is_shared(*place) { ", shared" } " "
                    (link(row)) ", " (counted(row.points.into(), "point", "points"))
                }
            } }
            @if others.len() > MAX_RUNNERS_UP { p.more { "and " (others.len() - MAX_RUNNERS_UP) " more" } }
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

pub(crate) fn progress(board: &Board, links: Links) -> Markup {
    let (league, now) = (&board.league, &board.progress);
    let running = league.phase == Phase::Running && league.stall.is_none();
    let left = now.time_left.filter(|_| running);
    html! {
        section #progress .progress aria-label="Progress" data-played=(league.played) data-left-ms=[left.map(|left| left.as_millis())] data-elapsed-ms=[now.elapsed.filter(|_| running).map(|time| time.as_millis())] {
            @if league.matches > 0 {
                progress max=(league.matches) value=(league.played) aria-label="Matches played" {
                    (league.played) " of " (league.matches)
                }
                dl.facts { (facts(board, left.map(duration), links)) }
            } @else {
                p { "The first round is drawn up when registration closes." }
            }
        }
    }
}

fn facts(board: &Board, left: Option<String>, links: Links) -> Markup {
    let (league, now) = (&board.league, &board.progress);
    html! {
        div { dt { "Round" } dd { a href=(links.of_round(league.round.max(1))) { (league.round) span.of { " of " (now.rounds) } } } }
        @if now.round_played < now.round_matches {
            div { dt { "In this round" } dd { (now.round_played) span.of { " of " (now.round_matches) } } }
        }
        div { dt { "Matches" } dd { (grouped(league.played)) span.of { " of " (grouped(league.matches)) } } }
        @if league.uncounted > 0 { div { dt { "Not counted" } dd { (grouped(league.uncounted)) } } }
        @if let Some(opens) = board.next.as_ref().and_then(|next| next.opens) {
            div { dt { "Next round" } dd { (countdown(opens, AFTER_THIS_ROUND)) } }
        }
        @if let Some(left) = left { div { dt { "Time left" } dd.left { (left) } } }
        @if let Some(elapsed) = now.elapsed { div { dt { "Elapsed" } dd.elapsed { (duration(elapsed)) } } }
        div { dt { "Technical losses" } dd { (grouped(now.technical_losses)) } }
    }
}

/// What every page says of a league that stalled or failed verification.
pub(crate) fn warning(league: &LeagueSummary) -> Markup {
    let broken = league.verification.as_ref().filter(|found| !found.holds);
    html! {
        (stall(league))
        @if let Some(broken) = broken {
            p.verdict.broken {
                strong { "✗ This league failed verification: do not trust what is shown here." } " " (broken.detail)
            }
        }
    }
}

/// Whether all that is shown follows from the journal; the detail begins with the verdict.
pub(crate) fn verification(league: &LeagueSummary) -> Markup {
    html! {
        @match &league.verification {
            None => div #verdict {},
            Some(found) if found.holds => {
                p #verdict .verdict.holds { strong { "✓" } " " (found.detail) }
            },
            Some(found) => {
                p #verdict .verdict.broken { strong { "✗ Not verified." } " " (found.detail) }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_of_the_organiser_are_counted() {
        assert_eq!(times(1), "once:");
        assert_eq!(times(1_200), "1,200 times, last:");
    }
}
