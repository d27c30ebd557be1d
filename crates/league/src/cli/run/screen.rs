//! What `league run` shows: how the league begins, each match, the table.

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use league_core::league::Event;
use league_protocol::id::LeagueId;
use league_protocol::message::{Mode, StandingRow};
use league_protocol::time::Timestamp;
use serde_json::{Value, json};

use crate::cli::agent::page;
use crate::cli::failure::Failure;
use crate::cli::leagues::InterruptedLeague;
use crate::cli::run::Run;
use crate::cli::run::plan::Planned;
use crate::cli::scores::{Forgiven, Room, Scores};
use crate::cli::text::count;
use crate::cli::{Answer, Output};

/// How many leagues that were interrupted are told one by one.
const MOST_TOLD: usize = 3;

/// What is shown of one league.
pub(crate) struct Screen<'s, W: Write> {
    out: &'s mut W,
    output: Output,
    quiet: bool,
    root_flag: String,
    reach_flags: String,
    league: LeagueId,
    facts: Vec<(&'static str, String)>,
    title: String,
    opening: Value,
    notes: Vec<String>,
    scores: Scores,
    resumed: bool,
    web: bool,
    page: String,
    bar: ProgressBar,
}

impl<'s, W: Write> Screen<'s, W> {
    pub(crate) fn new(run: &Run, planned: &Planned, out: &'s mut W) -> Self {
        let plan = &planned.plan;
        let players = (plan.players.len() + planned.invited) as u64;
        let rounds = if players.is_multiple_of(2) {
            players - 1
        } else {
            players
        };
        let total = players * (players - 1) / 2;
        let league = plan.rules.league_id.clone();
        let seed = match planned.seed {
            Some(seed) => format!("{seed}: can be played again, not for prizes"),
            None => "from the operating system".to_owned(),
        };
        let game = plan.rules.game_type.to_string();
        let facts = vec![
            ("game", format!("{game}, round robin")),
            (
                "players",
                format!(
                    "{players}, with {}",
                    count(plan.referees.len() as u64, "referee")
                ),
            ),
            ("matches", format!("{total} in {}", count(rounds, "round"))),
            ("seed", seed),
            ("files", run.common.root.display().to_string()),
        ];
        let opening = json!({
            "event": "league", "league_id": league, "game_type": game, "format": "round_robin",
            "players": players, "referees": plan.referees.len(), "matches": total,
            "rounds": rounds, "seed": planned.seed, "root": run.common.root,
            "resumed": planned.resumed, "interrupted": resumes(&planned.interrupted),
        });
        let bar = bar(run, total);
        Self {
            out,
            output: run.common.output,
            quiet: run.common.quiet,
            root_flag: run.common.root_flag(),
            reach_flags: run.reach.flags(),
            title: format!("{} · {league}", planned.display_name),
            league,
            facts,
            opening,
            notes: notes(&planned.interrupted),
            scores: Scores::of(total),
            resumed: planned.resumed,
            web: run.web,
            page: String::new(),
            bar,
        }
    }

