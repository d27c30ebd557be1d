//! The tables of a league as CSV, JSON and Markdown: standings and results, and what its format shows.

mod views;

use league_core::league::standings::MatchEnding;
use league_core::league::{CountedResult, PlayerEntry, Tiebreaker};
use league_protocol::id::MatchId;
use league_protocol::message::{MatchStatus, StandingRow};
use serde_json::{Value, json};

use crate::league_view::{EndedMatch, LeagueObservations, LeagueView, round_of};
use crate::page::rating_sentence;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    Standings,
    /// Every match that is over, as it counts, in the order in which they ended.
    Matches,
    /// Each player in each round that has begun.
    Rounds,
    /// The ties of a bracket.
    Ties,
    /// The tables of groups.
    Groups,
    /// The order of a ladder.
    Ladder,
    /// The ratings after the last round that ended; no row if there are none.
    Ratings,
}

impl TableKind {
    pub const ALL: [Self; 7] = [
        Self::Standings,
        Self::Matches,
        Self::Rounds,
        Self::Ties,
        Self::Groups,
        Self::Ladder,
        Self::Ratings,
    ];

    /// The name in JSON and in commands; the heading begins with a capital.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standings => "standings",
            Self::Matches => "matches",
            Self::Rounds => "rounds",
            Self::Ties => "ties",
            Self::Groups => "groups",
            Self::Ladder => "ladder",
            Self::Ratings => "ratings",
        }
    }
}

/// The names of the columns, then the rows.
type Rows = (Vec<String>, Vec<Vec<String>>);

/// The tables that say something of a league.
fn kinds(view: &LeagueView) -> Vec<TableKind> {
    let kinds = [TableKind::Standings, TableKind::Matches];
    kinds.into_iter().chain(views::kinds(view)).collect()
}

/// A table as CSV (RFC 4180).
///
/// A cell that a spreadsheet would take for a formula is prefixed with an apostrophe.
pub fn csv(view: &LeagueView, table: TableKind) -> String {
    let (head, rows) = rows(view, table);
    let lines = std::iter::once(head).chain(rows);
    lines.map(|line: Vec<String>| csv_line(&line)).collect()
}

/// All tables as one object.
pub fn json(view: &LeagueView) -> Value {
    let league = view.league();
    let rules = league.rules();
    let listed = |table| {
        let (head, rows) = rows(view, table);
        let object = |row: Vec<String>| {
            let cells = head.iter().zip(row);
            let cells = cells.map(|(name, cell)| (name.clone(), value(name, cell)));
            Value::Object(cells.collect())
        };
        rows.into_iter().map(object).collect::<Vec<_>>()
    };
    let mut told = json!({
        "league_id": rules.league_id,
        "game_type": rules.game_type,
        "format": league.format_plan().format,
        "state": format!("{:?}", league.phase()).to_ascii_lowercase(),
        "ended_early": league.ended_early(),
        "matches_played": league.matches_played(),
        "matches_not_counted": league.uncounted_matches(),
        "ratings_note": view.ratings().map(rating_sentence),
    });
    for table in kinds(view) {
        told[table.name()] = listed(table).into();
    }
    told
}

/// All tables, with a heading each.
pub fn markdown(view: &LeagueView) -> String {
    let summary = view.summary(&LeagueObservations::default());
    let mut text = format!("# {}\n\n", cell(&summary.title));
    text += &format!(
        "{} · {} · {} players · {} of {} matches played{}\n",
        cell(&summary.league_id),
        cell(&summary.game_type),
        summary.players,
        view.league().matches_played(),
        view.league().total_matches(),
        match summary.uncounted {
            0 => String::new(),
            uncounted => format!(", {uncounted} of them not counted"),
        }
    );
    if view.league().ended_early() {
        text += "\nThe organiser ended the league early.\n";
    }
    for table in kinds(view) {
        let (first, rest) = table.name().split_at(1);
        let title = first.to_ascii_uppercase() + rest;
        let (head, rows) = rows(view, table);
        text += &format!("\n## {title}\n\n| {} |\n", head.join(" | "));
        text += &format!("|{}\n", "---|".repeat(head.len()));
        for row in rows {
            let cells: Vec<String> = row.iter().map(|text| cell(text)).collect();
            text += &format!("| {} |\n", cells.join(" | "));
        }
    }
    if let Some(table) = view.ratings() {
        text += &format!(
            "\nBradley–Terry after round {}. {}\n",
            table.round,
            cell(&rating_sentence(table))
        );
    }
    text
}

