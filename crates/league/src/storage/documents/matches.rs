//! `data/matches/<league_id>/<match_id>.json`: one match (000 §9.4.3, ruling 30).
//!
//! In a league of very many matches a referee writes one file of lines for each round instead, which
//! say where in its journal the rest is; the repository finds a match in either.
//! [`MatchesProjection`] makes the documents from a referee's journal. A match counts as over once
//! the manager has accepted its result. Until then another referee may replay it with the same
//! secret, so its document reveals nothing hidden.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use league_core::referee::{Event, MatchOrder, ReportAnswer};
use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, encode};
use league_protocol::id::{ConversationId, GameType, LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::message::{GameOver, MatchResult, MatchState, Message, OpenedDraw};
use league_protocol::secret::{Commitment, DrawMode, Seed};
use league_protocol::sender::{Agent, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{hex, unhex};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{RepositoryError, SCHEMA_VERSION, load, save, unwritable};
use crate::storage::files::{make_private, names_in};
use crate::storage::record::{OpenedMessage, Record};
use crate::storage::root::Root;
use crate::storage::store::{Entry, read_lines};
use crate::wire::transcript::MAX_TRANSCRIPT;

/// How many lines after the first one of a match are searched for its end; others lie between them.
const MAX_MATCH_LINES: u64 = 100_000;
/// The maximum length of a line in a line file, in bytes.
const MAX_LINE: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchDocument {
    pub schema_version: String,
    pub league_id: LeagueId,
    pub round_id: u32,
    pub match_id: MatchId,
    pub game_type: GameType,
    /// The player at seat A.
    #[serde(rename = "player_A_id")]
    pub player_a_id: PlayerId,
    /// The player at seat B.
    #[serde(rename = "player_B_id")]
    pub player_b_id: PlayerId,
    /// The referee that runs it.
    pub referee_id: Option<RefereeId>,
    pub last_updated: Timestamp,
    /// The last entry of the referee's journal that it reflects.
    pub version: u64,
    /// Its state, and when that changed.
    pub lifecycle: Lifecycle,
    /// The line of the referee's journal that opened this attempt; only in a line of a round. What
    /// was said and came of it is not repeated there: it is in the journal, from this line to
    /// `version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// The messages, oldest first; empty until the match is over.
    pub transcript: Vec<TranscriptMessage>,
    /// The result as in GAME_OVER; `None` until the match is over.
    pub result: Option<Value>,
    /// The evidence of the draw; `None` until the match is over.
    pub draw: Option<DrawDocument>,
}

impl MatchDocument {
    /// The document as a line of its round.
    pub(crate) fn in_round(self, first_line: u64) -> Self {
        Self {
            first_line: Some(first_line),
            transcript: Vec::new(),
            result: None,
            draw: None,
            ..self
        }
    }
}

/// The state of a match, and when it changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifecycle {
    pub state: MatchState,
    /// The number of referees that were assigned this match so far, from 1.
    pub attempt: u32,
    /// When its referee accepted it.
    pub created_at: Timestamp,
    /// When both players had joined.
    pub started_at: Option<Timestamp>,
    /// When the result was decided.
    pub finished_at: Option<Timestamp>,
}

/// Everything needed to repeat the draw (ruling 27).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawDocument {
    /// The commitment published before the round.
    pub commitment: Commitment,
    /// The secret behind it, once the manager has opened it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
    /// Where the chance of the league comes from.
    pub mode: DrawMode,
    /// The attempt at the match, an input of the draw.
    pub attempt: u32,
    /// The players' nonces; an empty text for a player that sent none.
    pub nonces: [String; 2],
    /// The guarantee that held: `commitment`, `one nonce` or `both nonces`.
    pub guarantee: String,
}

impl DrawDocument {
    pub fn of(draw: &OpenedDraw) -> Self {
        let shares = draw.nonces.iter().filter(|nonce| !nonce.is_empty()).count();
        Self {
            commitment: draw.commitment,
            seed: draw.seed,
            mode: draw.mode,
            attempt: draw.attempt,
            nonces: draw.nonces.clone(),
            guarantee: ["commitment", "one nonce", "both nonces"][shares].to_owned(),
        }
    }
}

/// A message in the record of a match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TranscriptMessage {
    pub timestamp: Timestamp,
    pub from: String,
    pub to: String,
    pub message_type: String,
    /// The message as it was decoded, without tokens; null if it was too long to be kept, or could
    /// not be decoded.
    pub message: MessageText,
    /// The original bytes, if they were decoded as something else or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbatim: Option<Verbatim>,
    /// The hash that stood for the message in the referee's journal until the match was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
    /// Whether the referee had been started again before this message, so that messages just before
    /// it may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resumed: bool,
}

