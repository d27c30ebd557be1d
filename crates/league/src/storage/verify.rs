//! Verifies that a league is what its journal says, by recomputing everything that follows from it.
//!
//! It needs no secret and trusts no agent: the lines must be chained, each fact must be a possible
//! successor of the facts before it, each draw must match its commitment, each game is replayed,
//! and the table is added up a second time in another way. Other records of a match, from referees,
//! players and the files made from their journals, must agree.

mod difference;
mod evidence;
mod manager;
mod players;
mod referees;
mod transcript;
mod verdict;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use league_core::league;
use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;
use league_protocol::token::hex;
use thiserror::Error;

use crate::storage::documents::RepositoryError;
use crate::storage::files::{FolderError, leagues_below};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{End, Entry, Journal, StoreError, holder};
use evidence::Evidence;
pub(crate) use manager::ManagerDocuments;
use manager::ManagerReplay;
use referees::MatchFiles;
use verdict::NOT_HERE;
pub(crate) use verdict::{
    Behind, Checked, Conclusion, NotCompared, RecordKind, RepeatedMatch, Verdict, Wrong,
};

/// The phase of an unfinished league that no process on this machine plays.
const INTERRUPTED: &str = "interrupted";

/// How many disputes are listed one by one.
pub(crate) const MAX_DISPUTED: usize = 20;

/// Why a league could not be verified; this does not say that the league is wrong.
#[derive(Debug, Error)]
pub(crate) enum VerifyError {
    /// There is no league below this folder.
    #[error("there is no league below `{}`", .0.display())]
    NoLeague(PathBuf),
    /// The league has no journal here.
    #[error("there is no journal of league `{league}` below `{}`", root.display())]
    NoSuchLeague {
        league: LeagueId,
        /// The root where it was expected.
        root: PathBuf,
    },
    /// A folder cannot be listed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A document cannot be read.
    #[error(transparent)]
    Document(#[from] RepositoryError),
}

/// Lists the leagues that have a journal below a root.
pub(crate) fn leagues(root: &Root) -> Result<Vec<LeagueId>, VerifyError> {
    let leagues = leagues_below(root)?;
    if leagues.is_empty() {
        return Err(VerifyError::NoLeague(root.as_path().to_owned()));
    }
    Ok(leagues)
}

/// Recomputes a league from its journals and compares all records.
pub(crate) fn verify(root: &Root, league: &LeagueId) -> Result<Verdict, VerifyError> {
    let mut verdict = Verdict::new(league);
    let wrong = match verify_all(root, league, &mut verdict) {
        Ok(()) => None,
        Err(Stop::Wrong(mut wrong)) => {
            wrong.file = below(root, &wrong.file);
            Some(wrong)
        }
        Err(Stop::Failed(error)) => return Err(error),
    };
    verdict.conclude(wrong);
    let Checked {
        documents,
        behind,
        disputed,
        ..
    } = &mut verdict.checked;
    let behind = behind.iter_mut().map(|behind| &mut behind.file);
    let disputed = disputed.iter_mut().map(|disputed| &mut disputed.file);
    for file in documents.iter_mut().chain(behind).chain(disputed) {
        *file = below(root, file);
    }
    Ok(verdict)
}

/// Why the verification stops early.
enum Stop {
    Wrong(Wrong),
    Failed(VerifyError),
}

impl Stop {
    fn wrong(file: &Path, line: Option<u64>, what: impl Into<String>) -> Self {
        Self::Wrong(Wrong::new(file, line, what))
    }

