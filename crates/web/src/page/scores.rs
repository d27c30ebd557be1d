//! The rounds of each player, as tables of Swiss tournaments show them: opponent, seat and result,
//! and below them the points after the round; in groups of equal points.

use maud::{Markup, html};

use super::Links;
use super::format::{bare_name, counted, grouped, mark, name};
use super::rows::items;
use crate::model::{PlayerRef, ScoreCell, ScoreRow, ScoreTable};
use crate::parts::ListItem;

pub(crate) fn head(table: &ScoreTable) -> Markup {
    html! {
        tr #score-head {
            th scope="col" { abbr title="Rank" { "#" } }
            th.text scope="col" { "Player" }
            th scope="col" { abbr title="Points" { "Pts" } }
            @for round in table.before + 1..=table.last { th scope="col" { abbr title={ "Round " (round) } { (round) } } }
            @for by in &table.tiebreakers { th scope="col" { (by) } }
        }
    }
}

fn shown_rounds(table: &ScoreTable) -> usize {
    (table.last - table.before) as usize
}

/// A row for each player, and one before each group of equal points.
pub(crate) fn rows(table: &ScoreTable, links: Links) -> Vec<ListItem> {
    let mut all = Vec::with_capacity(table.rows.len());
    for group in table.rows.chunk_by(|one, other| one.points == other.points) {
        all.extend(items(&group[..1], |first| {
            (group_key(first), group_row(table, first))
        }));
        all.extend(items(group, |row| {
            (row_key(row), player_row(table, row, links))
        }));
    }
    // Players that were put out come last with any points: a group has one row at the top.
    let mut known = std::collections::BTreeSet::new();
    all.retain(|item| known.insert(item.key.clone()));
    all
}

fn group_key(row: &ScoreRow) -> String {
    format!("score-group-{}", row.points)
}

fn row_key(row: &ScoreRow) -> String {
    format!("score-{}", row.player.id)
}

fn group_row(table: &ScoreTable, first: &ScoreRow) -> Markup {
    let columns = 3 + shown_rounds(table) + table.tiebreakers.len();
    html! {
        tr.group id=(group_key(first)) {
            td colspan=(columns) {
                span { (counted(first.points.into(), "point", "points")) " · " (counted(first.group as u64, "player", "players")) }
            }
        }
    }
}

fn player_row(table: &ScoreTable, row: &ScoreRow, links: Links) -> Markup {
    let missing = shown_rounds(table).saturating_sub(row.cells.len());
    html! {
        tr id=(row_key(row)) {
            td { (row.place) }
            th scope="row" { span.id { (row.player.id) } a href=(links.of_player(&row.player.id)) { (name(&row.player)) } }
            td.sum { (row.points) }
            @for cell in &row.cells { (round(cell, links)) }
            @for _ in 0..missing { td {} }
            @for (figure, by) in row.figures.iter().zip(&table.tiebreakers) {
                @if row.decided_by == Some(*by) { td.decided { (figure) } } @else { td { (figure) } }
            }
        }
    }
}

fn round(cell: &ScoreCell, links: Links) -> Markup {
    html! {
        @match cell {
            ScoreCell::Played { match_id, opponent, seat, outcome, points } => td {
                a href=(links.of_match(match_id)) {
                    @match outcome { Some(outcome) => (mark(*outcome)), None => b.now { "…" } }
                    span.hush { " against " (bare_name(opponent)) ", seat " }
                    span aria-hidden="true" { (number(opponent)) }
                    (["a", "b"][*seat])
                }
                span.after { (points) }
            },
            ScoreCell::Bye { points } => td { span.bye { "bye" } span.after { (points) } },
            ScoreCell::Out => td.none { "–" },
        }
    }
}

/// The number in an id: 7 of `P07`.
fn number(player: &PlayerRef) -> &str {
    let digits = player
        .id
        .as_str()
        .trim_start_matches(|letter: char| !letter.is_ascii_digit());
    digits.trim_start_matches('0')
}

