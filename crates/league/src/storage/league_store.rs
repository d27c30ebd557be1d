//! Where the journals of a process are stored besides its folder: under leases in a database, with
//! the secrets that the next holder needs.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::token::hex;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use super::database::{Database, DatabaseError, Lease, StoredStream, Stream};
use super::files::names_in;
use super::record::is_over;
use super::replay::{ReplayError, rebuild};
use super::root::Root;
use super::secrets::{place, referee_key_place, write_private};
use super::store::{Durability, Entry, Head, Journal, Mirror, StoreError};
use crate::chance::Chance;

/// The name of the keys of a league's manager, in the folder and in the database.
const MANAGER_KEYS: &str = "manager";
/// The name of the key by which referees are admitted.
const REFEREE_KEY: &str = "referee_key";

/// How long an agent waits for the lease of an earlier process at its address: longer than a lease lasts
/// that is not renewed.
const MAX_OWN_LEASE: Duration = Duration::from_secs(15);
/// The wait between two tries.
const LEASE_PAUSE: Duration = Duration::from_millis(500);

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

    /// Takes the lease on a journal. If an earlier process at the same address has it, which may have
    /// died without giving it back, waits until it has run out.
    ///
    /// # Errors
    ///
    /// As for [`lease`](Self::lease).
    pub(crate) fn lease_again(&self, stream: &Stream) -> Result<Lease, DatabaseError> {
        let (until, mut told) = (Instant::now() + MAX_OWN_LEASE, false);
        loop {
            match self.lease(stream) {
                Err(DatabaseError::Held { ref address, .. })
                    if self.is_own(address) && Instant::now() < until => {}
                taken => return taken,
            }
            if !told {
                tracing::warn!(
                    event_type = "LEASE_AWAITED",
                    "league `{}` is still held by an earlier process at {}: waiting until its lease \
                     has run out",
                    stream.league(),
                    self.address
                );
            }
            told = true;
            thread::sleep(LEASE_PAUSE);
        }
    }

    /// Whether its agents answer at an address; then no other process does.
    pub(crate) fn is_own(&self, address: &str) -> bool {
        self.address == address
    }

    /// Takes the lease on a journal, and brings its copy to where the database is.
    ///
    /// # Errors
    ///
    /// Another process holds it, or the copy is of something else.
    pub(crate) fn take(&self, root: &Root, stream: &Stream) -> Result<Lease, StoreError> {
        let lease = self.lease_again(stream)?;
        pull(&self.database, root, stream)?;
        Ok(lease)
    }

    /// Brings the folder of a league to where the database is; the caller holds the league.
    ///
    /// # Errors
    ///
    /// The copy is of something else, or the server does not answer.
    pub(crate) fn fill(&self, root: &Root, league: &LeagueId) -> Result<(), StoreError> {
        pull(&self.database, root, &Stream::of_manager(league))?;
        fetch_secrets(&self.database, root, league)?;
        let stored = self.database.streams(Some(league))?.into_iter();
        let mut referees = stored.filter(|known| !known.stream.is_manager());
        referees.try_for_each(|known| pull_if_free(&self.database, root, &known.stream))
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
        for stream in referee_streams(root, league)? {
            let path = place_of(root, &stream);
            let end = Journal::read(&path, |_: Entry<IgnoredAny>| ControlFlow::Continue(()))?;
            if last_of(&self.database, &stream)? < end.last {
                add(
                    &self.database,
                    &self.lease(&stream)?,
                    (&path, end.last),
                    true,
                )?;
            }
        }
        Ok(())
    }
}

