//! Reads the configuration below a root, each file once, when it is first needed, and defines its
//! errors, each with a remedy.
//!
//! A missing file is written with the defaults; an existing file is never written.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use league_core::league::RulesError;
use league_protocol::id::{GameType, LeagueId, PlayerId, RefereeId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use thiserror::Error;

use super::{
    AgentsConfig, GamesRegistry, LeagueConfig, PlayerConfig, PlayerDefaults, RefereeConfig,
    RefereeDefaults, SystemConfig, reader,
};
use crate::clock;
use crate::storage::files::{self, read_bounded};
use crate::storage::root::Root;

/// The maximum size of a file, in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Loads the configuration below a root.
#[derive(Debug)]
pub struct ConfigLoader {
    root: Root,
    system: OnceLock<Arc<SystemConfig>>,
    agents: OnceLock<Arc<AgentsConfig>>,
    games: OnceLock<Arc<GamesRegistry>>,
    referee: OnceLock<Arc<RefereeDefaults>>,
    player: OnceLock<Arc<PlayerDefaults>>,
    leagues: Mutex<BTreeMap<LeagueId, Arc<LeagueConfig>>>,
    warnings: Mutex<Vec<UnknownKey>>,
}

impl ConfigLoader {
    /// Takes the root; reads nothing yet.
    pub fn new(root: Root) -> Self {
        Self {
            root,
            system: OnceLock::new(),
            agents: OnceLock::new(),
            games: OnceLock::new(),
            referee: OnceLock::new(),
            player: OnceLock::new(),
            leagues: Mutex::default(),
            warnings: Mutex::default(),
        }
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The unknown keys found so far, in the order of reading.
    pub fn warnings(&self) -> Vec<UnknownKey> {
        held(&self.warnings).clone()
    }

    /// The global settings.
    pub fn load_system(&self) -> Result<Arc<SystemConfig>, ConfigError> {
        once(&self.system, || {
            self.load(&self.root.system(), |_| {}, SystemConfig::default)
        })
    }

    /// The agents known in advance; the defaults supply what an entry omits.
    pub fn load_agents(&self) -> Result<Arc<AgentsConfig>, ConfigError> {
        once(&self.agents, || {
            let referee = members_of(&*self.load_referee_defaults()?);
            let player = members_of(&*self.load_player_defaults()?);
            let fill = |file: &mut Value| {
                fill(file.get_mut("referees"), &referee, &REFEREE_KEYS);
                fill(file.get_mut("players"), &player, &PLAYER_KEYS);
            };
            let agents = self.load(&self.root.agents(), fill, AgentsConfig::default)?;
            check_agents(&agents).map_err(|wrong| ConfigError::Wrong {
                file: self.root.agents(),
                wrong,
            })?;
            Ok(agents)
        })
    }

    /// The rules of a league.
    pub fn load_league(&self, league: &LeagueId) -> Result<Arc<LeagueConfig>, ConfigError> {
        self.load_league_of(league, None)
    }

    /// The rules of a league; a missing file is written for this game, if one is named.
    pub fn load_league_of(
        &self,
        league: &LeagueId,
        game: Option<&GameType>,
    ) -> Result<Arc<LeagueConfig>, ConfigError> {
        if let Some(found) = held(&self.leagues).get(league) {
            return Ok(Arc::clone(found));
        }
        let file = self.root.league(league);
        let first = || LeagueConfig::named(league.clone()).playing(game);
        let found = self.load(&file, |_| {}, first)?;
        if found.league_id != *league {
            let wrong = Wrong {
                path: "league_id".to_owned(),
                found: format!("`{}`", found.league_id),
                expected: format!("`{league}`, as in the name of the file"),
                hint: Some("rename the file, or correct the key".to_owned()),
            };
            return Err(ConfigError::Wrong { file, wrong });
        }
        let found = Arc::new(found);
        held(&self.leagues).insert(league.clone(), Arc::clone(&found));
        Ok(found)
    }

    /// The list of games.
    pub fn load_games_registry(&self) -> Result<Arc<GamesRegistry>, ConfigError> {
        once(&self.games, || {
            self.load(&self.root.games_registry(), |_| {}, GamesRegistry::default)
        })
    }

    /// Default values of a referee.
    pub fn load_referee_defaults(&self) -> Result<Arc<RefereeDefaults>, ConfigError> {
        once(&self.referee, || {
            let file = self.root.referee_defaults();
            self.load(&file, |_| {}, RefereeDefaults::default)
        })
    }

    /// Default values of a player.
    pub fn load_player_defaults(&self) -> Result<Arc<PlayerDefaults>, ConfigError> {
        once(&self.player, || {
            let file = self.root.player_defaults();
            self.load(&file, |_| {}, PlayerDefaults::default)
        })
    }

    /// A referee by its id.
    pub fn get_referee_by_id(&self, referee: &RefereeId) -> Result<RefereeConfig, ConfigError> {
        let agents = self.load_agents()?;
        let mut listed = agents.referees.iter();
        let found = listed.find(|listed| listed.referee_id == *referee);
        found.cloned().ok_or_else(|| ConfigError::UnknownReferee {
            file: self.root.agents(),
            referee: referee.clone(),
        })
    }

    /// A player by its id.
    pub fn get_player_by_id(&self, player: &PlayerId) -> Result<PlayerConfig, ConfigError> {
        let agents = self.load_agents()?;
        let mut listed = agents.players.iter();
        let found = listed.find(|listed| listed.player_id == *player);
        found.cloned().ok_or_else(|| ConfigError::UnknownPlayer {
            file: self.root.agents(),
            player: player.clone(),
        })
    }

    /// Reads a file, and writes it first if it is missing.
    fn load<T: DeserializeOwned + Serialize>(
        &self,
        file: &Path,
        prepare: impl Fn(&mut Value),
        default: impl FnOnce() -> T,
    ) -> Result<T, ConfigError> {
        let text = match read_bounded(file, MAX_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write_first(file, &default())?;
                read_bounded(file, MAX_FILE)
            }
            other => other,
        };
        let text = text.map_err(|source| unreadable(file, source))?;
        let value = serde_json::from_slice(&text).map_err(|source| ConfigError::NotJson {
            file: file.to_owned(),
            source,
        })?;
        let (config, strays) =
            reader::read(value, prepare).map_err(|wrong| ConfigError::Wrong {
                file: file.to_owned(),
                wrong,
            })?;
        let warnings = strays.into_iter().map(|(path, nearest)| UnknownKey {
            file: file.to_owned(),
            path,
            nearest,
        });
        held(&self.warnings).extend(warnings);
        Ok(config)
    }
}

/// Keys that an entry of the list may omit in favour of the defaults.
const REFEREE_KEYS: [&str; 3] = ["version", "game_types", "max_concurrent_matches"];
const PLAYER_KEYS: [&str; 4] = ["version", "preferred_leagues", "game_types", "strategy"];

fn fill(list: Option<&mut Value>, defaults: &Map<String, Value>, keys: &[&str]) {
    let entries = list.and_then(Value::as_array_mut).into_iter().flatten();
    for entry in entries.filter_map(Value::as_object_mut) {
        for &key in keys {
            if let Some(default) = defaults.get(key) {
                entry.entry(key).or_insert_with(|| default.clone());
            }
        }
    }
}

/// Refuses a list in which two agents have the same id.
fn check_agents(agents: &AgentsConfig) -> Result<(), Wrong> {
    let referees = agents
        .referees
        .iter()
        .map(|entry| entry.referee_id.as_str());
    let players = agents.players.iter().map(|entry| entry.player_id.as_str());
    check_distinct(referees, "referees", "referee_id")?;
    check_distinct(players, "players", "player_id")
}

/// Ids become file names, and some file systems ignore case.
fn check_distinct<'id>(
    ids: impl Iterator<Item = &'id str>,
    list: &str,
    key: &str,
) -> Result<(), Wrong> {
    let mut seen = BTreeMap::new();
    for (index, id) in ids.enumerate() {
        if let Some(first) = seen.insert(id.to_ascii_lowercase(), index) {
            return Err(Wrong {
                path: format!("{list}[{index}].{key}"),
                found: format!("`{id}`"),
                expected: format!("another id than that of `{list}[{first}]`"),
                hint: Some("give each agent an id of its own".to_owned()),
            });
        }
    }
    Ok(())
}

