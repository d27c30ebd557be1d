//! `config/system.json`: settings for every league and every agent (000 §9.3.1, §10.3.2).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;
use league_protocol::token::AuthToken;
use serde::{Deserialize, Deserializer, Serialize};

use super::allowed::{self, AllowedEndpoint};
use super::models::ModelsConfig;
use super::reader::{address, always, seconds, with_defaults, within};
use super::{PortRange, SchemaVersion, Seconds};

/// The number of random bytes in a token.
pub const TOKEN_BYTES: u32 = 32;

with_defaults! {
    /// The global settings.
    pub struct SystemConfig {
        schema_version: SchemaVersion = SchemaVersion::default();
        system_id: String = "league_system".to_owned();
        last_updated: Timestamp = Timestamp::default();
        /// The protocol of our agents.
        protocol_version: Protocol = Protocol::V2;
        /// The league used when none is named.
        default_league_id: LeagueId = super::default_league();
        /// Hosts and ports.
        network: NetworkConfig = NetworkConfig::default();
        /// Tokens and addresses.
        security: SecurityConfig = SecurityConfig::default();
        /// Timeouts of calls.
        timeouts: TimeoutsConfig = TimeoutsConfig::default();
        /// How often, and how soon, a call is retried.
        retry_policy: RetryPolicy = RetryPolicy::default();
        /// The circuit breaker for agents that fail.
        circuit_breaker: CircuitBreakerConfig = CircuitBreakerConfig::default();
        /// Limits on network input.
        limits: LimitsConfig = LimitsConfig::default();
        /// Limits on a bot started with `league player --exec`.
        bots: BotsConfig = BotsConfig::default();
        /// Language models that play.
        models: ModelsConfig = ModelsConfig::default();
        logging: LoggingConfig = LoggingConfig::default();
        /// The PostgreSQL database that holds the leagues; null for files below the root.
        store: Option<String> = None;
    }
}

/// A protocol of the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// The protocol of 000.
    #[serde(rename = "league.v2")]
    V2,
}

with_defaults! {
    /// Hosts and ports.
    pub struct NetworkConfig {
        /// The host in the addresses that our agents give to others.
        base_host: String = "localhost".to_owned();
        /// The port of the manager.
        #[serde(deserialize_with = "within::<1, 65_535, _, _>")]
        default_league_manager_port: u16 = 8000;
        /// The ports of referees, in the order of their numbers.
        default_referee_port_range: PortRange = PortRange { first: 8001, last: 8100 };
        /// The ports of players, in the order of their numbers.
        default_player_port_range: PortRange = PortRange { first: 8101, last: 9100 };
        /// The address that a player or referee gives to others, if it is not where it listens.
        public_url: Option<String> = None;
        /// Names of agents with their addresses, asked before the resolver of the system.
        hosts: BTreeMap<String, IpAddr> = BTreeMap::new();
    }
}

with_defaults! {
    /// Tokens and addresses.
    pub struct SecurityConfig {
        /// Whether callers must authenticate; it cannot be turned off.
        #[serde(deserialize_with = "always")]
        enable_auth_tokens: bool = true;
        /// The minimum number of random bytes in a token; ours have 32.
        #[serde(deserialize_with = "within::<1, { TOKEN_BYTES as u64 }, _, _>")]
        token_length: u32 = TOKEN_BYTES;
        /// How long a token is valid, in hours.
        #[serde(deserialize_with = "within::<1, 10_000, _, _>")]
        token_ttl_hours: u32 = 24;
        /// Addresses that agents may have: `loopback`, `public` for those of the Internet,
        /// addresses, and networks such as `10.0.0.0/8`.
        allowed_endpoints: Vec<AllowedEndpoint> = vec![AllowedEndpoint::Loopback];
        /// The code that players must show to join; null if they need none.
        join_code: Option<String> = None;
        /// The key by which referees are admitted; null for one that the manager makes.
        referee_key: Option<String> = None;
        /// Whether every referee is admitted before the start, as the documents have it.
        open_referees: bool = false;
        /// Whether agents may register an address that does not end in `/mcp`.
        any_path: bool = false;
        /// The address on which our agents listen.
        #[serde(deserialize_with = "address")]
        bind: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
        /// The certificate that our listeners show, in PEM; null for plain HTTP. Files are relative
        /// to the root.
        tls_cert: Option<PathBuf> = None;
        /// The private key of the certificate, in PEM.
        tls_key: Option<PathBuf> = None;
        /// Certificates of authorities that we trust besides those of the platform, in PEM.
        ca: Option<PathBuf> = None;
        /// Whether our agents may listen on a public address without TLS.
        insecure: bool = false;
        /// Host names by which callers may call our agents, besides loopback and
        /// `network.base_host`.
        allowed_hosts: Vec<String> = Vec::new();
        /// Origins of web pages that may call our agents, besides loopback.
        allowed_origins: Vec<String> = Vec::new();
    }
}

/// A secret that was chosen; an empty one, as of a variable without a value, counts as none.
fn given(secret: Option<&String>) -> Option<AuthToken> {
    secret
        .filter(|secret| !secret.is_empty())
        .map(AuthToken::new)
}

impl SecurityConfig {
    /// The code that players must show to join, if they must.
    pub(crate) fn join_code(&self) -> Option<AuthToken> {
        given(self.join_code.as_ref())
    }

    /// The key by which referees are admitted, if one was chosen.
    pub(crate) fn referee_key(&self) -> Option<AuthToken> {
        given(self.referee_key.as_ref())
    }

