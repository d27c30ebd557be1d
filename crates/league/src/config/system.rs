//! `config/system.json`: what holds for every league and every agent (000 §9.3.1, §10.3.2).

use std::net::{IpAddr, Ipv4Addr};

use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use super::allowed::{self, AllowedEndpoint};
use super::reader::{address, always, seconds, with_defaults, within};
use super::{PortRange, SchemaVersion, Seconds};

/// How many random bytes every token has.
pub const TOKEN_BYTES: u32 = 32;

with_defaults! {
    /// The global settings.
    pub struct SystemConfig {
        schema_version: SchemaVersion = SchemaVersion::default();
        system_id: String = "league_system".to_owned();
        last_updated: Timestamp = Timestamp::default();
        /// The protocol that our agents speak.
        protocol_version: Protocol = Protocol::V2;
        /// The league that is meant when none is named.
        default_league_id: LeagueId = super::default_league();
        /// Hosts and ports.
        network: NetworkConfig = NetworkConfig::default();
        /// Tokens and addresses.
        security: SecurityConfig = SecurityConfig::default();
        /// How long answers are waited for.
        timeouts: TimeoutsConfig = TimeoutsConfig::default();
        /// How often, and how soon, something is tried again.
        retry_policy: RetryPolicy = RetryPolicy::default();
        /// When an agent that fails is left alone.
        circuit_breaker: CircuitBreakerConfig = CircuitBreakerConfig::default();
        /// The bounds of what is taken from the network.
        limits: LimitsConfig = LimitsConfig::default();
        /// The bounds of a bot that is started with `league player --exec`.
        bots: BotsConfig = BotsConfig::default();
        /// What is logged.
        logging: LoggingConfig = LoggingConfig::default();
    }
}

/// A protocol of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// That of 000.
    #[serde(rename = "league.v2")]
    V2,
}

with_defaults! {
    /// Hosts and ports.
    pub struct NetworkConfig {
        /// The host by which our agents tell others where they answer.
        base_host: String = "localhost".to_owned();
        /// The port of the manager.
        #[serde(deserialize_with = "within::<1, 65_535, _, _>")]
        default_league_manager_port: u16 = 8000;
        /// The ports of referees, in the order of their numbers.
        default_referee_port_range: PortRange = PortRange { first: 8001, last: 8100 };
        /// The ports of players, in the order of their numbers.
        default_player_port_range: PortRange = PortRange { first: 8101, last: 9100 };
    }
}

with_defaults! {
    /// Tokens and addresses.
    pub struct SecurityConfig {
        /// Whether callers prove who they are; it cannot be turned off.
        #[serde(deserialize_with = "always")]
        enable_auth_tokens: bool = true;
        /// The fewest random bytes that a token must have; ours have 32.
        #[serde(deserialize_with = "within::<1, { TOKEN_BYTES as u64 }, _, _>")]
        token_length: u32 = TOKEN_BYTES;
        /// How long a token is good, in hours.
        #[serde(deserialize_with = "within::<1, 10_000, _, _>")]
        token_ttl_hours: u32 = 24;
        /// Where agents may answer: `loopback`, addresses, and networks such as `10.0.0.0/8`.
        allowed_endpoints: Vec<AllowedEndpoint> = vec![AllowedEndpoint::Loopback];
        /// The address on which our agents listen.
        #[serde(deserialize_with = "address")]
        bind: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
        /// Names that callers may call our agents by, besides loopback and `network.base_host`.
        allowed_hosts: Vec<String> = Vec::new();
        /// Web pages that may call our agents, besides those of loopback.
        allowed_origins: Vec<String> = Vec::new();
    }
}

impl SecurityConfig {
    /// Whether an agent may be called at this address.
    pub fn allows(&self, address: IpAddr) -> bool {
        let canonical = address.to_canonical();
        let mut allowed = self.allowed_endpoints.iter();
        !Self::never_allows(address) && allowed.any(|entry| entry.holds(canonical))
    }

    /// Whether nobody may answer at this address, whatever the list says.
    pub fn never_allows(address: IpAddr) -> bool {
        allowed::never(address.to_canonical())
    }
}

