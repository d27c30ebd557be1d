//! `config/agents/agents_config.json`: the agents that are known beforehand (000 §9.3.2, §10.3.3).
//!
//! What an entry leaves out is taken from the files under `config/defaults/`.

use league_protocol::id::{GameType, LeagueId, PlayerId, RefereeId};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;

use super::defaults::{PlayerDefaults, RefereeDefaults};
use super::setting::{SchemaVersion, settings};
use crate::agents::strategy;

/// How many agents stand in the list that is written first.
const FIRST_REFEREES: u32 = 2;
const FIRST_PLAYERS: u32 = 4;

/// The names of the documents' players.
const GREEK: [&str; 4] = ["Alpha", "Beta", "Gamma", "Delta"];

settings! {
    /// The agents that are known beforehand.
    pub struct AgentsConfig {
        /// The form of the file.
        schema_version: SchemaVersion = SchemaVersion::default();
        /// Names the list.
        agents_id: String = "agents_config".to_owned();
        /// When the file was written.
        last_updated: Timestamp = Timestamp::default();
        /// The manager.
        league_manager: LeagueManagerConfig = LeagueManagerConfig::default();
        /// The referees.
        referees: Vec<RefereeConfig> = (1..=FIRST_REFEREES).map(first_referee).collect();
        /// The players.
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

settings! {
    /// The manager.
    pub struct LeagueManagerConfig {
        /// The name that people see.
        display_name: String = "League Manager".to_owned();
        /// Where it answers.
        endpoint: String = "http://localhost:8000/mcp".to_owned();
        /// Its version.
        version: String = "1.0.0".to_owned();
    }
}

settings! {
    /// One referee.
    pub struct RefereeConfig {
        needs {
            /// Its id.
            referee_id: RefereeId;
            /// The name that people see.
            display_name: String;
            /// Where it answers.
            endpoint: String;
        }
        has {
            /// Its version.
            version: String = RefereeDefaults::default().version;
            /// The games that it runs.
            game_types: Vec<GameType> = RefereeDefaults::default().game_types;
            /// How many matches it runs at once.
            max_concurrent_matches: u32 = RefereeDefaults::default().max_concurrent_matches,
                within 1..=100_000;
            /// Whether it takes part.
            active: bool = true;
        }
    }
}

settings! {
    /// One player.
    pub struct PlayerConfig {
        needs {
            /// Its id.
            player_id: PlayerId;
            /// The name that people see.
            display_name: String;
            /// Where it answers.
            default_endpoint: String;
        }
        has {
            /// Its version.
            version: String = PlayerDefaults::default().version;
            /// The leagues that it would like to be in; none means any.
            preferred_leagues: Vec<LeagueId> = PlayerDefaults::default().preferred_leagues;
            /// The games that it knows.
            game_types: Vec<GameType> = PlayerDefaults::default().game_types;
            /// How it chooses.
            strategy: String = PlayerDefaults::default().strategy;
            /// How it speaks: `v2`, `v2-api` or `v1`.
            dialect: Dialect = PlayerDefaults::default().dialect;
            /// Whether the manager invites it by its address, since it never registers.
            invite: bool = false;
            /// Whether it takes part.
            active: bool = true;
        }
    }
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
    let dealt = dealt.last().map(|strategy| strategy.name().to_owned());
    dealt.unwrap_or_else(|| PlayerDefaults::default().strategy)
}

fn greek(number: u32) -> &'static str {
    let place = number.saturating_sub(1) as usize;
    GREEK.get(place).copied().unwrap_or("Omega")
}
