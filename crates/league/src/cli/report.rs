//! `league report`: a league as one page to share, or as plain tables.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use league_protocol::id::LeagueId;
use league_web::tables::{self, TableKind};
use serde_json::json;

use crate::cli::arguments::number;
use crate::cli::failure::{CommandError, chain};
use crate::cli::leagues::StoredLeagueArgs;
use crate::cli::screen;
use crate::cli::text::{count, print_object};
use crate::cli::{Exit, Output};
use crate::site::ReportSource;

/// Write a league as one HTML file that works without a server, or as a table
///
/// The page holds the standings, the first 500 players, the latest matches with their messages, the
/// check of each draw, and the replay. It loads nothing from elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league report SHARED -o league.html
  league report SHARED -o league.html --matches 100000   with the messages of more matches
  league report --format csv > standings.csv
  league report --format csv --table matches -o matches.csv
  league report --format csv --table ties                the bracket of a knockout
  league report --format markdown | less")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    stored: StoredLeagueArgs,
    /// File to write; `-` for standard output [default: `league.html` for HTML, else `-`]
    #[arg(short, long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Format of the report
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    format: ReportFormat,
    /// The table, for CSV
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    table: ReportTable,
    /// How many matches have a page at most, the latest first
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = number::<usize>(0..=1_000_000))]
    matches: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum ReportFormat {
    /// One page.
    #[default]
    Html,
    /// One table with commas.
    Csv,
    /// One object with all tables.
    Json,
    /// All tables.
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum ReportTable {
    /// The standings.
    #[default]
    Standings,
    /// Every match.
    Matches,
    /// Every player in every round.
    Rounds,
    /// The ties of a bracket.
    Ties,
    /// The tables of groups.
    Groups,
    /// The order of a ladder.
    Ladder,
    /// The ratings, after the last round that ended.
    Ratings,
}

impl ReportArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let (root, league) = self.stored.find()?;
        let source = ReportSource::open(root, league.clone()).map_err(|error| {
            let hint = "`league verify` shows what is wrong with it";
            CommandError::world("could not read the league", chain(&error), hint)
        })?;
        let broken = source.verification().filter(|found| !found.holds);
        if let Some(broken) = broken {
            let words = &broken.detail;
            writeln!(
                screen::errors(),
                "warning: this league does not verify: {words}"
            )?;
        }
        let view = source.view();
        if self.stored.common.verbose > 0 {
            writeln!(screen::errors(), "{}", contents(&source))?;
        }
        let text = match self.format {
            ReportFormat::Html => source.report(self.matches),
            ReportFormat::Csv => tables::csv(view, self.table()),
            ReportFormat::Json => format!("{:#}\n", tables::json(view)),
            ReportFormat::Markdown => tables::markdown(view),
        };
        let usual = (self.format == ReportFormat::Html).then(|| Path::new("league.html"));
        match self.out.as_deref().or(usual) {
            Some(file) if file != Path::new("-") => {
                fs::write(file, &text).map_err(|error| not_written(file, &error))?;
                self.print(out, &league, file, text.len())?;
            }
            _ => out.write_all(text.as_bytes())?,
        }
        Ok(Exit::Yes)
    }

    fn print(
        &self,
        out: &mut impl Write,
        league: &LeagueId,
        file: &Path,
        bytes: usize,
    ) -> io::Result<()> {
        let common = &self.stored.common;
        if common.output == Output::Json {
            let format = self.format.to_possible_value();
            let format = format.as_ref().map(PossibleValue::get_name);
            // A file name need not be UTF-8, but JSON must be.
            let file = file.to_string_lossy();
            let object = json!({
                "event": "report", "league_id": league, "format": format, "file": file,
                "bytes": bytes,
            });
            print_object(out, &object)
        } else if common.quiet {
            Ok(())
        } else {
            let kilobytes = bytes.div_ceil(1_024);
            writeln!(out, "wrote {} ({kilobytes} KB)", file.display())
        }
    }

    fn table(&self) -> TableKind {
        match self.table {
            ReportTable::Standings => TableKind::Standings,
            ReportTable::Matches => TableKind::Matches,
            ReportTable::Rounds => TableKind::Rounds,
            ReportTable::Ties => TableKind::Ties,
            ReportTable::Groups => TableKind::Groups,
            ReportTable::Ladder => TableKind::Ladder,
            ReportTable::Ratings => TableKind::Ratings,
        }
    }
}

/// A summary of the report's contents.
fn contents(source: &ReportSource) -> String {
    let league = source.view().league();
    format!(
        "{} and {}: {} of {} played, a replay of {}",
        count(league.players().len() as u64, "player"),
        count(league.referees().len() as u64, "referee"),
        league.matches_played(),
        count(league.total_matches(), "match"),
        count(source.frames() as u64, "frame")
    )
}

fn not_written(file: &Path, error: &io::Error) -> CommandError {
    let what = format!("could not write `{}`", file.display());
    CommandError::world(what, error.to_string(), "choose another file with `-o`")
}
