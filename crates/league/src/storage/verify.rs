//! Whether a league is what its journal says: everything that follows is worked out again.
//!
//! It needs no secret and takes nobody's word: the lines must be chained, each fact must be able
//! to follow those before it, each draw must keep its promise, each game is played again, and the
//! table is added up a second time in another way. What others wrote down of a match, referees,
//! players and the files made from their journals, must be the same.

mod claim;
mod difference;
mod documents;
mod matches;
mod memory;
mod players;
mod referees;
mod replay;
mod table;
mod testimony;
mod transcript;
mod verdict;

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use league_core::league;
use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;
use league_protocol::token::hex;
use thiserror::Error;

use crate::storage::documents::RepositoryError;
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{End, Entry, Journal, StoreError, holder};
use documents::Documents;
use matches::MatchFiles;
use replay::Replay;
use testimony::Testimony;
pub(crate) use verdict::{Behind, Checked, MOST_DISPUTED, NotCompared, Verdict, Wrong};

/// How far a league is that is not over and that nobody plays on this machine.
const INTERRUPTED: &str = "interrupted";
/// What players remember is called, where it is not compared.
const MEMORIES: &str = "memories of players";
/// What the files of matches are called where they are not compared.
const MATCH_FILES: &str = "files of matches";

/// Why a league could not be looked at; says nothing about the league.
#[derive(Debug, Error)]
pub(crate) enum VerifyError {
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

/// Lists the leagues that have a journal below a root.
pub(crate) fn leagues(root: &Root) -> Result<Vec<LeagueId>, VerifyError> {
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
pub(crate) fn verify(root: &Root, league: &LeagueId) -> Result<Verdict, VerifyError> {
    let mut verdict = Verdict {
        league_id: league.clone(),
        verified: false,
        wrong: None,
        checked: Checked::default(),
    };
    match verify_all(root, league, &mut verdict.checked) {
        Ok(()) => verdict.verified = true,
        Err(Stop::Wrong(mut wrong)) => {
            wrong.file = below(root, &wrong.file);
            verdict.wrong = Some(wrong);
            // Half read, nobody knows what is missing.
            verdict.checked.not_compared.clear();
        }
        Err(Stop::Failed(error)) => return Err(error),
    }
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
    // Before the journal, so that a league that is going on cannot have written what the journal,
    // as it was read, does not reach.
    let documents = Documents::load(root, league)?;
    let mut testimony = Testimony::new(root, league);
    let gathered = gather(root, league, &mut testimony, checked);
    let mut replay = Replay::new(league, documents, testimony);
    let end = read_journal(&journal, |entry| replay.take_in(entry));
    replay.tell(checked);
    if !replay.is_over() && holder(&journal).is_none() {
        checked.phase = Some(INTERRUPTED.to_owned());
    }
    let end = end?;
    checked.lines = end.last;
    checked.head = Some(hex(&end.hash));
    checked.unfinished_bytes = end.unfinished.map_or(0, |cut| cut.bytes);
    replay
        .check_table()
        .map_err(|what| Stop::wrong(&journal, Some(end.last.max(1)), what))?;
    let mut testimony = replay.finish(end.last, checked)?;
    let remembering = gathered?;
    let agreed = testimony.finish();
    testimony.tell(checked);
    agreed?;
    tell_missing(root, league, remembering, checked);
    Ok(())
}

/// Tells which files are not here that a league has; so many of its players keep theirs here.
fn tell_missing(root: &Root, league: &LeagueId, remembering: usize, checked: &mut Checked) {
    let left_out = checked.not_compared.iter();
    let left_out = left_out.filter(|left_out| left_out.what == MATCH_FILES);
    let known =
        checked.ruled + checked.match_files + left_out.map(|files| files.count).sum::<u64>();
    let mut missing = vec![(
        MATCH_FILES.to_owned(),
        checked.results.saturating_sub(known),
    )];
    if checked.results > 0 {
        let elsewhere = checked.players.saturating_sub(remembering) as u64;
        missing.push((MEMORIES.to_owned(), elsewhere));
    }
    for file in [root.standings(league), root.rounds(league)] {
        let what = format!("`{}`", below(root, &file).display());
        missing.push((what, u64::from(!file.exists())));
    }
    let missing = missing.into_iter().filter(|(_, count)| *count > 0);
    checked
        .not_compared
        .extend(missing.map(|(what, count)| NotCompared {
            count,
            what,
            why: "not here".to_owned(),
        }));
}

/// Takes down what others say of the league; says how many players keep their files here.
fn gather(
    root: &Root,
    league: &LeagueId,
    testimony: &mut Testimony,
    checked: &mut Checked,
) -> Result<usize, Stop> {
    let since = beginning(&root.league_journal(league));
    // A file is written after the line of the journal that it tells of, so it is read before.
    let mut files = MatchFiles::load(root, league, since, testimony)?;
    referees::gather(root, league, &mut files, testimony, checked)?;
    files.finish(testimony, checked)?;
    players::gather(root, league, since, testimony)
}

/// When a league began: what was written before is of another that bore its name.
fn beginning(journal: &Path) -> Timestamp {
    let mut beginning = Timestamp::default();
    let read = Journal::read(journal, |entry: Entry<Record<league::Event>>| {
        beginning = entry.at;
        ControlFlow::Break(())
    });
    // Whatever is wrong with it is told when it is read to its end.
    read.map_or(Timestamp::default(), |_| beginning)
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

/// What an entry brought to light.
enum Finding {
    /// The line itself is wrong.
    Line(String),
    /// Something else is not what it must be after this line.
    Elsewhere(Disagreement),
}

/// Something that does not agree with a journal.
#[derive(Debug)]
struct Disagreement {
    file: PathBuf,
    line: Option<u64>,
    what: String,
}

impl From<Disagreement> for Wrong {
    fn from(found: Disagreement) -> Self {
        Self {
            file: found.file,
            line: found.line,
            what: found.what,
        }
    }
}

impl From<Disagreement> for Stop {
    fn from(found: Disagreement) -> Self {
        Self::Wrong(found.into())
    }
}

/// A path as it is seen from the root.
fn below(root: &Root, file: &Path) -> PathBuf {
    let below = file.strip_prefix(root.as_path());
    below.unwrap_or(file).to_owned()
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
