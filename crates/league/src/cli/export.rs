//! `league export`: a league as one page to share, as tables, as the messages of a match, or as the
//! files that its journals make.

mod match_lines;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use league_protocol::id::{LeagueId, MatchId};
use league_web::tables::{self, TableKind};
use serde_json::json;

use crate::cli::arguments::{league_id, match_id, number, root_flag};
use crate::cli::failure::{CommandError, bad_config, chain};
use crate::cli::screen::{self, Screen};
use crate::cli::stored::StoredArgs;
use crate::cli::text::{count, tell};
use crate::cli::{Exit, Output};
use crate::site::ExportSource;
use crate::storage::documents::{MatchDocument, MatchRepository, RepositoryError};
use crate::storage::replay::{Rebuilt, ReplayError, rebuild};
use crate::storage::root::Root;
use crate::storage::store::JOURNAL_HINT;

/// The file of a page, unless another is named.
const USUAL_PAGE: &str = "league.html";
const CHECK_DISK: &str = "check the disk and the permissions";

/// Write a league as one page, as tables, or as the messages of a match
///
/// The page works without a server and loads nothing. Of a damaged journal, what stands before the
/// damage is exported. Exits with 1 if the league does not verify, or a match has no messages yet.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league export SHARED                       one page with matches and replay: league.html
  league export --csv=matches -o matches.csv
  league export --match R1M1
  league export --rebuild                    the files under data/, made anew")]
pub(crate) struct ExportArgs {
    /// File to write [default: league.html; of other forms, standard output]
    #[arg(short, long = "out", value_name = "FILE", conflicts_with = "rebuild")]
    out: Option<PathBuf>,
    #[command(flatten)]
    form: FormArgs,
    /// The league [default: the one played last]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// How many matches have a page, the latest first
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000,
        value_parser = number::<usize>(0..=1_000_000),
        conflicts_with_all = ["csv", "json", "markdown", "match_id", "rebuild"]
    )]
    matches: usize,
    #[command(flatten)]
    stored: StoredArgs,
}

/// The form of an export; without a flag, one page.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct FormArgs {
    /// One page: standings, players, matches with messages, replay [default]
    #[arg(long)]
    html: bool,
    /// One table: standings, matches, rounds, ties, groups, ladder or ratings
    #[arg(
        long,
        value_name = "TABLE",
        value_parser = table,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "standings"
    )]
    csv: Option<TableKind>,
    /// All tables as one object
    #[arg(long)]
    json: bool,
    /// All tables, in Markdown
    #[arg(long)]
    markdown: bool,
    /// The messages of this match
    #[arg(long = "match", value_name = "ID", value_parser = match_id)]
    match_id: Option<MatchId>,
    /// Make the files under data/ anew from the journals
    #[arg(long)]
    rebuild: bool,
}

impl FormArgs {
    fn name(&self) -> &'static str {
        match self {
            Self { csv: Some(_), .. } => "csv",
            Self { json: true, .. } => "json",
            Self { markdown: true, .. } => "markdown",
            Self {
                match_id: Some(_), ..
            } => "match",
            _ => "html",
        }
    }
}

fn table(text: &str) -> Result<TableKind, String> {
    let found = TableKind::ALL
        .into_iter()
        .find(|table| table.name() == text);
    found.ok_or_else(|| {
        let names = TableKind::ALL.map(|table| format!("`{}`", table.name()));
        format!("unknown table; choose one of {}", names.join(", "))
    })
}

