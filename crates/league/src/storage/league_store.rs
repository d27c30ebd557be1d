//! Where the journals of a process are stored besides its folder: under leases in a database, with
//! the secrets that the next holder needs.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::token::hex;
use serde::de::IgnoredAny;

use super::database::{Database, DatabaseError, Lease, StoredStream, Stream};
use super::files::names_in;
use super::record::is_over;
use super::replay::{ReplayError, rebuild};
use super::root::Root;
use super::secrets::{place, referee_key_place, write_private};
use super::store::{Entry, Journal, Mirror, StoreError};
use crate::chance::Chance;

/// The name of the keys of a league's manager, in the folder and in the database.
const MANAGER_KEYS: &str = "manager";
/// The name of the key by which referees are admitted.
const REFEREE_KEY: &str = "referee_key";

/// How many bytes of a journal are stored at once when it is taken over.
const MAX_IMPORTED: usize = 4 << 20;

/// The store of a process.
#[derive(Debug, Clone)]
pub(crate) struct LeagueStore {
    pub(crate) database: Database,
    /// Tells this process from others.
    pub(crate) holder: String,
    /// Where its agents answer.
    address: String,
}

impl LeagueStore {
    pub(crate) fn new(database: Database, chance: &Chance, address: String) -> Self {
        Self {
            database,
            holder: hex(&chance.bytes())[..16].to_owned(),
            address,
        }
    }

    /// The same store, for an agent that answers at another address.
    pub(crate) fn at(&self, address: String) -> Self {
        Self {
            address,
            ..self.clone()
        }
    }

    /// Takes the lease on a journal; an earlier one of this process ends.
    ///
    /// # Errors
    ///
    /// Another process holds it, or the server does not answer.
    pub(crate) fn lease(&self, stream: &Stream) -> Result<Lease, DatabaseError> {
        self.database.take(stream, &self.holder, &self.address)
    }

    /// Takes the lease on a journal, and brings its copy at `path` to where the database is.
    ///
    /// # Errors
    ///
    /// Another process holds it, or the copy is of something else.
    pub(crate) fn take(
        &self,
        root: &Root,
        stream: &Stream,
        path: &Path,
    ) -> Result<Lease, StoreError> {
        let lease = self.lease(stream)?;
        Mirror::open(&self.database, stream, path)?.pull()?;
        if stream.is_manager() {
            fetch_secrets(&self.database, root, stream.league())?;
        }
        Ok(lease)
    }

    /// Stores the keys of a league that is about to begin.
    pub(crate) fn store_keys(&self, root: &Root, league: &LeagueId) -> Result<(), StoreError> {
        let path = place(root, league, MANAGER_KEYS);
        let keys = read(&path)?;
        Ok(self.database.replace_secret(league, MANAGER_KEYS, &keys)?)
    }

    /// Stores the key by which managers of this store admit referees, or takes the one that is there.
    pub(crate) fn share_referee_key(
        &self,
        root: &Root,
        league: &LeagueId,
    ) -> Result<(), StoreError> {
        let path = referee_key_place(root, league);
        let own = read(&path)?;
        let shared = self.database.keep_secret(REFEREE_KEY, &own)?;
        match shared == own {
            true => Ok(()),
            false => write(&path, &shared),
        }
    }

    /// Stores the journals that referees handed in, as far as the database lacks them.
    pub(crate) fn add_handed_in(&self, root: &Root, league: &LeagueId) -> Result<(), StoreError> {
        let stored = self.database.streams(Some(league))?;
        for stream in referee_streams(root, league)? {
            if !stored.iter().any(|known| known.stream == stream) {
                self.add(root, &stream, true)?;
            }
        }
        Ok(())
    }

    /// Stores a whole journal of the folder; gives the number of its lines.
    fn add(&self, root: &Root, stream: &Stream, over: bool) -> Result<u64, StoreError> {
        let path = place_of(root, stream);
        let end = Journal::read(&path, |_: Entry<IgnoredAny>| ControlFlow::Continue(()))?;
        let lease = self.lease(stream)?;
        lease.over().store(over, Ordering::Relaxed);
        let failed = |error| StoreError::io("read", &path, error);
        let file = BufReader::new(File::open(&path).map_err(failed)?);
        let mut batch = Vec::new();
        let (mut first, mut next) = (1, 1);
        for line in file.lines() {
            let line = line.map_err(failed)?;
            batch.extend_from_slice(line.as_bytes());
            batch.push(b'\n');
            next += 1;
            let is_last = next > end.last;
            // A manager must never find half a journal of its own.
            if is_last || (batch.len() >= MAX_IMPORTED && !stream.is_manager()) {
                lease.append(first, &batch)?;
                batch.clear();
                first = next;
            }
            if is_last {
                break;
            }
        }
        Ok(end.last)
    }
}