fn members_of(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

fn write_first(file: &Path, default: &impl Serialize) -> Result<(), ConfigError> {
    let mut members = members_of(default);
    if let Ok(now) = serde_json::to_value(clock::now()) {
        members.insert("last_updated".to_owned(), now);
    }
    let text = files::pretty(&Value::Object(members));
    files::create(file, &text).map_err(|source| ConfigError::Unwritable {
        file: file.to_owned(),
        source,
    })
}

fn unreadable(file: &Path, source: io::Error) -> ConfigError {
    let file = file.to_owned();
    if source.kind() == io::ErrorKind::FileTooLarge {
        let limit = MAX_FILE;
        return ConfigError::TooLarge { file, limit };
    }
    ConfigError::Unreadable { file, source }
}

fn once<T>(
    cell: &OnceLock<Arc<T>>,
    load: impl FnOnce() -> Result<T, ConfigError>,
) -> Result<Arc<T>, ConfigError> {
    if let Some(found) = cell.get() {
        return Ok(Arc::clone(found));
    }
    let loaded = Arc::new(load()?);
    Ok(Arc::clone(cell.get_or_init(|| loaded)))
}

/// Ignores poisoning: the values are consistent after every statement, so a panic elsewhere does no
/// harm.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why the configuration cannot be loaded.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// A file exists and cannot be read.
    #[error("could not read `{}`", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    /// A file is missing and cannot be written.
    #[error("could not write `{}`", file.display())]
    Unwritable { file: PathBuf, source: io::Error },
    /// A file is larger than the limit.
    #[error("`{}` has more than {limit} bytes", file.display())]
    TooLarge { file: PathBuf, limit: u64 },
    /// A file is not JSON.
    #[error("`{}` is not JSON", file.display())]
    NotJson {
        file: PathBuf,
        source: serde_json::Error,
    },
    /// A value has the wrong type or is out of range.
    #[error("`{}`: {wrong}", file.display())]
    Wrong {
        file: PathBuf,
        /// The value, its place, and what was expected.
        wrong: Wrong,
    },
    /// No referee has this id.
    #[error("`{}` lists no referee `{referee}`", file.display())]
    UnknownReferee { file: PathBuf, referee: RefereeId },
    /// No player has this id.
    #[error("`{}` lists no player `{player}`", file.display())]
    UnknownPlayer { file: PathBuf, player: PlayerId },
    /// The league is inactive.
    #[error("league `{0}` is not `ACTIVE`")]
    Inactive(LeagueId),
    /// The values are valid one by one, but not together.
    #[error("no league can be held by these rules")]
    Rules(#[from] RulesError),
}

impl ConfigError {
    /// The key of the league's file that causes a conflict between values.
    pub fn key(&self) -> Option<&'static str> {
        Some(match self {
            Self::Inactive(_) => "status",
            Self::Rules(RulesError::Settings(_)) => "game_settings",
            Self::Rules(RulesError::UnknownGame(_)) => "game_type",
            Self::Rules(RulesError::Players { .. }) => "participants",
            Self::Rules(RulesError::ProbeEvery(_)) => "probe_interval_sec",
            Self::Rules(RulesError::Format(_)) => "format",
            _ => return None,
        })
    }

    /// What to do about it, if that is known.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unreadable { source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
                "a file is in the way: choose a folder with `--root`".to_owned()
            }
            Self::Unreadable { .. } => "give this user the right to read the file".to_owned(),
            Self::Unwritable { .. } => {
                "choose a root that can be written with `--root`, or put the file there".to_owned()
            }
            Self::TooLarge { .. } => "put a configuration in its place, or remove it".to_owned(),
            Self::NotJson { source, .. } => format!(
                "look at line {}, or remove the file to have it written anew",
                source.line()
            ),
            Self::Wrong { wrong, .. } => return wrong.hint.clone(),
            Self::UnknownReferee { .. } | Self::UnknownPlayer { .. } => {
                "add it to the list, or use an id that is there".to_owned()
            }
            Self::Inactive(_) => "set `status` to `ACTIVE` in its file".to_owned(),
            Self::Rules(RulesError::Settings(_)) => "correct `game_settings`".to_owned(),
            Self::Rules(RulesError::UnknownGame(_)) => {
                let types = league_games::all().iter();
                let types: Vec<_> = types.map(|listing| listing.rules.game_type).collect();
                format!("set `game_type` to one of `{}`", types.join("`, `"))
            }
            Self::Rules(RulesError::Players { .. }) => "correct `participants`".to_owned(),
            Self::Rules(RulesError::ProbeEvery(_)) => "correct `probe_interval_sec`".to_owned(),
            Self::Rules(RulesError::Format(_)) => {
                "correct `format`, `rounds`, `legs`, `late_entry` or `participants`".to_owned()
            }
        })
    }
}

/// An invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Its path: `timeouts.move_timeout_sec`, `players[2].player_id`; empty for the whole file.
    pub path: String,
    /// The value found, truncated.
    pub found: String,
    pub expected: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            found,
            expected,
            ..
        } = self;
        if path.is_empty() {
            write!(f, "expected {expected}, found {found}")
        } else {
            write!(f, "`{path}` should be {expected}, but is {found}")
        }
    }
}

/// A key that the program does not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    pub file: PathBuf,
    pub path: String,
    /// The most similar known key.
    pub nearest: Option<String>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        write!(f, "`{file}`: nothing reads the key `{}`", self.path)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}
