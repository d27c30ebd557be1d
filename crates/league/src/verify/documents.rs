//! The manager's documents on disk, held against what they must say at their version.

use std::path::PathBuf;

use league_core::league::{Event, League};
use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;

use super::difference::difference;
use crate::projection::{RoundsProjection, standings};
use crate::repository::{
    RepositoryError, RoundsDocument, RoundsRepository, StandingsDocument, StandingsRepository,
};
use crate::root::Root;

/// A document that does not agree with the journal.
#[derive(Debug)]
pub(super) struct Disagreement {
    pub(super) file: PathBuf,
    pub(super) what: String,
}

/// The documents that are there, and the rounds as the journal tells them.
#[derive(Debug)]
pub(super) struct Documents {
    table: Option<(PathBuf, StandingsDocument)>,
    list: Option<(PathBuf, RoundsDocument)>,
    rounds: RoundsProjection,
    agreed: Vec<PathBuf>,
}

impl Documents {
    pub(super) fn load(root: &Root, league: &LeagueId) -> Result<Self, RepositoryError> {
        let table = StandingsRepository::new(root, league.clone());
        let list = RoundsRepository::new(root, league.clone());
        let found_table = table.path().exists().then(|| table.load()).transpose()?;
        let found_list = list.path().exists().then(|| list.load()).transpose()?;
        // A document that tells nothing yet reflects no entry.
        let found_table =
            found_table.filter(|found| *found != StandingsDocument::new(league.clone()));
        let found_list = found_list.filter(|found| *found != RoundsDocument::new(league.clone()));
        Ok(Self {
            table: found_table.map(|found| (table.path().to_owned(), found)),
            list: found_list.map(|found| (list.path().to_owned(), found)),
            rounds: RoundsProjection::new(league.clone()),
            agreed: Vec::new(),
        })
    }

    /// Compares the documents that reflect this entry, which `league` has just taken in.
    pub(super) fn compare(
        &mut self,
        sequence: u64,
        at: Timestamp,
        event: &Event,
        league: &League,
    ) -> Result<(), Disagreement> {
        self.rounds.take_in(sequence, at, event, league);
        if let Some((file, found)) = self.table.take_if(|(_, found)| found.version == sequence) {
            let expected = standings(league, sequence, at);
            self.agree(file, difference(&found, &expected))?;
        }
        if let Some((file, found)) = self.list.take_if(|(_, found)| found.version == sequence) {
            let differs = difference(&found, self.rounds.document());
            self.agree(file, differs)?;
        }
        Ok(())
    }

    /// Gives the files that agree; one that reflects no entry of the journal does not.
    pub(super) fn finish(self, last: u64) -> Result<Vec<PathBuf>, Disagreement> {
        let table = self.table.map(|(file, found)| (file, found.version));
        let list = self.list.map(|(file, found)| (file, found.version));
        match table.or(list) {
            None => Ok(self.agreed),
            Some((file, version)) => Err(Disagreement {
                file,
                what: format!(
                    "`version` is `{version}`, expected a line from 2 to {last} of the journal"
                ),
            }),
        }
    }

    fn agree(&mut self, file: PathBuf, differs: Option<String>) -> Result<(), Disagreement> {
        match differs {
            None => {
                self.agreed.push(file);
                Ok(())
            }
            Some(what) => Err(Disagreement { file, what }),
        }
    }
}
