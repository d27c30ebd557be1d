//! The hand-in of a referee's journal: the pieces that the referee reads from it, and the copy that
//! the manager makes of them below its own root, where `league verify` finds it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use league_core::referee::Event;
use league_protocol::id::{LeagueId, MatchId, RefereeId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::storage::files::{FolderError, make_private, names_in};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal, StoreError, was_locked};

/// The longest piece of a journal, in bytes; as a string of JSON it has at most twice as many.
pub(crate) const MAX_PIECE: u64 = 96 * 1024;
/// How long the referees of a finished league may take to hand in their journals.
pub(crate) const HAND_IN_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a referee waits to be asked for its journal; the manager prints its summary first.
pub(crate) const HAND_IN_WAIT: Duration = HAND_IN_TIMEOUT.saturating_add(Duration::from_secs(10));
/// The longest journal that is handed in, in bytes, for each match of the league and besides; a
/// match takes about 20 KiB.
const MAX_PER_MATCH: u64 = 1024 * 1024;
const MAX_BESIDES: u64 = 16 * 1024 * 1024;
/// The longest journal of any league.
const MAX_HANDED_IN: u64 = 1024 * 1024 * 1024;

/// A piece of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JournalPiece {
    /// The content from the requested offset on, in whole characters.
    pub(crate) journal: String,
    /// Whether the journal goes on after it.
    pub(crate) more: bool,
    /// Whether no match is open.
    pub(crate) complete: bool,
}

impl JournalPiece {
    /// Reads a piece from this offset on.
    pub(crate) fn read(journal: &Path, from: u64, complete: bool) -> io::Result<Self> {
        let mut file = File::open(journal)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(MAX_PIECE).read_to_end(&mut bytes)?;
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => text.len(),
            // Only the last character may be cut off.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        };
        bytes.truncate(whole);
        Ok(Self {
            more: from.saturating_add(whole as u64) < length,
            journal: String::from_utf8_lossy(&bytes).into_owned(),
            complete,
        })
    }
}

/// Why a journal was not handed in.
#[derive(Debug, Error)]
pub(crate) enum CopyError {
    #[error("could not write `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("it has more than {0} bytes, the most for a league of this size")]
    TooLong(u64),
    #[error("the work on it ended early: {0}")]
    Interrupted(String),
    /// The chain of its lines is broken.
    #[error(transparent)]
    Damaged(#[from] StoreError),
    #[error("it is not the journal of `{referee}` in league `{league}`")]
    Foreign {
        referee: RefereeId,
        league: LeagueId,
    },
}

/// A copy of a journal while its pieces arrive; it is nowhere to be found until it is finished.
pub(crate) struct JournalCopy {
    target: PathBuf,
    part: PathBuf,
    file: File,
    length: u64,
    max_length: u64,
}

impl JournalCopy {
    /// Begins an empty copy that will replace `target`, in a league of so many matches.
    pub(crate) fn begin(target: &Path, matches: u64) -> Result<Self, CopyError> {
        let part = target.with_extension("part");
        let failed = |source| CopyError::Io {
            path: part.clone(),
            source,
        };
        if let Some(folder) = target.parent() {
            make_private(folder).map_err(failed)?;
        }
        let file = File::create(&part).map_err(failed)?;
        Ok(Self {
            target: target.to_owned(),
            part,
            file,
            length: 0,
            max_length: matches
                .saturating_mul(MAX_PER_MATCH)
                .saturating_add(MAX_BESIDES)
                .min(MAX_HANDED_IN),
        })
    }

    /// The offset of the next piece.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn add(&mut self, piece: &str) -> Result<(), CopyError> {
        self.length += piece.len() as u64;
        if self.length > self.max_length {
            return Err(CopyError::TooLong(self.max_length));
        }
        let written = self.file.write_all(piece.as_bytes());
        written.map_err(|source| self.failed(source))
    }

    /// Puts the copy into its place if its lines are chained and it is of this referee; returns the
    /// number of its lines.
    pub(crate) fn finish(self, league: &LeagueId, referee: &RefereeId) -> Result<u64, CopyError> {
        self.file.sync_all().map_err(|source| self.failed(source))?;
        let mut contents = Contents::new(league);
        let end = Journal::read(&self.part, |entry| {
            contents.take_in(&entry);
            ControlFlow::Continue(())
        })?;
        if contents.referee.as_ref() != Some(referee) {
            return Err(CopyError::Foreign {
                referee: referee.clone(),
                league: league.clone(),
            });
        }
        fs::rename(&self.part, &self.target).map_err(|source| self.failed(source))?;
        Ok(end.last)
    }

