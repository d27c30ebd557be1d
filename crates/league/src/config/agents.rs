//! `config/agents/agents_config.json`, the agents known in advance (000 §9.3.2, §10.3.3), and
//! `config/defaults/`, which supplies the values that an entry omits (000 §9.3.5).

use league_core::player::MemoryRule;
use league_protocol::id::{GameType, LeagueId, PlayerId, RefereeId};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;

use serde::{Deserialize, Serialize};

use super::SchemaVersion;
use super::reader::{with_defaults, within};
use league_core::strategy;

/// The number of agents in a newly written list.
const FIRST_REFEREES: u32 = 2;
const FIRST_PLAYERS: u32 = 4;

/// The names of the documents' players.
const GREEK: [&str; 4] = ["Alpha", "Beta", "Gamma", "Delta"];

with_defaults! {
    /// The agents known in advance.
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
    /// The endpoints of the listed referees that take part.
    pub(crate) fn listed_referees(&self) -> Vec<String> {
        let referees = self.referees.iter().filter(|referee| referee.active);
        referees.map(|referee| referee.endpoint.clone()).collect()
    }

    /// The endpoints of the listed players that speak another dialect than the usual one.
    pub(crate) fn listed_dialects(&self) -> Vec<(String, Dialect)> {
        let players = self.players.iter();
        let others = players.filter(|player| player.dialect != Dialect::default());
        others
            .map(|player| (player.default_endpoint.clone(), player.dialect))
            .collect()
    }

    /// The endpoints of all listed referees and players.
    pub fn endpoints(&self) -> impl Iterator<Item = &str> {
        let referees = self.referees.iter().map(|referee| &*referee.endpoint);
        let players = self.players.iter();
        referees.chain(players.map(|player| &*player.default_endpoint))
    }
}

with_defaults! {
    pub struct LeagueManagerConfig {
        /// The name shown to people.
        display_name: String = "League Manager".to_owned();
        endpoint: String = "http://localhost:8000/mcp".to_owned();
        version: String = "1.0.0".to_owned();
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefereeConfig {
    pub referee_id: RefereeId,
    pub display_name: String,
    pub endpoint: String,
    pub version: String,
    /// The games it can run.
    pub game_types: Vec<GameType>,
    /// How many matches it runs at once.
    #[serde(deserialize_with = "within::<1, 100_000, _, _>")]
    pub max_concurrent_matches: u32,
    /// Whether it takes part.
    #[serde(default = "yes")]
    pub active: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlayerConfig {
    pub player_id: PlayerId,
    pub display_name: String,
    pub default_endpoint: String,
    pub version: String,
    /// The leagues it prefers; an empty list means any.
    pub preferred_leagues: Vec<LeagueId>,
    /// The games it can play.
    pub game_types: Vec<GameType>,
    pub strategy: String,
    /// Its dialect: `v2`, `v2-api` or `v1`.
    #[serde(default)]
    pub dialect: Dialect,
    /// Whether the manager invites it by its address, because it does not register.
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

/// The strategy that `league run` assigns to the player with this number.
fn first_strategy(number: u32) -> String {
    let dealt = strategy::deal(&super::default_game(), number as usize);
    let dealt = dealt.last().map(|strategy| strategy.name.to_owned());
    dealt.unwrap_or_else(|| PlayerDefaults::default().strategy)
}

fn greek(number: u32) -> &'static str {
    let place = number.saturating_sub(1) as usize;
    GREEK.get(place).copied().unwrap_or("Omega")
}

with_defaults! {
    /// Default values of a referee.
    pub struct RefereeDefaults {
        schema_version: SchemaVersion = SchemaVersion::default();
        defaults_id: String = "referee".to_owned();
        last_updated: Timestamp = Timestamp::default();
        version: String = "1.0.0".to_owned();
        /// The games it can run.
        game_types: Vec<GameType> = every_game();
        /// How many matches it runs at once.
        #[serde(deserialize_with = "within::<1, 100_000, _, _>")]
        max_concurrent_matches: u32 = 2;
    }
}

with_defaults! {
    /// Default values of a player.
    pub struct PlayerDefaults {
        schema_version: SchemaVersion = SchemaVersion::default();
        defaults_id: String = "player".to_owned();
        last_updated: Timestamp = Timestamp::default();
        version: String = "1.0.0".to_owned();
        /// The leagues it prefers; an empty list means any.
        preferred_leagues: Vec<LeagueId> = Vec::new();
        /// The games it can play.
        game_types: Vec<GameType> = every_game();
        strategy: String = "random".to_owned();
        /// Its dialect: `v2`, `v2-api` or `v1`.
        dialect: Dialect = Dialect::V2;
        /// The limits of its memory.
        memory: MemoryConfig = MemoryConfig::default();
    }
}

with_defaults! {
    /// The limits of a player's memory.
    pub struct MemoryConfig {
        /// The number of latest matches.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        matches: usize = MemoryRule::default().matches;
        /// The number of latest opponents.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        opponents: usize = MemoryRule::default().opponents;
    }
}

impl MemoryConfig {
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
