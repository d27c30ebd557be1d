//! `league watch`: the live standings of a running league.
//!
//! On a terminal they are drawn several times a second, elsewhere they are printed when they change.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::Args;
use league_protocol::message::StandingRow;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{LineGauge, Row, Table};
use ratatui::{DefaultTerminal, Frame};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::sync::watch::{self, Receiver};

use crate::cli::arguments::CommonArgs;
use crate::cli::failure::CommandError;
use crate::cli::inquiry::{manager_client, progress};
use crate::cli::network::TrustArgs;
use crate::cli::runtime::{Signals, runtime};
use crate::cli::stored::last_state;
use crate::cli::text::{COLUMNS, figures, one_line, print_object, print_standings};
use crate::cli::{Exit, Output};
use crate::log::escape;
use crate::storage::root::Root;
use crate::wire::ask::{AskError, Health, ManagerClient, State};

/// How long to wait between two questions to the manager.
const POLL: Duration = Duration::from_millis(250);
/// How many times in a row a manager may not answer, about a minute.
const MAX_MISSES: u32 = 240;
/// How many rows of the standings are printed.
const MAX_ROWS: usize = 50;

/// Show the live standings of a running league
///
/// On a terminal, `q` quits. Elsewhere, or with --output json, the standings are printed whenever
/// they change, until the league is over.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league watch
  league watch http://localhost:9000/mcp            or with --manager, as elsewhere
  league watch --output json | jq '.standings[0].display_name'")]
pub(crate) struct WatchArgs {
    /// Address of the league manager [default: from config, http://localhost:8000/mcp]
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// The same, as the other commands take it
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    manager: Option<String>,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    common: CommonArgs,
}

impl WatchArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let endpoint = self.manager.as_deref().or(self.url.as_deref());
        let manager = manager_client(&self.common, endpoint, &self.trust)?;
        let watcher = Watcher::new(manager, self.common.root());
        let runtime = runtime()?;
        if self.common.output == Output::Text && io::stdout().is_terminal() {
            return draw_until_quit(&runtime, watcher);
        }
        runtime.block_on(print_changes(watcher, self, out))
    }
}

/// The last known state of a league.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WatchState {
    /// The manager's address.
    endpoint: String,
    /// The league when the manager last answered.
    seen: Option<LeagueSnapshot>,
    /// Why the manager does not answer now.
    away: Option<String>,
}

/// A league as its manager reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LeagueSnapshot {
    health: Health,
    rows: Vec<StandingRow>,
}

impl WatchState {
    fn is_over(&self) -> bool {
        let seen = self.seen.as_ref();
        seen.is_some_and(|seen| seen.health.state == State::Completed)
    }
}

/// Polls a league.
#[derive(Debug)]
struct Watcher {
    manager: ManagerClient,
    /// The files of the league, if they are here.
    root: Root,
    state: WatchState,
}

impl Watcher {
    fn new(manager: ManagerClient, root: Root) -> Self {
        let state = WatchState {
            endpoint: manager.endpoint().to_string(),
            seen: None,
            away: None,
        };
        Self {
            manager,
            root,
            state,
        }
    }

    /// Polls once. If the manager does not answer, the state is unchanged, unless the files of the
    /// league hold its end: `league run` exits after its last match.
    async fn look(&mut self) {
        match self.ask().await {
            Ok(None) => {}
            Ok(Some(seen)) => self.saw(seen),
            Err(error) => match self.last_snapshot() {
                Some(seen) => self.saw(seen),
                // The first cause is more informative than its consequences.
                None => {
                    self.state.away.get_or_insert_with(|| error.to_string());
                }
            },
        }
    }

    fn saw(&mut self, seen: LeagueSnapshot) {
        self.state.seen = Some(seen);
        self.state.away = None;
    }

    fn last_snapshot(&self) -> Option<LeagueSnapshot> {
        let seen = self.state.seen.as_ref()?;
        let (health, rows) = last_state(&self.root, &seen.health)?;
        Some(LeagueSnapshot { health, rows })
    }

