//! Which league `league serve` and `league report` show.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use league::root::Root;
use league::store::holder;
use league::verify::leagues;
use league::web::resume;
use league_protocol::id::LeagueId;

use super::common::{Common, league_id, root_flag};
use super::failure::{Failure, Kind};
use super::finished::is_over;

/// A league that lies on the disk.
#[derive(Debug, Clone, Args)]
pub(super) struct Shown {
    /// The root of the league's files, as `--root` names it too
    #[arg(conflicts_with = "root")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    pub(super) common: Common,
    /// Which league [default: the one that was played last]
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
}

impl Shown {
    fn dir(&self) -> &Path {
        self.dir.as_deref().unwrap_or(&self.common.root)
    }

    /// The command that takes up a league which is not over and which nobody plays on this
    /// machine.
    pub(super) fn resume(&self, root: &Root, league: &LeagueId) -> Option<String> {
        let stands = holder(&root.league_journal(league)).is_none() && !is_over(root, league);
        stands.then(|| format!("{}{}", resume(root, league), root_flag(self.dir())))
    }

    /// The root and the league that are meant.
    pub(super) fn find(&self) -> Result<(Root, LeagueId), Failure> {
        let root = Root::new(self.dir());
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
        Failure {
            what: format!("could not show a league of `{}`", self.dir().display()),
            cause: cause.to_owned(),
            hint: "name the folder that holds `data/leagues`, or play one with `league run`"
                .to_owned(),
            kind: Kind::Use,
        }
    }
}
