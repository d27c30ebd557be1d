//! Rebuilds the files under `data/` from the journals alone.
//!
//! The existing files are not read. The line files of a referee are removed first; every other file
//! is replaced in one step, so that readers are not disturbed. Journals are only read.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::{Event, League, RulesError};
use league_core::letter::Peer;
use league_core::machine::Machine;
use league_core::player::{self, MemoryRule, Player, PlayerRules};
use league_core::referee;
use league_core::timeouts::Timeouts;
use league_protocol::id::{LeagueId, MatchId, PlayerId, RefereeId};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::time::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::config::{ConfigError, ConfigLoader};
use crate::storage::document_writer::{DocumentFiles, Publication};
use crate::storage::documents::{MatchRepository, RepositoryError, load};
use crate::storage::files::{FolderError, names_in};
use crate::storage::publishers::{LeaguePublisher, PlayerPublisher, RefereePublisher};
use crate::storage::record::Record;
use crate::storage::root::Root;
use crate::storage::store::{Entry, Journal, StoreError, noted_line};

/// Why the files cannot be rebuilt.
#[derive(Debug, Error)]
pub(crate) enum ReplayError {
    /// The league has no journal.
    #[error("there is no journal `{}`", .0.display())]
    NoJournal(PathBuf),
    /// The manager's journal does not begin with the rules.
    #[error("`{}` does not begin with the rules of a league", .0.display())]
    NoRules(PathBuf),
    /// The rules in the journal are inconsistent.
    #[error("no league can be held by the rules in `{}`", file.display())]
    Rules {
        /// The journal.
        file: PathBuf,
        source: RulesError,
    },
    /// The manager's journal lost lines.
    #[error(
        "`{}` ends at line {last}, and other files of the league know of line {known}: lines are \
         missing that may have been acknowledged",
        file.display()
    )]
    Behind {
        /// The journal.
        file: PathBuf,
        last: u64,
        known: u64,
    },
    /// A journal cannot be read.
    #[error(transparent)]
    Journal(#[from] StoreError),
    /// A file cannot be written.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The limits of the players' memories cannot be loaded.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A folder cannot be listed, or a file in it cannot be removed.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// The totals of a rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rebuilt {
    /// Entries read from all journals.
    pub(crate) entries: u64,
    /// Matches written.
    pub(crate) matches: u64,
    /// Player memories written.
    pub(crate) players: u64,
}

/// Rebuilds all files of a league.
pub(crate) fn rebuild(root: &Root, league: &LeagueId) -> Result<Rebuilt, ReplayError> {
    let mut rebuilt = Rebuilt {
        entries: rebuild_league(root, league)?,
        ..Rebuilt::default()
    };
    rebuild_matches(root, league, &mut rebuilt)?;
    rebuild_players(root, league, &mut rebuilt)?;
    Ok(rebuilt)
}

/// The field of a document that names the last line of the journal which it reflects.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

/// The last line of a league's journal that other files know of: its documents, and the writer's note
/// beside it. An unreadable file knows of none.
pub(crate) fn known_line(root: &Root, league: &LeagueId) -> u64 {
    let version = |file: &Path| {
        let found: Option<Version> = load(file).unwrap_or_default();
        found.map_or(0, |found| found.version)
    };
    let noted = noted_line(&root.league_journal(league));
    let documents = version(&root.standings(league)).max(version(&root.rounds(league)));
    noted.max(documents)
}

