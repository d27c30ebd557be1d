//! Whether a league is what its journal says: everything that follows is worked out again.
//!
//! It needs no secret and takes nobody's word: the lines must be chained, each fact must be able
//! to follow those before it, each draw must keep its promise, each game is played again, and the
//! table is added up a second time in another way.

mod difference;
mod documents;
mod replay;
mod table;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use league_core::referee;
use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::token::hex;
use serde::Serialize;
use thiserror::Error;

use crate::record::Record;
use crate::repository::RepositoryError;
use crate::root::Root;
use crate::store::{End, Entry, Journal, StoreError};
use documents::Documents;
use replay::Replay;

/// Why a league could not be looked at; says nothing about the league.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// There is no league below this folder.
    #[error("there is no league below `{}`", .0.display())]
    NoLeague(PathBuf),
    /// The league has no journal here.
    #[error("there is no journal of league `{league}` below `{}`", root.display())]
    NoSuchLeague {
        /// Which league was asked for.
        league: LeagueId,
        /// Where it was looked for.
        root: PathBuf,
    },
    /// A folder cannot be listed.
    #[error("could not list `{}`", folder.display())]
    Folder {
        /// Which folder.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A document cannot be read.
    #[error(transparent)]
    Document(#[from] RepositoryError),
}

/// What was found out about a league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Which league.
    pub league_id: LeagueId,
    /// Whether all that was looked at holds.
    pub verified: bool,
    /// The first thing that does not hold.
    pub wrong: Option<Wrong>,
    /// What was looked at; if something is wrong, up to there.
    pub checked: Checked,
}

/// The first thing that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// In which file, below the root.
    pub file: PathBuf,
    /// In which line of a journal, from 1.
    pub line: Option<u64>,
    /// What is wrong with it, and what was expected.
    pub what: String,
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Checked {
    /// How far the league is: `registering`, `running` or `completed`.
    pub phase: Option<String>,
    /// Whether all chance came from a seed that was given.
    pub reproducible: bool,
    /// Lines of the manager's journal.
    pub lines: u64,
    /// The SHA-256 of its last line: whoever noted it before knows that nothing was changed since.
    pub head: Option<String>,
    /// Bytes at its end that were not written to their end.
    pub unfinished_bytes: u64,
    /// Players that are in.
    pub players: usize,
    /// Referees that are in.
    pub referees: usize,
    /// Rounds that have begun.
    pub rounds: u32,
    /// Results, each with its draw opened and its game played again.
    pub results: u64,
    /// Matches there are in all.
    pub matches: u64,
    /// Documents that agree with the journal.
    pub documents: Vec<PathBuf>,
    /// Referees whose journals were looked at.
    pub referee_journals: u64,
    /// Lines of the referees' journals.
    pub referee_lines: u64,
}

/// Lists the leagues that have a journal below a root.
pub fn leagues(root: &Root) -> Result<Vec<LeagueId>, VerifyError> {
    let folder = root.as_path().join("data/leagues");
    let mut leagues: Vec<LeagueId> = names(&folder)?
        .into_iter()
        .filter_map(|name| LeagueId::new(name).ok())
        .filter(|league| root.league_journal(league).exists())
        .collect();
    leagues.sort();
    if leagues.is_empty() {
        return Err(VerifyError::NoLeague(root.as_path().to_owned()));
    }
    Ok(leagues)
}

/// Works out a league again from its journals and compares.
pub fn verify(root: &Root, league: &LeagueId) -> Result<Verdict, VerifyError> {
    let mut verdict = Verdict {
        league_id: league.clone(),
        verified: false,
        wrong: None,
        checked: Checked::default(),
    };
    match verify_all(root, league, &mut verdict.checked) {
        Ok(()) => verdict.verified = true,
        Err(Stop::Wrong(mut wrong)) => {
            if let Ok(below) = wrong.file.strip_prefix(root.as_path()) {
                wrong.file = below.to_owned();
            }
            verdict.wrong = Some(wrong);
        }
        Err(Stop::Failed(error)) => return Err(error),
    }
    Ok(verdict)
}

/// Why looking on makes no sense.
enum Stop {
    Wrong(Wrong),
    Failed(VerifyError),
}

