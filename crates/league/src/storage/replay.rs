//! Makes the files under `data/` again from the journals alone.
//!
//! What stands in the files is not looked at. A referee's lines of a round are removed first; every
//! other file is replaced in one step, so that readers may go on. Journals are only read.

mod players;
mod referees;

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use league_core::draw::LeagueSecret;
use league_core::league::{Event, League, RulesError};
use league_core::machine::Machine;
use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::config::ConfigError;
use crate::storage::document_writer::DocumentFiles;
use crate::storage::documents::RepositoryError;
use crate::storage::publishers::LeaguePublisher;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal, StoreError};

/// Why files cannot be made again.
#[derive(Debug, Error)]
pub(crate) enum ReplayError {
    /// There is no league of that name.
    #[error("there is no journal `{}`", .0.display())]
    NoJournal(PathBuf),
    /// The manager's journal does not begin with the rules.
    #[error("`{}` does not begin with the rules of a league", .0.display())]
    NoRules(PathBuf),
    /// No league can be held by the rules in the journal.
    #[error("no league can be held by the rules in `{}`", file.display())]
    Rules {
        /// Which journal.
        file: PathBuf,
        /// What is wrong with them.
        source: RulesError,
    },
    /// A journal cannot be read.
    #[error(transparent)]
    Journal(#[from] StoreError),
    /// A file cannot be written.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// How much players remember cannot be found out.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A folder cannot be looked into.
    #[error("could not look into `{}`", folder.display())]
    Folder {
        /// Which folder.
        folder: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

/// What was made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rebuilt {
    /// Entries of all journals that were read.
    pub(crate) entries: u64,
    /// Matches that were written.
    pub(crate) matches: u64,
    /// Players whose memory was written.
    pub(crate) players: u64,
}

/// Makes all files of a league again.
pub(crate) fn rebuild(root: &Root, league: &LeagueId) -> Result<Rebuilt, ReplayError> {
    let mut rebuilt = Rebuilt {
        entries: rebuild_league(root, league)?,
        ..Rebuilt::default()
    };
    referees::rebuild(root, league, &mut rebuilt)?;
    players::rebuild(root, league, &mut rebuilt)?;
    Ok(rebuilt)
}

/// The leagues below a root that have a journal.
pub(crate) fn leagues(root: &Root) -> Result<Vec<LeagueId>, ReplayError> {
    let names = names_in(&root.as_path().join("data/leagues"))?;
    let ids = names.iter().filter_map(|name| LeagueId::new(name).ok());
    Ok(ids.filter(|id| root.league_journal(id).exists()).collect())
}

/// Makes table and rounds again; gives the number of entries.
fn rebuild_league(root: &Root, league_id: &LeagueId) -> Result<u64, ReplayError> {
    let file = root.league_journal(league_id);
    if !file.exists() {
        return Err(ReplayError::NoJournal(file));
    }
    let mut publisher = LeaguePublisher::new(league_id.clone());
    let mut league = None;
    let read = read(&file, |entry: Entry<Record<Event>>| {
        match (&entry.fact, &mut league) {
            (Record::Opened(opening), None) => {
                let rules = opening.rules.clone();
                // The secret is nobody's business here; no document is made of it.
                league = rules.map(|rules| League::new(rules, LeagueSecret([0; 32])));
            }
            (Record::Event(event), Some(Ok(league))) => {
                league.apply(event);
                publisher.take_in(entry.sequence, entry.at, &entry.fact, league);
            }
            _ => {}
        }
        Ok(())
    })?;
    let league = match league {
        None => return Err(ReplayError::NoRules(file)),
        Some(Err(source)) => return Err(ReplayError::Rules { file, source }),
        Some(Ok(league)) => league,
    };
    let mut archive = DocumentFiles::new(root.clone());
    for publication in publisher.rest(Timestamp::default(), &league) {
        archive.write(&publication)?;
    }
    Ok(read)
}

/// Reads a journal to its end, or to the first entry that cannot be dealt with.
fn read<Fact: DeserializeOwned>(
    file: &Path,
    mut visit: impl FnMut(Entry<Fact>) -> Result<(), ReplayError>,
) -> Result<u64, ReplayError> {
    let mut failed = None;
    let end = Journal::read(file, |entry| match visit(entry) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(end.last), Err)
}

/// The names in a folder, in order; none if there is no such folder.
fn names_in(folder: &Path) -> Result<Vec<String>, ReplayError> {
    let broken = |source| ReplayError::Folder {
        folder: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(broken)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(broken)?.file_name();
        names.extend(name.into_string());
    }
    names.sort();
    Ok(names)
}
