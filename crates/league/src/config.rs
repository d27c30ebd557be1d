//! The typed configuration of 000 chapter 9, loaded on demand (000 chapter 10).
//!
//! [`ConfigLoader`] reads the five kinds of file below a root. It writes a missing file with its
//! defaults, and never overwrites a file. An unknown key is a warning, an invalid value is an
//! error; both name the place and a remedy.
//!
//! ```no_run
//! use league::config::{ConfigLoader, league_rules};
//! use league::root::Root;
//!
//! let loader = ConfigLoader::new(Root::new("SHARED"));
//! let system = loader.load_system()?;
//! let league = loader.load_league(&system.default_league_id)?;
//! let rules = league_rules(&system, &league)?;
//! assert_eq!(rules.score.win, league.scoring.win_points);
//! # Ok::<(), league::config::ConfigError>(())
//! ```

mod agents;
mod allowed;
mod league;
mod loader;
mod models;
mod reader;
mod system;

use std::fmt;
use std::time::Duration;

use league_protocol::id::{GameType, LeagueId};
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

pub use agents::{
    AgentsConfig, LeagueManagerConfig, MemoryConfig, PlayerConfig, PlayerDefaults, RefereeConfig,
    RefereeDefaults,
};
pub use allowed::AllowedEndpoint;
pub use league::{
    GameConfig, GamesRegistry, LeagueConfig, LeagueStatus, ParticipantsConfig, ScoringConfig,
    Strictness, breaker_rule, league_rules, referee_timeouts, timeouts,
};
pub use loader::{ConfigError, ConfigLoader, UnknownKey, Wrong};
pub use models::{ModelWire, ModelsConfig, ProviderConfig};
pub use system::{
    BackoffStrategy, BotsConfig, CircuitBreakerConfig, LimitsConfig, LogLevel, LoggingConfig,
    NetworkConfig, Protocol, RetryPolicy, SecurityConfig, SystemConfig, TOKEN_BYTES,
    TimeoutsConfig,
};

/// The league of the documents, used when no league is named.
pub const DEFAULT_LEAGUE: &str = "league_2025_even_odd";
/// The game of the documents.
pub const DEFAULT_GAME: &str = "even_odd";

#[expect(
    clippy::unwrap_used,
    reason = "the text is fixed and has the form of an id"
)]
fn default_league() -> LeagueId {
    LeagueId::new(DEFAULT_LEAGUE).unwrap()
}

#[expect(
    clippy::unwrap_used,
    reason = "the text is fixed and has the form of an id"
)]
fn default_game() -> GameType {
    GameType::new(DEFAULT_GAME).unwrap()
}

/// A duration, written as a number of seconds; fractions are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Seconds(pub Duration);

impl Seconds {
    pub const fn of(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    pub const fn of_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64())
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.subsec_nanos() == 0 {
            serializer.serialize_u64(self.0.as_secs())
        } else {
            serializer.serialize_f64(self.0.as_secs_f64())
        }
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let span = f64::deserialize(from).ok();
        span.and_then(|span| Duration::try_from_secs_f64(span).ok())
            // The league measures time in milliseconds.
            .and_then(|span| u64::try_from(span.as_millis()).ok())
            .map(Self::of_millis)
            .ok_or_else(|| D::Error::custom("a number of seconds"))
    }
}

/// An inclusive range of ports, written as a list of the first and the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl PortRange {
    /// The port at an index, counted from 0.
    pub fn get(self, place: u32) -> Option<u16> {
        let port = u32::from(self.first).checked_add(place)?;
        u16::try_from(port).ok().filter(|port| *port <= self.last)
    }
}

impl Serialize for PortRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.first, self.last].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PortRange {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let ports = <[u16; 2]>::deserialize(from).ok();
        ports
            .filter(|[first, last]| *first > 0 && first <= last)
            .map(|[first, last]| Self { first, last })
            .ok_or_else(|| D::Error::custom("two ports, such as `[8001, 8100]`"))
    }
}

/// The schema version of a file; every version `1.x` can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SchemaVersion(String);

impl Default for SchemaVersion {
    fn default() -> Self {
        Self("1.0.0".to_owned())
    }
}

impl<'de> Deserialize<'de> for SchemaVersion {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from).unwrap_or_default();
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        match numbers.as_deref() {
            Ok([1] | [1, _] | [1, _, _]) => Ok(Self(text)),
            _ => Err(D::Error::custom(
                "a version such as `1.0.0`, of the first form",
            )),
        }
    }
}
