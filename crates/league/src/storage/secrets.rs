//! The files that only their owner may read: a league's secret, the administrator's token, and the
//! tokens of agents.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_protocol::id::LeagueId;
use league_protocol::token::{AuthToken, hex, unhex};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::chance::Chance;
use crate::storage::files::{make_private, temporary_name};
use crate::storage::root::Root;

/// The prefix of the name of an agent without an id; its port follows.
pub(crate) const BY_PORT: &str = "port-";

/// Begins every referee key, so that people recognise one.
const REFEREE_KEY: &str = "referee";

/// The secrets of a league's manager.
#[derive(Debug, Clone)]
pub(crate) struct LeagueKeys {
    /// Draws and tokens are derived from them.
    pub(crate) secrets: LeagueSecrets,
    /// The administrator's token.
    pub(crate) admin: AuthToken,
}

/// A secret could not be stored or read.
#[derive(Debug, Error)]
pub(crate) enum SecretError {
    /// The file could not be read or written.
    #[error("could not use the file `{path}`")]
    File {
        /// The secret file.
        path: String,
        source: io::Error,
    },
    /// The file is missing, and a league that has begun cannot continue without it.
    #[error("the secret of league `{league}` is not there: `{path}`")]
    Missing {
        /// The secret file.
        path: String,
        league: LeagueId,
    },
    /// The file holds the secret of another league, perhaps one of the same name.
    #[error("`{path}` holds another secret than the one that the league began with")]
    Another {
        /// The secret file.
        path: String,
    },
    /// The file is damaged.
    #[error(
        "the file `{path}` is not as it was written; restore it, or start another league with \
         `--league-id`"
    )]
    Content {
        /// The secret file.
        path: String,
    },
}

