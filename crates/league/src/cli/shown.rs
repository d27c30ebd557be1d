//! Which league `league serve` and `league report` show.

use std::path::{Path, PathBuf};

use crate::storage::root::Root;
use crate::storage::verify::leagues;
use clap::Args;
use league_protocol::id::LeagueId;

use super::common::{Common, league_id};
use super::failure::{Failure, Kind};
use super::interrupted::{Interrupted, last_played};

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
        let interrupted = Interrupted::look(root, self.dir(), league.clone());
        interrupted.map(|interrupted| interrupted.resume)
    }

    /// The root and the league that are meant.
    pub(super) fn find(&self) -> Result<(Root, LeagueId), Failure> {
        let root = Root::new(self.dir());
        let all = leagues(&root).map_err(|error| self.none(&error.to_string()))?;
        let found = match &self.league_id {
            Some(named) => all.into_iter().find(|league| league == named),
            None => {
                let all = all.into_iter();
                all.max_by_key(|league| last_played(&root, league))
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
