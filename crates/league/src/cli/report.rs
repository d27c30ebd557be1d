//! `league report`: a league as one page to send around, or as plain tables.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use league_protocol::id::LeagueId;
use league_web::tables::{self, TableKind};
use serde_json::json;

use crate::cli::failure::{Failure, Kind, chain};
use crate::cli::leagues::StoredLeague;
use crate::cli::text::count;
use crate::cli::{Answer, Output};
use crate::site::ReportSource;

/// Write a league as one HTML file that works without a server, or as a table
///
/// The page holds the board, the players (the first 500), the latest matches with what was said,
/// the check of each draw, and the replay. Nothing in it is fetched from anywhere.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league report SHARED -o league.html
  league report SHARED -o league.html --matches 100000   the messages of more matches
  league report --format csv > standings.csv
  league report --format csv --table matches -o matches.csv
  league report --format markdown | less")]
pub(crate) struct Report {
    #[command(flatten)]
    shown: StoredLeague,
    /// Where to write it; `-` for standard output [default: `-`, for HTML `league.html`]
    #[arg(short, long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
    /// What to write
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    format: Format,
    /// Which table, for CSV
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    table: Which,
    /// So many matches at most have a page, the latest
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    matches: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// One page.
    #[default]
    Html,
    /// Cells with commas between them.
    Csv,
    /// One object with both tables.
    Json,
    /// Both tables.
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Which {
    /// Who stands where.
    #[default]
    Standings,
    /// Every match.
    Matches,
}

impl Report {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let (root, league) = self.shown.find()?;
        let source = ReportSource::open(root, league.clone()).map_err(|error| Failure {
            what: "could not read the league".to_owned(),
            cause: chain(&error),
            hint: "`league verify` says what is wrong with it".to_owned(),
            kind: Kind::World,
        })?;
        let broken = source.verification().filter(|found| !found.holds);
        if let Some(broken) = broken {
            let words = &broken.detail;
            writeln!(io::stderr(), "warning: this league does not hold: {words}")?;
        }
        let view = source.view();
        if self.shown.common.verbose > 0 {
            writeln!(io::stderr(), "{}", contents(&source))?;
        }
        let text = match self.format {
            Format::Html => source.report(self.matches),
            Format::Csv => tables::csv(view, self.table()),
            Format::Json => format!("{:#}\n", tables::json(view)),
            Format::Markdown => tables::markdown(view),
        };
        let usual = (self.format == Format::Html).then(|| Path::new("league.html"));
        match self.out.as_deref().or(usual) {
            Some(file) if file != Path::new("-") => {
                fs::write(file, &text).map_err(|error| not_written(file, &error))?;
                self.tell(out, &league, file, text.len())?;
            }
            _ => out.write_all(text.as_bytes())?,
        }
        Ok(Answer::Yes)
    }

    /// Says what was written.
    fn tell(
        &self,
        out: &mut impl Write,
        league: &LeagueId,
        file: &Path,
        bytes: usize,
    ) -> io::Result<()> {
        let common = &self.shown.common;
        if common.output == Output::Json {
            let format = self.format.to_possible_value();
            let format = format.as_ref().map(PossibleValue::get_name);
            // A name need not be a text, but a line of JSON is.
            let file = file.to_string_lossy();
            let told = json!({
                "event": "report", "league_id": league, "format": format, "file": file,
                "bytes": bytes,
            });
            writeln!(out, "{told}")
        } else if common.quiet {
            Ok(())
        } else {
            let kilobytes = bytes.div_ceil(1_024);
            writeln!(out, "wrote {} ({kilobytes} KB)", file.display())
        }
    }

    fn table(&self) -> TableKind {
        match self.table {
            Which::Standings => TableKind::Standings,
            Which::Matches => TableKind::Matches,
        }
    }
}

/// What there is to tell of a league.
fn contents(source: &ReportSource) -> String {
    let league = source.view().league();
    format!(
        "{} and {}: {} of {} played, a replay of {}",
        count(league.players().len() as u64, "player"),
        count(league.referees().len() as u64, "referee"),
        league.matches_played(),
        count(league.schedule().total_matches(), "match"),
        count(source.frames() as u64, "frame")
    )
}

fn not_written(file: &Path, error: &std::io::Error) -> Failure {
    Failure {
        what: format!("could not write `{}`", file.display()),
        cause: error.to_string(),
        hint: "choose another file with `-o`".to_owned(),
        kind: Kind::World,
    }
}
