//! `config/leagues/<league_id>.json`, the rules of one league (000 §9.3.3, §10.3.4), and
//! `config/games/games_registry.json`, the list of games (000 §3.8.3, §9.3.4).
//!
//! The registry tells others what this program can play; the rules of a game are in its code. This
//! module also converts the files to the rules of the state machines.

use std::collections::BTreeMap;
use std::time::Duration;

use league_core::breaker::BreakerRule;
use league_core::draw::{LeagueSecret, LeagueSecrets};
use league_core::league::format::Format;
use league_core::league::{Assignment, League, LeagueRules, Tiebreaker};
use league_core::timeouts::{Backoff, Timeouts};
use league_protocol::id::{GameType, LeagueId};
use league_protocol::message::{Mode, Score};
use league_protocol::time::Timestamp;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::reader::{optional_seconds, seconds, with_defaults, within};
use super::{BackoffStrategy, ConfigError, SchemaVersion, Seconds, SystemConfig};

with_defaults! {
    /// The rules of one league.
    pub struct LeagueConfig {
        schema_version: SchemaVersion = SchemaVersion::default();
        /// The id of the league, equal to the file's name.
        league_id: LeagueId = super::default_league();
        last_updated: Timestamp = Timestamp::default();
        /// The name shown to people.
        display_name: String = "Even/Odd League".to_owned();
        game_type: GameType = super::default_game();
        /// The game's own settings; an omitted setting keeps the game's default.
        game_settings: Map<String, Value> = Map::new();
        /// Whether the league can be played.
        status: LeagueStatus = LeagueStatus::Active;
        /// The points for each kind of result.
        scoring: ScoringConfig = ScoringConfig::default();
        /// The limits on participants, and how many are needed to start.
        participants: ParticipantsConfig = ParticipantsConfig::default();
        /// How the players are paired: `round_robin`, `swiss`, `knockout`,
        /// `double_elimination`, `groups`, `gauntlet`, `ladder` or `arena`.
        format: Format = Format::default();
        /// How many rounds a Swiss tournament or a ladder has, or after how many a round robin ends;
        /// `null` for as many as its players need, and for a ladder without end.
        rounds: Option<u32> = None;
        /// How many games two players have each time they meet; in a bracket, how many a tie has
        /// at most unless it is level.
        #[serde(deserialize_with = "within::<1, 1_000, _, _>")]
        legs: u32 = 1;
        /// How many groups there are before the knockout; `null` for as many as suit the players.
        groups: Option<u32> = None;
        /// How long a ladder or an arena goes on; `null` for a ladder without end, and for an arena
        /// of ten minutes.
        #[serde(deserialize_with = "optional_seconds::<1_000, 604_800_000, _>")]
        duration_sec: Option<Seconds> = None;
        /// Whether registration stays open after the start, in formats that allow it.
        late_entry: bool = false;
        /// How tolerantly messages are read.
        strictness: Strictness = Strictness::Lenient;
        /// Which results count, by what is known of their draws (ruling 25a).
        draws: CountedDraws = CountedDraws::Any;
        /// How matches advance (ruling 3).
        match_mode: Mode = Mode::Auto;
        /// How matches are assigned to referees (ruling 22).
        assignment_policy: Assignment = Assignment::RoundRobin;
        /// A player with this many technical losses in a row is removed from the league.
        #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
        max_fail: u32 = 5;
        /// With more players than this, a broadcast holds only what concerns its receiver.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        broadcast_limit: usize = 200;
        /// The table rows in such a broadcast, besides the receiver's own.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        broadcast_top_rows: usize = 20;
        /// How long a match may run before the manager takes it from its referee.
        /// `null` for the time that the game's own deadlines allow, and two minutes.
        #[serde(deserialize_with = "optional_seconds::<1_000, 604_800_000, _>")]
        match_limit_sec: Option<Seconds> = None;
        /// How long a referee may be silent before the manager probes it.
        #[serde(deserialize_with = "seconds::<100, 604_800_000, _>")]
        probe_interval_sec: Seconds = Seconds::of(5);
        /// Where the manager of this league answers players that prefer the league; `null` for the
        /// address in the list of agents.
        manager_endpoint: Option<String> = None;
    }
}

/// Whether a league can be played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LeagueStatus {
    Active,
    Inactive,
}

/// How tolerantly messages are read (ruling 13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strictness {
    /// A deviation with an unambiguous meaning is accepted.
    Lenient,
    /// Every deviation is refused.
    Strict,
}

/// Which results count, by what is known of their draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedDraws {
    /// Also those that a referee written by the documents tells, marked as not proven.
    Any,
    /// Only those that follow from the seed that the manager promised.
    Proven,
}

with_defaults! {
    /// The points for each kind of result.
    pub struct ScoringConfig {
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        win_points: u32 = 3;
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        draw_points: u32 = 1;
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        loss_points: u32 = 0;
        /// Points for a technical loss.
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        technical_loss_points: u32 = 0;
        /// What the table is ordered by, the most important first (ruling 20); this list stands for
        /// the usual order of the format.
        #[serde(deserialize_with = "tiebreakers")]
        tiebreakers: Vec<Tiebreaker> = Tiebreaker::USUAL.into();
    }
}

