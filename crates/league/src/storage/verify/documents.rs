//! The manager's documents on disk, held against what they must say at their version.

use std::path::PathBuf;

use league_core::league::{Event, League};
use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;

use super::difference::difference;
use super::{Behind, Checked, Disagreement};
use crate::storage::documents::{
    Document, RepositoryError, RoundsDocument, RoundsRepository, StandingsDocument,
    StandingsRepository,
};
use crate::storage::documents::{RoundsProjection, standings};
use crate::storage::publishers::changes_table;
use crate::storage::root::Root;

/// The documents that are there, and the rounds as the journal tells them.
#[derive(Debug)]
pub(super) struct Documents {
    table: Option<(PathBuf, StandingsDocument)>,
    list: Option<(PathBuf, RoundsDocument)>,
    rounds: RoundsProjection,
    agreed_table: Option<Agreed>,
    agreed_list: Option<Agreed>,
}

/// A document that agrees with the journal.
#[derive(Debug)]
struct Agreed {
    file: PathBuf,
    version: u64,
    /// Whether the journal knows more by now.
    behind: bool,
}

impl Documents {
    pub(super) fn load(root: &Root, league: &LeagueId) -> Result<Self, RepositoryError> {
        let table = StandingsRepository::new(root, league.clone());
        let list = RoundsRepository::new(root, league.clone());
        let found_table = table.path().exists().then(|| table.load()).transpose()?;
        let found_list = list.path().exists().then(|| list.load()).transpose()?;
        // A document that tells nothing yet reflects no entry.
        let found_table =
            found_table.filter(|found| *found != StandingsDocument::empty(league.clone()));
        let found_list = found_list.filter(|found| *found != RoundsDocument::empty(league.clone()));
        Ok(Self {
            table: found_table.map(|found| (table.path().to_owned(), found)),
            list: found_list.map(|found| (list.path().to_owned(), found)),
            rounds: RoundsProjection::new(league.clone()),
            agreed_table: None,
            agreed_list: None,
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
        let changed = self.rounds.take_in(sequence, at, event, league);
        if let Some(agreed) = self.agreed_list.as_mut().filter(|_| changed) {
            agreed.behind = true;
        }
        if let Some(agreed) = self.agreed_table.as_mut().filter(|_| changes_table(event)) {
            agreed.behind = true;
        }
        if let Some((file, found)) = self.table.take_if(|(_, found)| found.version == sequence) {
            let expected = standings(league, sequence, at);
            self.agreed_table = Some(agree(file, sequence, difference(&found, &expected))?);
        }
        if let Some((file, found)) = self.list.take_if(|(_, found)| found.version == sequence) {
            let differs = difference(&found, self.rounds.document());
            self.agreed_list = Some(agree(file, sequence, differs)?);
        }
        Ok(())
    }

    /// Tells the files that agree; one that reflects no entry of the journal does not.
    pub(super) fn finish(self, last: u64, checked: &mut Checked) -> Result<(), Disagreement> {
        let table = self.table.map(|(file, found)| (file, found.version));
        let list = self.list.map(|(file, found)| (file, found.version));
        match table.or(list) {
            None => {
                for agreed in self.agreed_list.into_iter().chain(self.agreed_table) {
                    agreed.tell(checked);
                }
                Ok(())
            }
            Some((file, version)) => Err(Disagreement {
                file,
                line: None,
                what: format!(
                    "`version` is `{version}`, expected a line from 2 to {last} of the journal"
                ),
            }),
        }
    }
}

impl Agreed {
    fn tell(self, checked: &mut Checked) {
        if self.behind {
            checked.behind.push(Behind {
                file: self.file,
                line: self.version,
            });
        } else {
            checked.documents.push(self.file);
        }
    }
}

fn agree(file: PathBuf, version: u64, differs: Option<String>) -> Result<Agreed, Disagreement> {
    match differs {
        None => Ok(Agreed {
            file,
            version,
            behind: false,
        }),
        Some(what) => Err(Disagreement {
            file,
            line: None,
            what,
        }),
    }
}