    fn failed(&self, source: io::Error) -> CopyError {
        CopyError::Io {
            path: self.part.clone(),
            source,
        }
    }
}

impl Drop for JournalCopy {
    fn drop(&mut self) {
        // After a rename there is none.
        let _ = fs::remove_file(&self.part);
    }
}

/// What a referee's journal says of a league.
struct Contents<'a> {
    league: &'a LeagueId,
    /// Its id there.
    referee: Option<RefereeId>,
    open: BTreeSet<MatchId>,
    /// Whether it heard of the end.
    over: bool,
}

impl<'a> Contents<'a> {
    fn new(league: &'a LeagueId) -> Self {
        Self {
            league,
            referee: None,
            open: BTreeSet::new(),
            over: false,
        }
    }

    fn take_in(&mut self, entry: &Entry<Record<Event>>) {
        let Record::Event(event) = &entry.fact else {
            return;
        };
        match event {
            Event::Enrolled {
                referee_id,
                league_id,
                ..
            } if league_id == self.league => self.referee = Some(referee_id.clone()),
            Event::MatchOpened { fixture, .. } => {
                self.open.insert(fixture.match_id.clone());
            }
            Event::Closed { match_id, .. } => {
                self.open.remove(match_id);
            }
            Event::LeagueEnded { .. } => self.over = true,
            _ => {}
        }
    }
}

/// The referee that handed in a journal; `None` for a journal that was written below this root.
pub(crate) fn sender(journal: &Path, league: &LeagueId) -> Option<RefereeId> {
    if was_locked(journal) {
        return None;
    }
    let mut contents = Contents::new(league);
    // A damaged journal is reported when it is compared.
    let _ = Journal::read(journal, |entry| {
        contents.take_in(&entry);
        ControlFlow::Continue(())
    });
    contents.referee
}

/// The journals of referees below a root, and the places of those that are missing.
pub(crate) struct RefereeJournals {
    root: Root,
    league: LeagueId,
    /// The referees whose journals are here, and those that may be replaced by a longer copy.
    here: Vec<(RefereeId, Option<PathBuf>)>,
}