impl TranscriptMessage {
    /// Whether its content was hidden when the referee ended, and is lost with it.
    pub fn is_lost(&self) -> bool {
        self.seal.as_ref().is_some_and(|seal| seal.salt.is_none())
    }
}

/// The JSON of a message, or `null`. A record that is written has sorted members and no white space.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageText(Box<RawValue>);

impl MessageText {
    /// Takes JSON; any other text is `null`.
    pub fn new(json: String) -> Self {
        RawValue::from_string(json).map_or_else(|_| Self::default(), Self)
    }

    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    pub fn value(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }

    pub fn is_null(&self) -> bool {
        self.0.get() == "null"
    }
}

impl Default for MessageText {
    fn default() -> Self {
        Self(RawValue::NULL.to_owned())
    }
}

impl From<&Value> for MessageText {
    fn from(value: &Value) -> Self {
        Self::new(value.to_string())
    }
}

/// Two texts are equal if they mean the same: a file may be indented.
impl PartialEq for MessageText {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get() || self.value() == other.value()
    }
}

/// The hash of a message that was written while its content was hidden.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seal {
    /// SHA-256 over the 32 bytes of the salt and the compact JSON of `[message,verbatim]` with
    /// sorted keys, in hex.
    pub hash: String,
    /// The salt in hex, once the message is shown; `None` if the referee ended before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
}

impl Seal {
    pub fn hash_of(salt: &[u8; 32], message: &MessageText, verbatim: Option<&Verbatim>) -> String {
        // An object of this library has sorted keys.
        let verbatim = serde_json::json!(verbatim);
        let hash = Sha256::new()
            .chain_update(salt)
            .chain_update(format!("[{},{verbatim}]", message.0.get()));
        hex(&hash.finalize().into())
    }

    /// Whether it is the hash of a message; `None` if it was never opened.
    pub fn is_of(&self, message: &MessageText, verbatim: Option<&Verbatim>) -> Option<bool> {
        let salt = self.salt.as_deref()?;
        let salt = unhex(salt).unwrap_or_default();
        // A file may be indented, or have members in another order.
        let sorted = MessageText::from(&message.value());
        Some(self.hash == Self::hash_of(&salt, &sorted, verbatim))
    }
}

/// The original bytes of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verbatim {
    /// Their beginning, with secrets masked and U+FFFD for invalid UTF-8; `None` if they came with
    /// an HTTP error status, or if they might still contain a secret.
    pub text: Option<String>,
    /// The original length in bytes.
    pub bytes: u64,
    /// Whether the text is truncated.
    pub cut: bool,
    /// Why the message could not be decoded; `None` if it was decoded as the message beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Reads and replaces the matches of a league.
#[derive(Debug, Clone)]
pub struct MatchRepository {
    root: Root,
    league_id: LeagueId,
}

/// The fields that show which of two documents is newer.
#[derive(Debug, Deserialize)]
struct Age {
    match_id: MatchId,
    version: u64,
    lifecycle: Lifecycle,
}

impl MatchRepository {
    pub fn new(root: &Root, league_id: LeagueId) -> Self {
        Self {
            root: root.clone(),
            league_id,
        }
    }

    pub fn path(&self, match_id: &MatchId) -> PathBuf {
        self.root.match_file(&self.league_id, match_id)
    }

    /// Reads a match; `None` if it has not been written.
    pub fn load(&self, match_id: &MatchId) -> Result<Option<MatchDocument>, RepositoryError> {
        match load(&self.path(match_id))? {
            Some(found) => Ok(Some(found)),
            None => Ok(self.find_in_rounds(match_id)?.map(|line| {
                let first = line.first_line;
                first
                    .and_then(|first| self.find_in_journals(&line, first))
                    .unwrap_or(line)
            })),
        }
    }

    /// The whole document of a line, from the journal of its referee, if that is here.
    fn find_in_journals(&self, line: &MatchDocument, first: u64) -> Option<MatchDocument> {
        let mut referees = names_in(&self.root.referees_folder(&self.league_id)).ok()?;
        // A folder may have the name of a port, but mostly it has that of the referee.
        let referee = line.referee_id.as_ref().map(RefereeId::as_str);
        referees.sort_by_key(|name| Some(name.as_str()) != referee);
        let referees = referees
            .into_iter()
            .filter_map(|name| RefereeId::new(name).ok());
        let mut found = referees.filter_map(|referee| {
            let journal = self.root.referee_journal(&self.league_id, &referee);
            let mut matches = MatchesProjection::default();
            let mut found = None;
            let lines = first..=line.version.min(first.saturating_add(MAX_MATCH_LINES));
            let read = read_lines(&journal, lines, |entry: Entry<Record<Event>>| {
                let change = matches.take_in(entry.sequence, entry.at, &entry.fact);
                if let MatchChange::Over(over, _) = change
                    && over.match_id == line.match_id
                    && over.lifecycle == line.lifecycle
                {
                    found = Some(MatchDocument {
                        referee_id: line.referee_id.clone(),
                        ..*over
                    });
                }
            });
            read.ok().and(found)
        });
        found.next()
    }

