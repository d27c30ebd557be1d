//! `data/matches/<league_id>/<match_id>.json`: one match (000 §9.4.3, ruling 30).
//!
//! In a league of very many matches a referee writes one file of lines for each round instead; the
//! repository finds a match in either.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use league_protocol::id::{GameType, LeagueId, MatchId, RefereeId};
use league_protocol::message::{MatchState, OpenedDraw};
use league_protocol::secret::{Commitment, Seed};
use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RepositoryError, SCHEMA_VERSION, load, save, unwritable};
use crate::storage::record::Said;
use crate::storage::root::Root;

/// The longest line that is read from a file of lines, in bytes.
const LONGEST_LINE: u64 = 16 * 1024 * 1024;

/// One match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchDocument {
    /// The form of the file.
    pub schema_version: String,
    /// Which league.
    pub league_id: LeagueId,
    /// Which round.
    pub round_id: u32,
    /// Which match.
    pub match_id: MatchId,
    /// What is played.
    pub game_type: GameType,
    /// Who runs it.
    pub referee_id: Option<RefereeId>,
    /// When it last changed.
    pub last_updated: Timestamp,
    /// The last entry of the referee's journal that it reflects.
    pub version: u64,
    /// How far it is, and since when.
    pub lifecycle: Lifecycle,
    /// What was said, oldest first; empty until the match is over.
    pub transcript: Vec<Said>,
    /// How it ended, as GAME_OVER tells it; none until the match is over.
    pub result: Option<Value>,
    /// How the draw came about; none until the match is over.
    pub draw: Option<DrawDocument>,
}

/// How far a match is, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifecycle {
    /// How far.
    pub state: MatchState,
    /// Counts the referees that were given this match, from 1.
    pub attempt: u32,
    /// When its referee took it.
    pub created_at: Timestamp,
    /// When both players had come.
    pub started_at: Option<Timestamp>,
    /// When the result stood.
    pub finished_at: Option<Timestamp>,
}

/// All that is needed to draw the number again (ruling 27).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawDocument {
    /// What was promised before the round.
    pub commitment: Commitment,
    /// The secret behind it.
    pub seed: Seed,
    /// The attempt at the match, which goes into the draw.
    pub attempt: u32,
    /// The players' own shares; an empty text where a player sent none.
    pub nonces: [String; 2],
    /// Which guarantee held: `commitment`, `one nonce` or `both nonces`.
    pub guarantee: String,
}

impl DrawDocument {
    /// What the file tells of an opened draw.
    pub fn of(draw: &OpenedDraw) -> Self {
        let shares = draw.nonces.iter().filter(|nonce| !nonce.is_empty()).count();
        Self {
            commitment: draw.commitment,
            seed: draw.seed,
            attempt: draw.attempt,
            nonces: draw.nonces.clone(),
            guarantee: ["commitment", "one nonce", "both nonces"][shares].to_owned(),
        }
    }
}

/// Reads and replaces the matches of a league.
#[derive(Debug, Clone)]
pub struct MatchRepository {
    root: Root,
    league_id: LeagueId,
}

/// As much of a match as tells which of two documents is newer.
#[derive(Debug, Deserialize)]
struct Age {
    match_id: MatchId,
    version: u64,
    lifecycle: Lifecycle,
}

impl MatchRepository {
    /// Finds the files below a root.
    pub fn new(root: &Root, league_id: LeagueId) -> Self {
        Self {
            root: root.clone(),
            league_id,
        }
    }

    /// The file of a match.
    pub fn path(&self, match_id: &MatchId) -> PathBuf {
        self.root.match_file(&self.league_id, match_id)
    }

    /// Reads a match; `None` if nobody wrote it.
    pub fn load(&self, match_id: &MatchId) -> Result<Option<MatchDocument>, RepositoryError> {
        match load(&self.path(match_id))? {
            Some(found) => Ok(Some(found)),
            None => self.find_in_rounds(match_id),
        }
    }

    /// Puts a match in the place of its former self, unless a later attempt stands there.
    pub fn save(&self, document: &MatchDocument) -> Result<(), RepositoryError> {
        let file = self.path(&document.match_id);
        // What cannot be read is replaced: it can be made again, and this is how.
        let standing: Option<Age> = load(&file).unwrap_or_default();
        let later = |age: &Age| age.lifecycle.attempt > document.lifecycle.attempt;
        if standing.as_ref().is_some_and(later) {
            return Ok(());
        }
        save(&file, document)
    }

    /// Puts a match in its file, whatever stands there.
    pub fn replace(&self, document: &MatchDocument) -> Result<(), RepositoryError> {
        save(&self.path(&document.match_id), document)
    }

