//! The output of `league run`: the opening, a line for each match, the summary.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use league_core::league::Event;
use league_protocol::id::LeagueId;
use league_protocol::message::{Mode, StandingRow};
use league_protocol::time::Timestamp;
use serde_json::{Value, json};

use crate::cli::agent::page;
use crate::cli::run::RunArgs;
use crate::cli::run::plan::RunPlan;
use crate::cli::scores::{DeviationSummary, LineWidth, Scores};
use crate::cli::stored::InterruptedLeague;
use crate::cli::text::{count, print_object};
use crate::cli::{Exit, Output};

/// How many interrupted leagues are listed one by one.
const MAX_NOTES: usize = 3;
const WHILE_IT_RUNS: &str = " while it runs; `--web` keeps it";

/// The output for one league.
pub(crate) struct RunScreen<'s, W: Write> {
    out: &'s mut W,
    run: &'s RunArgs,
    league: LeagueId,
    title: String,
    facts: Vec<(&'static str, String)>,
    notes: Vec<String>,
    /// The opening as JSON.
    opening: Value,
    scores: Scores,
    resumed: bool,
    page: String,
    /// How long the page is there, if it is there long enough to look at.
    page_lives: Option<&'static str>,
    bar: ProgressBar,
}

impl<'s, W: Write> RunScreen<'s, W> {
    pub(crate) fn new(run: &'s RunArgs, run_plan: &RunPlan, out: &'s mut W) -> Self {
        let plan = &run_plan.plan;
        let seats = &run_plan.seats;
        let players = (plan.players.len() + seats.invited) as u64 + u64::from(seats.people);
        let format = plan.rules.plan(players as u32);
        let (rounds, total) = (u64::from(format.rounds()), format.total_matches());
        let league = plan.rules.league_id.clone();
        let seed = match run_plan.seats.seed {
            Some(seed) => format!("{seed}: can be repeated, not for prizes"),
            None => "from the operating system".to_owned(),
        };
        let game = plan.rules.game_type.to_string();
        let referees = count(plan.referees.len() as u64, "referee");
        let facts = vec![
            ("game", format!("{game}, {}", format.format.title())),
            ("players", format!("{players}, with {referees}")),
            (
                "matches",
                match format.ends_after() {
                    Some(time) => format!("as many as begin within {} s", time.as_secs()),
                    None if format.is_endless() => "until you stop it".to_owned(),
                    None => format!("{total} in {}", count(rounds, "round")),
                },
            ),
            ("seed", seed),
            ("files", run.common.root.display().to_string()),
        ];
        let opening = json!({
            "event": "league", "league_id": league, "game_type": game, "format": format.format,
            "players": players, "referees": plan.referees.len(), "matches": total,
            "rounds": rounds, "seed": run_plan.seats.seed, "root": run.common.root,
            "resumed": run_plan.resumed, "interrupted": resumes(&run_plan.interrupted),
        });
        Self {
            out,
            run,
            title: format!("{} · {league}", run_plan.display_name),
            league,
            facts,
            notes: notes(&run_plan.interrupted),
            opening,
            scores: Scores::new(total, format),
            resumed: run_plan.resumed,
            page: String::new(),
            page_lives: match (run.web || seats.people > 0, plan.pace.is_zero()) {
                (true, _) => Some(""),
                (false, false) => Some(WHILE_IT_RUNS),
                (false, true) => None,
            },
            bar: bar(run, total),
        }
    }

    /// Prints the opening.
    pub(crate) fn open(&mut self, endpoint: &str, mode: Mode) -> io::Result<()> {
        self.page = page(endpoint);
        if self.is_json() {
            self.opening["mode"] = json!(mode);
            self.opening["manager"] = endpoint.into();
            self.opening["page"] = self.page.as_str().into();
            return print_object(self.out, &self.opening);
        }
        if self.run.common.quiet {
            return Ok(());
        }
        writeln!(self.out, "{}", self.title)?;
        self.facts.push(("manager", endpoint.to_owned()));
        let in_steps = (mode == Mode::Manual).then_some(WHILE_IT_RUNS);
        if let Some(until) = self.page_lives.or(in_steps) {
            self.facts.push(("page", format!("{}{until}", self.page)));
        }
        if mode == Mode::Manual {
            let flags = self.run.network.trust.flag() + &self.run.common.root_flag();
            let step = format!("league admin step R1M1 --manager {endpoint}{flags}");
            let fact = format!("each match waits for steps, such as `{step}`");
            self.facts.push(("manual", fact));
        }
        let notes = self.notes.drain(..).map(|note| ("note", note));
        self.facts.extend(notes);
        for (name, fact) in &self.facts {
            writeln!(self.out, "  {name:<9}{fact}")?;
        }
        writeln!(self.out)
    }

