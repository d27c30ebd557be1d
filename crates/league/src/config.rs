//! The configuration of 000 chapter 9, typed and loaded when it is asked for (000 chapter 10).
//!
//! [`ConfigLoader`] reads the five kinds of file below a root. A file that is not there is written
//! with its defaults and never written again. A key that nothing reads is a warning, a value that
//! cannot be used is an error; both say where it stands and what helps.
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
    AssignmentPolicy, GameConfig, GamesRegistry, LeagueConfig, LeagueStatus, MatchMode,
    ParticipantsConfig, ScoringConfig, Strictness, Tiebreakers, breaker_rule, league_rules,
    referee_timeouts, timeouts,
};
pub use loader::{ConfigError, ConfigLoader, UnknownKey, Wrong};
pub use system::{
    BackoffStrategy, BotsConfig, CircuitBreakerConfig, LimitsConfig, LogLevel, LoggingConfig,
    NetworkConfig, Protocol, RetryPolicy, SecurityConfig, SystemConfig, TOKEN_BYTES,
    TimeoutsConfig,
};

/// The league of the documents, which is meant when none is named.
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

/// A span of time, written as a number of seconds; fractions are allowed.
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
            // Milliseconds are all that the league tells apart.
            .and_then(|span| u64::try_from(span.as_millis()).ok())
            .map(Self::of_millis)
            .ok_or_else(|| D::Error::custom("a number of seconds"))
    }
}

/// Ports from the first to the last, both included, written as a list of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl PortRange {
    /// The port at a place, counted from 0.
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

/// The version of a file's form; all of `1` can be read.
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