impl Stop {
    fn wrong(file: &Path, line: Option<u64>, what: impl Into<String>) -> Self {
        Self::Wrong(Wrong {
            file: file.to_owned(),
            line,
            what: what.into(),
        })
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Damaged {
                path, line, damage, ..
            } => Self::wrong(&path, Some(line), damage.to_string()),
            other => Self::Failed(other.into()),
        }
    }
}

impl From<RepositoryError> for Stop {
    fn from(error: RepositoryError) -> Self {
        match error {
            RepositoryError::WrongForm { file, source } => {
                Self::wrong(&file, None, source.to_string())
            }
            other => Self::Failed(other.into()),
        }
    }
}

fn verify_all(root: &Root, league: &LeagueId, checked: &mut Checked) -> Result<(), Stop> {
    let journal = root.league_journal(league);
    if !journal.exists() {
        return Err(Stop::Failed(VerifyError::NoSuchLeague {
            league: league.clone(),
            root: root.as_path().to_owned(),
        }));
    }
    // Before the journal, so that a league that is going on cannot have written documents that the
    // journal, as it was read, does not reach.
    let documents = Documents::load(root, league)?;
    let mut replay = Replay::new(league, documents);
    let end = read_journal(&journal, |entry| replay.take_in(entry));
    replay.tell(checked);
    let end = end?;
    checked.lines = end.last;
    checked.head = Some(hex(&end.hash));
    checked.unfinished_bytes = end.unfinished.map_or(0, |cut| cut.bytes);
    replay
        .check_table()
        .map_err(|what| Stop::wrong(&journal, Some(end.last.max(1)), what))?;
    let agreed = replay
        .finish(end.last)
        .map_err(|found| Stop::wrong(&found.file, None, found.what))?;
    let below = |file: PathBuf| match file.strip_prefix(root.as_path()) {
        Ok(below) => below.to_owned(),
        Err(_) => file,
    };
    checked.documents = agreed.into_iter().map(below).collect();
    verify_referees(root, league, checked)
}

/// Reads a journal until `check` finds a line at fault.
fn read_journal<Fact: serde::de::DeserializeOwned>(
    path: &Path,
    mut check: impl FnMut(Entry<Fact>) -> Result<(), Finding>,
) -> Result<End, Stop> {
    let mut wrong = None;
    let end = Journal::read(path, |entry| {
        let line = entry.sequence;
        match check(entry) {
            Ok(()) => std::ops::ControlFlow::Continue(()),
            Err(finding) => {
                wrong = Some(match finding {
                    Finding::Line(what) => Stop::wrong(path, Some(line), what),
                    Finding::Document(found) => Stop::wrong(&found.file, None, found.what),
                });
                std::ops::ControlFlow::Break(())
            }
        }
    })?;
    wrong.map_or(Ok(end), Err)
}

/// What an entry brought to light.
enum Finding {
    /// The line itself is wrong.
    Line(String),
    /// A document is not what it must be after this line.
    Document(documents::Disagreement),
}

fn verify_referees(root: &Root, league: &LeagueId, checked: &mut Checked) -> Result<(), Stop> {
    let folder = root.referees_folder(league);
    let mut referees: Vec<RefereeId> = names(&folder)
        .map_err(Stop::Failed)?
        .into_iter()
        .filter_map(|name| RefereeId::new(name).ok())
        .collect();
    referees.sort();
    for referee in referees {
        let journal = root.referee_journal(league, &referee);
        if !journal.exists() {
            continue;
        }
        let end = read_journal(&journal, |entry: Entry<Record<referee::Event>>| {
            let opened = matches!(entry.fact, Record::Opened(_));
            replay::check_opening(entry.sequence, opened).map_err(Finding::Line)
        })?;
        checked.referee_journals += 1;
        checked.referee_lines += end.last;
    }
    Ok(())
}

/// The names in a folder; none if there is no such folder.
fn names(folder: &Path) -> Result<Vec<String>, VerifyError> {
    let failed = |source| VerifyError::Folder {
        folder: folder.to_owned(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let name = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name());
    let names = entries.map(name).collect::<Result<Vec<_>, _>>();
    let names = names.map_err(failed)?;
    Ok(names
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .collect())
}