/// Writes the secrets of a league into a folder, as far as the database has them.
fn fetch_secrets(database: &Database, root: &Root, league: &LeagueId) -> Result<(), StoreError> {
    if let Some(keys) = database.secret(Some(league), MANAGER_KEYS)? {
        write(&place(root, league, MANAGER_KEYS), &keys)?;
    }
    if let Some(key) = database.secret(None, REFEREE_KEY)? {
        write(&referee_key_place(root, league), &key)?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, StoreError> {
    fs::read_to_string(path).map_err(|error| StoreError::io("read", path, error))
}

fn write(path: &Path, body: &str) -> Result<(), StoreError> {
    let written: io::Result<()> = write_private(path, body.as_bytes());
    written.map_err(|error| StoreError::io("write", path, error))
}

/// A league that was brought from the database into a folder, or the other way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilledLeague {
    pub(crate) league: LeagueId,
    /// The lines of its journals.
    pub(crate) lines: u64,
}

/// The file of a journal in a folder.
fn place_of(root: &Root, stream: &Stream) -> PathBuf {
    match stream.referee() {
        Some(referee) => root.referee_journal(stream.league(), &referee),
        None => root.league_journal(stream.league()),
    }
}

/// Brings the copies of the journals of one league, or of all, to where the database is. A copy that
/// an agent on this machine writes is left to it.
///
/// # Errors
///
/// A copy is of something else, or the server does not answer.
pub(crate) fn fill(
    database: &Database,
    root: &Root,
    league: Option<&LeagueId>,
) -> Result<Vec<FilledLeague>, StoreError> {
    let mut filled: Vec<FilledLeague> = Vec::new();
    for StoredStream { stream, last } in database.streams(league)? {
        match Mirror::open(database, &stream, &place_of(root, &stream)) {
            Ok(mut mirror) => mirror.pull().map(drop)?,
            Err(StoreError::Held { .. }) => {}
            Err(error) => return Err(error),
        }
        match filled.last_mut() {
            Some(known) if known.league == *stream.league() => known.lines += last,
            _ => filled.push(FilledLeague {
                league: stream.league().clone(),
                lines: last,
            }),
        }
    }
    Ok(filled)
}

/// Writes leagues into a folder as the file store would have written them: journals, secrets, and the
/// documents made from the journals.
///
/// # Errors
///
/// As for [`fill`].
pub(crate) fn export(
    database: &Database,
    root: &Root,
    league: Option<&LeagueId>,
) -> Result<Vec<FilledLeague>, StoreError> {
    let filled = fill(database, root, league)?;
    for FilledLeague { league, .. } in &filled {
        fetch_secrets(database, root, league)?;
        rebuild(root, league).map_err(|error| match error {
            ReplayError::Journal(error) => error,
            other => StoreError::io("rebuild", root.as_path(), io::Error::other(other)),
        })?;
    }
    Ok(filled)
}

/// Takes over a league of a folder, with its secrets; gives the number of lines.
///
/// # Errors
///
/// The database has a league of this name, or a journal is damaged.
pub(crate) fn import(
    database: &Database,
    root: &Root,
    league: &LeagueId,
) -> Result<u64, StoreError> {
    if !database.streams(Some(league))?.is_empty() {
        return Err(DatabaseError::Exists(league.clone()).into());
    }
    let over = is_over(&root.league_journal(league));
    let store = LeagueStore {
        database: database.clone(),
        holder: format!("import of {league}"),
        address: String::new(),
    };
    let keys = place(root, league, MANAGER_KEYS);
    if keys.exists() {
        store.store_keys(root, league)?;
    }
    let mut streams = referee_streams(root, league)?;
    // The manager's journal last: with it the league is there.
    streams.push(Stream::of_manager(league));
    let mut lines = 0;
    for stream in streams {
        lines += store.add(root, &stream, over)?;
    }
    Ok(lines)
}

/// The journals of referees below a root.
fn referee_streams(root: &Root, league: &LeagueId) -> Result<Vec<Stream>, StoreError> {
    let folder = root.referees_folder(league);
    let names = names_in(&folder)
        .map_err(|error| StoreError::io("list", &folder, io::Error::other(error)))?;
    let referees = names.iter().filter_map(|name| RefereeId::new(name).ok());
    let streams = referees.filter(|id| root.referee_journal(league, id).exists());
    Ok(streams.map(|id| Stream::of_referee(league, &id)).collect())
}
