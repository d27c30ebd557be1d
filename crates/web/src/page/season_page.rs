//! The page of a season: its leagues, the all-time table, and ratings.

use maud::{Markup, html};

use super::format::{counted, grouped, moment, phase};
use super::ratings;
use crate::season::{Season, SeasonLeague, SeasonRow};

/// The most rows of the all-time table on the page.
const MAX_ROWS: usize = 500;

/// The content of `<main>`.
pub(crate) fn main(season: &Season) -> Markup {
    html! {
        section.summary {
            p.crumbs { a href=(super::Links::Site.board()) { "Board" } span { "Season" } }
            h1 { "Season" }
            p.lead {
                span { (counted(season.leagues.len() as u64, "league", "leagues")) }
                span { (counted(season.rows.len() as u64, "player", "players")) }
            }
        }
        section.card aria-labelledby="all-time-title" {
            h2 #all-time-title { "All-time table" }
            div.scroll tabindex="0" role="region" aria-labelledby="all-time-title" { table.season {
                thead { tr {
                    th scope="col" { "#" } th.text scope="col" { "Player" } th scope="col" { "Titles" }
                    th scope="col" { "Points" } th scope="col" { "Leagues" } th scope="col" { "Played" }
                    th scope="col" { "Won" } th scope="col" { "Drawn" } th scope="col" { "Lost" }
                } }
                tbody { @for (place, row) in season.places().take(MAX_ROWS) { (player(&place, row)) } }
            } }
            @if season.rows.len() > MAX_ROWS { p.more { "and " (season.rows.len() - MAX_ROWS) " more" } }
        }
        @if let Some(table) = season.ratings() { (ratings::of_season(&table)) }
        section.card aria-labelledby="leagues-title" {
            h2 #leagues-title { "Leagues" }
            div.scroll tabindex="0" role="region" aria-labelledby="leagues-title" { table {
                thead { tr {
                    th.text scope="col" { "League" } th.text scope="col" { "Game" } th.text scope="col" { "State" }
                    th scope="col" { "Players" } th scope="col" { "Matches" } th.text scope="col" { "Champion" }
                    th.text scope="col" { "Ended" }
                } }
                tbody { @for league in season.leagues.iter().rev() { (row(league)) } }
            } }
        }
    }
}

fn player(place: &str, row: &SeasonRow) -> Markup {
    html! {
        tr {
            td { (place) } td.text { bdi { (row.name) } } td { (row.titles) } td { (row.points) }
            td { (row.leagues) } td { (row.played) } td { (row.wins) } td { (row.draws) } td { (row.losses) }
        }
    }
}

fn row(league: &SeasonLeague) -> Markup {
    html! {
        tr {
            td.text { (league.league_id) } td.text { (league.game) } td.text { (phase(league.phase)) @if league.ended_early { " early" } }
            td { (league.players) }
            td { @if league.matches == 0 { "–" } @else { (grouped(league.played)) " of " (grouped(league.matches)) } }
            td.text { @for (place, name) in league.champions.iter().enumerate() { @if place > 0 { ", " } bdi { (name) } } }
            td.text { @if let Some(at) = league.ended { (moment(at)) } }
        }
    }
}
