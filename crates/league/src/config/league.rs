//! `config/leagues/<league_id>.json`, the rules of one league (000 §9.3.3, §10.3.4), and
//! `config/games/games_registry.json`, the games there are (000 §3.8.3, §9.3.4).
//!
//! The registry tells others what this program can play; the rules of a game are in its code. What
//! the machines are given is made here from the files.

use std::collections::BTreeMap;
use std::time::Duration;

use league_core::breaker::BreakerRule;
use league_core::draw::LeagueSecret;
use league_core::league::{Assignment, League, LeagueRules};
use league_core::timeouts::{Backoff, Timeouts};
use league_protocol::id::{GameType, LeagueId};
use league_protocol::message::{Mode, Score};
use league_protocol::time::Timestamp;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::reader::{seconds, with_defaults, within};
use super::{BackoffStrategy, ConfigError, SchemaVersion, Seconds, SystemConfig};

with_defaults! {
    /// The rules of one league.
    pub struct LeagueConfig {
        schema_version: SchemaVersion = SchemaVersion::default();
        /// Names the league, as the file's name does.
        league_id: LeagueId = super::default_league();
        last_updated: Timestamp = Timestamp::default();
        /// The name that people see.
        display_name: String = "Even/Odd League".to_owned();
        /// What is played.
        game_type: GameType = super::default_game();
        /// The game's own settings; what is left out keeps the game's default.
        game_settings: Map<String, Value> = Map::new();
        /// Whether the league is held.
        status: LeagueStatus = LeagueStatus::Active;
        /// What a result is worth.
        scoring: ScoringConfig = ScoringConfig::default();
        /// Who may take part, and how many it takes to begin.
        participants: ParticipantsConfig = ParticipantsConfig::default();
        /// How messages are read.
        strictness: Strictness = Strictness::Lenient;
        /// How matches go forward.
        match_mode: MatchMode = MatchMode::Auto;
        /// How matches are given to referees.
        assignment_policy: AssignmentPolicy = AssignmentPolicy::RoundRobin;
        /// So many technical losses in a row end a player's part in the league.
        #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
        max_fail: u32 = 5;
        /// With more players than this, a broadcast holds what concerns its receiver.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        broadcast_limit: usize = 200;
        /// How many rows of the table such a broadcast holds, besides the receiver's own.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        broadcast_top_rows: usize = 20;
        /// How long a match may run before it is taken from its referee.
        #[serde(deserialize_with = "seconds::<1_000, 604_800_000, _>")]
        match_limit_sec: Seconds = Seconds::of(30 * 60);
        /// How long a referee may be silent before it is asked whether it is there.
        #[serde(deserialize_with = "seconds::<100, 604_800_000, _>")]
        probe_interval_sec: Seconds = Seconds::of(5);
    }
}

/// Whether a league is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LeagueStatus {
    /// It is.
    Active,
    /// It is not.
    Inactive,
}

/// How messages are read (ruling 13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strictness {
    /// What has a certain meaning is taken.
    Lenient,
    /// Nothing is forgiven.
    Strict,
}

/// How matches go forward (ruling 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchMode {
    /// By themselves, to the end.
    Auto,
    /// Step by step, by `league step` or the tools of the referee.
    Manual,
}

/// How matches are given to referees (ruling 22).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssignmentPolicy {
    /// To one after the other.
    RoundRobin,
    /// To the one with the fewest matches in hand.
    LeastLoaded,
    /// To each in proportion to how many it runs at once.
    Weighted,
}

with_defaults! {
    /// What a result is worth.
    pub struct ScoringConfig {
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        win_points: u32 = 3;
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        draw_points: u32 = 1;
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        loss_points: u32 = 0;
        /// Points for a loss by not playing.
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        technical_loss_points: u32 = 0;
        /// What decides between players in turn; there is one order (ruling 20).
        tiebreakers: Tiebreakers = Tiebreakers;
    }
}

/// The order of what decides between players.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tiebreakers;