fn rows(view: &LeagueView, table: TableKind) -> Rows {
    match table {
        TableKind::Standings => {
            let (rows, numbers) = (view.league().standings(), view.numbers());
            let known: Vec<(&StandingRow, u32)> = rows
                .iter()
                .filter_map(|row| Some((row, *numbers.get(&row.player_id)?)))
                .collect();
            let (mut head, mut cells) = table_of(&STANDINGS_COLUMNS, known.iter().map(|it| it.0));
            head.push("out".to_owned());
            head.extend(tiebreaks(view, 0).into_iter().map(|(name, _)| name));
            for ((row, number), cells) in known.iter().zip(&mut cells) {
                let player = view.league().player(&row.player_id);
                let out = player.and_then(PlayerEntry::expulsion);
                cells.push(out.map_or("", |out| out.cause.word()).to_owned());
                cells.extend(
                    tiebreaks(view, *number)
                        .into_iter()
                        .map(|(_, figure)| figure),
                );
            }
            (head, cells)
        }
        TableKind::Rounds => views::rounds(view),
        TableKind::Ties => views::ties(view),
        TableKind::Groups => views::groups(view),
        TableKind::Ladder => views::ladder(view),
        TableKind::Ratings => views::ratings(view),
        TableKind::Matches => {
            let matches = view.ended_matches().map(|(id, ended)| FinishedMatch {
                view,
                id,
                ended,
                counted: view.league().counted_result(id),
            });
            table_of(&match_columns(), matches.collect::<Vec<_>>().iter())
        }
    }
}

/// A column: its name, and its cell of a row.
type Column<R> = (&'static str, fn(&R) -> String);

fn table_of<'r, R: 'r>(columns: &[Column<R>], rows: impl Iterator<Item = &'r R>) -> Rows {
    let head = columns.iter().map(|(name, _)| (*name).to_owned());
    let cells = |row: &R| columns.iter().map(|(_, cell)| cell(row)).collect();
    (head.collect(), rows.map(cells).collect())
}

/// The tiebreakers of the format that no other column tells, with what they say of a player.
fn tiebreaks(view: &LeagueView, player: u32) -> Vec<(String, String)> {
    let is_own = |by: &Tiebreaker| {
        !matches!(
            by,
            Tiebreaker::Wins | Tiebreaker::DrawDifference | Tiebreaker::TechnicalLosses
        )
    };
    let name = |by| match serde_json::to_value(by) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    };
    let figures = view.league().tiebreak_figures(player).into_iter();
    figures
        .filter(|(by, _)| is_own(by))
        .map(|(by, figure)| (name(by), figure.to_string()))
        .collect()
}

const STANDINGS_COLUMNS: [Column<StandingRow>; 9] = [
    ("rank", |row| row.shared_place().to_string()),
    ("player_id", |row| row.player_id.to_string()),
    ("display_name", |row| row.display_name.to_string()),
    ("played", |row| row.played.to_string()),
    ("wins", |row| row.wins.to_string()),
    ("draws", |row| row.draws.to_string()),
    ("losses", |row| row.losses.to_string()),
    ("technical_losses", |row| row.technical_losses.to_string()),
    ("points", |row| row.points.to_string()),
];

/// A row of the table of matches.
struct FinishedMatch<'v> {
    view: &'v LeagueView,
    id: &'v MatchId,
    ended: &'v EndedMatch,
    counted: CountedResult,
}

