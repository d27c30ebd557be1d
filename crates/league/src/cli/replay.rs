//! `league replay`: the files of a league made again from its journals, or what was said in a match.

mod said;

use std::io::Write;
use std::path::PathBuf;

use crate::storage::documents::{MatchRepository, RepositoryError};
use crate::storage::replay::{Rebuilt, ReplayError, leagues, rebuild};
use crate::storage::root::{DEFAULT_ROOT, Root};
use clap::Args;
use league_protocol::id::{LeagueId, MatchId};
use serde_json::json;

use super::asking::count;
use super::common::{bad_config, league_id};
use super::failure::{Failure, Kind};
use super::{Answer, Output};

/// Make the files under data/ again from the journals, or step through a match
///
/// What stands in the files is not looked at, the journals are only read. With --match nothing is
/// made: it prints what was said in that match, message by message.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  league replay SHARED
  league replay SHARED --league-id league_2025_even_odd
  league replay --match R1M1
  league replay --match R1M1 --output json | jq .message")]
pub(super) struct Replay {
    /// The root of the league's files
    #[arg(default_value = DEFAULT_ROOT, conflicts_with = "root")]
    dir: PathBuf,
    /// The same, as the other commands take it
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// One league only; without it every league below the root
    #[arg(long, value_name = "ID", value_parser = league_id)]
    league_id: Option<LeagueId>,
    /// Print what was said in this match
    #[arg(long = "match", value_name = "ID", value_parser = match_id)]
    match_id: Option<MatchId>,
    /// How to print
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    output: Output,
}

fn match_id(text: &str) -> Result<MatchId, String> {
    MatchId::new(text).map_err(|error| error.to_string())
}

impl Replay {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<Answer, Failure> {
        let root = Root::new(self.root.as_ref().unwrap_or(&self.dir));
        let chosen = self.chosen(&root)?;
        if let Some(match_id) = &self.match_id {
            return self.step(&root, &chosen, match_id, out);
        }
        for league in &chosen {
            let rebuilt = rebuild(&root, league).map_err(|error| self.not_rebuilt(error))?;
            self.tell(league, &rebuilt, out)?;
        }
        Ok(Answer::Yes)
    }

    /// The leagues that are meant, at least one.
    fn chosen(&self, root: &Root) -> Result<Vec<LeagueId>, Failure> {
        if let Some(league) = &self.league_id {
            return Ok(vec![league.clone()]);
        }
        let found = leagues(root).map_err(|error| self.not_rebuilt(error))?;
        if found.is_empty() {
            let cause = format!(
                "there is no league below `{}`",
                self.root.as_ref().unwrap_or(&self.dir).display()
            );
            return Err(self.wrong(cause, "name the folder that holds `data/leagues`"));
        }
        Ok(found)
    }

    fn tell(
        &self,
        league: &LeagueId,
        rebuilt: &Rebuilt,
        out: &mut impl Write,
    ) -> Result<(), Failure> {
        /// The table and the rounds.
        const OF_THE_LEAGUE: u64 = 2;
        let Rebuilt {
            entries,
            matches,
            players,
        } = rebuilt;
        let files = OF_THE_LEAGUE + matches + players;
        if self.output == Output::Json {
            let object = json!({
                "league_id": league, "files": files, "entries": entries,
                "matches": matches, "players": players,
            });
            writeln!(out, "{object}")?;
        } else {
            let (files, entries) = (count(files, "file"), count(*entries, "line"));
            let (matches, players) = (count(*matches, "match"), count(*players, "player"));
            writeln!(
                out,
                "{league}: {files} made again from {entries} of journal: table, rounds, {matches}, {players}"
            )?;
        }
        out.flush()?;
        Ok(())
    }

    /// Prints what was said in a match.
    fn step(
        &self,
        root: &Root,
        chosen: &[LeagueId],
        match_id: &MatchId,
        out: &mut impl Write,
    ) -> Result<Answer, Failure> {
        let [league] = chosen else {
            let names: Vec<String> = chosen.iter().map(|id| format!("`{id}`")).collect();
            let cause = format!("there are several leagues: {}", names.join(", "));
            return Err(self.wrong(cause, "name one with `--league-id`"));
        };
        let matches = MatchRepository::new(root, league.clone());
        let document = matches
            .load(match_id)
            .map_err(|error| self.unread(&error))?;
        let Some(document) = document else {
            let cause = format!("there is no match `{match_id}` in league `{league}`");
            let hint = "see its matches in `rounds.json`; `league replay` makes the files again";
            return Err(self.wrong(cause, hint));
        };
        match self.output {
            Output::Text => said::print_text(&document, out)?,
            Output::Json => said::print_json(&document, out)?,
        }
        Ok(match document.transcript.is_empty() {
            true => Answer::No,
            false => Answer::Yes,
        })
    }

    fn what(&self) -> String {
        format!(
            "could not replay `{}`",
            self.root.as_ref().unwrap_or(&self.dir).display()
        )
    }

    fn wrong(&self, cause: String, hint: &str) -> Failure {
        Failure {
            what: self.what(),
            cause,
            hint: hint.to_owned(),
            kind: Kind::Use,
        }
    }

    fn unread(&self, error: &RepositoryError) -> Failure {
        let hint = match error {
            RepositoryError::WrongForm { .. } => "make the files again with `league replay`",
            _ => "check the disk and the permissions",
        };
        Failure {
            what: self.what(),
            cause: super::chain(error),
            hint: hint.to_owned(),
            kind: Kind::World,
        }
    }

    fn not_rebuilt(&self, error: ReplayError) -> Failure {
        let cause = super::chain(&error);
        let (hint, kind) = match error {
            ReplayError::NoJournal(_) => (
                "name the folder that holds `data/leagues`, or another `--league-id`".to_owned(),
                Kind::Use,
            ),
            ReplayError::Journal(store) => (store.hint(), Kind::World),
            ReplayError::Config(config) => return bad_config(config),
            ReplayError::NoRules(_) | ReplayError::Rules { .. } => (
                "restore the journal from a copy; `league verify` shows what is wrong".to_owned(),
                Kind::World,
            ),
            ReplayError::Repository(_) | ReplayError::Folder { .. } => {
                ("check the disk and the permissions".to_owned(), Kind::World)
            }
        };
        Failure {
            what: self.what(),
            cause,
            hint,
            kind,
        }
    }
}
