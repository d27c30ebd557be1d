//! The ratings of a league: strengths with their intervals, drawn on one scale, and a sentence on how
//! sure they are. And the page of a season: its leagues, the all-time table, and their ratings.

use maud::{Markup, PreEscaped, html};

use super::format::{bare_name, counted, grouped, moment, phase};
use super::rows::items;
use crate::model::{RatedPlayer, RatingTable};
use crate::parts::ListItem;
use crate::season::{Season, SeasonLeague, SeasonRow};

/// Players in the card.
const MAX_SHOWN: usize = 60;
/// Marks of the scale at most.
const MAX_MARKS: i64 = 7;

/// After which round, how sure they are and how to read the table; empty before the first round has
/// ended.
pub(crate) fn words(table: Option<&RatingTable>) -> Markup {
    html! {
        div #ratings-words {
            @if let Some(table) = table {
                p { "After " (made_after(table)) ". " (sentence(table)) }
                @if let Some(more) = table.rows.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
                    p.more { "The " (more) " weakest are left out." }
                }
                p.more { (LEGEND) }
            }
        }
    }
}

fn made_after(table: &RatingTable) -> String {
    match table.matches {
        Some(matches) => counted(matches, "match", "matches"),
        None => counted(table.round.into(), "round", "rounds"),
    }
}

/// The card of a season, on a page that does not change by itself.
pub(crate) fn of_season(table: &RatingTable) -> Markup {
    html! {
        section.card aria-labelledby="ratings-title" {
            h2 #ratings-title { "Ratings" }
            p { "Over " (counted(table.round.into(), "league", "leagues")) ", taken as one. " (sentence(table)) }
            p.more { (LEGEND) }
            div.scroll tabindex="0" role="region" aria-labelledby="ratings-title" {
                table.ratings {
                    thead { (head(Some(table))) }
                    tbody { @for row in rows(Some(table)) { (PreEscaped(row.html)) } }
                }
            }
        }
    }
}

/// What the dots, lines and colours mean.
const LEGEND: &str = "A dot is a strength on the Elo scale; its line is the 95 % interval. The upright line stands at 0, the mean of all players. Blue players may be the strongest. Each player above a line across the table is surely stronger than those below it.";

/// The head of the table, with the marks of the scale.
pub(crate) fn head(table: Option<&RatingTable>) -> Markup {
    let scale = Scale::of(table);
    html! {
        tr #ratings-head {
            th scope="col" { abbr title="The ranks that the player may truly have, with 95 % confidence" { "Rank" } }
            th.text scope="col" { "Player" }
            th.interval scope="col" {
                span.hush { "95 % interval" }
                svg aria-hidden="true" { @for mark in &scale.marks {
                    text x=(scale.at(*mark)) y="70%" text-anchor="middle" { (shown_elo(*mark)) }
                } }
            }
            th scope="col" {
                abbr title="Strength on the Elo scale; the mean of all players is 0" { "Bradley–Terry" }
            }
        }
    }
}

/// A row for each player, the strongest first.
pub(crate) fn rows(table: Option<&RatingTable>) -> Vec<ListItem> {
    let shown = shown(table);
    let scale = Scale::of(table);
    let placed: Vec<(usize, &RatedPlayer)> = shown.iter().enumerate().collect();
    items(&placed, |(place, row)| {
        let key = format!("rating-{}", row.player.id);
        let html = rated(&key, row, is_apart(&shown[..*place], row), &scale);
        (key, html)
    })
}

fn shown(table: Option<&RatingTable>) -> &[RatedPlayer] {
    let rows = table.map_or(&[][..], |table| &table.rows);
    &rows[..rows.len().min(MAX_SHOWN)]
}

/// Whether all players above are surely stronger.
fn is_apart(above: &[RatedPlayer], row: &RatedPlayer) -> bool {
    let lowest = above.iter().map(|row| row.ranks.worst).max();
    lowest.is_some_and(|lowest| lowest < row.ranks.best)
}

fn rated(key: &str, row: &RatedPlayer, is_apart: bool, scale: &Scale) -> Markup {
    html! {
        tr.first[row.ranks.best == 1].apart[is_apart] id=(key) {
            td { (row.ranks) }
            th scope="row" { (bare_name(&row.player)) }
            td.interval {
                svg aria-hidden="true" {
                    line.mean x1=(scale.at(0)) x2=(scale.at(0)) y1="0" y2="100%" {}
                    line.span x1=(scale.at(row.low)) x2=(scale.at(row.high)) y1="50%" y2="50%" {}
                    circle cx=(scale.at(row.elo)) cy="50%" r="5" {}
                }
            }
            td {
                b { (shown_elo(row.elo)) }
                span.more { " " (shown_elo(row.low)) " to " (shown_elo(row.high)) }
            }
        }
    }
}

/// Maps strengths to places between the left and the right, in per cent.
struct Scale {
    low: i64,
    high: i64,
    marks: Vec<i64>,
}

impl Scale {
    fn of(table: Option<&RatingTable>) -> Self {
        let rows = shown(table).iter();
        let (lows, highs) = (rows.clone().map(|row| row.low), rows.map(|row| row.high));
        let least = lows.fold(-1, i64::min);
        let most = highs.fold(1, i64::max);
        let mut steps = [25, 50, 100, 200, 250, 500, 1_000].into_iter();
        let step = steps.find(|step| (most - least) / step < MAX_MARKS);
        let step = step.unwrap_or((most - least) / MAX_MARKS);
        // From mark to mark, so that the scale seldom changes from round to round.
        let first = least.div_euclid(step);
        let last = -(-most).div_euclid(step);
        Self {
            low: first * step,
            high: last * step,
            marks: (first..=last).map(|count| count * step).collect(),
        }
    }