impl SecretError {
    /// The error for a league without a key file.
    pub(crate) fn missing(root: &Root, league: &LeagueId) -> Self {
        Self::Missing {
            path: place(root, league, "manager").display().to_string(),
            league: league.clone(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct KeysFile {
    league_secret: String,
    token_secret: String,
    admin_token: String,
}

#[derive(Serialize, Deserialize)]
struct RefereeKeyFile {
    referee_key: String,
}

#[derive(Serialize, Deserialize)]
struct TokenFile {
    auth_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    return_token: Option<String>,
    manager: String,
}

/// The tokens that an agent received when it registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// Authenticates the agent.
    pub(crate) token: AuthToken,
    /// Authenticates the agent when it comes back.
    pub(crate) return_token: Option<AuthToken>,
    /// The address of the manager that gave them.
    pub(crate) manager: String,
}

impl LeagueKeys {
    /// Creates the keys of a new league, and replaces any older ones.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(crate) fn make(
        root: &Root,
        league: &LeagueId,
        chance: &Chance,
    ) -> Result<Self, SecretError> {
        let keys = Self {
            secrets: LeagueSecrets {
                draws: LeagueSecret(chance.bytes_for(&format!("league secret:{league}"))),
                tokens: LeagueSecret(chance.bytes()),
            },
            admin: AuthToken::mint("admin", &chance.bytes()),
        };
        keys.save(root, league)?;
        Ok(keys)
    }

    fn save(&self, root: &Root, league: &LeagueId) -> Result<(), SecretError> {
        let LeagueSecrets { draws, tokens } = self.secrets;
        let file = KeysFile {
            league_secret: hex(&draws.0),
            token_secret: hex(&tokens.0),
            admin_token: self.admin.reveal().to_owned(),
        };
        save(&place(root, league, "manager"), &file)
    }

    /// Reads the keys of a league that has begun, and checks the fingerprint of its secret.
    ///
    /// # Errors
    ///
    /// The keys are missing, or belong to another league.
    pub(crate) fn of(
        root: &Root,
        league: &LeagueId,
        fingerprint: Option<&str>,
    ) -> Result<Self, SecretError> {
        let keys = Self::load(root, league)?;
        let keys = keys.ok_or_else(|| SecretError::missing(root, league))?;
        match fingerprint {
            Some(known) if known != keys.fingerprint() => Err(SecretError::Another {
                path: place(root, league, "manager").display().to_string(),
            }),
            _ => Ok(keys),
        }
    }

    /// Identifies the secret without revealing it.
    pub(crate) fn fingerprint(&self) -> String {
        let mut digest = Sha256::new_with_prefix(b"league secret ");
        digest.update(self.secrets.draws.0);
        hex(&digest.finalize().into())
    }

    /// Reads the keys of a league, if it has any.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is damaged.
    pub(crate) fn load(root: &Root, league: &LeagueId) -> Result<Option<Self>, SecretError> {
        let path = place(root, league, "manager");
        let Some(file) = load::<KeysFile>(&path)? else {
            return Ok(None);
        };
        let secret = |text: &str| {
            let bytes = unhex(text).ok_or_else(|| malformed(&path));
            bytes.map(LeagueSecret)
        };
        Ok(Some(Self {
            secrets: LeagueSecrets {
                draws: secret(&file.league_secret)?,
                tokens: secret(&file.token_secret)?,
            },
            admin: AuthToken::new(file.admin_token),
        }))
    }
}

/// Reads the key by which managers below a root admit referees. The manager and its referees may start
/// in any order, and a referee may not know its league yet, so the first of them makes one key for all
/// leagues of the root.
///
/// # Errors
///
/// The file cannot be read or written, or is damaged.
pub(crate) fn referee_key(
    root: &Root,
    league: &LeagueId,
    chance: &Chance,
) -> Result<AuthToken, SecretError> {
    let path = referee_key_place(root, league);
    if load::<RefereeKeyFile>(&path)?.is_none() {
        let key = AuthToken::mint(REFEREE_KEY, &chance.bytes());
        let file = RefereeKeyFile {
            referee_key: key.reveal().to_owned(),
        };
        make(&path, &file)?;
    }
    let file = load::<RefereeKeyFile>(&path)?.ok_or_else(|| SecretError::missing(root, league))?;
    Ok(AuthToken::new(file.referee_key))
}

/// The path of the key by which the managers below a root admit referees.
pub(crate) fn referee_key_place(root: &Root, league: &LeagueId) -> PathBuf {
    let folder = root.secrets_folder(league);
    folder.with_file_name("referee_key.json")
}

/// The path of an agent's secret file.
pub(crate) fn place(root: &Root, league: &LeagueId, name: &str) -> PathBuf {
    root.secrets_folder(league).join(format!("{name}.json"))
}

/// The path of the tokens of a player or referee with this journal.
///
/// For an agent named by its port, the file name includes its kind, since a referee may later use
/// the port of a player.
pub(crate) fn place_of_agent(root: &Root, league: &LeagueId, kind: &str, slot: &str) -> PathBuf {
    if slot.starts_with(BY_PORT) {
        return place(root, league, &format!("{kind}-{slot}"));
    }
    place(root, league, slot)
}

/// Reads the tokens of an agent, if it has any.
///
/// # Errors
///
/// The file cannot be read, or is damaged.
pub(crate) fn load_tokens(path: &Path) -> Result<Option<Tokens>, SecretError> {
    let file = load::<TokenFile>(path)?;
    Ok(file.map(|file| Tokens {
        token: AuthToken::new(file.auth_token),
        return_token: file.return_token.map(AuthToken::new),
        manager: file.manager,
    }))
}

/// Reads the tokens of an agent. An agent without tokens creates a pledge to register with and
/// stores it first, so that it is recognised if it ends before it has stored the answer. In the next
/// league of the same manager it shows what proved it in the last one.
///
/// # Errors
///
/// The file cannot be read or written, or is damaged.
pub(crate) fn load_or_pledge(
    path: &Path,
    manager: &str,
    chance: &Chance,
) -> Result<Tokens, SecretError> {
    if let Some(tokens) = load_tokens(path)? {
        return Ok(tokens);
    }
    let tokens = Tokens {
        token: AuthToken::pledge(&chance.bytes()),
        return_token: last_return_token(path, manager),
        manager: manager.to_owned(),
    };
    save_tokens(path, &tokens)?;
    Ok(tokens)
}

/// What an agent came back with in its last league of the same manager; another manager must not
/// see it.
fn last_return_token(path: &Path, manager: &str) -> Option<AuthToken> {
    let name = path.file_name()?;
    let leagues = fs::read_dir(path.parent()?.parent()?).ok()?;
    let files = leagues.filter_map(|league| {
        let file = league.ok()?.path().join(name);
        let changed = fs::metadata(&file).ok()?.modified().ok()?;
        let tokens = load_tokens(&file).ok().flatten()?;
        let is_same = tokens.manager == manager;
        let token = tokens.return_token.filter(|_| is_same)?;
        Some((changed, token))
    });
    files
        .max_by_key(|(changed, _)| *changed)
        .map(|(_, token)| token)
}

/// Stores the tokens of an agent, and replaces older ones.
///
/// # Errors
///
/// The file cannot be written.
pub(crate) fn save_tokens(path: &Path, tokens: &Tokens) -> Result<(), SecretError> {
    let reveal = |token: &AuthToken| token.reveal().to_owned();
    let file = TokenFile {
        auth_token: reveal(&tokens.token),
        return_token: tokens.return_token.as_ref().map(reveal),
        manager: tokens.manager.clone(),
    };
    save(path, &file)
}

pub(crate) fn load<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, SecretError> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|_| malformed(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed(path, source)),
    }
}