/// Stores the lines of a journal of the folder that the database lacks, up to this one.
fn add(
    database: &Database,
    lease: &Lease,
    (path, last): (&Path, u64),
    over: bool,
) -> Result<(), StoreError> {
    lease.over().store(over, Ordering::Relaxed);
    let stored = last_of(database, lease.stream())?;
    let failed = |error| StoreError::io("read", path, error);
    let mut lines = BufReader::new(File::open(path).map_err(failed)?).lines();
    let (mut head, mut next, mut batch) = (Head::default(), Head::default(), Vec::new());
    while next.sequence < last
        && let Some(line) = lines.next()
    {
        let line = line.map_err(failed)?;
        next.follow(Sha256::digest(&line).into());
        if next.sequence <= stored {
            head = next;
            continue;
        }
        batch.extend_from_slice(line.as_bytes());
        batch.push(b'\n');
        // A manager must never find half a journal of its own.
        let is_full = batch.len() >= MAX_IMPORTED && !lease.stream().is_manager();
        if is_full || next.sequence == last {
            lease.append(&head, &batch)?;
            batch.clear();
            head = next;
        }
    }
    Ok(())
}

/// Stores the keys of a league that is about to begin.
pub(crate) fn store_keys(lease: &Lease, root: &Root) -> Result<(), StoreError> {
    let path = place(root, lease.stream().league(), MANAGER_KEYS);
    Ok(lease.store_secret(MANAGER_KEYS, &read(&path)?)?)
}

/// The last line of a journal that the database has; 0 if it has none.
fn last_of(database: &Database, stream: &Stream) -> Result<u64, DatabaseError> {
    let stored = database.streams(Some(stream.league()))?;
    let known = stored.iter().find(|known| known.stream == *stream);
    Ok(known.map_or(0, |known| known.last))
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

/// Brings the copy of a journal to where the database is.
fn pull(database: &Database, root: &Root, stream: &Stream) -> Result<(), StoreError> {
    let path = place_of(root, stream);
    Mirror::open(database, stream, &path)?.pull().map(drop)
}

/// The same, but a copy that an agent on this machine writes is left to it.
fn pull_if_free(database: &Database, root: &Root, stream: &Stream) -> Result<(), StoreError> {
    match pull(database, root, stream) {
        Err(StoreError::Held { .. }) => Ok(()),
        pulled => pulled,
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
        pull_if_free(database, root, &stream)?;
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
    let mut filled = fill(database, root, league)?;
    // Journals of referees alone are not a league.
    filled.retain(|filled| root.league_journal(&filled.league).exists());
    for FilledLeague { league, .. } in &filled {
        fetch_secrets(database, root, league)?;
        rebuild(root, league).map_err(|error| match error {
            ReplayError::Journal(error) => error,
            other => StoreError::io("rebuild", root.as_path(), io::Error::other(other)),
        })?;
    }
    Ok(filled)
}

/// Takes over a league of a folder, with its secrets; gives the number of lines. One that was
/// interrupted goes on.
///
/// # Errors
///
/// The database has a league of this name, a process writes a journal, or one is damaged.
pub(crate) fn import(
    database: &Database,
    root: &Root,
    league: &LeagueId,
) -> Result<u64, StoreError> {
    let manager = Stream::of_manager(league);
    if last_of(database, &manager)? > 0 {
        return Err(DatabaseError::Exists(league.clone()).into());
    }
    let store = LeagueStore {
        database: database.clone(),
        holder: format!("import of {league}"),
        address: String::new(),
    };
    let mut streams = referee_streams(root, league)?;
    // The manager's journal last: with it the league is there.
    streams.push(manager);
    let mut journals = Vec::new();
    for stream in &streams {
        let path = place_of(root, stream);
        File::open(&path).map_err(|error| StoreError::io("open", &path, error))?;
        // It is locked until all of the league is there.
        let locked = Journal::open(&path, Durability::Written, |_: Entry<IgnoredAny>| {})?;
        journals.push((path, locked));
    }
    let over = is_over(&root.league_journal(league));
    let mut lines = 0;
    for (stream, (path, locked)) in streams.iter().zip(&journals) {
        let lease = store.lease(stream)?;
        if stream.is_manager() && place(root, league, MANAGER_KEYS).exists() {
            store_keys(&lease, root)?;
        }
        add(database, &lease, (path, locked.last()), over)?;
        lines += locked.last();
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
