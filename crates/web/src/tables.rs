//! The results of a league as plain tables: CSV, JSON, Markdown.

use league_protocol::id::MatchId;
use league_protocol::message::{MatchStatus, StandingRow};
use serde_json::{Value, json};

use crate::league_view::{LeagueObservations, LeagueView, RecordedResult, round_of};

/// Which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Who stands where.
    Standings,
    /// Every match that is over, in the order in which they ended.
    Matches,
}

/// A table as texts: the names of its columns, then its rows.
type Rows = (Vec<&'static str>, Vec<Vec<String>>);

/// A table with a comma between cells, as RFC 4180 has it.
///
/// A name that a spreadsheet would take for a formula gets an apostrophe before it.
pub fn csv(view: &LeagueView, table: TableKind) -> String {
    let (head, rows) = rows(view, table);
    let head = head.into_iter().map(str::to_owned).collect();
    let lines = std::iter::once(head).chain(rows);
    lines.map(|line: Vec<String>| csv_line(&line)).collect()
}

/// Both tables as one object.
pub fn json(view: &LeagueView) -> Value {
    let league = view.league();
    let rules = league.rules();
    let listed = |table| {
        let (head, rows) = rows(view, table);
        let object = |row: Vec<String>| {
            let cells = head.iter().zip(row);
            let cells = cells.map(|(name, cell)| ((*name).to_owned(), value(name, cell)));
            Value::Object(cells.collect())
        };
        rows.into_iter().map(object).collect::<Vec<_>>()
    };
    json!({
        "league_id": rules.league_id,
        "game_type": rules.game_type,
        "state": format!("{:?}", league.phase()).to_ascii_lowercase(),
        "matches_played": league.matches_played(),
        "standings": listed(TableKind::Standings),
        "matches": listed(TableKind::Matches),
    })
}

/// Both tables with a heading each.
pub fn markdown(view: &LeagueView) -> String {
    let summary = view.summary(&LeagueObservations::default());
    let mut text = format!("# {}\n\n", cell(&summary.title));
    text += &format!(
        "{} · {} · {} players · {} of {} matches played\n",
        cell(&summary.league_id),
        cell(&summary.game_type),
        summary.players,
        view.league().matches_played(),
        view.league().schedule().total_matches()
    );
    for (title, table) in [
        ("Standings", TableKind::Standings),
        ("Matches", TableKind::Matches),
    ] {
        let (head, rows) = rows(view, table);
        text += &format!("\n## {title}\n\n| {} |\n", head.join(" | "));
        text += &format!("|{}\n", "---|".repeat(head.len()));
        for row in rows {
            let cells: Vec<String> = row.iter().map(|text| cell(text)).collect();
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    text
}

fn rows(view: &LeagueView, table: TableKind) -> Rows {
    match table {
        TableKind::Standings => standings(view),
        TableKind::Matches => matches(view),
    }
}

fn standings(view: &LeagueView) -> Rows {
    let head = vec![
        "rank",
        "player_id",
        "display_name",
        "played",
        "wins",
        "draws",
        "losses",
        "technical_losses",
        "points",
    ];
    let row = |row: &StandingRow| {
        vec![
            row.rank.to_string(),
            row.player_id.to_string(),
            row.display_name.to_string(),
            row.played.to_string(),
            row.wins.to_string(),
            row.draws.to_string(),
            row.losses.to_string(),
            row.technical_losses.to_string(),
            row.points.to_string(),
        ]
    };
    (head, view.league().standings().iter().map(row).collect())
}

fn matches(view: &LeagueView) -> Rows {
    let head = vec![
        "match_id",
        "round_id",
        "recorded_at",
        "referee_id",
        "player_A_id",
        "player_A_name",
        "player_B_id",
        "player_B_name",
        "status",
        "winner",
        "points_A",
        "points_B",
        "choice_A",
        "choice_B",
        "reason",
    ];
    let rows = view
        .results()
        .map(|(match_id, recorded): (&MatchId, &RecordedResult)| {
            let result = &recorded.result;
            let name = |seat: usize| view.player_ref(&result.players[seat]).name;
            let choice = |seat: usize| match result.choices.get(&result.players[seat]) {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            let winner = result.winner.as_ref().map(ToString::to_string);
            let referee = recorded.referee.as_ref().map(ToString::to_string);
            vec![
                match_id.to_string(),
                round_of(match_id).to_string(),
                recorded.at.to_millis_text(),
                referee.unwrap_or_default(),
                result.players[0].to_string(),
                name(0),
                result.players[1].to_string(),
                name(1),
                status(result.status).to_owned(),
                winner.unwrap_or_default(),
                result.points[0].to_string(),
                result.points[1].to_string(),
                choice(0),
                choice(1),
                result.reason.clone(),
            ]
        });
    (head, rows.collect())
}

fn status(status: MatchStatus) -> &'static str {
    match status {
        MatchStatus::Win => "WIN",
        MatchStatus::Draw => "DRAW",
        MatchStatus::TechnicalLoss => "TECHNICAL_LOSS",
    }
}

fn csv_line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|text| csv_cell(text)).collect();
    cells.join(",") + "\r\n"
}

/// A cell; quoted if it has to be.
fn csv_cell(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// A cell as what it is: a number, a text, or nothing.
fn value(column: &str, cell: String) -> Value {
    match column {
        "winner" | "referee_id" | "choice_A" | "choice_B" if cell.is_empty() => Value::Null,
        "display_name" | "player_A_name" | "player_B_name" | "reason" | "choice_A" | "choice_B" => {
            cell.into()
        }
        _ => cell
            .parse::<u64>()
            .map_or_else(|_| cell.into(), Value::from),
    }
}

/// A cell of Markdown: what would end it, or begin something else, is written as text.
fn cell(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' => written.push(' '),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '!' => {
                written.push('\\');
                written.push(letter);
            }
            _ => written.push(letter),
        }
    }
    written
}