pub(crate) fn save(path: &Path, content: &impl Serialize) -> Result<(), SecretError> {
    let body = serde_json::to_vec(content).unwrap_or_default();
    write_private(path, &body).map_err(|source| failed(path, source))
}

/// Saves a file unless another process has done so.
fn make(path: &Path, content: &impl Serialize) -> Result<(), SecretError> {
    let body = serde_json::to_vec(content).unwrap_or_default();
    let draft = write_draft(path, &body).map_err(|source| failed(path, source))?;
    let made = fs::hard_link(&draft, path);
    let removed = fs::remove_file(&draft);
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(path, error)),
        _ => removed.map_err(|source| failed(&draft, source)),
    }
}

/// Replaces a file in one step, readable only by its owner.
pub(crate) fn write_private(path: &Path, body: &[u8]) -> io::Result<()> {
    fs::rename(write_draft(path, body)?, path)
}

/// Writes the future content of a file under a name that no other process uses.
fn write_draft(path: &Path, body: &[u8]) -> io::Result<PathBuf> {
    make_private(path.parent().unwrap_or(Path::new(".")))?;
    let draft = temporary_name(path);
    // A temporary file left by a crash may have other permissions.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(body)?;
    file.sync_data()?;
    Ok(draft)
}

fn failed(path: &Path, source: io::Error) -> SecretError {
    let path = path.display().to_string();
    SecretError::File { path, source }
}

