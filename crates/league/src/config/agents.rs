//! `config/agents/agents_config.json`, the agents that are known beforehand (000 §9.3.2, §10.3.3),
//! and `config/defaults/`, from which an entry takes what it leaves out (000 §9.3.5).

use league_core::player::MemoryRule;
use league_protocol::id::{GameType, LeagueId, PlayerId, RefereeId};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;

use serde::{Deserialize, Serialize};

use super::SchemaVersion;
use super::reader::{with_defaults, within};
use crate::agents::strategy;

/// How many agents stand in the list that is written first.
const FIRST_REFEREES: u32 = 2;
const FIRST_PLAYERS: u32 = 4;

/// The names of the documents' players.
const GREEK: [&str; 4] = ["Alpha", "Beta", "Gamma", "Delta"];

with_defaults! {
    /// The agents that are known beforehand.
    pub struct AgentsConfig {
        schema_version: SchemaVersion = SchemaVersion::default();
        agents_id: String = "agents_config".to_owned();
        last_updated: Timestamp = Timestamp::default();
        league_manager: LeagueManagerConfig = LeagueManagerConfig::default();
        referees: Vec<RefereeConfig> = (1..=FIRST_REFEREES).map(first_referee).collect();
        players: Vec<PlayerConfig> = (1..=FIRST_PLAYERS).map(first_player).collect();
    }
}

impl AgentsConfig {
    /// Where the referees and players answer that are listed.
    pub fn endpoints(&self) -> impl Iterator<Item = &str> {
        let referees = self.referees.iter().map(|referee| &*referee.endpoint);
        let players = self.players.iter();
        referees.chain(players.map(|player| &*player.default_endpoint))
    }
}

with_defaults! {
    pub struct LeagueManagerConfig {
        /// The name that people see.
        display_name: String = "League Manager".to_owned();
        /// Where it answers.
        endpoint: String = "http://localhost:8000/mcp".to_owned();
        version: String = "1.0.0".to_owned();
    }
}

/// One referee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefereeConfig {
    pub referee_id: RefereeId,
    pub display_name: String,
    /// Where it answers.
    pub endpoint: String,
    pub version: String,
    /// The games that it runs.
    pub game_types: Vec<GameType>,
    /// How many matches it runs at once.
    #[serde(deserialize_with = "within::<1, 100_000, _, _>")]
    pub max_concurrent_matches: u32,
    /// Whether it takes part.
    #[serde(default = "yes")]
    pub active: bool,
}

/// One player.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlayerConfig {
    pub player_id: PlayerId,
    pub display_name: String,
    /// Where it answers.
    pub default_endpoint: String,
    pub version: String,
    /// The leagues that it would like to be in; none means any.
    pub preferred_leagues: Vec<LeagueId>,
    /// The games that it knows.
    pub game_types: Vec<GameType>,
    /// How it chooses.
    pub strategy: String,
    /// How it speaks: `v2`, `v2-api` or `v1`.
    #[serde(default)]
    pub dialect: Dialect,
    /// Whether the manager invites it by its address, since it never registers.
    #[serde(default)]
    pub invite: bool,
    /// Whether it takes part.
    #[serde(default = "yes")]
    pub active: bool,
}

fn yes() -> bool {
    true
}

fn first_referee(number: u32) -> RefereeConfig {
    let defaults = RefereeDefaults::default();
    RefereeConfig {
        referee_id: RefereeId::numbered(number),
        display_name: format!("Referee {}", greek(number)),
        endpoint: format!("http://localhost:{}/mcp", 8000 + number),
        version: defaults.version,
        game_types: defaults.game_types,
        max_concurrent_matches: defaults.max_concurrent_matches,
        active: true,
    }
}

fn first_player(number: u32) -> PlayerConfig {
    let defaults = PlayerDefaults::default();
    PlayerConfig {
        player_id: PlayerId::numbered(number),
        display_name: format!("Agent {}", greek(number)),
        default_endpoint: format!("http://localhost:{}/mcp", 8100 + number),
        version: defaults.version,
        preferred_leagues: defaults.preferred_leagues,
        game_types: defaults.game_types,
        strategy: first_strategy(number),
        dialect: defaults.dialect,
        invite: false,
        active: true,
    }
}

/// The strategy that `league run` deals to the player of a number.
fn first_strategy(number: u32) -> String {
    let dealt = strategy::deal(&[], &super::default_game(), number as usize);
    let dealt = dealt.last().map(|strategy| strategy.name.to_owned());
    dealt.unwrap_or_else(|| PlayerDefaults::default().strategy)
}

fn greek(number: u32) -> &'static str {
    let place = number.saturating_sub(1) as usize;
    GREEK.get(place).copied().unwrap_or("Omega")
}

with_defaults! {
    /// What a referee starts with.
    pub struct RefereeDefaults {
        schema_version: SchemaVersion = SchemaVersion::default();
        defaults_id: String = "referee".to_owned();
        last_updated: Timestamp = Timestamp::default();
        version: String = "1.0.0".to_owned();
        /// The games that it runs.
        game_types: Vec<GameType> = every_game();
        /// How many matches it runs at once.
        #[serde(deserialize_with = "within::<1, 100_000, _, _>")]
        max_concurrent_matches: u32 = 2;
    }
}

with_defaults! {
    /// What a player starts with.
    pub struct PlayerDefaults {
        schema_version: SchemaVersion = SchemaVersion::default();
        defaults_id: String = "player".to_owned();
        last_updated: Timestamp = Timestamp::default();
        version: String = "1.0.0".to_owned();
        /// The leagues that it would like to be in; none means any.
        preferred_leagues: Vec<LeagueId> = Vec::new();
        /// The games that it knows.
        game_types: Vec<GameType> = every_game();
        /// How it chooses.
        strategy: String = "random".to_owned();
        /// How it speaks: `v2`, `v2-api` or `v1`.
        dialect: Dialect = Dialect::V2;
        /// How much it remembers.
        memory: MemoryConfig = MemoryConfig::default();
    }
}

with_defaults! {
    /// How much a player remembers.
    pub struct MemoryConfig {
        /// The latest matches.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        matches: usize = MemoryRule::default().matches;
        /// The opponents met last.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        opponents: usize = MemoryRule::default().opponents;
    }
}

impl MemoryConfig {
    /// The rule for a player's memory.
    pub fn rule(&self) -> MemoryRule {
        MemoryRule {
            matches: self.matches,
            opponents: self.opponents,
        }
    }
}

fn every_game() -> Vec<GameType> {
    let types = league_games::all().iter();
    types
        .filter_map(|listing| GameType::new(listing.rules.game_type).ok())
        .collect()
}