impl Tiebreakers {
    /// What decides first, second and so on.
    pub const ORDER: [&str; 5] = [
        "points",
        "wins",
        "draw_difference",
        "head_to_head",
        "player_id",
    ];
}

impl Serialize for Tiebreakers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::ORDER.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tiebreakers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = Value::deserialize(from)?;
        let found = found.as_array().map(Vec::as_slice).unwrap_or_default();
        if found.iter().eq(Self::ORDER.iter()) {
            return Ok(Self);
        }
        let order = Self::ORDER.join("`, `");
        Err(D::Error::custom(format!("`{order}` in this order")))
    }
}

with_defaults! {
    /// Who may take part, and how many it takes to begin.
    pub struct ParticipantsConfig {
        /// The fewest players to start with.
        #[serde(deserialize_with = "within::<2, 1_000_000, _, _>")]
        min_players: u32 = 2;
        /// The most players that are let in.
        #[serde(deserialize_with = "within::<2, 1_000_000, _, _>")]
        max_players: u32 = 10_000;
        /// So many players start the league by themselves, with so many referees; 0 for never.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        expected_players: u32 = 4;
        /// So many referees start the league by themselves, with so many players; 0 for never.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        expected_referees: u32 = 2;
    }
}

impl ParticipantsConfig {
    /// How many players and referees start the league by themselves.
    pub fn start_when(&self) -> Option<(u32, u32)> {
        let (players, referees) = (self.expected_players, self.expected_referees);
        (players > 0 && referees > 0).then_some((players, referees))
    }
}

impl LeagueConfig {
    /// The usual rules for a league of this name, with the range of the draw written out so that
    /// people find it.
    pub fn named(league_id: LeagueId) -> Self {
        Self {
            league_id,
            game_settings: range_of_the_draw(),
            ..Self::default()
        }
    }

    /// The same with another game, if one is named; settings and title are of no other game then.
    pub fn playing(mut self, game: Option<&GameType>) -> Self {
        if let Some(game) = game.filter(|game| **game != self.game_type) {
            self.game_type = game.clone();
            self.game_settings.clear();
            self.display_name = "League".to_owned();
        }
        self
    }

    /// Copies into rules what this file decides.
    fn write_rules(&self, rules: &mut LeagueRules) {
        rules.game_settings = Value::Object(self.game_settings.clone());
        rules.score = Score {
            win: self.scoring.win_points,
            draw: self.scoring.draw_points,
            loss: self.scoring.loss_points,
            technical_loss: self.scoring.technical_loss_points,
        };
        rules.min_players = self.participants.min_players;
        rules.max_players = self.participants.max_players;
        rules.start_when = self.participants.start_when();
        rules.strict = self.strictness == Strictness::Strict;
        rules.mode = match self.match_mode {
            MatchMode::Auto => Mode::Auto,
            MatchMode::Manual => Mode::Manual,
        };
        rules.assignment = match self.assignment_policy {
            AssignmentPolicy::RoundRobin => Assignment::RoundRobin,
            AssignmentPolicy::LeastLoaded => Assignment::LeastLoaded,
            AssignmentPolicy::Weighted => Assignment::Weighted,
        };
        rules.max_fail = self.max_fail;
        rules.broadcast_limit = self.broadcast_limit;
        rules.top_rows = self.broadcast_top_rows;
        rules.match_limit = self.match_limit_sec.duration();
        rules.probe_every = self.probe_interval_sec.duration();
    }
}

fn range_of_the_draw() -> Map<String, Value> {
    let settings = league_games::even_odd::Settings::default();
    match serde_json::to_value(settings) {
        Ok(Value::Object(settings)) => settings,
        _ => Map::new(),
    }
}

