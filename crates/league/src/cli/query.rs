//! `league query`: asks a running manager for the standings, the schedule, or a player's figures.

use std::io::{self, Write};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use league_protocol::finding::excerpt;
use league_protocol::id::PlayerId;
use league_protocol::message::{self, NextMatch, PlayerStats, QueryAnswer, RoundListing};

use crate::cli::arguments::player_id;
use crate::cli::failure::CommandError;
use crate::cli::inquiry::{InquiryArgs, progress, unanswered};
use crate::cli::runtime::{print_calls, runtime};
use crate::cli::text::print_standings;
use crate::cli::{Exit, Output};
use crate::wire::ask::{Health, ManagerClient, QueryReply};

// The standings are public. The rest takes the administrator's token, which the manager keeps in a
// file below its root.
/// Ask a running manager; all but the standings needs the same --root as the manager
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  league query standings
  league query schedule --manager http://localhost:9000/mcp
  league query next --player P01
  league query stats --player P01 --output json | jq .data.player_stats")]
pub(crate) struct QueryArgs {
    /// What to ask for
    #[arg(value_enum)]
    what: QueryKind,
    #[command(flatten)]
    inquiry: InquiryArgs,
    /// The player, for `next` and `stats`
    #[arg(
        long,
        value_name = "ID",
        value_parser = player_id,
        required_if_eq_any([("what", "next"), ("what", "stats")])
    )]
    player: Option<PlayerId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum QueryKind {
    /// The standings.
    Standings,
    /// Every round and its matches.
    Schedule,
    /// A player's next match.
    Next,
    /// A player's figures.
    Stats,
}

impl QueryArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        print_calls(&self.inquiry.common);
        let manager = self.inquiry.client()?;
        let (health, told) = runtime()?.block_on(self.ask(&manager))?;
        if self.inquiry.common.output == Output::Json {
            // A line break between JSON values has no meaning, and JSON strings contain none.
            let json = told.json.get().replace(['\n', '\r'], "");
            writeln!(out, "{json}")?;
            let answered = told.response.answer.is_ok();
            return Ok(if answered { Exit::Yes } else { Exit::No });
        }
        let answer = told.response.answer.map_err(|sentence| {
            let flags = self.inquiry.flags();
            let hint =
                format!("see the players and the progress with `league query standings{flags}`");
            let what = format!("the league manager refused the query `{}`", self.name());
            CommandError::refused(what, sentence, hint)
        })?;
        self.print(out, &health, &answer)?;
        Ok(Exit::Yes)
    }

    async fn ask(&self, manager: &ManagerClient) -> Result<(Health, QueryReply), CommandError> {
        let failed = |error| unanswered("could not ask the league manager", manager, &error);
        let health = manager.health().await.map_err(failed)?;
        let told = match self.question() {
            message::Query::Standings => manager.table().await,
            question => {
                let league = &health.league_id;
                let admin = self.inquiry.admin_token(league)?;
                manager.query(league, question, &admin).await
            }
        };
        Ok((health, told.map_err(failed)?))
    }

    /// The query as it was written.
    fn name(&self) -> String {
        let kind = self.what.to_possible_value();
        let kind = kind.as_ref().map_or("", PossibleValue::get_name);
        match &self.player {
            Some(player) => format!("{kind} --player {player}"),
            None => kind.to_owned(),
        }
    }

    fn question(&self) -> message::Query {
        match (self.what, &self.player) {
            (QueryKind::Schedule, _) => message::Query::Schedule,
            (QueryKind::Next, Some(player)) => message::Query::NextMatch(player.clone()),
            (QueryKind::Stats, Some(player)) => message::Query::PlayerStats(player.clone()),
            // The parser of the arguments refuses the last two without a player.
            (QueryKind::Standings | QueryKind::Next | QueryKind::Stats, _) => {
                message::Query::Standings
            }
        }
    }

    fn print(&self, out: &mut impl Write, health: &Health, answer: &QueryAnswer) -> io::Result<()> {
        if !self.inquiry.common.quiet {
            writeln!(out, "{}\n", progress(health))?;
        }
        match answer {
            QueryAnswer::Standings { rows, .. } => {
                print_standings(out, rows, usize::MAX, &health.out)
            }
            QueryAnswer::Schedule {
                total_rounds,
                rounds,
            } => print_schedule(out, *total_rounds, rounds),
            QueryAnswer::NextMatch(next) => print_next(out, self.player.as_ref(), next),
            QueryAnswer::PlayerStats(stats) => print_stats(out, stats, health),
            QueryAnswer::Games(registry) => writeln!(out, "{registry:#}"),
        }
    }
}

fn print_schedule(out: &mut impl Write, total: u32, rounds: &[RoundListing]) -> io::Result<()> {
    let matches = || rounds.iter().flat_map(|round| &round.matches);
    let match_width = width(matches().map(|one| one.match_id.as_str()), "match");
    let player_width = width(matches().map(|one| one.player_a.as_str()), "player A");
    writeln!(
        out,
        "round  {:<match_width$}  {:<player_width$}  player B",
        "match", "player A"
    )?;
    for round in rounds {
        for one in &round.matches {
            writeln!(
                out,
                "{:>5}  {:<match_width$}  {:<player_width$}  {}",
                round.round_id,
                one.match_id.as_str(),
                one.player_a.as_str(),
                one.player_b
            )?;
        }
    }
    let listed = rounds.len();
    if listed < total as usize {
        writeln!(out, "{listed} of {total} rounds; the others come later")?;
    }
    Ok(())
}

/// The width of a column with its heading.
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

fn print_stats(out: &mut impl Write, stats: &PlayerStats, health: &Health) -> io::Result<()> {
    print_standings(out, std::slice::from_ref(&stats.row), 1, &health.out)?;
    writeln!(out, "\n  state             {}", stats.state)?;
    writeln!(out, "  technical losses  {}", stats.row.technical_losses)
}