    /// Tells how people join, with the opening.
    pub(crate) fn invite_people(&mut self, link: &str, code: &str) {
        self.opening["people"] = json!({"link": link, "code": code});
        self.facts.push(("people", format!("join at {link}")));
    }

    /// Prints a match that an event ends.
    pub(crate) fn event(&mut self, at: Timestamp, event: &Event) -> io::Result<()> {
        let Some(ended) = self.scores.record(at, event) else {
            return Ok(());
        };
        self.bar.set_position(self.scores.done);
        if self.is_json() {
            return print_object(self.out, &self.scores.object(&ended));
        }
        if self.run.common.quiet {
            return Ok(());
        }
        let line = self.scores.lines(&ended, LineWidth::here());
        let out = &mut *self.out;
        self.bar.suspend(|| writeln!(out, "{line}"))
    }

    /// Prints the standings, technical losses and deviations.
    pub(crate) fn summary(
        &mut self,
        rows: &[StandingRow],
        deviations: &DeviationSummary,
    ) -> io::Result<()> {
        self.bar.finish_and_clear();
        if self.is_json() {
            let summary = self.scores.summary(&self.league, rows, deviations);
            return print_object(self.out, &summary);
        }
        if !self.run.common.quiet {
            writeln!(self.out)?;
        }
        self.scores.print_summary(self.out, rows, deviations)
    }

    /// Prints that the page is still there.
    pub(crate) fn page_stays(&mut self) -> io::Result<()> {
        if self.is_json() {
            let object = json!({"event": "page", "page": self.page});
            return print_object(self.out, &object);
        }
        writeln!(self.out)?;
        writeln!(self.out, "the page stays at {} until Ctrl-C", self.page)?;
        self.out.flush()
    }

    /// Prints the next steps for a finished league.
    pub(crate) fn farewell(&mut self) -> io::Result<Exit> {
        if self.run.common.talks() {
            let league = format!("--league-id {}{}", self.league, self.run.common.root_flag());
            writeln!(self.out)?;
            writeln!(self.out, "check it   league verify {league}")?;
            writeln!(self.out, "look at it league serve {league}")?;
            writeln!(self.out, "send it    league export {league}")?;
        }
        Ok(Exit::Yes)
    }

    /// Prints how to resume.
    pub(crate) fn interrupted(&mut self) -> io::Result<Exit> {
        self.bar.finish_and_clear();
        let resume = self.run.resume_command(&self.league);
        let (played, total) = (self.scores.done, self.scores.total);
        if self.is_json() {
            let object = json!({
                "event": "interrupted", "league_id": self.league, "matches_played": played,
                "resume": resume,
            });
            print_object(self.out, &object)?;
            return Ok(Exit::Interrupted);
        }
        let again = if self.resumed { " again" } else { "" };
        writeln!(
            self.out,
            "interrupted{again} after {played} of {total} matches; continue with `{resume}`"
        )?;
        Ok(Exit::Interrupted)
    }

    fn is_json(&self) -> bool {
        self.run.common.output == Output::Json
    }
}

/// The interrupted leagues, as JSON.
fn resumes(interrupted: &[InterruptedLeague]) -> Value {
    let each = |one: &InterruptedLeague| json!({"league_id": one.league, "resume": one.resume});
    interrupted.iter().map(each).collect()
}

/// A line for each interrupted league, the latest first.
fn notes(interrupted: &[InterruptedLeague]) -> Vec<String> {
    let listed = interrupted.iter().take(MAX_NOTES);
    let listed = listed.map(|InterruptedLeague { league, resume }| {
        format!("`{league}` was interrupted; continue with `{resume}`")
    });
    let more = interrupted.len().saturating_sub(MAX_NOTES);
    let more = (more > 0).then(|| format!("and {more} more"));
    listed.chain(more).collect()
}

/// A progress bar with the time left.
fn bar(run: &RunArgs, total: u64) -> ProgressBar {
    if !run.common.talks() || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} · {eta} left");
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
