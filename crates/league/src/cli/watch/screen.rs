//! How a league looks on a terminal: a function of what was seen, and of nothing else.

use league_protocol::message::StandingRow;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{LineGauge, Row, Table};

use super::super::asking::progress;
use super::scene::{Scene, Seen};

/// Draws a league.
pub(super) fn draw(frame: &mut Frame<'_>, scene: &Scene) {
    let rows = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ];
    let [title, gauge, _, table, footer] = Layout::vertical(rows).areas(frame.area());
    match &scene.seen {
        Some(seen) => {
            frame.render_widget(Line::from(progress(&seen.health)).bold(), title);
            draw_gauge(frame, seen, gauge);
            draw_table(frame, &seen.rows, table);
        }
        None => frame.render_widget(Line::from("waiting for the league manager").bold(), title),
    }
    frame.render_widget(last_line(scene), footer);
}

fn draw_gauge(frame: &mut Frame<'_>, seen: &Seen, area: Rect) {
    let (played, matches) = (seen.health.matches_played, seen.health.matches);
    let percent = played.saturating_mul(100).checked_div(matches);
    let percent = percent.unwrap_or(0).min(100);
    let gauge = LineGauge::default()
        .ratio(percent as f64 / 100.0)
        .label(format!("{percent:>3}%"))
        .filled_symbol("█")
        .unfilled_symbol("░")
        .unfilled_style(Style::new().dim());
    frame.render_widget(gauge, area);
}

/// The rows that fit, and how many do not.
fn draw_table(frame: &mut Frame<'_>, rows: &[StandingRow], area: Rect) {
    const HEADING: usize = 1;
    let room = usize::from(area.height).saturating_sub(HEADING);
    let fit = if rows.len() <= room {
        rows.len()
    } else {
        room.saturating_sub(1)
    };
    let mut lines: Vec<Row<'_>> = rows[..fit].iter().map(row).collect();
    if fit < rows.len() {
        let more = format!("and {} more", rows.len() - fit);
        lines.push(Row::new(["".to_owned(), "".to_owned(), more]));
    }
    let heading = [
        "#", "id", "player", "played", "won", "drawn", "lost", "points",
    ];
    let heading = heading.into_iter().enumerate();
    let heading = heading.map(|(column, text)| aligned(column, text.to_owned()));
    let widths = [4, 6, 28, 6, 5, 5, 5, 6].map(Constraint::Max);
    let table = Table::new(lines, widths)
        .header(Row::new(heading).bold())
        .column_spacing(2);
    frame.render_widget(table, area);
}

fn row(row: &StandingRow) -> Row<'_> {
    let cells = [
        row.rank.to_string(),
        row.player_id.to_string(),
        row.display_name.to_string(),
        row.played.to_string(),
        row.wins.to_string(),
        row.draws.to_string(),
        row.losses.to_string(),
        row.points.to_string(),
    ];
    let cells = cells.into_iter().enumerate();
    Row::new(cells.map(|(column, text)| aligned(column, text)))
}

/// Names begin at the left, numbers end at the right.
fn aligned(column: usize, text: String) -> Text<'static> {
    match column {
        1 | 2 => Text::from(text),
        _ => Text::from(text).right_aligned(),
    }
}

fn last_line(scene: &Scene) -> Line<'_> {
    let endpoint = &scene.endpoint;
    match &scene.away {
        Some(cause) => Line::from(format!(
            "q quits · no answer from {endpoint}: {cause}; still trying"
        ))
        .reversed(),
        None if scene.is_over() => Line::from("q quits · the league is over").reversed(),
        None => Line::from(format!("q quits · {endpoint}")).dim(),
    }
}

#[cfg(test)]
mod tests;
