//! `config/defaults/`: what an agent starts with that nobody described (000 §9.3.5).

use league_core::player::MemoryRule;
use league_protocol::id::{GameType, LeagueId};
use league_protocol::sender::Dialect;
use league_protocol::time::Timestamp;

use super::setting::{SchemaVersion, settings};

settings! {
    /// What a referee starts with.
    pub struct RefereeDefaults {
        /// The form of the file.
        schema_version: SchemaVersion = SchemaVersion::default();
        /// Names the kind of agent.
        defaults_id: String = "referee".to_owned();
        /// When the file was written.
        last_updated: Timestamp = Timestamp::default();
        /// Its version.
        version: String = "1.0.0".to_owned();
        /// The games that it runs.
        game_types: Vec<GameType> = every_game();
        /// How many matches it runs at once.
        max_concurrent_matches: u32 = 2, within 1..=100_000;
    }
}

settings! {
    /// What a player starts with.
    pub struct PlayerDefaults {
        /// The form of the file.
        schema_version: SchemaVersion = SchemaVersion::default();
        /// Names the kind of agent.
        defaults_id: String = "player".to_owned();
        /// When the file was written.
        last_updated: Timestamp = Timestamp::default();
        /// Its version.
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

settings! {
    /// How much a player remembers.
    pub struct MemoryConfig {
        /// The latest matches.
        matches: usize = MemoryRule::default().matches, within 0..=1_000_000;
        /// The opponents met last.
        opponents: usize = MemoryRule::default().opponents, within 0..=1_000_000;
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
