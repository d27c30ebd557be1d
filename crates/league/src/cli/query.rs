//! `league query`: asks a running manager for the table, the rounds, or a player's affairs.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use league_protocol::finding::excerpt;
use league_protocol::id::PlayerId;
use league_protocol::message::{self, NextMatch, PlayerStats, QueryAnswer, RoundListing};

use crate::cli::arguments::Common;
use crate::cli::failure::{Failure, Kind};
use crate::cli::inquiry::{admin, inquirer, progress, unanswered};
use crate::cli::runtime::{runtime, tell_calls};
use crate::cli::text::standings;
use crate::cli::{Answer, Output};
use crate::log::escape;
use crate::wire::ask::{Health, ManagerClient, Told};

const WHAT: &str = "could not ask the league manager";

/// Ask a running manager for the standings, the schedule, or a player's next match or figures
///
/// The standings are open to all. The rest is asked with the administrator's token, which the
/// manager keeps in a file below its root, so that both must be given the same --root.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league query standings
  league query schedule --manager http://localhost:9000/mcp
  league query next --player P01
  league query stats --player P01 --output json | jq .data.player_stats")]
pub(crate) struct Query {
    /// What to ask for
    #[arg(value_enum)]
    what: What,
    #[command(flatten)]
    common: Common,
    /// Where the league manager answers [default: from config, http://localhost:8000/mcp]
    #[arg(long, value_name = "URL")]
    manager: Option<String>,
    /// Whose next match or figures
    #[arg(
        long,
        value_name = "ID",
        value_parser = player_id,
        required_if_eq_any([("what", "next"), ("what", "stats")])
    )]
    player: Option<PlayerId>,
}

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The table.
    Standings,
    /// Every round and its matches.
    Schedule,
    /// A player's next match.
    Next,
    /// A player's figures.
    Stats,
}

fn player_id(text: &str) -> Result<PlayerId, String> {
    PlayerId::new(text).map_err(|error| error.to_string())
}

impl Query {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        tell_calls(&self.common);
        let inquirer = inquirer(&self.common, self.manager.as_deref())?;
        let (health, told) = runtime()?.block_on(self.ask(&inquirer))?;
        if self.common.output == Output::Json {
            // Between the values of JSON a line break says nothing, and inside them there is none.
            let json = told.json.get().replace(['\n', '\r'], "");
            writeln!(out, "{}", escape(json))?;
            return Ok(match told.response.answer {
                Ok(_) => Answer::Yes,
                Err(_) => Answer::No,
            });
        }
        let answer = told.response.answer.map_err(unknown)?;
        self.print(out, &health, &answer)?;
        Ok(Answer::Yes)
    }

    async fn ask(&self, inquirer: &ManagerClient) -> Result<(Health, Told), Failure> {
        let failed = |error| unanswered(WHAT, inquirer, &error);
        let health = inquirer.health().await.map_err(failed)?;
        let told = match self.question() {
            message::Query::Standings => inquirer.table().await,
            question => {
                let league = &health.league_id;
                let admin = admin(&self.common, league)?;
                inquirer.query(league, question, &admin).await
            }
        };
        Ok((health, told.map_err(failed)?))
    }

    fn question(&self) -> message::Query {
        match (self.what, &self.player) {
            (What::Schedule, _) => message::Query::Schedule,
            (What::Next, Some(player)) => message::Query::NextMatch(player.clone()),
            (What::Stats, Some(player)) => message::Query::PlayerStats(player.clone()),
            // Without a player the arguments would not have been taken.
            (What::Standings | What::Next | What::Stats, _) => message::Query::Standings,
        }
    }

    fn print(&self, out: &mut impl Write, health: &Health, answer: &QueryAnswer) -> io::Result<()> {
        if !self.common.quiet {
            writeln!(out, "{}\n", progress(health))?;
        }
        match answer {
            QueryAnswer::Standings { rows, .. } => standings(out, rows, usize::MAX),
            QueryAnswer::Schedule {
                total_rounds,
                rounds,
            } => print_schedule(out, *total_rounds, rounds),
            QueryAnswer::NextMatch(next) => print_next(out, self.player.as_ref(), next),
            QueryAnswer::PlayerStats(stats) => print_stats(out, stats),
        }
    }
}

fn print_schedule(out: &mut impl Write, total: u32, rounds: &[RoundListing]) -> io::Result<()> {
    let listed = || rounds.iter().flat_map(|round| &round.matches);
    let matches = width(listed().map(|one| one.match_id.as_str()), "match");
    let players = width(listed().map(|one| one.player_a.as_str()), "player A");
    writeln!(
        out,
        "round  {:<matches$}  {:<players$}  player B",
        "match", "player A"
    )?;
    for round in rounds {
        for one in &round.matches {
            writeln!(
                out,
                "{:>5}  {:<matches$}  {:<players$}  {}",
                round.round_id,
                one.match_id.as_str(),
                one.player_a.as_str(),
                one.player_b
            )?;
        }
    }
    let told = rounds.len();
    if told < total as usize {
        writeln!(out, "{told} of {total} rounds; the others come later")?;
    }
    Ok(())
}

/// How wide a column is under its heading.
fn width<'t>(texts: impl Iterator<Item = &'t str>, heading: &str) -> usize {
    let longest = texts.map(|text| text.chars().count()).max();
    longest.unwrap_or(0).max(heading.len())
}

fn print_next(out: &mut impl Write, player: Option<&PlayerId>, next: &NextMatch) -> io::Result<()> {
    let NextMatch {
        match_id,
        round_id,
        opponent_id,
        referee_endpoint,
    } = next;
    if let Some(player) = player {
        write!(out, "{player} plays ")?;
    }
    writeln!(out, "{match_id} in round {round_id} against {opponent_id}")?;
    match referee_endpoint {
        Some(endpoint) => writeln!(out, "  referee  {}", excerpt(endpoint)),
        None => writeln!(out, "  referee  none yet"),
    }
}

fn print_stats(out: &mut impl Write, stats: &PlayerStats) -> io::Result<()> {
    standings(out, std::slice::from_ref(&stats.row), 1)?;
    writeln!(out, "\n  state             {}", stats.state)?;
    writeln!(out, "  technical losses  {}", stats.row.technical_losses)
}

/// The manager knows no answer.
fn unknown(sentence: String) -> Failure {
    Failure {
        what: "the league manager has no answer".to_owned(),
        cause: sentence,
        hint: "see who plays and how far it is with `league query standings`".to_owned(),
        kind: Kind::No,
    }
}