    /// With room for the marks at both ends.
    fn at(&self, elo: i64) -> String {
        let share = (elo - self.low) as f64 / (self.high - self.low) as f64;
        format!("{:.1}%", 5.0 + 90.0 * share)
    }
}

/// A rating as it is shown: with its sign, as it stands around the mean.
fn shown_elo(elo: i64) -> String {
    match elo {
        ..0 => format!("−{}", elo.unsigned_abs()),
        0 => "0".to_owned(),
        1.. => format!("+{elo}"),
    }
}

/// How sure the order is, and what seat A is worth, in a few sentences.
pub(crate) fn sentence(table: &RatingTable) -> String {
    let first = table.rows.first().map_or("", |row| &row.player.name);
    let mut told = match table.luck {
        Some(percent) => format!(
            "The results show no more than luck: players of equal strength would differ as much in {percent} of 100 leagues."
        ),
        None => format!(
            "The results show more than luck. {first} is truly the strongest with a probability of {} %.",
            table.certainty
        ),
    };
    if let Some(seat) = &table.seat {
        told += " ";
        told += &seat.sentence();
    }
    told
}

/// The most rows of the all-time table on the page.
const MAX_ROWS: usize = 500;

/// The content of `<main>` on the page of a season.
pub(crate) fn season(season: &Season) -> Markup {
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
        @if let Some(table) = season.ratings() { (of_season(&table)) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PlayerRef;
    use league_core::rating::{Interval, RankGroup, SeatAdvantage};
    use league_protocol::id::PlayerId;

    fn table(luck: Option<u32>) -> RatingTable {
        let row = |number, elo| RatedPlayer {
            player: PlayerRef {
                id: PlayerId::numbered(number),
                name: format!("<{number}>"),
            },
            elo,
            low: elo - 90,
            high: elo + 95,
            ranks: RankGroup { best: 1, worst: 2 },
        };
        RatingTable {
            round: 3,
            matches: None,
            rows: vec![row(1, 40), row(2, -40)],
            luck,
            certainty: 81,
            seat: Some(SeatAdvantage {
                share: 0.62,
                interval: Interval {
                    low: 0.55,
                    high: 0.69,
                },
            }),
        }
    }

    #[test]
    fn ratings_show_intervals_and_say_if_it_is_luck() {
        let luck = words(Some(&table(Some(37)))).into_string();
        assert!(luck.contains("no more than luck"), "{luck}");
        assert!(luck.contains("in 37 of 100 leagues"), "{luck}");
        assert!(
            luck.contains("seat A wins 62 % of the decided matches (55–69 %): an advantage"),
            "{luck}"
        );
        let skill = words(Some(&table(None))).into_string();
        assert!(
            skill.contains("&lt;1&gt; is truly the strongest with a probability of 81 %"),
            "{skill}"
        );
        assert_eq!(
            words(None).into_string(),
            "<div id=\"ratings-words\"></div>"
        );
        assert_eq!(rows(None), []);
        assert_eq!(rows(Some(&table(None))).len(), 2);
    }

    #[test]
    fn interval_is_drawn_on_the_scale_of_all() {
        let table = table(None);
        let scale = Scale::of(Some(&table));
        assert_eq!(scale.marks, [-150, -100, -50, 0, 50, 100, 150]);
        let row = rated("rating-P01", &table.rows[0], false, &scale);
        insta::assert_snapshot!(row.into_string().replace("><", ">\n<"), @r#"
        <tr class="first" id="rating-P01">
        <td>1–2</td>
        <th scope="row">
        <bdi>&lt;1&gt;</bdi>
        </th>
        <td class="interval">
        <svg aria-hidden="true">
        <line class="mean" x1="50.0%" x2="50.0%" y1="0" y2="100%">
        </line>
        <line class="span" x1="35.0%" x2="90.5%" y1="50%" y2="50%">
        </line>
        <circle cx="62.0%" cy="50%" r="5">
        </circle>
        </svg>
        </td>
        <td>
        <b>+40</b>
        <span class="more"> −50 to +135</span>
        </td>
        </tr>
        "#);
    }

    #[test]
    fn line_parts_players_that_are_surely_weaker() {
        let ranks = |best, worst| RatedPlayer {
            ranks: RankGroup { best, worst },
            ..table(None).rows[0].clone()
        };
        let all = [ranks(1, 2), ranks(1, 2), ranks(3, 3), ranks(3, 4)];
        let apart: Vec<bool> = (0..4).map(|at| is_apart(&all[..at], &all[at])).collect();
        assert_eq!(apart, [false, false, true, false]);
    }

    #[test]
    fn scale_of_any_strengths_has_few_marks() {
        for (elo, error) in [(0, 0), (3, 1), (80, 90), (900, 1_400), (-40_000, 7)] {
            let mut table = table(None);
            table.rows.truncate(1);
            (table.rows[0].low, table.rows[0].high) = (elo - error, elo + error);
            let marks = Scale::of(Some(&table)).marks.len();
            assert!((2..=10).contains(&marks), "{elo} ± {error}: {marks}");
        }
    }
}