    /// Replaces a match unless its file holds a later attempt.
    pub fn save(&self, document: &MatchDocument) -> Result<(), RepositoryError> {
        let file = self.path(&document.match_id);
        // An unreadable file is replaced, because it can be rebuilt.
        let standing: Option<Age> = load(&file).unwrap_or_default();
        let later = |age: &Age| age.lifecycle.attempt > document.lifecycle.attempt;
        if standing.as_ref().is_some_and(later) {
            return Ok(());
        }
        save(&file, document)
    }

    /// Replaces a match, whatever its file holds.
    pub fn replace(&self, document: &MatchDocument) -> Result<(), RepositoryError> {
        save(&self.path(&document.match_id), document)
    }

    /// Removes the file of a match that is a line of its round now: an unfinished match has a file of
    /// its own until its league turns out to be large.
    pub(crate) fn remove(&self, match_id: &MatchId) {
        // Most matches have none.
        let _ = fs::remove_file(self.path(match_id));
    }

    /// The version of a match in its own file, if this attempt wrote it.
    pub fn version(&self, match_id: &MatchId, attempt: u32) -> Option<u64> {
        let age: Option<Age> = load(&self.path(match_id)).unwrap_or_default();
        age.filter(|age| age.lifecycle.attempt >= attempt)
            .map(|age| age.version)
    }

    /// Opens a referee's file of a round, to add matches to it.
    pub(crate) fn open_round(
        &self,
        round: u32,
        referee: &RefereeId,
    ) -> Result<RoundFile, RepositoryError> {
        let path = self.round_file(round, referee);
        let mut last = 0;
        for_each_line(&path, |age: Age| last = last.max(age.version))?;
        match open_lines(&path) {
            Ok(lines) => Ok(RoundFile { path, lines, last }),
            Err(source) => Err(unwritable(&path, source)),
        }
    }

    /// Visits every match in the current schema, with its file; returns the number of matches in
    /// other schemas.
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
                // A line that a crash truncated is skipped here as well.
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