    /// The version of a match that stands in its own file, written by this attempt.
    pub fn version(&self, match_id: &MatchId, attempt: u32) -> Option<u64> {
        let age: Option<Age> = load(&self.path(match_id)).unwrap_or_default();
        age.filter(|age| age.lifecycle.attempt >= attempt)
            .map(|age| age.version)
    }

    /// Adds a match to its referee's file of the round; `referee` names the file.
    ///
    /// A line that a crash cut short is ended first, so that it spoils no other.
    pub fn append(
        &self,
        referee: &RefereeId,
        document: &MatchDocument,
    ) -> Result<(), RepositoryError> {
        let file = self.round_file(document.round_id, referee);
        append_line(&file, document).map_err(|source| unwritable(&file, source))
    }

    /// The highest version in a referee's file of a round.
    pub fn last_version(&self, round: u32, referee: &RefereeId) -> Result<u64, RepositoryError> {
        let mut last = 0;
        let file = self.round_file(round, referee);
        for_each_line(&file, |age: Age| last = last.max(age.version))?;
        Ok(last)
    }

    /// Shows every match that is written in the form of today, with its file; gives how many are
    /// written in another.
    pub fn visit(
        &self,
        mut take: impl FnMut(&Path, MatchDocument),
    ) -> Result<u64, RepositoryError> {
        let mut others = 0;
        for ending in ["json", "jsonl"] {
            for file in self.files_ending(ending) {
                others += self.read(&file, |document| take(&file, document))?;
            }
        }
        Ok(others)
    }

    /// The same for one file.
    pub fn read(
        &self,
        file: &Path,
        mut take: impl FnMut(MatchDocument),
    ) -> Result<u64, RepositoryError> {
        let mut others = 0;
        if file.extension().is_some_and(|ending| ending == "jsonl") {
            for_each_line(file, |found: Value| match is_current(&found) {
                // What a crash cut short is passed over here as well.
                true => serde_json::from_value(found)
                    .into_iter()
                    .for_each(&mut take),
                false => others += 1,
            })?;
            return Ok(others);
        }
        match load::<Value>(file)? {
            Some(found) if is_current(&found) => {
                take(serde_json::from_value(found).map_err(|source| {
                    RepositoryError::WrongForm {
                        file: file.to_owned(),
                        source,
                    }
                })?);
            }
            Some(_) => others += 1,
            None => {}
        }
        Ok(others)
    }

    fn round_file(&self, round: u32, referee: &RefereeId) -> PathBuf {
        self.root.round_of_matches(&self.league_id, round, referee)
    }

    /// Looks through the files of lines; the latest attempt counts.
    fn find_in_rounds(&self, match_id: &MatchId) -> Result<Option<MatchDocument>, RepositoryError> {
        let mut found: Option<MatchDocument> = None;
        for file in self.files_ending("jsonl") {
            let mut wanted = false;
            for_each_line(&file, |age: Age| wanted |= age.match_id == *match_id)?;
            if !wanted {
                continue;
            }
            for_each_line(&file, |document: MatchDocument| {
                let age = |document: &MatchDocument| (document.lifecycle.attempt, document.version);
                let newer = found
                    .as_ref()
                    .is_none_or(|found| age(found) <= age(&document));
                if document.match_id == *match_id && newer {
                    found = Some(document);
                }
            })?;
        }
        Ok(found)
    }

    fn files_ending(&self, ending: &str) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.root.matches_folder(&self.league_id));
        let entries = folder.into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| {
                path.extension()
                    .is_some_and(|extension| extension == ending)
            })
            .collect();
        files.sort();
        files
    }
}

fn is_current(document: &Value) -> bool {
    document["schema_version"] == SCHEMA_VERSION
}

fn append_line(file: &Path, document: &MatchDocument) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    let mut lines = options.read(true).append(true).create(true).open(file)?;
    let mut text = Vec::new();
    if !ends_a_line(&mut lines)? {
        text.push(b'\n');
    }
    serde_json::to_writer(&mut text, document)?;
    text.push(b'\n');
    lines.write_all(&text)
}

fn ends_a_line(lines: &mut File) -> io::Result<bool> {
    if lines.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    lines.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    lines.read_exact(&mut last)?;
    Ok(last == [b'\n'])
}

/// Reads each line that can be read; what a crash cut short is passed over.
fn for_each_line<T: serde::de::DeserializeOwned>(
    file: &Path,
    mut take: impl FnMut(T),
) -> Result<(), RepositoryError> {
    let unreadable = |source| RepositoryError::Unreadable {
        file: file.to_owned(),
        source,
    };
    let mut lines = match File::open(file) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut lines).take(LONGEST_LINE).read_until(b'\n', &mut line);
        if read.map_err(unreadable)? == 0 {
            return Ok(());
        }
        if let Ok(found) = serde_json::from_slice(&line) {
            take(found);
        }
    }
}