    /// Shows what is about to be played.
    pub(crate) fn open(&mut self, endpoint: &str, mode: Mode) -> Result<(), Failure> {
        if self.output == Output::Json {
            self.opening["mode"] = json!(mode);
            self.opening["manager"] = endpoint.into();
            self.opening["page"] = page(endpoint).into();
            let opening = self.opening.clone();
            return self.object(&opening);
        }
        if self.quiet {
            return Ok(());
        }
        writeln!(self.out, "{}", self.title)?;
        self.facts.push(("manager", endpoint.to_owned()));
        self.page = page(endpoint);
        let until = if self.web {
            ""
        } else {
            " while it runs; `--web` keeps it"
        };
        self.facts.push(("page", format!("{}{until}", self.page)));
        for (name, fact) in &self.facts {
            writeln!(self.out, "  {name:<9}{fact}")?;
        }
        if mode == Mode::Manual {
            let root = &self.root_flag;
            writeln!(
                self.out,
                "  {:<9}each match waits: `league step R1M1 --manager {endpoint}{root}`",
                "manual"
            )?;
        }
        for note in &self.notes {
            writeln!(self.out, "  {:<9}{note}", "note")?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    /// Shows what happened in the league.
    pub(crate) fn news(&mut self, at: Timestamp, event: &Event) -> Result<(), Failure> {
        let Some(ended) = self.scores.take_in(at, event) else {
            return Ok(());
        };
        self.bar.set_position(self.scores.done);
        if self.output == Output::Json {
            let object = self.scores.object(&ended);
            return self.object(&object);
        }
        if self.quiet {
            return Ok(());
        }
        let line = self.scores.lines(&ended, Room::here());
        let out = &mut *self.out;
        let written = self.bar.suspend(|| writeln!(out, "{line}"));
        written.map_err(Failure::from)
    }

    /// Shows the table, technical losses and deviations.
    pub(crate) fn table(
        &mut self,
        rows: &[StandingRow],
        forgiven: &Forgiven,
    ) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        if self.output == Output::Json {
            let closing = self.scores.closing(&self.league, rows, forgiven);
            return self.object(&closing);
        }
        if !self.quiet {
            writeln!(self.out)?;
        }
        Ok(self.scores.close(self.out, rows, forgiven)?)
    }

    /// Says that the page is still there.
    pub(crate) fn stay(&mut self) -> Result<(), Failure> {
        if self.output == Output::Json {
            return self.object(&json!({"event": "page", "page": self.page}));
        }
        writeln!(self.out)?;
        writeln!(self.out, "the page stays at {} until Ctrl-C", self.page)?;
        self.out.flush()?;
        Ok(())
    }

    /// Says what can be done with a league that is over.
    pub(crate) fn farewell(&mut self) -> Result<Answer, Failure> {
        if self.output == Output::Text && !self.quiet {
            let (league, root) = (&self.league, &self.root_flag);
            writeln!(self.out)?;
            writeln!(
                self.out,
                "check it   league verify --league-id {league}{root}"
            )?;
            writeln!(
                self.out,
                "rebuild    league replay --league-id {league}{root}"
            )?;
            writeln!(
                self.out,
                "look at it league serve --league-id {league}{root}"
            )?;
            writeln!(
                self.out,
                "send it    league report --league-id {league}{root} -o league.html"
            )?;
        }
        Ok(Answer::Yes)
    }

    /// Says how to go on.
    pub(crate) fn interrupted(&mut self) -> Result<Answer, Failure> {
        self.bar.finish_and_clear();
        let command = format!(
            "league run --resume --league-id {}{}{}",
            self.league, self.root_flag, self.reach_flags
        );
        if self.output == Output::Json {
            self.object(&json!({
                "event": "interrupted", "league_id": self.league, "matches_played": self.scores.done,
                "resume": command,
            }))?;
            return Ok(Answer::Interrupted);
        }
        let again = if self.resumed { " again" } else { "" };
        writeln!(
            self.out,
            "interrupted{again} after {} of {} matches; go on with `{command}`",
            self.scores.done, self.scores.total
        )?;
        Ok(Answer::Interrupted)
    }

    fn object(&mut self, object: &Value) -> Result<(), Failure> {
        writeln!(self.out, "{object}")?;
        self.out.flush()?;
        Ok(())
    }
}

/// The leagues that were interrupted, for machines.
fn resumes(interrupted: &[InterruptedLeague]) -> Value {
    let each = |one: &InterruptedLeague| json!({"league_id": one.league, "resume": one.resume});
    interrupted.iter().map(each).collect()
}

/// What is said of leagues that were interrupted: the latest with the command that goes on.
fn notes(interrupted: &[InterruptedLeague]) -> Vec<String> {
    let told = interrupted.iter().take(MOST_TOLD);
    let told = told.map(|InterruptedLeague { league, resume }| {
        format!("`{league}` was interrupted; go on with `{resume}`")
    });
    let more = interrupted.len().saturating_sub(MOST_TOLD);
    let more = (more > 0).then(|| format!("and {more} more"));
    told.chain(more).collect()
}

/// A bar with the time left, for people who watch.
fn bar(run: &Run, total: u64) -> ProgressBar {
    let shown =
        !run.common.quiet && run.common.output == Output::Text && std::io::stderr().is_terminal();
    if !shown {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} · {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