/// The rules of a league, checked: a league can be held by them.
pub fn league_rules(
    system: &SystemConfig,
    league: &LeagueConfig,
) -> Result<LeagueRules, ConfigError> {
    if league.status != LeagueStatus::Active {
        return Err(ConfigError::Inactive(league.league_id.clone()));
    }
    let mut rules = LeagueRules::new(league.league_id.clone(), league.game_type.clone());
    league.write_rules(&mut rules);
    rules.timeouts = timeouts(system);
    rules.breaker = breaker_rule(system);
    rules.token_ttl = Duration::from_secs(u64::from(system.security.token_ttl_hours) * 60 * 60);
    // The machine itself says whether they fit together; the secret is of no account.
    League::new(rules.clone(), LeagueSecret([0; 32]))?;
    Ok(rules)
}

/// How long is waited and how often tried, by managers and players.
pub fn timeouts(system: &SystemConfig) -> Timeouts {
    let timeouts = &system.timeouts;
    let retry = &system.retry_policy;
    let delay = retry.retry_delay_sec.duration();
    Timeouts {
        register: timeouts.register_player_timeout_sec.duration(),
        join: timeouts.game_join_ack_timeout_sec.duration(),
        make_move: timeouts.move_timeout_sec.duration(),
        game_over: timeouts.game_over_timeout_sec.duration(),
        report: timeouts.match_result_report_timeout_sec.duration(),
        query: timeouts.league_query_timeout_sec.duration(),
        other: timeouts.generic_response_timeout_sec.duration(),
        attempts: retry.max_retries,
        backoff: match retry.backoff_strategy {
            BackoffStrategy::Fixed => Backoff::Fixed(delay),
            BackoffStrategy::Exponential => Backoff::Exponential(delay),
        },
    }
}

/// How long is waited and how often tried, by referees.
pub fn referee_timeouts(system: &SystemConfig) -> Timeouts {
    Timeouts {
        register: system.timeouts.register_referee_timeout_sec.duration(),
        ..timeouts(system)
    }
}

/// When an agent that fails is left alone.
pub fn breaker_rule(system: &SystemConfig) -> BreakerRule {
    BreakerRule {
        threshold: system.circuit_breaker.failure_threshold,
        rest: system.circuit_breaker.reset_timeout_sec.duration(),
    }
}

with_defaults! {
    /// The games there are.
    pub struct GamesRegistry {
        schema_version: SchemaVersion = SchemaVersion::default();
        registry_id: String = "games_registry".to_owned();
        last_updated: Timestamp = Timestamp::default();
        /// The games by their type.
        game_registry: BTreeMap<String, GameConfig> = known_games();
    }
}

/// One game.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GameConfig {
    pub display_name: String,
    pub move_types: Vec<String>,
    /// The choices for each kind of move.
    #[serde(default)]
    pub valid_choices: BTreeMap<String, Vec<String>>,
    /// The fewest seats.
    #[serde(default = "two", deserialize_with = "within::<1, 1_000, _, _>")]
    pub min_players: u32,
    /// The most seats.
    #[serde(default = "two", deserialize_with = "within::<1, 1_000, _, _>")]
    pub max_players: u32,
    /// The module that holds the rules.
    #[serde(default = "unknown")]
    pub rules_module: String,
    /// How long a match should take at most.
    #[serde(
        default = "one_minute",
        deserialize_with = "within::<1, 1_000_000, _, _>"
    )]
    pub max_round_time_sec: u32,
}

fn two() -> u32 {
    2
}

fn one_minute() -> u32 {
    60
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn known_games() -> BTreeMap<String, GameConfig> {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let games = league_games::registry().into_iter();
    games
        .map(|(game_type, entry)| {
            let choices = entry.valid_choices.iter();
            let game = GameConfig {
                display_name: entry.display_name.to_owned(),
                move_types: owned(&entry.move_types),
                valid_choices: choices
                    .map(|(&move_type, texts)| (move_type.to_owned(), owned(texts)))
                    .collect(),
                min_players: u32::from(entry.min_players),
                max_players: u32::from(entry.max_players),
                rules_module: entry.rules_module.to_owned(),
                max_round_time_sec: entry.max_round_time_sec,
            };
            (game_type.to_owned(), game)
        })
        .collect()
}