fn malformed(path: &Path) -> SecretError {
    let path = path.display().to_string();
    SecretError::Content { path }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn keys_are_made_anew_for_a_new_league_and_only_their_owner_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let (root, league) = (Root::new(folder.path()), LeagueId::new("one").unwrap());
        let chance = Chance::new(None).unwrap();
        let made = LeagueKeys::make(&root, &league, &chance).unwrap();
        let known = Some(made.fingerprint());
        let read = LeagueKeys::of(&root, &league, known.as_deref()).unwrap();
        assert_eq!((made.admin, made.secrets), (read.admin, read.secrets));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let path = place(&root, &league, "manager");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);

        let again = LeagueKeys::make(&root, &league, &chance).unwrap();
        assert_ne!(again.secrets, made.secrets);
        let other = LeagueKeys::of(&root, &league, known.as_deref());
        assert!(matches!(other, Err(SecretError::Another { .. })));
        fs::remove_file(path).unwrap();
        let gone = LeagueKeys::of(&root, &league, known.as_deref());
        assert!(matches!(gone, Err(SecretError::Missing { .. })));
    }

    #[test]
    fn seed_gives_the_draws_and_no_key_or_token() {
        let folder = tempfile::tempdir().unwrap();
        let (root, league) = (Root::new(folder.path()), LeagueId::new("one").unwrap());
        let keys = || LeagueKeys::make(&root, &league, &Chance::new(Some(7)).unwrap()).unwrap();
        let (one, other) = (keys(), keys());
        assert_eq!(one.secrets.draws, other.secrets.draws);
        assert_ne!(one.secrets.tokens, other.secrets.tokens);
        assert_ne!(one.admin, other.admin);
    }

    #[test]
    fn referee_key_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let (root, league) = (Root::new(folder.path()), LeagueId::new("one").unwrap());
        let key = |seed| referee_key(&root, &league, &Chance::new(seed).unwrap()).unwrap();
        assert_eq!(key(None), key(Some(7)));
        let path = root
            .secrets_folder(&league)
            .with_file_name("referee_key.json");
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(files, 1, "no draft is left");
    }

    #[test]
    fn agents_that_start_together_make_one_referee_key() {
        const AGENTS: usize = 8;
        let league = LeagueId::new("one").unwrap();
        for _ in 0..50 {
            let folder = tempfile::tempdir().unwrap();
            let (root, start) = (Root::new(folder.path()), Barrier::new(AGENTS));
            let key = || {
                start.wait();
                referee_key(&root, &league, &Chance::new(None).unwrap()).unwrap()
            };
            let keys: Vec<AuthToken> = thread::scope(|scope| {
                let agents: Vec<_> = (0..AGENTS).map(|_| scope.spawn(key)).collect();
                let keys = agents.into_iter().map(|agent| agent.join().unwrap());
                keys.collect()
            });
            assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        }
    }

    #[test]
    fn malformed_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("P01.json");
        fs::write(&path, "{").unwrap();
        let error = load_tokens(&path).unwrap_err();
        assert!(error.to_string().contains("P01.json"), "{error}");
    }

    #[test]
    fn agent_named_by_its_port_shares_no_file_with_another_kind() {
        let folder = tempfile::tempdir().unwrap();
        let (root, league) = (Root::new(folder.path()), LeagueId::new("one").unwrap());
        let file = |kind, slot| {
            let path = place_of_agent(&root, &league, kind, slot);
            let name = path.file_name().unwrap().to_str().unwrap();
            name.to_owned()
        };
        assert_eq!(file("player", "P01"), "P01.json");
        assert_eq!(file("referee", "port-9001"), "referee-port-9001.json");
        assert_eq!(file("player", "port-9001"), "player-port-9001.json");
    }

    #[test]
    fn pledge_is_made_once_and_stays_until_a_token_comes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets/P01.json");
        let chance = Chance::new(None).unwrap();
        let load = |path: &Path, manager| load_or_pledge(path, manager, &chance).unwrap();
        let made = load(&path, "http://one/mcp");
        assert!(made.token.is_pledge());
        assert_eq!(load(&path, "http://one/mcp"), made);
    }

    #[test]
    fn next_league_of_the_same_manager_is_shown_the_return_token_of_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let chance = Chance::new(None).unwrap();
        let file = |league: &str| folder.path().join(format!("secrets/{league}/P01.json"));
        let load = |league, manager| load_or_pledge(&file(league), manager, &chance).unwrap();
        let mut first = load("one", "http://one/mcp");
        first.return_token = Some(AuthToken::new("tok-back"));
        save_tokens(&file("one"), &first).unwrap();
        let next = load("two", "http://one/mcp");
        assert_eq!(next.return_token, first.return_token);
        assert_eq!(load("three", "http://other/mcp").return_token, None);
    }

    #[test]
    fn token_takes_the_place_of_an_older_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets/P01.json");
        assert!(load_tokens(&path).unwrap().is_none());
        for token in ["tok-one", "tok-two"] {
            let tokens = Tokens {
                token: AuthToken::new(token),
                return_token: Some(AuthToken::new("tok-back")),
                manager: "http://one/mcp".to_owned(),
            };
            save_tokens(&path, &tokens).unwrap();
            assert_eq!(load_tokens(&path).unwrap(), Some(tokens));
        }
    }
}