impl RefereeJournals {
    pub(crate) fn below(root: &Root, league: &LeagueId) -> Result<Self, FolderError> {
        let names = names_in(&root.referees_folder(league))?;
        let slots = names
            .into_iter()
            .filter_map(|name| RefereeId::new(name).ok());
        let journals = slots.map(|slot| root.referee_journal(league, &slot));
        let here = journals.filter_map(|journal| {
            let is_local = was_locked(&journal);
            let mut contents = Contents::new(league);
            let read = Journal::read(&journal, |entry| {
                contents.take_in(&entry);
                // A referee of this root keeps its own journal, however it goes on.
                if is_local && contents.referee.is_some() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            let is_whole = read.is_ok() && contents.over && contents.open.is_empty();
            let referee = contents.referee?;
            Some((referee, Some(journal).filter(|_| !is_local && !is_whole)))
        });
        Ok(Self {
            root: root.clone(),
            league: league.clone(),
            here: here.collect(),
        })
    }

    /// Where to put the journal of a referee; `None` if it is here.
    pub(crate) fn place_for(&self, referee: &RefereeId) -> Option<PathBuf> {
        let mut here = self.here.iter();
        if let Some((_, replaceable)) = here.find(|(known, _)| known == referee) {
            return replaceable.clone();
        }
        // A referee of this root may keep its journal under the name that another one was given.
        let names = [referee.to_string(), format!("{referee}-handed-in")];
        let slots = names.iter().filter_map(|name| RefereeId::new(name).ok());
        let mut places = slots.map(|slot| self.root.referee_journal(&self.league, &slot));
        places.find(|place| !place.exists() && !was_locked(place))
    }
}

#[cfg(test)]
mod tests {
    use league_protocol::time::Timestamp;

    use super::*;
    use crate::storage::record::Opening;
    use crate::storage::store::{Durability, Store};

    fn league() -> LeagueId {
        LeagueId::new("spring").unwrap()
    }

    /// Writes the journal of a referee that was given this number.
    fn write(journal: &Path, number: u32, more: &[Event]) {
        let opened = Journal::open(journal, Durability::Written, |_: Entry<Record<Event>>| {});
        let mut journal = opened.unwrap().accept().unwrap();
        let at = Timestamp::default();
        let opening = Opening {
            league_id: Some(league()),
            ..Opening::of("referee", false)
        };
        let enrolled = Event::Enrolled {
            referee_id: RefereeId::numbered(number),
            league_id: league(),
            manager: None,
            at,
        };
        let events = [&[enrolled], more].concat();
        let events = events.into_iter().map(Record::Event);
        let records = [Record::Opened(Box::new(opening))]
            .into_iter()
            .chain(events);
        for record in records {
            journal.append(at, &[record]).unwrap();
        }
    }

    fn pieces(journal: &Path) -> Vec<String> {
        let (mut pieces, mut from) = (Vec::new(), 0);
        loop {
            let piece = JournalPiece::read(journal, from, true).unwrap();
            from += piece.journal.len() as u64;
            pieces.push(piece.journal);
            if !piece.more {
                return pieces;
            }
        }
    }

    #[test]
    fn pieces_of_whole_characters_make_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journal.jsonl");
        let text = format!("x{}", "é".repeat(MAX_PIECE as usize));
        fs::write(&file, &text).unwrap();
        let pieces = pieces(&file);
        assert_eq!(pieces.len(), 3);
        assert!(pieces.iter().all(|piece| piece.len() as u64 <= MAX_PIECE));
        assert_eq!(pieces.concat(), text);
        assert!(
            JournalPiece::read(&file, 2, true).is_err(),
            "within a character"
        );
        let end = JournalPiece::read(&file, 1 << 40, true).unwrap();
        assert_eq!((end.journal.as_str(), end.more), ("", false));
    }

    #[test]
    fn copy_replaces_a_journal_only_if_it_is_chained_and_of_this_referee() {
        let folder = tempfile::tempdir().unwrap();
        let original = folder.path().join("elsewhere/journal.jsonl");
        write(&original, 2, &[]);
        let target = folder.path().join("here/journal.jsonl");
        let copy = |text: &str, number| {
            let mut copy = JournalCopy::begin(&target, 6).unwrap();
            copy.add(text).unwrap();
            copy.finish(&league(), &RefereeId::numbered(number))
        };
        let text = fs::read_to_string(&original).unwrap();
        let changed = text.replacen("REF02", "REF01", 1);
        assert!(matches!(copy(&changed, 1), Err(CopyError::Damaged(_))));
        assert!(matches!(copy(&text, 1), Err(CopyError::Foreign { .. })));
        assert!(!target.exists());
        assert_eq!(copy(&text, 2).unwrap(), 2);
        assert_eq!(fs::read_to_string(&target).unwrap(), text);
        let left = fs::read_dir(target.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "nothing else is left");
    }

    #[test]
    fn longer_copy_than_the_matches_can_make_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("journal.jsonl");
        let mut copy = JournalCopy::begin(&target, 2).unwrap();
        let piece = "x".repeat(1024 * 1024);
        let most = (MAX_BESIDES + 2 * MAX_PER_MATCH) / piece.len() as u64;
        for _ in 0..most {
            copy.add(&piece).unwrap();
        }
        assert!(matches!(copy.add("x"), Err(CopyError::TooLong(_))));
        drop(copy);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn journal_of_a_referee_of_this_root_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path());
        let place = |slot: &str| {
            let slot = RefereeId::new(slot).unwrap();
            root.referee_journal(&league(), &slot)
        };
        let missing = |number| {
            let journals = RefereeJournals::below(&root, &league()).unwrap();
            journals.place_for(&RefereeId::numbered(number))
        };
        assert_eq!(missing(1), Some(place("REF01")));
        // It wanted to be REF01, and another referee was faster.
        write(&place("REF01"), 2, &[]);
        assert_eq!(missing(2), None);
        assert_eq!(missing(1), Some(place("REF01-handed-in")));
        // A copy has no lock. It is fetched again unless it is whole.
        let copy = place("REF03");
        write(&copy, 3, &[]);
        fs::remove_file(copy.with_file_name(".lock")).unwrap();
        assert_eq!(missing(3), Some(copy.clone()));
        fs::remove_file(&copy).unwrap();
        let at = Timestamp::default();
        write(&copy, 3, &[Event::LeagueEnded { at }]);
        fs::remove_file(copy.with_file_name(".lock")).unwrap();
        assert_eq!(missing(3), None);
    }
}