with_defaults! {
    /// How long answers are waited for (000 table 5).
    pub struct TimeoutsConfig {
        /// For a referee's registration.
        #[serde(deserialize_with = "timeout")]
        register_referee_timeout_sec: Seconds = Seconds::of(10);
        /// For a player's registration.
        #[serde(deserialize_with = "timeout")]
        register_player_timeout_sec: Seconds = Seconds::of(10);
        /// For a player to come to a match.
        #[serde(deserialize_with = "timeout")]
        game_join_ack_timeout_sec: Seconds = Seconds::of(5);
        /// For a move.
        #[serde(deserialize_with = "timeout")]
        move_timeout_sec: Seconds = Seconds::of(30);
        /// For the end of a match to be received.
        #[serde(deserialize_with = "timeout")]
        game_over_timeout_sec: Seconds = Seconds::of(5);
        /// For a result to be taken by the manager.
        #[serde(deserialize_with = "timeout")]
        match_result_report_timeout_sec: Seconds = Seconds::of(10);
        /// For a question to be answered.
        #[serde(deserialize_with = "timeout")]
        league_query_timeout_sec: Seconds = Seconds::of(10);
        /// For all else.
        #[serde(deserialize_with = "timeout")]
        generic_response_timeout_sec: Seconds = Seconds::of(10);
    }
}

with_defaults! {
    /// How often, and how soon, something is tried again (000 §2.9.4).
    pub struct RetryPolicy {
        /// Tries in all.
        #[serde(deserialize_with = "within::<1, 100, _, _>")]
        max_retries: u32 = 3;
        /// The wait between two tries.
        #[serde(deserialize_with = "seconds::<0, 60_000, _>")]
        retry_delay_sec: Seconds = Seconds::of(2);
        /// How the wait grows.
        backoff_strategy: BackoffStrategy = BackoffStrategy::Fixed;
    }
}

/// How the wait between tries grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackoffStrategy {
    /// It stays the same.
    Fixed,
    /// It doubles, and is spread by chance.
    Exponential,
}

with_defaults! {
    /// When an agent that fails is left alone (000 §5.9.2).
    pub struct CircuitBreakerConfig {
        /// Failures in a row after which it is.
        #[serde(deserialize_with = "within::<1, 1_000, _, _>")]
        failure_threshold: u32 = 5;
        /// How long until it is tried again.
        #[serde(deserialize_with = "timeout")]
        reset_timeout_sec: Seconds = Seconds::of(60);
    }
}

with_defaults! {
    /// The bounds of what is taken from the network.
    pub struct LimitsConfig {
        /// The longest body of a call to our agents, in bytes.
        #[serde(deserialize_with = "within::<1_024, { 256 * 1024 }, _, _>")]
        max_body_bytes: usize = 256 * 1024;
        /// The most connections that one listener holds open; further ones are closed.
        #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
        max_connections: usize = 4_096;
    }
}

with_defaults! {
    /// The bounds of a bot that is started with `league player --exec`.
    pub struct BotsConfig {
        /// Memory that it fills, in bytes.
        #[serde(deserialize_with = "within::<{ 1 << 20 }, { 1 << 50 }, _, _>")]
        max_memory_bytes: u64 = 1 << 30;
        /// Time on a processor in all, in seconds.
        #[serde(deserialize_with = "within::<1, 1_000_000_000, _, _>")]
        max_cpu_sec: u64 = 3_600;
        /// Open files.
        #[serde(deserialize_with = "within::<16, 1_000_000, _, _>")]
        max_open_files: u64 = 256;
        /// The largest file that it writes, in bytes.
        #[serde(deserialize_with = "within::<0, { 1 << 50 }, _, _>")]
        max_file_bytes: u64 = 100 << 20;
        /// The longest line that it says, in bytes.
        #[serde(deserialize_with = "within::<1_024, { 64 << 20 }, _, _>")]
        max_line_bytes: usize = 256 * 1024;
        /// How long it may take to say its first word.
        #[serde(deserialize_with = "timeout")]
        start_timeout_sec: Seconds = Seconds::of(120);
        /// How often it is started again when it has ended.
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        max_restarts: u32 = 3;
    }
}

with_defaults! {
    /// What is logged.
    pub struct LoggingConfig {
        /// The least important lines that are written.
        level: LogLevel = LogLevel::Info;
        /// How large a log grows before it is put aside, in bytes.
        #[serde(deserialize_with = "within::<{ 64 << 10 }, { 1 << 40 }, _, _>")]
        max_file_bytes: u64 = 10 << 20;
        /// How many logs that were put aside are kept of each; others may still write into the last.
        #[serde(deserialize_with = "within::<1, 1_000, _, _>")]
        max_kept_files: u32 = 3;
    }
}

/// How important a log line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

/// Reads a timeout: from 10 milliseconds to a day.
fn timeout<'de, D: Deserializer<'de>>(from: D) -> Result<Seconds, D::Error> {
    seconds::<10, 86_400_000, D>(from)
}
