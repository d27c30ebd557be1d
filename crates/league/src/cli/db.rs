//! `league db`: the tables of a database, and leagues into and out of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use league_protocol::id::LeagueId;
use serde_json::json;

use crate::cli::arguments::league_id;
use crate::cli::failure::{CommandError, chain};
use crate::cli::network::TrustArgs;
use crate::cli::store::{StoreArgs, not_filled, unusable};
use crate::cli::text::{count, print_object};
use crate::cli::{Exit, Output};
use crate::storage::database::Database;
use crate::storage::league_store::{FilledLeague, export, import};
use crate::storage::root::{DEFAULT_ROOT, Root};
use crate::storage::verify::leagues;

/// Prepare a PostgreSQL database for leagues, and move leagues into and out of it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league db migrate --store postgres://league@db.example/league    make or renew the tables
  league db list
  league db export /copies/week-3 --league-id week_3               into a folder
  league db import SHARED                                          from a folder")]
pub(crate) struct DbArgs {
    /// What to do
    #[arg(value_enum)]
    task: Task,
    /// The folder, for `export` and `import`
    #[arg(required_if_eq_any([("task", "export"), ("task", "import")]))]
    dir: Option<PathBuf>,
    /// One league only [default: all]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// Folder of the configuration that names the database
    #[arg(long, value_name = "DIR", default_value = DEFAULT_ROOT)]
    root: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    trust: TrustArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
    /// Print only the result
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Task {
    /// Make the tables, or bring them to the version of this program
    Migrate,
    /// List the leagues
    List,
    /// Write leagues into a folder, as the file store would have written them
    Export,
    /// Take over the leagues of a folder
    Import,
}

impl DbArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Exit, CommandError> {
        let dir = self.dir.as_deref().unwrap_or(&self.root);
        let database = self.store.connect(&Root::new(&self.root), &self.trust)?;
        if self.task != Task::Migrate {
            database.check().map_err(|error| unusable(&error))?;
        }
        match self.task {
            Task::Migrate => self.migrate(&database, out),
            Task::List => self.list(&database, out),
            Task::Export => self.export(&database, dir, out),
            Task::Import => self.import(&database, dir, out),
        }
    }

    fn talks(&self) -> bool {
        self.output == Output::Text && !self.quiet
    }

    fn export(
        &self,
        database: &Database,
        dir: &Path,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        let root = Root::new(dir);
        let filled = export(database, &root, self.league_id.as_ref());
        let filled = filled.map_err(|error| not_filled(&root, &error))?;
        self.print("exported", &filled, dir, out)
    }

    fn migrate(&self, database: &Database, out: &mut impl Write) -> Result<Exit, CommandError> {
        let (before, now) = database.migrate().map_err(|error| unusable(&error))?;
        let name = database.name();
        if self.output == Output::Json {
            let object = json!({"event": "migrated", "store": name, "from": before, "to": now});
            print_object(out, &object)?;
        } else if before == now {
            writeln!(out, "the tables of {name} have version {now} already")?;
        } else {
            writeln!(
                out,
                "the tables of {name} went from version {before} to {now}"
            )?;
        }
        Ok(Exit::Yes)
    }

    fn list(&self, database: &Database, out: &mut impl Write) -> Result<Exit, CommandError> {
        let leagues = database.leagues(true).map_err(|error| unusable(&error))?;
        if leagues.is_empty() && self.talks() {
            writeln!(out, "no league is in {}", database.name())?;
        }
        for league in leagues {
            let state = match (league.over, league.is_held) {
                (true, _) => "over",
                (false, true) => "held",
                (false, false) => "waiting",
            };
            if self.output == Output::Json {
                let object = json!({
                    "event": "league", "league_id": league.league, "state": state,
                    "manager": league.address, "epoch": league.epoch,
                });
                print_object(out, &object)?;
            } else {
                let place = match state {
                    "held" => format!("held by {}", league.address),
                    "waiting" => "waits for a manager".to_owned(),
                    _ => "over".to_owned(),
                };
                writeln!(out, "{}  {place}, epoch {}", league.league, league.epoch)?;
            }
        }
        Ok(Exit::Yes)
    }

    fn import(
        &self,
        database: &Database,
        dir: &Path,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        let root = Root::new(dir);
        let what = format!("could not import `{}`", dir.display());
        let hint = "name the folder that holds `data/leagues`";
        let found = leagues(&root)
            .map_err(|error| CommandError::usage(what.clone(), error.to_string(), hint))?;
        let chosen: Vec<LeagueId> = match &self.league_id {
            Some(league) => vec![league.clone()],
            None => found,
        };
        let mut imported = Vec::new();
        for league in &chosen {
            let lines = import(database, &root, league)
                .map_err(|error| CommandError::world(what.clone(), chain(&error), error.hint()))?;
            imported.push(FilledLeague {
                league: league.clone(),
                lines,
            });
        }
        self.print("imported", &imported, dir, out)
    }

    fn print(
        &self,
        done: &str,
        leagues: &[FilledLeague],
        dir: &Path,
        out: &mut impl Write,
    ) -> Result<Exit, CommandError> {
        for FilledLeague { league, lines } in leagues {
            if self.output == Output::Json {
                let dir = dir.to_string_lossy();
                let object =
                    json!({"event": done, "league_id": league, "lines": lines, "dir": dir});
                print_object(out, &object)?;
            } else if self.talks() {
                let lines = count(*lines, "line");
                writeln!(out, "{done} league `{league}` with {lines} of journals")?;
            }
        }
        if leagues.is_empty() && self.talks() {
            writeln!(out, "there is no league to take")?;
        }
        Ok(Exit::Yes)
    }
}
