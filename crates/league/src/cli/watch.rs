//! `league watch`: the live table of a running league.
//!
//! On a terminal it is drawn anew several times a second, elsewhere it is printed when it changes.

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
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch::{self, Receiver};

use crate::cli::arguments::Common;
use crate::cli::failure::{Failure, Kind};
use crate::cli::inquiry::{inquirer, progress};
use crate::cli::leagues::last_state;
use crate::cli::runtime::{Signals, runtime};
use crate::cli::text::standings;
use crate::cli::{Answer, Output};
use crate::storage::root::Root;
use crate::wire::ask::{AskError, Health, ManagerClient, State};

/// How long to wait before the manager is asked again.
const GAP: Duration = Duration::from_millis(250);

/// Show the live table of a running league
///
/// On a terminal, `q` quits. Elsewhere, or with --output json, the table is printed whenever it
/// changes, until the league is over.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league watch
  league watch http://localhost:9000/mcp            or with --manager, as elsewhere
  league watch --output json | jq '.standings[0].display_name'")]
pub(crate) struct Watch {
    /// Where the league manager answers [default: from config, http://localhost:8000/mcp]
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// The same, as the other commands take it
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    manager: Option<String>,
    #[command(flatten)]
    common: Common,
}

impl Watch {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let watcher = Watcher::new(
            inquirer(
                &self.common,
                self.manager.as_deref().or(self.url.as_deref()),
            )?,
            self.common.root(),
        );
        let runtime = runtime()?;
        if self.common.output == Output::Text && io::stdout().is_terminal() {
            return draw_until_quit(&runtime, watcher);
        }
        runtime.block_on(print_changes(watcher, &self.common, out))
    }
}

/// What was last seen of a league.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scene {
    /// Where the manager should answer.
    pub(crate) endpoint: String,
    /// The league when the manager last answered.
    pub(crate) seen: Option<Seen>,
    /// Why the manager does not answer now.
    pub(crate) away: Option<String>,
}

/// A league as its manager tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) health: Health,
    pub(crate) rows: Vec<StandingRow>,
}

impl Scene {
    /// Whether nothing more will happen.
    pub(crate) fn is_over(&self) -> bool {
        let seen = self.seen.as_ref();
        seen.is_some_and(|seen| seen.health.state == State::Completed)
    }
}

/// Looks at a league again and again.
#[derive(Debug)]
pub(crate) struct Watcher {
    inquirer: ManagerClient,
    /// Where the league keeps its files, if it is here.
    root: Root,
    pub(crate) scene: Scene,
}

impl Watcher {
    pub(crate) fn new(inquirer: ManagerClient, root: Root) -> Self {
        let scene = Scene {
            endpoint: inquirer.endpoint().to_string(),
            seen: None,
            away: None,
        };
        Self {
            inquirer,
            root,
            scene,
        }
    }

    /// Looks once; a manager that is away leaves what was seen before, unless the files of its
    /// league tell how it ended: `league run` is gone with its last match.
    pub(crate) async fn look(&mut self) {
        match self.ask().await {
            Ok(Some(seen)) => {
                self.scene.seen = Some(seen);
                self.scene.away = None;
            }
            Ok(None) => {}
            // The first cause says more than those that follow from it.
            Err(error) => match self.ended() {
                Some(seen) => {
                    self.scene.seen = Some(seen);
                    self.scene.away = None;
                }
                None => {
                    self.scene.away.get_or_insert_with(|| error.to_string());
                }
            },
        }
    }

    fn ended(&self) -> Option<Seen> {
        let seen = self.scene.seen.as_ref()?;
        let (health, rows) = last_state(&self.root, &seen.health)?;
        Some(Seen { health, rows })
    }

    /// The table of a large league is large: it is asked for only when something has happened.
    async fn ask(&self) -> Result<Option<Seen>, AskError> {
        let health = self.inquirer.health().await?;
        let same = |seen: &Seen| seen.health == health && self.scene.away.is_none();
        if self.scene.seen.as_ref().is_some_and(same) {
            return Ok(None);
        }
        let rows = self.inquirer.standings().await?;
        Ok(Some(Seen { health, rows }))
    }
}

/// How many times in a row a manager may not answer, about a minute.
const MOST_MISSES: u32 = 240;

/// How many rows of the table are shown to people.
const MOST_ROWS: usize = 50;