    /// Whether an agent may be called at this address.
    pub fn allows(&self, address: IpAddr) -> bool {
        let canonical = address.to_canonical();
        let mut allowed = self.allowed_endpoints.iter();
        !Self::never_allows(address) && allowed.any(|entry| entry.holds(canonical))
    }

    /// Whether this address is refused whatever the list says.
    pub fn never_allows(address: IpAddr) -> bool {
        allowed::never(address.to_canonical())
    }
}

with_defaults! {
    /// Timeouts of calls (000 table 5).
    pub struct TimeoutsConfig {
        /// For a referee's registration.
        #[serde(deserialize_with = "timeout")]
        register_referee_timeout_sec: Seconds = Seconds::of(10);
        /// For a player's registration.
        #[serde(deserialize_with = "timeout")]
        register_player_timeout_sec: Seconds = Seconds::of(10);
        /// For a player to join a match.
        #[serde(deserialize_with = "timeout")]
        game_join_ack_timeout_sec: Seconds = Seconds::of(5);
        /// For a move.
        #[serde(deserialize_with = "timeout")]
        move_timeout_sec: Seconds = Seconds::of(30);
        /// For a player to acknowledge the end of a match.
        #[serde(deserialize_with = "timeout")]
        game_over_timeout_sec: Seconds = Seconds::of(5);
        /// For the manager to accept a result.
        #[serde(deserialize_with = "timeout")]
        match_result_report_timeout_sec: Seconds = Seconds::of(10);
        /// For the answer to a query.
        #[serde(deserialize_with = "timeout")]
        league_query_timeout_sec: Seconds = Seconds::of(10);
        /// For all other calls.
        #[serde(deserialize_with = "timeout")]
        generic_response_timeout_sec: Seconds = Seconds::of(10);
        /// How long a match waits for a player that cannot be reached, once for each absence.
        #[serde(deserialize_with = "seconds::<0, 3_600_000, _>")]
        absent_player_timeout_sec: Seconds = Seconds::of(20);
    }
}

with_defaults! {
    /// How often, and how soon, a call is retried (000 §2.9.4).
    pub struct RetryPolicy {
        /// Tries in total.
        #[serde(deserialize_with = "within::<1, 100, _, _>")]
        max_retries: u32 = 3;
        /// The delay between two tries.
        #[serde(deserialize_with = "seconds::<0, 60_000, _>")]
        retry_delay_sec: Seconds = Seconds::of(2);
        /// How the delay grows.
        backoff_strategy: BackoffStrategy = BackoffStrategy::Fixed;
    }
}

/// How the delay between tries grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackoffStrategy {
    /// It stays the same.
    Fixed,
    /// It doubles, with random jitter.
    Exponential,
}

with_defaults! {
    /// The circuit breaker for agents that fail (000 §5.9.2).
    pub struct CircuitBreakerConfig {
        /// Failures in a row that open the breaker.
        #[serde(deserialize_with = "within::<1, 1_000, _, _>")]
        failure_threshold: u32 = 5;
        /// How long it stays open.
        #[serde(deserialize_with = "timeout")]
        reset_timeout_sec: Seconds = Seconds::of(60);
    }
}

with_defaults! {
    /// Limits on network input.
    pub struct LimitsConfig {
        /// The maximum body of a call to our agents, in bytes.
        #[serde(deserialize_with = "within::<1_024, { 256 * 1024 }, _, _>")]
        max_body_bytes: usize = 256 * 1024;
        /// The maximum number of open connections of one listener; further ones are closed.
        #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
        max_connections: usize = 4_096;
    }
}

with_defaults! {
    /// Limits on a bot started with `league player --exec`.
    pub struct BotsConfig {
        /// Memory, in bytes.
        #[serde(deserialize_with = "within::<{ 1 << 20 }, { 1 << 50 }, _, _>")]
        max_memory_bytes: u64 = 1 << 30;
        /// Total CPU time, in seconds.
        #[serde(deserialize_with = "within::<1, 1_000_000_000, _, _>")]
        max_cpu_sec: u64 = 3_600;
        /// Open files.
        #[serde(deserialize_with = "within::<16, 1_000_000, _, _>")]
        max_open_files: u64 = 256;
        /// The maximum size of a file it writes, in bytes.
        #[serde(deserialize_with = "within::<0, { 1 << 50 }, _, _>")]
        max_file_bytes: u64 = 100 << 20;
        /// The maximum length of a line it prints, in bytes.
        #[serde(deserialize_with = "within::<1_024, { 64 << 20 }, _, _>")]
        max_line_bytes: usize = 256 * 1024;
        /// How long it may take to print its first line.
        #[serde(deserialize_with = "timeout")]
        start_timeout_sec: Seconds = Seconds::of(120);
        /// How often it is restarted after it ends.
        #[serde(deserialize_with = "within::<0, 1_000, _, _>")]
        max_restarts: u32 = 3;
    }
}

with_defaults! {
    pub struct LoggingConfig {
        /// The minimum level of logged lines.
        level: LogLevel = LogLevel::Info;
        /// The size at which a log is rotated, in bytes.
        #[serde(deserialize_with = "within::<{ 64 << 10 }, { 1 << 40 }, _, _>")]
        max_file_bytes: u64 = 10 << 20;
        /// How many rotated files of each log are kept; other processes may still write to the
        /// last.
        #[serde(deserialize_with = "within::<1, 1_000, _, _>")]
        max_kept_files: u32 = 3;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

impl LogLevel {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

/// Reads a timeout: from 10 milliseconds to a day.
fn timeout<'de, D: Deserializer<'de>>(from: D) -> Result<Seconds, D::Error> {
    seconds::<10, 86_400_000, D>(from)
}