    /// Searches the line files of its round; the latest attempt counts.
    fn find_in_rounds(&self, match_id: &MatchId) -> Result<Option<MatchDocument>, RepositoryError> {
        let mut found: Option<MatchDocument> = None;
        let start = match_id
            .numbers()
            .map(|(round, _)| format!("round_{round}."));
        let is_of_round = |file: &PathBuf| {
            let name = file.file_name().and_then(|name| name.to_str());
            start
                .as_ref()
                .zip(name)
                .is_none_or(|(start, name)| name.starts_with(start))
        };
        for file in self.files_ending("jsonl").into_iter().filter(is_of_round) {
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

/// The matches of one round and one referee, a line each.
#[derive(Debug)]
pub(crate) struct RoundFile {
    path: PathBuf,
    lines: File,
    /// The highest version in it.
    last: u64,
}

impl RoundFile {
    /// Adds a match unless the file already has this version.
    pub(crate) fn add(&mut self, document: &MatchDocument) -> Result<(), RepositoryError> {
        if document.version > self.last {
            add_line(&mut self.lines, document).map_err(|source| unwritable(&self.path, source))?;
            self.last = document.version;
        }
        Ok(())
    }
}

/// Appends a document as a line.
pub(crate) fn append_line(file: &Path, document: &impl Serialize) -> io::Result<()> {
    add_line(&mut open_lines(file)?, document)
}

/// Opens a file of lines. If a crash truncated the last line, it is ended, so that the next line
/// stays readable.
fn open_lines(file: &Path) -> io::Result<File> {
    if let Some(folder) = file.parent() {
        make_private(folder)?;
    }
    let mut options = OpenOptions::new();
    let mut lines = options.read(true).append(true).create(true).open(file)?;
    if !ends_a_line(&mut lines)? {
        lines.write_all(b"\n")?;
    }
    Ok(lines)
}

fn add_line(lines: &mut File, document: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(document)?;
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

/// Visits each readable line; a line that a crash truncated is skipped.
pub(crate) fn for_each_line<T: serde::de::DeserializeOwned>(
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
        let read = (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line);
        if read.map_err(unreadable)? == 0 {
            return Ok(());
        }
        if let Ok(found) = serde_json::from_slice(&line) {
            take(found);
        }
    }
}

/// How many finished matches wait for their transcript; the oldest is dropped first.
const MAX_WITHOUT_TRANSCRIPT: usize = 1_000;

/// Collects the matches of one referee.
#[derive(Debug, Clone, Default)]
pub(crate) struct MatchesProjection {
    referee_id: Option<RefereeId>,
    matches: BTreeMap<MatchId, MatchProgress>,
    /// Finished matches, by the entry that closed them.
    over: BTreeMap<u64, MatchId>,
}

/// The effect of an entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MatchChange {
    /// No document has changed.
    Nothing,
    /// An unfinished match has changed; [`MatchesProjection::document`] returns it.
    GoesOn(MatchId),
    /// A match is over; only its transcript may still follow. With the entry that opened it.
    Over(Box<MatchDocument>, u64),
}

#[derive(Debug, Clone)]
struct MatchProgress {
    fixture: Arc<MatchOrder>,
    /// The entry that opened it.
    first: u64,
    lifecycle: Lifecycle,
    result: Option<Arc<MatchResult>>,
    transcript: Vec<TranscriptMessage>,
    /// The manager's answer to the result, and the entry that holds it.
    closed: Option<(ReportAnswer, u64)>,
    version: u64,
    at: Timestamp,
}

impl MatchesProjection {
    /// Applies an entry of the referee's journal.
    pub(crate) fn take_in(
        &mut self,
        sequence: u64,
        at: Timestamp,
        record: &Record<Event>,
    ) -> MatchChange {
        let match_id = match record {
            Record::Opened(_) => return MatchChange::Nothing,
            Record::Event(Event::Enrolled { referee_id, .. }) => {
                self.referee_id = Some(referee_id.clone());
                return MatchChange::Nothing;
            }
            Record::Event(Event::MatchOpened { fixture, at }) => {
                let gathered = MatchProgress::new(fixture, sequence, *at);
                self.replace(&fixture.match_id, gathered);
                return MatchChange::GoesOn(fixture.match_id.clone());
            }
            // Another referee writes its file from now on.
            Record::Event(Event::GivenBack { match_id, .. }) => {
                self.matches.remove(match_id);
                return MatchChange::Nothing;
            }
            Record::Event(event) => event.match_id(),
            Record::Transcript(transcript) => Some(&transcript.match_id),
        };
        let found = match_id.and_then(|id| self.matches.get_mut(id).map(|found| (id, found)));
        let Some((match_id, found)) = found else {
            return MatchChange::Nothing;
        };
        if !found.take_in(record, sequence) {
            return MatchChange::Nothing;
        }
        // Messages are not shown before the end, and their lines may not be synced.
        if matches!(record, Record::Transcript(_)) && found.closed.is_none() {
            return MatchChange::Nothing;
        }
        found.version = sequence;
        found.at = at;
        match found.closed {
            None => MatchChange::GoesOn(match_id.clone()),
            Some((_, closed)) => self.end(match_id, closed),
        }
    }

    /// The public document of a match that is unfinished or has ended recently.
    pub(crate) fn document(&self, match_id: &MatchId) -> Option<MatchDocument> {
        let found = self.matches.get(match_id)?;
        Some(found.document(self.referee_id.as_ref()))
    }

    /// The id of the referee, once it is known.
    pub(crate) fn referee_id(&self) -> Option<&RefereeId> {
        self.referee_id.as_ref()
    }

    fn replace(&mut self, match_id: &MatchId, gathered: MatchProgress) {
        let before = self.matches.insert(match_id.clone(), gathered);
        if let Some((_, closed)) = before.and_then(|before| before.closed) {
            self.over.remove(&closed);
        }
    }

    fn end(&mut self, match_id: &MatchId, closed: u64) -> MatchChange {
        let Some(found) = self.matches.get(match_id) else {
            return MatchChange::Nothing;
        };
        let first = found.first;
        let document = found.document(self.referee_id.as_ref());
        if found.transcript.is_empty() {
            self.over.insert(closed, match_id.clone());
            if self.over.len() > MAX_WITHOUT_TRANSCRIPT
                && let Some((_, oldest)) = self.over.pop_first()
            {
                self.matches.remove(&oldest);
            }
        } else {
            self.over.remove(&closed);
            self.matches.remove(match_id);
        }
        MatchChange::Over(Box::new(document), first)
    }
}

impl MatchProgress {
    fn new(fixture: &Arc<MatchOrder>, version: u64, at: Timestamp) -> Self {
        Self {
            fixture: Arc::clone(fixture),
            first: version,
            lifecycle: Lifecycle {
                state: MatchState::WaitingForPlayers,
                attempt: fixture.attempt,
                created_at: at,
                started_at: None,
                finished_at: None,
            },
            result: None,
            transcript: Vec::new(),
            closed: None,
            version,
            at,
        }
    }

    /// Applies an entry; returns whether it changed anything.
    fn take_in(&mut self, record: &Record<Event>, sequence: u64) -> bool {
        match record {
            Record::Event(Event::Started { at, .. }) => {
                self.lifecycle.state = MatchState::CollectingChoices;
                self.lifecycle.started_at = Some(*at);
            }
            Record::Event(Event::Decided { result, at, .. }) => {
                self.lifecycle.state = MatchState::DrawingNumber;
                self.lifecycle.finished_at = Some(*at);
                self.result = Some(Arc::clone(result));
            }
            Record::Event(Event::Closed { report, opened, .. }) => {
                if let (Some(opened), Some(result)) = (opened, &mut self.result) {
                    *result = Arc::new(opened.open(result));
                }
                self.lifecycle.state = MatchState::Finished;
                self.closed = Some((*report, sequence));
            }
            Record::Transcript(said) if said.attempt == self.fixture.attempt => {
                let room = MAX_TRANSCRIPT.saturating_sub(self.transcript.len());
                self.transcript
                    .extend(said.messages.iter().take(room).cloned());
                said.opened.iter().for_each(|opened| self.open(opened));
            }
            _ => return false,
        }
        true
    }

    /// Puts a message in the place of its hash.
    fn open(&mut self, opened: &OpenedMessage) {
        if let Some(said) = self.transcript.get_mut(opened.place)
            && let Some(seal) = &mut said.seal
        {
            seal.salt = Some(opened.salt.clone());
            said.message = opened.message.clone();
            said.verbatim.clone_from(&opened.verbatim);
        }
    }

    /// A result that the manager refused is not the result of the match.
    fn counts(&self) -> bool {
        let verdict = self.closed.map(|(verdict, _)| verdict);
        matches!(
            verdict,
            Some(ReportAnswer::Acknowledged | ReportAnswer::Unanswered)
        )
    }

    fn document(&self, referee: Option<&RefereeId>) -> MatchDocument {
        let MatchOrder {
            league_id,
            round_id,
            match_id,
            game_type,
            players: [first, second],
            ..
        } = &*self.fixture;
        let shown = self.result.as_ref().filter(|_| self.counts());
        let mut lifecycle = self.lifecycle.clone();
        lifecycle.finished_at = lifecycle.finished_at.filter(|_| self.closed.is_some());
        MatchDocument {
            schema_version: SCHEMA_VERSION.to_owned(),
            league_id: league_id.clone(),
            round_id: *round_id,
            match_id: match_id.clone(),
            game_type: game_type.clone(),
            player_a_id: first.player_id.clone(),
            player_b_id: second.player_id.clone(),
            referee_id: referee.cloned(),
            last_updated: self.at,
            version: self.version,
            lifecycle,
            first_line: None,
            transcript: if shown.is_some() {
                self.transcript.clone()
            } else {
                Vec::new()
            },
            result: shown.and_then(|result| result_of(over(&self.fixture, result))),
            draw: shown.and_then(|result| result.draw.as_ref().map(DrawDocument::of)),
        }
    }
}

fn over(fixture: &MatchOrder, result: &Arc<MatchResult>) -> GameOver {
    GameOver {
        league_id: fixture.league_id.clone(),
        round_id: fixture.round_id,
        match_id: fixture.match_id.clone(),
        game_type: fixture.game_type.clone(),
        receiver: result.players[0].clone(),
        result: Arc::clone(result),
    }
}

/// The result as in GAME_OVER; the draw has a separate field in the document.
pub(crate) fn result_of(over: GameOver) -> Option<Value> {
    let message = Message::from(over);
    let stamp = Stamp {
        sender: Sender::Agent(&Agent::Manager),
        at: Timestamp::default(),
        conversation: &ConversationId::new(""),
        token: None,
    };
    let told = encode(&message, Dialect::V2, stamp, &Hints::default())?;
    let mut told = serde_json::to_value(&told).ok()?;
    let mut result = told.get_mut("game_result")?.take();
    if let Some(members) = result.as_object_mut() {
        members.remove("draw");
    }
    Some(result)
}