/// Reads the tiebreakers: some of them, each once, in any order.
fn tiebreakers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Tiebreaker>, D::Error> {
    let found = Value::deserialize(from)?;
    let order = serde_json::from_value::<Vec<Tiebreaker>>(found).ok();
    let is_once = |order: &Vec<Tiebreaker>| {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        sorted.dedup();
        !order.is_empty() && sorted.len() == order.len()
    };
    order.filter(is_once).ok_or_else(|| {
        let names = serde_json::to_value(Tiebreaker::ALL).unwrap_or_default();
        let names = names.as_array().into_iter().flatten();
        let names: Vec<String> = names
            .map(|name| name.to_string().replace('"', "`"))
            .collect();
        D::Error::custom(format!(
            "some of {}, each once, in any order",
            names.join(", ")
        ))
    })
}

with_defaults! {
    /// The limits on participants, and how many are needed to start.
    pub struct ParticipantsConfig {
        /// The minimum number of players.
        #[serde(deserialize_with = "within::<2, 1_000_000, _, _>")]
        min_players: u32 = 2;
        /// The maximum number of players.
        #[serde(deserialize_with = "within::<2, 1_000_000, _, _>")]
        max_players: u32 = 10_000;
        /// The league starts automatically with this many players and enough referees; 0 for never.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        expected_players: u32 = 4;
        /// The league starts automatically with this many referees and enough players; 0 for never.
        #[serde(deserialize_with = "within::<0, 1_000_000, _, _>")]
        expected_referees: u32 = 2;
    }
}

impl ParticipantsConfig {
    /// The numbers of players and referees at which the league starts automatically.
    pub fn start_when(&self) -> Option<(u32, u32)> {
        let (players, referees) = (self.expected_players, self.expected_referees);
        (players > 0 && referees > 0).then_some((players, referees))
    }
}

impl LeagueConfig {
    /// The default rules for a league of this name. The range of the draw is written out so that
    /// people find it.
    pub fn named(league_id: LeagueId) -> Self {
        Self {
            league_id,
            game_settings: range_of_the_draw(),
            ..Self::default()
        }
    }

    /// Changes the game, if one is named, and resets the settings and title of the former game.
    pub fn playing(mut self, game: Option<&GameType>) -> Self {
        if let Some(game) = game.filter(|game| **game != self.game_type) {
            self.game_type = game.clone();
            self.game_settings.clear();
            self.display_name = "League".to_owned();
        }
        self
    }

    /// Copies the values of this file into rules.
    fn write_rules(&self, rules: &mut LeagueRules) {
        rules.game_settings = Value::Object(self.game_settings.clone());
        rules.score = Score {
            win: self.scoring.win_points,
            draw: self.scoring.draw_points,
            loss: self.scoring.loss_points,
            technical_loss: self.scoring.technical_loss_points,
        };
        rules.tiebreakers = self.scoring.tiebreakers.clone();
        rules.min_players = self.participants.min_players;
        rules.max_players = self.participants.max_players;
        rules.start_when = self.participants.start_when();
        rules.use_format(self.format);
        (rules.rounds, rules.legs) = (self.rounds, self.legs);
        rules.groups = self.groups;
        rules.duration = self.duration_sec.map(Seconds::duration);
        rules.late_entry = self.late_entry;
        rules.strict = self.strictness == Strictness::Strict;
        rules.proven_draws = self.draws == CountedDraws::Proven;
        rules.mode = self.match_mode;
        rules.assignment = self.assignment_policy;
        rules.max_fail = self.max_fail;
        rules.broadcast_limit = self.broadcast_limit;
        rules.top_rows = self.broadcast_top_rows;
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

/// The rules of a league, checked to be consistent.
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
    rules.open_referees = system.security.open_referees;
    rules.match_limit = match league.match_limit_sec {
        Some(limit) => limit.duration(),
        None => rules.longest_match(),
    };
    rules.token_ttl = Duration::from_secs(u64::from(system.security.token_ttl_hours) * 60 * 60);
    // The state machine checks that the rules are consistent; the secret does not matter here.
    League::new(rules.clone(), LeagueSecrets::one(LeagueSecret([0; 32])))?;
    Ok(rules)
}

/// Timeouts and retries of managers and players.
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
        absence: timeouts.absent_player_timeout_sec.duration(),
        attempts: retry.max_retries,
        backoff: match retry.backoff_strategy {
            BackoffStrategy::Fixed => Backoff::Fixed(delay),
            BackoffStrategy::Exponential => Backoff::Exponential(delay),
        },
    }
}

/// Timeouts and retries of referees.
pub fn referee_timeouts(system: &SystemConfig) -> Timeouts {
    Timeouts {
        register: system.timeouts.register_referee_timeout_sec.duration(),
        ..timeouts(system)
    }
}

/// The circuit breaker for agents that fail.
pub fn breaker_rule(system: &SystemConfig) -> BreakerRule {
    BreakerRule {
        threshold: system.circuit_breaker.failure_threshold,
        rest: system.circuit_breaker.reset_timeout_sec.duration(),
    }
}

with_defaults! {
    /// The list of games.
    pub struct GamesRegistry {
        schema_version: SchemaVersion = SchemaVersion::default();
        registry_id: String = "games_registry".to_owned();
        last_updated: Timestamp = Timestamp::default();
        game_registry: BTreeMap<String, GameConfig> = known_games();
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GameConfig {
    pub display_name: String,
    pub move_types: Vec<String>,
    /// The choices for each kind of move.
    #[serde(default)]
    pub valid_choices: BTreeMap<String, Vec<String>>,
    /// The minimum number of seats.
    #[serde(default = "two", deserialize_with = "within::<1, 1_000, _, _>")]
    pub min_players: u32,
    /// The maximum number of seats.
    #[serde(default = "two", deserialize_with = "within::<1, 1_000, _, _>")]
    pub max_players: u32,
    /// The module that holds the rules.
    #[serde(default = "unknown")]
    pub rules_module: String,
    /// The expected maximum duration of a match.
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