    /// Asks for the standings only after a change, because they can be large.
    async fn ask(&self) -> Result<Option<LeagueSnapshot>, AskError> {
        let health = self.manager.health().await?;
        let same = |seen: &LeagueSnapshot| seen.health == health && self.state.away.is_none();
        if self.state.seen.as_ref().is_some_and(same) {
            return Ok(None);
        }
        let rows = self.manager.standings().await?;
        Ok(Some(LeagueSnapshot { health, rows }))
    }
}

/// Prints the standings when they change, until the league is over.
async fn print_changes(
    mut watcher: Watcher,
    asked: &WatchArgs,
    out: &mut impl Write,
) -> Result<Exit, CommandError> {
    let common = &asked.common;
    let mut signals = Signals::new()?;
    let mut printed = None;
    let mut misses = 0;
    loop {
        tokio::select! {
            () = signals.interrupted() => return interrupted(&watcher.state, asked, out),
            () = watcher.look() => {}
        }
        let state = &watcher.state;
        if printed.as_ref() != Some(state) {
            print(state, common, out)?;
            printed = Some(state.clone());
        }
        if state.is_over() {
            if common.talks() {
                writeln!(out, "the league is over")?;
            }
            return Ok(Exit::Yes);
        }
        misses = match &state.away {
            Some(cause) if misses >= MAX_MISSES => return Err(lost(state, cause)),
            Some(_) => misses + 1,
            None => 0,
        };
        tokio::select! {
            () = signals.interrupted() => return interrupted(&watcher.state, asked, out),
            () = tokio::time::sleep(POLL) => {}
        }
    }
}

fn print(state: &WatchState, common: &CommonArgs, out: &mut impl Write) -> io::Result<()> {
    let endpoint = &state.endpoint;
    let as_json = common.output == Output::Json;
    match (&state.away, &state.seen) {
        (Some(cause), _) if as_json => {
            let object = json!({"event": "away", "manager": endpoint, "cause": cause});
            print_object(out, &object)?;
        }
        (Some(cause), _) => writeln!(out, "no answer from {endpoint}: {cause}; still trying")?,
        (None, Some(seen)) if as_json => {
            let mut object = json!(seen.health);
            object["event"] = "table".into();
            object["standings"] = json!(seen.rows);
            print_object(out, &object)?;
        }
        (None, Some(seen)) => {
            writeln!(out, "{}", progress(&seen.health))?;
            print_standings(out, &seen.rows, MAX_ROWS, &seen.health.out)?;
            writeln!(out)?;
        }
        (None, None) => {}
    }
    out.flush()
}

fn interrupted(
    state: &WatchState,
    asked: &WatchArgs,
    out: &mut impl Write,
) -> Result<Exit, CommandError> {
    if asked.common.talks() {
        let (endpoint, ca) = (&state.endpoint, asked.trust.flag());
        writeln!(out, "continue with `league watch {endpoint}{ca}`")?;
    }
    Ok(Exit::Interrupted)
}

fn lost(state: &WatchState, cause: &str) -> CommandError {
    let (what, hint) = if state.seen.is_some() {
        (
            "lost the league",
            "start the manager again with the same command, then watch on",
        )
    } else {
        (
            "found no league to watch",
            "start one with `league manager`, or give the URL of another",
        )
    };
    let cause = format!("no answer from {}: {cause}", state.endpoint);
    CommandError::world(what, cause, hint)
}

/// Draws the league on the terminal until a key or a signal quits.
fn draw_until_quit(runtime: &Runtime, mut watcher: Watcher) -> Result<Exit, CommandError> {
    let mut signals = {
        let _inside = runtime.enter();
        Signals::new()?
    };
    let (tell, seen) = watch::channel(watcher.state.clone());
    runtime.spawn(async move {
        loop {
            tokio::select! {
                // The end of the sender tells the receiver.
                () = signals.interrupted() => return,
                () = watcher.look() => {}
            }
            tell.send_replace(watcher.state.clone());
            tokio::select! {
                () = signals.interrupted() => return,
                () = tokio::time::sleep(POLL) => {}
            }
        }
    });
    let drawn = ratatui::try_init().and_then(|mut terminal| keep_drawing(&mut terminal, &seen));
    let restored = ratatui::try_restore();
    drawn.and(restored).map_err(|error| {
        let hint = "print the standings instead with `league watch --output json`";
        CommandError::world("could not draw on the terminal", error.to_string(), hint)
    })?;
    Ok(Exit::Yes)
}