const fn match_columns<'v>() -> [Column<FinishedMatch<'v>>; 18] {
    [
        ("match_id", |row| row.id.to_string()),
        ("round_id", |row| round_of(row.id).to_string()),
        ("recorded_at", |row| row.ended.at.to_millis_text()),
        ("referee_id", |row| text(row.ended.referee.as_ref())),
        ("player_A_id", |row| row.ended.players[0].to_string()),
        ("player_A_name", |row| row.name(0)),
        ("player_B_id", |row| row.ended.players[1].to_string()),
        ("player_B_name", |row| row.name(1)),
        ("status", |row| row.status().to_owned()),
        ("winner", |row| row.winner()),
        ("points_A", |row| row.points(0).to_string()),
        ("points_B", |row| row.points(1).to_string()),
        ("choice_A", |row| row.choice(0)),
        ("choice_B", |row| row.choice(1)),
        ("reason", |row| match &row.ended.result {
            Some(result) => result.reason.clone(),
            None => String::new(),
        }),
        // Why it counts in another way, if it does, and how it was recorded.
        ("note", |row| row.counted.note().unwrap_or_default()),
        ("recorded_status", |row| row.recorded_status().to_owned()),
        ("recorded_winner", |row| row.recorded_winner()),
    ]
}

impl FinishedMatch<'_> {
    fn name(&self, seat: usize) -> String {
        self.view.player_ref(&self.ended.players[seat]).name
    }

    /// How it counts.
    fn status(&self) -> &'static str {
        match self.counted.ending() {
            None => "NOT_COUNTED",
            Some(MatchEnding::Win(_)) => status(MatchStatus::Win),
            Some(MatchEnding::Draw) => status(MatchStatus::Draw),
            Some(MatchEnding::Forfeit(_) | MatchEnding::BothForfeit) => {
                status(MatchStatus::TechnicalLoss)
            }
            Some(MatchEnding::BothLose) => "BOTH_LOSE",
        }
    }

    fn winner(&self) -> String {
        let winner = self.counted.ending().and_then(MatchEnding::winner);
        text(winner.map(|seat| &self.ended.players[seat]))
    }

    fn points(&self, seat: usize) -> u32 {
        let score = &self.view.league().rules().score;
        let ending = self.counted.ending();
        ending.map_or(0, |ending| ending.points(seat, score))
    }

    fn recorded_status(&self) -> &'static str {
        let result = self.ended.result.as_ref();
        result.map_or("", |result| status(result.status))
    }

    fn recorded_winner(&self) -> String {
        let result = self.ended.result.as_ref();
        text(result.and_then(|result| result.winner.as_ref()))
    }

    fn choice(&self, seat: usize) -> String {
        let result = self.ended.result.as_ref();
        match result.and_then(|result| result.choices.get(&self.ended.players[seat])) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        }
    }
}

pub(crate) fn text(id: Option<&impl ToString>) -> String {
    id.map(ToString::to_string).unwrap_or_default()
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

fn csv_cell(text: &str) -> String {
    let is_number = text.parse::<i64>().is_ok();
    let formula = !is_number && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
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

/// A cell as a number, a string or null, by its column.
fn value(column: &str, cell: String) -> Value {
    match column {
        "winner" | "referee_id" | "choice_A" | "choice_B" | "note" | "recorded_status"
        | "recorded_winner" | "opponent_id" | "match_id" | "seat" | "result" | "points" | "tie"
        | "player_1_id" | "player_2_id" | "goes_on"
            if cell.is_empty() =>
        {
            Value::Null
        }
        "display_name" | "player_A_name" | "player_B_name" | "reason" | "choice_A" | "choice_B" => {
            cell.into()
        }
        "goes_on" => Value::Bool(cell == "true"),
        "sonneborn_berger" => cell
            .parse::<f64>()
            .map_or_else(|_| cell.into(), Value::from),
        _ => cell
            .parse::<i64>()
            .map_or_else(|_| cell.into(), Value::from),
    }
}

/// Escapes a cell for Markdown.
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