/// Rebuilds the standings and rounds; returns the number of entries.
fn rebuild_league(root: &Root, league_id: &LeagueId) -> Result<u64, ReplayError> {
    let file = root.league_journal(league_id);
    if !file.exists() {
        return Err(ReplayError::NoJournal(file));
    }
    // A manager that runs may go on meanwhile.
    let known = known_line(root, league_id);
    let mut publisher = LeaguePublisher::new(league_id.clone());
    let mut league = None;
    let read = read(&file, |entry: Entry<Record<Event>>| {
        match (&entry.fact, &mut league) {
            (Record::Opened(opening), None) => {
                let rules = opening.rules.clone();
                // No document depends on the secret.
                league = rules
                    .map(|rules| League::new(rules, LeagueSecrets::one(LeagueSecret([0; 32]))));
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
    if known > read {
        let last = read;
        return Err(ReplayError::Behind { file, last, known });
    }
    let mut files = DocumentFiles::new(root.clone());
    for publication in publisher.rest(Timestamp::default(), &league) {
        files.write(&publication)?;
    }
    Ok(read)
}

/// Reads a journal to its end, or to the first entry that cannot be applied.
fn read<Fact: DeserializeOwned + Send>(
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

/// The latest attempt at each match, over all referees.
type Attempts = BTreeMap<MatchId, u32>;

fn rebuild_matches(
    root: &Root,
    league: &LeagueId,
    rebuilt: &mut Rebuilt,
) -> Result<(), ReplayError> {
    let names = names_in(&root.referees_folder(league))?;
    let referees = names.iter().filter_map(|name| RefereeId::new(name).ok());
    let referees: Vec<RefereeId> = referees
        .filter(|referee| root.referee_journal(league, referee).exists())
        .collect();
    let mut attempts = Attempts::new();
    for referee in &referees {
        note_attempts(root, league, referee, &mut attempts)?;
        remove_lines(root, league, referee)?;
    }
    for referee in &referees {
        rebuild_matches_of(root, league, referee, &attempts, rebuilt)?;
    }
    Ok(())
}

fn note_attempts(
    root: &Root,
    league: &LeagueId,
    referee: &RefereeId,
    attempts: &mut Attempts,
) -> Result<(), ReplayError> {
    let file = root.referee_journal(league, referee);
    read(&file, |entry: Entry<Record<referee::Event>>| {
        if let Record::Event(referee::Event::MatchOpened { fixture, .. }) = &entry.fact {
            let latest = attempts.entry(fixture.match_id.clone()).or_default();
            *latest = fixture.attempt.max(*latest);
        }
        Ok(())
    })?;
    Ok(())
}

/// Lines are appended and not replaced, so the old lines must be removed first.
fn remove_lines(root: &Root, league: &LeagueId, referee: &RefereeId) -> Result<(), ReplayError> {
    let folder = root.matches_folder(league);
    let ending = format!(".{referee}.jsonl");
    for name in names_in(&folder)? {
        if name.starts_with("round_") && name.ends_with(&ending) {
            let removed = fs::remove_file(folder.join(name));
            removed.map_err(|source| FolderError {
                folder: folder.clone(),
                source,
            })?;
        }
    }
    Ok(())
}

fn rebuild_matches_of(
    root: &Root,
    league: &LeagueId,
    referee: &RefereeId,
    attempts: &Attempts,
    rebuilt: &mut Rebuilt,
) -> Result<(), ReplayError> {
    let mut publisher = RefereePublisher::default();
    let mut files = DocumentFiles::new(root.clone());
    let matches = MatchRepository::new(root, league.clone());
    let mut write = |due: Vec<Publication>| -> Result<u64, ReplayError> {
        let mut written = 0;
        for publication in due {
            match &publication {
                Publication::Match(document) => {
                    let latest = attempts.get(&document.match_id);
                    if latest != Some(&document.lifecycle.attempt) {
                        continue;
                    }
                    matches.replace(document)?;
                }
                _ => files.write(&publication)?,
            }
            written += 1;
        }
        Ok(written)
    };
    let file = root.referee_journal(league, referee);
    let entries = read(&file, |entry: Entry<Record<referee::Event>>| {
        publisher.take_in(entry.sequence, entry.at, &entry.fact);
        // Only finished matches are due here; unfinished matches are written once, at the end.
        rebuilt.matches += write(publisher.due(Timestamp::default()))?;
        Ok(())
    })?;
    rebuilt.matches += write(publisher.rest(Timestamp::LAST))?;
    rebuilt.entries += entries;
    Ok(())
}

/// If a player has no journal, its memory exists only in the file, which is left unchanged.
fn rebuild_players(
    root: &Root,
    league: &LeagueId,
    rebuilt: &mut Rebuilt,
) -> Result<(), ReplayError> {
    let memory = memory_rule(root)?;
    let mut files = DocumentFiles::new(root.clone());
    for name in names_in(&root.players_folder())? {
        let Ok(id) = PlayerId::new(&name) else {
            continue;
        };
        let file = root.player_journal(&id);
        if !file.exists() {
            continue;
        }
        let mut player = Player::new(player_rules(memory));
        let mut publisher = PlayerPublisher::default();
        let mut took_part = false;
        let entries = read(&file, |entry: Entry<Record<player::Event>>| {
            if let Record::Event(event) = &entry.fact {
                player.apply(event);
                took_part |= matches!(event, player::Event::Enrolled { league_id, .. } if league_id == league);
            }
            publisher.take_in(entry.sequence, entry.at, &entry.fact);
            Ok(())
        })?;
        if !took_part {
            continue;
        }
        rebuilt.entries += entries;
        for publication in publisher.rest(Timestamp::default(), &player) {
            files.write(&publication)?;
            rebuilt.players += 1;
        }
    }
    Ok(())
}

/// The configured limits of a memory, or the defaults; writes no configuration.
fn memory_rule(root: &Root) -> Result<MemoryRule, ReplayError> {
    if !root.player_defaults().exists() {
        return Ok(MemoryRule::default());
    }
    let defaults = ConfigLoader::new(root.clone()).load_player_defaults()?;
    Ok(defaults.memory.rule())
}

/// A player's memory depends only on the memory rule.
fn player_rules(memory: MemoryRule) -> PlayerRules {
    PlayerRules {
        display_name: String::new(),
        version: String::new(),
        endpoint: String::new(),
        games: Vec::new(),
        timeouts: Timeouts::default(),
        manager: Arc::new(Peer {
            agent: Agent::Manager,
            endpoint: Arc::from(""),
            dialect: Dialect::V2,
            speech: Some(CallStyle::Simple),
            is_foreign: false,
        }),
        wanted_id: None,
        join_code: None,
        strict: false,
        memory,
        human: false,
    }
}
