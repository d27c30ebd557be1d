//! Which league `league serve` and `league report` show.

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use league::root::{DEFAULT_ROOT, Root};
use league::verify::leagues;
use league_protocol::id::LeagueId;

use super::common::league_id;
use super::failure::{Failure, Kind};

/// A league that lies on the disk.
#[derive(Debug, Clone, Args)]
pub(super) struct Shown {
    /// The root of the league's files
    #[arg(default_value = DEFAULT_ROOT, conflicts_with = "root")]
    dir: PathBuf,
    /// The same, as the other commands take it
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Which league [default: the one that was played last]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
}

impl Shown {
    /// The root and the league that are meant.
    pub(super) fn find(&self) -> Result<(Root, LeagueId), Failure> {
        let dir = self.root.as_ref().unwrap_or(&self.dir);
        let root = Root::new(dir);
        let all = leagues(&root).map_err(|error| self.none(&error.to_string()))?;
        let found = match &self.league_id {
            Some(named) => all.into_iter().find(|league| league == named),
            None => {
                let changed = |league: &LeagueId| {
                    let file = std::fs::metadata(root.league_journal(league));
                    let changed = file.and_then(|file| file.modified());
                    changed.unwrap_or(SystemTime::UNIX_EPOCH)
                };
                all.into_iter().max_by_key(changed)
            }
        };
        match (found, &self.league_id) {
            (Some(league), _) => Ok((root, league)),
            (None, Some(named)) => Err(self.none(&format!("there is no league `{named}`"))),
            (None, None) => Err(self.none("there is no league")),
        }
    }

    fn none(&self, cause: &str) -> Failure {
        let dir = self.root.as_ref().unwrap_or(&self.dir);
        Failure {
            what: format!("could not show a league of `{}`", dir.display()),
            cause: cause.to_owned(),
            hint: "name the folder that holds `data/leagues`, or play one with `league run`"
                .to_owned(),
            kind: Kind::Use,
        }
    }
}
