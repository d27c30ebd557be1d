//! Whether a league is what its journal says: everything that follows is worked out again.
//!
//! It needs no secret and takes nobody's word: the lines must be chained, each fact must be able
//! to follow those before it, each draw must keep its promise, each game is played again, and the
//! table is added up a second time in another way. What others wrote down of a match, referees,
//! players and the files made from their journals, must be the same.

mod difference;
mod evidence;
mod manager;
mod players;
mod referees;
mod transcript;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use league_core::league;
use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;
use league_protocol::token::hex;
use serde::Serialize;
use thiserror::Error;

use crate::storage::documents::RepositoryError;
use crate::storage::files::{FolderError, leagues_below};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{End, Entry, Journal, StoreError, holder};
use evidence::Evidence;
use manager::{ManagerDocuments, ManagerReplay};
use referees::MatchFiles;

/// How far a league is that is not over and that nobody plays on this machine.
const INTERRUPTED: &str = "interrupted";
/// What players remember is called, where it is not compared.
const MEMORIES: &str = "memories of players";
/// What the files of matches are called where they are not compared.
const MATCH_FILES: &str = "files of matches";

/// How much of what players remember otherwise is told one by one.
pub(crate) const MAX_DISPUTED: usize = 20;

/// What was found out about a league.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Verdict {
    /// Which league.
    pub(crate) league_id: LeagueId,
    /// Whether all that was looked at holds.
    pub(crate) verified: bool,
    /// The first thing that does not hold.
    pub(crate) wrong: Option<Wrong>,
    /// What was looked at; if something is wrong, up to there.
    pub(crate) checked: Checked,
}

/// Something that does not hold, or is remembered otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Wrong {
    /// In which file, below the root.
    pub(crate) file: PathBuf,
    /// In which line of a journal, from 1.
    pub(crate) line: Option<u64>,
    /// What is wrong with it, and what was expected.
    pub(crate) what: String,
}

impl Wrong {
    fn new(file: &Path, line: Option<u64>, what: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line,
            what: what.into(),
        }
    }
}

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Checked {
    /// How far the league is: `registering`, `running` or `completed`; `interrupted` if it is not
    /// over and nobody plays it on this machine.
    pub(crate) phase: Option<String>,
    /// Whether all chance came from a seed that was given.
    pub(crate) reproducible: bool,
    /// Lines of the manager's journal.
    pub(crate) lines: u64,
    /// The SHA-256 of its last line: whoever noted it before knows that nothing was changed since.
    pub(crate) head: Option<String>,
    /// Bytes at its end that were not written to their end.
    pub(crate) unfinished_bytes: u64,
    /// Players that are in.
    pub(crate) players: usize,
    /// Referees that are in.
    pub(crate) referees: usize,
    /// Rounds that have begun.
    pub(crate) rounds: u32,
    /// Results, each with its draw opened and its game played again.
    pub(crate) results: u64,
    /// Matches there are in all.
    pub(crate) matches: u64,
    /// Documents that agree with the journal.
    pub(crate) documents: Vec<PathBuf>,
    /// Referees whose journals were looked at.
    pub(crate) referee_journals: u64,
    /// Lines of the referees' journals.
    pub(crate) referee_lines: u64,
    /// Results that no referee ran, as the manager ruled on them.
    pub(crate) ruled: u64,
    /// Results that their referees' journals tell just as the manager's does.
    pub(crate) confirmed: u64,
    /// Files of matches that agree with the journals.
    pub(crate) match_files: u64,
    /// Files of players that remember matches as the manager's journal tells them.
    pub(crate) player_files: u64,
    /// What players remember otherwise; at most [`MAX_DISPUTED`] of it.
    ///
    /// A player may say what it likes, so its word alone overturns nothing; whoever runs the
    /// league has to look.
    pub(crate) disputed: Vec<Wrong>,
    /// How much more players remember otherwise.
    pub(crate) disputed_more: u64,
    /// Files that agree with an earlier line of their journal: nobody has written them since.
    pub(crate) behind: Vec<Behind>,
    /// What could not be compared; nothing is said about it.
    pub(crate) not_compared: Vec<NotCompared>,
}

/// A file that agrees with an earlier line of its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Behind {
    /// Which file, below the root.
    pub(crate) file: PathBuf,
    /// Up to which line of its journal it tells.
    pub(crate) line: u64,
}

/// Something that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct NotCompared {
    /// How many of them.
    pub(crate) count: u64,
    /// What they are, in the plural.
    pub(crate) what: String,
    /// Why not.
    pub(crate) why: String,
}

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
    let documents = ManagerDocuments::load(root, league)?;
    let mut evidence = Evidence::new(root, league);
    let gathered = gather(root, league, &mut evidence);
    let mut replay = ManagerReplay::new(league, documents, evidence);
    let compared = compare(&journal, &mut replay, gathered);
    replay.evidence.sum_up();
    *checked = replay.evidence.checked;
    tell_missing(root, league, compared?, checked);
    Ok(())
}

/// Reads the manager's journal and compares; `gathered` says how many players keep files here.
fn compare(
    journal: &Path,
    replay: &mut ManagerReplay<'_>,
    gathered: Result<usize, Stop>,
) -> Result<usize, Stop> {
    let end = read_journal(journal, |entry| replay.apply(entry));
    replay.note_progress();
    let is_over = replay.is_over();
    let checked = &mut replay.evidence.checked;
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
    documents.finish(end.last, &mut evidence.checked)?;
    let remembering = gathered?;
    evidence.finish()?;
    Ok(remembering)
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
fn gather(root: &Root, league: &LeagueId, evidence: &mut Evidence) -> Result<usize, Stop> {
    let since = beginning(&root.league_journal(league));
    // A file is written after the line of the journal that it tells of, so it is read before.
    let mut files = MatchFiles::load(root, league, since, evidence)?;
    referees::gather(root, league, &mut files, evidence)?;
    files.finish(evidence)?;
    players::gather(root, league, since, evidence)
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
    Elsewhere(Wrong),
}

impl From<Wrong> for Stop {
    fn from(found: Wrong) -> Self {
        Self::Wrong(found)
    }
}

/// A path as it is seen from the root.
fn below(root: &Root, file: &Path) -> PathBuf {
    let below = file.strip_prefix(root.as_path());
    below.unwrap_or(file).to_owned()
}