fn keep_drawing(terminal: &mut DefaultTerminal, seen: &Receiver<WatchState>) -> io::Result<()> {
    while seen.has_changed().is_ok() {
        let state = seen.borrow().clone();
        terminal.draw(|frame| draw(frame, &state))?;
        if event::poll(POLL)?
            && let Event::Key(key) = event::read()?
            && quits(key)
        {
            break;
        }
    }
    Ok(())
}

fn quits(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press
        && match key.code {
            KeyCode::Char('q') | KeyCode::Esc => true,
            KeyCode::Char('c') => control,
            _ => false,
        }
}

/// Draws a league; depends only on its state.
fn draw(frame: &mut Frame<'_>, state: &WatchState) {
    let rows = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ];
    let [title, gauge, _, table, footer] = Layout::vertical(rows).areas(frame.area());
    match &state.seen {
        Some(seen) => {
            frame.render_widget(Line::from(progress(&seen.health)).bold(), title);
            draw_gauge(frame, &seen.health, gauge);
            draw_standings(frame, seen, table);
        }
        None => frame.render_widget(Line::from("waiting for the league manager").bold(), title),
    }
    frame.render_widget(last_line(state), footer);
}

fn draw_gauge(frame: &mut Frame<'_>, health: &Health, area: Rect) {
    let percent = health.matches_played.saturating_mul(100);
    let percent = percent.checked_div(health.matches).unwrap_or(0).min(100);
    let gauge = LineGauge::default()
        .ratio(percent as f64 / 100.0)
        .label(format!("{percent:>3}%"))
        .filled_symbol("█")
        .unfilled_symbol("░")
        .unfilled_style(Style::new().dim());
    frame.render_widget(gauge, area);
}

/// Draws the rows that fit, and how many do not.
fn draw_standings(frame: &mut Frame<'_>, seen: &LeagueSnapshot, area: Rect) {
    let rows = &seen.rows;
    const HEADING: usize = 1;
    let room = usize::from(area.height).saturating_sub(HEADING);
    let fit = if rows.len() <= room {
        rows.len()
    } else {
        room.saturating_sub(1)
    };
    let cells = |row: &StandingRow| {
        let (rank, id) = (row.place(), row.player_id.to_string());
        // The terminal is drawn past the screen that escapes other output.
        let name = match seen.health.out.get(&row.player_id) {
            Some(out) => format!("{} ({out})", row.display_name),
            None => row.display_name.to_string(),
        };
        let name = escape(&one_line(&name)).into_owned();
        aligned(rank, id, name, figures(row))
    };
    let mut lines: Vec<Row<'_>> = rows[..fit].iter().map(cells).collect();
    if fit < rows.len() {
        let more = format!("and {} more", rows.len() - fit);
        lines.push(Row::new(["".to_owned(), "".to_owned(), more]));
    }
    let columns = COLUMNS.map(str::to_owned);
    let heading = aligned(
        "#".to_owned(),
        "id".to_owned(),
        "player".to_owned(),
        columns,
    );
    let widths = [4, 6, 28, 6, 5, 5, 5, 6].map(Constraint::Max);
    let table = Table::new(lines, widths)
        .header(heading.bold())
        .column_spacing(2);
    frame.render_widget(table, area);
}

/// A row of cells: names to the left, numbers to the right.
fn aligned(rank: String, id: String, name: String, figures: [String; 5]) -> Row<'static> {
    let names = [Text::from(rank).right_aligned(), id.into(), name.into()];
    let figures = figures.map(|figure| Text::from(figure).right_aligned());
    Row::new(names.into_iter().chain(figures))
}

fn last_line(state: &WatchState) -> Line<'_> {
    let endpoint = &state.endpoint;
    match &state.away {
        Some(cause) => Line::from(format!(
            "q quits · no answer from {endpoint}: {cause}; still trying"
        ))
        .reversed(),
        None if state.is_over() => Line::from("q quits · the league is over").reversed(),
        None => Line::from(format!("q quits · {endpoint}")).dim(),
    }
}

#[cfg(test)]
mod tests;