/// Prints until the league is over.
async fn print_changes(
    mut watcher: Watcher,
    common: &Common,
    out: &mut impl Write,
) -> Result<Answer, Failure> {
    let mut signals = Signals::new()?;
    let mut printed = None;
    let mut misses = 0;
    loop {
        tokio::select! {
            () = signals.interrupted() => return interrupted(&watcher.scene, common, out),
            () = watcher.look() => {}
        }
        let scene = &watcher.scene;
        if printed.as_ref() != Some(scene) {
            print(scene, common, out)?;
            printed = Some(scene.clone());
        }
        if scene.is_over() {
            if common.output == Output::Text && !common.quiet {
                writeln!(out, "the league is over")?;
            }
            return Ok(Answer::Yes);
        }
        misses = match &scene.away {
            Some(cause) if misses >= MOST_MISSES => return Err(gone(scene, cause)),
            Some(_) => misses + 1,
            None => 0,
        };
        tokio::select! {
            () = signals.interrupted() => return interrupted(&watcher.scene, common, out),
            () = tokio::time::sleep(GAP) => {}
        }
    }
}

fn print(scene: &Scene, common: &Common, out: &mut impl Write) -> io::Result<()> {
    let endpoint = &scene.endpoint;
    match (&scene.away, &scene.seen) {
        (Some(cause), _) if common.output == Output::Json => {
            let object = json!({"event": "away", "manager": endpoint, "cause": cause});
            writeln!(out, "{object}")?;
        }
        (Some(cause), _) => writeln!(out, "no answer from {endpoint}: {cause}; still trying")?,
        (None, Some(seen)) if common.output == Output::Json => writeln!(out, "{}", object(seen))?,
        (None, Some(seen)) => {
            writeln!(out, "{}", progress(&seen.health))?;
            standings(out, &seen.rows, MOST_ROWS)?;
            writeln!(out)?;
        }
        (None, None) => {}
    }
    out.flush()
}

fn object(seen: &Seen) -> Value {
    let mut object = json!(seen.health);
    object["event"] = "table".into();
    object["standings"] = json!(seen.rows);
    object
}

fn interrupted(scene: &Scene, common: &Common, out: &mut impl Write) -> Result<Answer, Failure> {
    if common.output == Output::Text && !common.quiet {
        writeln!(out, "watch on with `league watch {}`", scene.endpoint)?;
    }
    Ok(Answer::Interrupted)
}

fn gone(scene: &Scene, cause: &str) -> Failure {
    Failure {
        what: match scene.seen {
            Some(_) => "lost sight of the league".to_owned(),
            None => "found no league to watch".to_owned(),
        },
        cause: format!("no answer from {}: {cause}", scene.endpoint),
        hint: match scene.seen {
            Some(_) => "start the manager again with the same command, then watch on".to_owned(),
            None => "start one with `league manager`, or name another with its URL".to_owned(),
        },
        kind: Kind::World,
    }
}

/// Draws until somebody quits.
fn draw_until_quit(runtime: &Runtime, mut watcher: Watcher) -> Result<Answer, Failure> {
    let mut signals = {
        let _inside = runtime.enter();
        Signals::new()?
    };
    let (tell, seen) = watch::channel(watcher.scene.clone());
    runtime.spawn(async move {
        loop {
            tokio::select! {
                // The receiver learns of the end by the sender's.
                () = signals.interrupted() => return,
                () = watcher.look() => {}
            }
            tell.send_replace(watcher.scene.clone());
            tokio::select! {
                () = signals.interrupted() => return,
                () = tokio::time::sleep(GAP) => {}
            }
        }
    });
    let drawn = ratatui::try_init().and_then(|mut terminal| keep_drawing(&mut terminal, &seen));
    let restored = ratatui::try_restore();
    drawn.and(restored).map_err(|error| Failure {
        what: "could not draw on the terminal".to_owned(),
        cause: error.to_string(),
        hint: "print the table instead with `league watch --output json`".to_owned(),
        kind: Kind::World,
    })?;
    Ok(Answer::Yes)
}

fn keep_drawing(terminal: &mut DefaultTerminal, seen: &Receiver<Scene>) -> io::Result<()> {
    while seen.has_changed().is_ok() {
        let scene = seen.borrow().clone();
        terminal.draw(|frame| draw(frame, &scene))?;
        if event::poll(GAP)?
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

/// Draws a league.
pub(crate) fn draw(frame: &mut Frame<'_>, scene: &Scene) {
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
