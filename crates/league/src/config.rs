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
mod defaults;
mod error;
mod games;
mod league;
mod loader;
mod rules;
mod setting;
mod system;

use league_protocol::id::{GameType, LeagueId};

pub use agents::{AgentsConfig, LeagueManagerConfig, PlayerConfig, RefereeConfig};
pub use defaults::{MemoryConfig, PlayerDefaults, RefereeDefaults};
pub use error::{ConfigError, UnknownKey, Wrong};
pub use games::{GameConfig, GamesRegistry};
pub use league::{
    AssignmentPolicy, LeagueConfig, LeagueStatus, MatchMode, ParticipantsConfig, ScoringConfig,
    Strictness, Tiebreakers,
};
pub use loader::ConfigLoader;
pub use rules::{breaker_rule, league_rules, referee_timeouts, timeouts};
pub use setting::{PortRange, SchemaVersion, Seconds};
pub use system::{
    AllowedEndpoint, BackoffStrategy, BotsConfig, CircuitBreakerConfig, LimitsConfig, LogLevel,
    LoggingConfig, NetworkConfig, Protocol, RetryPolicy, SecurityConfig, SystemConfig, TOKEN_BYTES,
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