impl ExportArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let (root, league) = self.stored.find(self.league_id.as_ref())?;
        if self.form.rebuild {
            let rebuilt = rebuild(&root, &league).map_err(|error| self.not_rebuilt(error))?;
            self.print_rebuilt(&league, &rebuilt, out)?;
            return Ok(Exit::Yes);
        }
        let (text, exit) = match &self.form.match_id {
            Some(match_id) => self.messages(&root, &league, match_id)?,
            None => self.tables(root, &league)?,
        };
        let usual = (self.form.name() == "html").then_some(Path::new(USUAL_PAGE));
        match self.out.as_deref().or(usual) {
            Some(file) => self.write(&league, file, &text, out)?,
            None => out.write_all(&text)?,
        }
        Ok(exit)
    }

    /// The page or the tables; the answer is no if the league does not verify.
    fn tables(&self, root: Root, league: &LeagueId) -> Result<(Vec<u8>, Exit), CommandError> {
        let source = ExportSource::open(root, league.clone()).map_err(|error| {
            let hint = "`league verify` shows what is wrong with it";
            CommandError::world(self.what(), chain(&error), hint)
        })?;
        let broken = source.verification().filter(|found| !found.holds);
        if let Some(broken) = broken {
            let rest = match source.is_cut() {
                true => "; exported is what stands before it",
                false => "",
            };
            let words = &broken.detail;
            writeln!(
                screen::errors(),
                "warning: this league does not verify: {words}{rest}"
            )?;
        }
        let (view, form) = (source.view(), &self.form);
        let text = match form.csv {
            Some(table) => tables::csv(view, table),
            None if form.json => format!("{:#}\n", tables::json(view)),
            None if form.markdown => tables::markdown(view),
            None => source.page(self.matches),
        };
        let exit = broken.map_or(Exit::Yes, |_| Exit::No);
        Ok((text.into_bytes(), exit))
    }

    /// The messages of a match; the answer is no while it has none.
    fn messages(
        &self,
        root: &Root,
        league: &LeagueId,
        match_id: &MatchId,
    ) -> Result<(Vec<u8>, Exit), CommandError> {
        let document = self.load_match(root, league, match_id)?;
        let mut text = Vec::new();
        let out = &mut Screen::new(&mut text);
        match self.stored.common.output {
            Output::Text => match_lines::write_text(&document, out)?,
            Output::Json => match_lines::write_json(&document, out)?,
        }
        let is_over = !document.transcript.is_empty();
        Ok((text, if is_over { Exit::Yes } else { Exit::No }))
    }

    /// Writes a file, and prints that.
    fn write(
        &self,
        league: &LeagueId,
        file: &Path,
        text: &[u8],
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        fs::write(file, text).map_err(|error| {
            let what = format!("could not write `{}`", file.display());
            CommandError::world(what, error.to_string(), "choose another file with `-o`")
        })?;
        // A file name need not be UTF-8, but JSON must be.
        let name = file.to_string_lossy();
        let object = json!({
            "event": "export", "league_id": league, "format": self.form.name(), "file": name,
            "bytes": text.len(),
        });
        let text = format!(
            "wrote {} ({} KB)",
            file.display(),
            text.len().div_ceil(1_024)
        );
        Ok(tell(&self.stored.common, out, &object, &text)?)
    }

    fn print_rebuilt(
        &self,
        league: &LeagueId,
        rebuilt: &Rebuilt,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let object = json!({
            "event": "rebuilt", "league_id": league, "entries": rebuilt.entries,
            "matches": rebuilt.matches, "players": rebuilt.players,
        });
        let entries = count(rebuilt.entries, "line");
        let (matches, players) = (
            count(rebuilt.matches, "match"),
            count(rebuilt.players, "player"),
        );
        let text = format!(
            "{league}: standings, rounds, {matches} and {players} rebuilt from {entries} of its journal"
        );
        tell(&self.stored.common, out, &object, &text)
    }

    fn load_match(
        &self,
        root: &Root,
        league: &LeagueId,
        match_id: &MatchId,
    ) -> Result<MatchDocument, CommandError> {
        let again = || {
            let flag = root_flag(self.stored.dir());
            format!("`league export --rebuild --league-id {league}{flag}`")
        };
        let matches = MatchRepository::new(root, league.clone());
        let found = matches.load(match_id).map_err(|error| {
            let hint = match error {
                RepositoryError::WrongForm { .. } => format!("rebuild the files with {}", again()),
                _ => CHECK_DISK.to_owned(),
            };
            CommandError::world(self.what(), chain(&error), hint)
        })?;
        found.ok_or_else(|| {
            let cause = format!("there is no match `{match_id}` in `{league}`");
            let hint = format!(
                "`league export --csv=matches` lists the matches; {} makes the files anew",
                again()
            );
            CommandError::usage(self.what(), cause, hint)
        })
    }

    fn what(&self) -> String {
        format!(
            "could not export a league of `{}`",
            self.stored.dir().display()
        )
    }

    fn not_rebuilt(&self, error: ReplayError) -> CommandError {
        let cause = chain(&error);
        let hint = match error {
            ReplayError::Config(config) => return bad_config(config),
            ReplayError::Journal(store) => store.hint(),
            ReplayError::NoJournal(_)
            | ReplayError::NoRules(_)
            | ReplayError::Rules { .. }
            | ReplayError::Behind { .. } => JOURNAL_HINT.to_owned(),
            ReplayError::Repository(_) | ReplayError::Folder { .. } => CHECK_DISK.to_owned(),
        };
        CommandError::world(self.what(), cause, hint)
    }
}