    fn folder(error: FolderError) -> Self {
        Self::Failed(error.into())
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

fn verify_all(root: &Root, league: &LeagueId, verdict: &mut Verdict) -> Result<(), Stop> {
    let journal = root.league_journal(league);
    if !journal.exists() {
        return Err(Stop::Failed(VerifyError::NoSuchLeague {
            league: league.clone(),
            root: root.as_path().to_owned(),
        }));
    }
    // Loaded before the journal: otherwise a running league could write documents that reflect
    // later entries than the journal as it was read.
    let documents = ManagerDocuments::load(root, league)?;
    let mut evidence = Evidence::new(root, league);
    let gathered = gather(root, league, &mut evidence);
    let mut replay = ManagerReplay::new(league, documents, evidence);
    let compared = compare(&journal, &mut replay, gathered);
    replay.evidence.sum_up();
    *verdict = replay.evidence.verdict;
    tell_missing(root, league, compared?, verdict);
    Ok(())
}

/// Reads the manager's journal and compares; `gathered` is the number of players with files here.
fn compare(
    journal: &Path,
    replay: &mut ManagerReplay<'_>,
    gathered: Result<usize, Stop>,
) -> Result<usize, Stop> {
    let end = read_journal(journal, |entry| replay.apply(entry));
    replay.note_progress();
    let is_over = replay.is_over();
    let checked = &mut replay.evidence.verdict.checked;
    if !is_over && holder(journal).is_none() {
        checked.phase = Some(INTERRUPTED.to_owned());
    }
    let end = end?;
    checked.lines = end.last;
    checked.head = Some(hex(&end.hash));
    checked.unfinished_bytes = end.unfinished.map_or(0, |cut| cut.bytes);
    replay
        .check_table()
        .map_err(|what| Stop::wrong(journal, Some(end.last.max(1)), what))?;
    let ManagerReplay {
        documents,
        evidence,
        ..
    } = replay;
    documents.finish(end.last, &mut evidence.verdict.checked)?;
    let remembering = gathered?;
    evidence.finish()?;
    Ok(remembering)
}

/// Reports the missing files of a league; `remembering` is the number of players with files here.
fn tell_missing(root: &Root, league: &LeagueId, remembering: usize, verdict: &mut Verdict) {
    let checked = &verdict.checked;
    let left_out = checked.not_compared.iter();
    let left_out = left_out.filter(|files| matches!(files.kind, RecordKind::MatchFiles(_)));
    let known =
        checked.ruled + checked.match_files + left_out.map(|files| files.count).sum::<u64>();
    let mut missing = vec![(
        RecordKind::MatchFiles(NOT_HERE),
        checked.results.saturating_sub(known),
    )];
    if checked.results > 0 {
        let elsewhere = checked.players.saturating_sub(remembering) as u64;
        missing.push((RecordKind::Memories(NOT_HERE), elsewhere));
    }
    for file in [root.standings(league), root.rounds(league)] {
        let is_missing = u64::from(!file.exists());
        missing.push((RecordKind::Document(below(root, &file)), is_missing));
    }
    for (kind, count) in missing.into_iter().filter(|(_, count)| *count > 0) {
        verdict.leave_out(kind, count);
    }
}

/// Collects the records of referees and players; returns the number of players with files here.
fn gather(root: &Root, league: &LeagueId, evidence: &mut Evidence) -> Result<usize, Stop> {
    let since = beginning(&root.league_journal(league));
    // A file is written after the journal line that it reflects, so it must be read before the
    // journal.
    let mut files = MatchFiles::load(root, league, since, evidence)?;
    referees::gather(root, league, &mut files, evidence)?;
    files.finish(evidence)?;
    players::gather(root, league, since, evidence)
}

/// When the league began: earlier records belong to a former league of the same name.
fn beginning(journal: &Path) -> Timestamp {
    let mut beginning = Timestamp::default();
    let read = Journal::read(journal, |entry: Entry<Record<league::Event>>| {
        beginning = entry.at;
        ControlFlow::Break(())
    });
    // A damaged journal is reported when it is read to its end.
    read.map_or(Timestamp::default(), |_| beginning)
}

/// Reads a journal until `check` refuses a line.
fn read_journal<Fact: serde::de::DeserializeOwned + Send>(
    path: &Path,
    mut check: impl FnMut(Entry<Fact>) -> Result<(), Finding>,
) -> Result<End, Stop> {
    let mut wrong = None;
    let end = Journal::read(path, |entry| {
        let line = entry.sequence;
        match check(entry) {
            Ok(()) => ControlFlow::Continue(()),
            Err(finding) => {
                wrong = Some(match finding {
                    Finding::Line(what) => Stop::wrong(path, Some(line), what),
                    Finding::Elsewhere(found) => found.into(),
                });
                ControlFlow::Break(())
            }
        }
    })?;
    wrong.map_or(Ok(end), Err)
}

/// Why an entry is refused.
enum Finding {
    /// The line itself is wrong.
    Line(String),
    /// Another record is not what it must be after this line.
    Elsewhere(Wrong),
}

impl From<Wrong> for Stop {
    fn from(found: Wrong) -> Self {
        Self::Wrong(found)
    }
}

/// A path relative to the root.
fn below(root: &Root, file: &Path) -> PathBuf {
    let below = file.strip_prefix(root.as_path());
    below.unwrap_or(file).to_owned()
}
