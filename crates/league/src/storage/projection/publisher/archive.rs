//! Writes what is due into the files below a root.

use std::collections::BTreeMap;

use league_protocol::id::{LeagueId, RefereeId};

use crate::storage::documents::{
    HistoryDocument, MatchDocument, MatchRepository, PlayerHistoryRepository, RepositoryError,
    RoundsDocument, RoundsRepository, StandingsDocument, StandingsRepository,
};
use crate::storage::root::Root;
use crate::wire::observed::{self, ObservedDocument};

/// How many files of lines are remembered by their last version.
const MOST_REMEMBERED: usize = 64;

/// A document to be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Publication {
    /// The table.
    Standings(StandingsDocument),
    /// The rounds.
    Rounds(RoundsDocument),
    /// A match in a file of its own.
    Match(MatchDocument),
    /// A match as a line among those of its round.
    MatchLine {
        /// Who wrote it.
        referee: RefereeId,
        /// The match.
        document: MatchDocument,
    },
    /// What a player remembers.
    History(HistoryDocument),
    /// What a process found out about other agents.
    Observed(ObservedDocument),
}

/// Writes documents below a root.
#[derive(Debug)]
pub(crate) struct Archive {
    root: Root,
    /// The last version in each file of lines that was touched.
    last_lines: BTreeMap<(LeagueId, u32, RefereeId), u64>,
}

impl Archive {
    /// Takes the root.
    pub(crate) fn new(root: Root) -> Self {
        Self {
            root,
            last_lines: BTreeMap::new(),
        }
    }

    /// Writes a document; one that stands there already in this version is left as it is.
    pub(crate) fn write(&mut self, publication: &Publication) -> Result<(), RepositoryError> {
        match publication {
            Publication::Standings(document) => {
                StandingsRepository::new(&self.root, document.league_id.clone()).save(document)
            }
            Publication::Rounds(document) => {
                RoundsRepository::new(&self.root, document.league_id.clone()).save(document)
            }
            Publication::History(document) => {
                let player = document.player_id.clone();
                PlayerHistoryRepository::new(&self.root, player).save(document)
            }
            Publication::Match(document) => {
                let matches = self.matches(document);
                let attempt = document.lifecycle.attempt;
                let written = matches.version(&document.match_id, attempt);
                if written.is_some_and(|written| written >= document.version) {
                    return Ok(());
                }
                matches.save(document)
            }
            Publication::Observed(document) => observed::write(&self.root, document),
            Publication::MatchLine { referee, document } => self.write_line(referee, document),
        }
    }

    fn matches(&self, document: &MatchDocument) -> MatchRepository {
        MatchRepository::new(&self.root, document.league_id.clone())
    }

    fn write_line(
        &mut self,
        referee: &RefereeId,
        document: &MatchDocument,
    ) -> Result<(), RepositoryError> {
        let matches = self.matches(document);
        let round = document.round_id;
        let key = (document.league_id.clone(), round, referee.clone());
        let last = match self.last_lines.get(&key) {
            Some(last) => *last,
            None => matches.last_version(round, referee)?,
        };
        if document.version > last {
            matches.append(referee, document)?;
        }
        self.last_lines.insert(key, last.max(document.version));
        while self.last_lines.len() > MOST_REMEMBERED {
            self.last_lines.pop_first();
        }
        Ok(())
    }
}