/// How many players are left out, and which rounds are shown if not all are.
pub(crate) fn note(table: &ScoreTable) -> Markup {
    let is_whole = shown_rounds(table) == table.rounds as usize;
    html! {
        p #score-note .more {
            @if table.unlisted > 0 { "and " (grouped(table.unlisted as u64)) " more, each on its page. " }
            @if !is_whole { "The table shows rounds " (table.before + 1) " to " (table.last) " of " (grouped(table.rounds.into())) "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SeatOutcome;
    use crate::page::tests::models;

    fn lines(items: Vec<ListItem>) -> String {
        let html = items.into_iter().map(|item| item.html);
        html.collect::<Vec<_>>()
            .join("\n")
            .replace("><tr", ">\n<tr")
    }

    #[test]
    fn score_groups_have_a_heading_and_rounds_a_cell() {
        let mut table = models::views().scores;
        table.rows[1].player = models::player(12, "Grace");
        table.rows[1].decided_by = Some("Buchholz");
        insta::assert_snapshot!(lines(rows(&table, Links::Site)), @r##"
        <tr class="group" id="score-group-3"><td colspan="7"><span>3 points · 1 player</span></td></tr>
        <tr id="score-P01"><td>1</td><th scope="row"><span class="id">P01</span><a href="player/P01"><svg class="face c1" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh0"></use><use href="#fe1"></use><use href="#fm1"></use></svg><bdi>Ada</bdi></a></th><td class="sum">3</td><td><a href="match/R1M1"><b class="w">W</b><span class="hush"> against <bdi>&lt;script&gt;alert(1)&lt;/script&gt;&quot; onmouseover=&quot;x' &amp;amp;</bdi>, seat </span><span aria-hidden="true">2</span>a</a><span class="after">3</span></td><td><span class="bye">bye</span><span class="after">6</span></td><td></td><td>4.5</td></tr>
        <tr class="group" id="score-group-0"><td colspan="7"><span>0 points · 1 player</span></td></tr>
        <tr id="score-P12"><td>2</td><th scope="row"><span class="id">P12</span><a href="player/P12"><svg class="face c0" viewBox="0 0 24 24" aria-hidden="true"><use href="#fh1"></use><use href="#fe2"></use><use href="#fm5"></use></svg><bdi>Grace</bdi></a></th><td class="sum">0</td><td><a href="match/R1M1"><b class="t">T</b><span class="hush"> against <bdi>Ada</bdi>, seat </span><span aria-hidden="true">1</span>b</a><span class="after">0</span></td><td><span class="bye">bye</span><span class="after">6</span></td><td></td><td class="decided">4.5</td></tr>
        "##);
    }

    #[test]
    fn group_is_headed_once_though_a_player_was_put_out() {
        let mut table = models::views().scores;
        let out = ScoreRow {
            player: models::player(3, "Out"),
            ..table.rows[0].clone()
        };
        table.rows.push(out);
        let keys = rows(&table, Links::Site).into_iter().map(|item| item.key);
        let keys: Vec<String> = keys.collect();
        assert_eq!(
            keys,
            [
                "score-group-3",
                "score-P01",
                "score-group-0",
                "score-P02",
                "score-P03"
            ]
        );
    }

    #[test]
    fn note_tells_the_rounds_that_are_shown() {
        let mut table = models::views().scores;
        assert!(!note(&table).into_string().contains("rounds"));
        (table.before, table.last, table.rounds) = (936, 1_000, 64_000);
        let told = note(&table).into_string();
        assert!(told.contains("rounds 937 to 1000 of 64,000"), "{told}");
        let head = head(&table).into_string();
        assert_eq!(head.matches("Round ").count(), 64);
        assert!(head.contains("Round 937\""), "{head}");
    }

    #[test]
    fn match_that_is_played_has_no_outcome_yet() {
        let mut table = models::views().scores;
        let ScoreCell::Played { outcome, .. } = &mut table.rows[0].cells[0] else {
            unreachable!("it has an opponent");
        };
        assert_eq!(outcome.take(), Some(SeatOutcome::Won));
        assert!(lines(rows(&table, Links::File)).contains("<b class=\"now\">…</b>"));
    }
}
