//! `config/system.json`: what holds for every league and every agent (000 §9.3.1, §10.3.2).

mod allowed;

use std::net::{IpAddr, Ipv4Addr};

use league_protocol::id::LeagueId;
use league_protocol::time::Timestamp;

use super::setting::{PortRange, SchemaVersion, Seconds, settings, words};
pub use allowed::AllowedEndpoint;

/// How many random bytes every token has.
pub const TOKEN_BYTES: u32 = 32;

const SHORTEST: Seconds = Seconds::of_millis(10);
const LONGEST: Seconds = Seconds::of(24 * 60 * 60);

settings! {
    /// The global settings.
    pub struct SystemConfig {
        /// The form of the file.
        schema_version: SchemaVersion = SchemaVersion::default();
        /// Names the system.
        system_id: String = "league_system".to_owned();
        /// When the file was written.
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

words! {
    /// A protocol of the documents.
    pub enum Protocol {
        /// That of 000.
        V2 = "league.v2",
    }
}

settings! {
    /// Hosts and ports.
    pub struct NetworkConfig {
        /// The host by which our agents tell others where they answer.
        base_host: String = "localhost".to_owned();
        /// The port of the manager.
        default_league_manager_port: u16 = 8000, within 1..=u16::MAX;
        /// The ports of referees, in the order of their numbers.
        default_referee_port_range: PortRange = PortRange { first: 8001, last: 8100 };
        /// The ports of players, in the order of their numbers.
        default_player_port_range: PortRange = PortRange { first: 8101, last: 9100 };
    }
}

settings! {
    /// Tokens and addresses.
    pub struct SecurityConfig {
        /// Whether callers prove who they are; it cannot be turned off.
        enable_auth_tokens: bool = true, within true..=true;
        /// The fewest random bytes that a token must have; ours have 32.
        token_length: u32 = TOKEN_BYTES, within 1..=TOKEN_BYTES;
        /// How long a token is good, in hours.
        token_ttl_hours: u32 = 24, within 1..=10_000;
        /// Where agents may answer: `loopback`, addresses, and networks such as `10.0.0.0/8`.
        allowed_endpoints: Vec<AllowedEndpoint> = vec![AllowedEndpoint::Loopback];
        /// The address on which our agents listen.
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

settings! {
    /// How long answers are waited for (000 table 5).
    pub struct TimeoutsConfig {
        /// For a referee's registration.
        register_referee_timeout_sec: Seconds = Seconds::of(10), within SHORTEST..=LONGEST;
        /// For a player's registration.
        register_player_timeout_sec: Seconds = Seconds::of(10), within SHORTEST..=LONGEST;
        /// For a player to come to a match.
        game_join_ack_timeout_sec: Seconds = Seconds::of(5), within SHORTEST..=LONGEST;
        /// For a move.
        move_timeout_sec: Seconds = Seconds::of(30), within SHORTEST..=LONGEST;
        /// For the end of a match to be received.
        game_over_timeout_sec: Seconds = Seconds::of(5), within SHORTEST..=LONGEST;
        /// For a result to be taken by the manager.
        match_result_report_timeout_sec: Seconds = Seconds::of(10), within SHORTEST..=LONGEST;
        /// For a question to be answered.
        league_query_timeout_sec: Seconds = Seconds::of(10), within SHORTEST..=LONGEST;
        /// For all else.
        generic_response_timeout_sec: Seconds = Seconds::of(10), within SHORTEST..=LONGEST;
    }
}

settings! {
    /// How often, and how soon, something is tried again (000 §2.9.4).
    pub struct RetryPolicy {
        /// Tries in all.
        max_retries: u32 = 3, within 1..=100;
        /// The wait between two tries.
        retry_delay_sec: Seconds = Seconds::of(2), within Seconds::of(0)..=Seconds::of(60);
        /// How the wait grows.
        backoff_strategy: BackoffStrategy = BackoffStrategy::Fixed;
    }
}

words! {
    /// How the wait between tries grows.
    pub enum BackoffStrategy {
        /// It stays the same.
        Fixed = "fixed",
        /// It doubles, and is spread by chance.
        Exponential = "exponential",
    }
}

settings! {
    /// When an agent that fails is left alone (000 §5.9.2).
    pub struct CircuitBreakerConfig {
        /// Failures in a row after which it is.
        failure_threshold: u32 = 5, within 1..=1_000;
        /// How long until it is tried again.
        reset_timeout_sec: Seconds = Seconds::of(60), within SHORTEST..=LONGEST;
    }
}

settings! {
    /// The bounds of what is taken from the network.
    pub struct LimitsConfig {
        /// The longest body of a call to our agents, in bytes.
        max_body_bytes: usize = 256 * 1024, within 1_024..=256 * 1024;
        /// The most connections that one listener holds open; further ones are closed.
        max_connections: usize = 4_096, within 1..=1_000_000;
    }
}

settings! {
    /// The bounds of a bot that is started with `league player --exec`.
    pub struct BotsConfig {
        /// Memory that it fills, in bytes.
        max_memory_bytes: u64 = 1 << 30, within 1 << 20..=1 << 50;
        /// Time on a processor in all, in seconds.
        max_cpu_sec: u64 = 3_600, within 1..=1_000_000_000;
        /// Open files.
        max_open_files: u64 = 256, within 16..=1_000_000;
        /// The largest file that it writes, in bytes.
        max_file_bytes: u64 = 100 << 20, within 0..=1 << 50;
        /// The longest line that it says, in bytes.
        max_line_bytes: usize = 256 * 1024, within 1_024..=64 << 20;
        /// How long it may take to say its first word.
        start_timeout_sec: Seconds = Seconds::of(120), within SHORTEST..=LONGEST;
        /// How often it is started again when it has ended.
        max_restarts: u32 = 3, within 0..=1_000;
    }
}

settings! {
    /// What is logged.
    pub struct LoggingConfig {
        /// The least important lines that are written.
        level: LogLevel = LogLevel::Info;
        /// How large a log grows before it is put aside, in bytes.
        max_file_bytes: u64 = 10 << 20, within 64 << 10..=1 << 40;
        /// How many logs that were put aside are kept of each; others may still write into the last.
        max_kept_files: u32 = 3, within 1..=1_000;
    }
}

words! {
    /// How important a log line is.
    pub enum LogLevel {
        /// For those who look into the program.
        Debug = "DEBUG",
        /// What happens.
        Info = "INFO",
        /// What a person should look at.
        Warning = "WARNING",
        /// What went wrong.
        Error = "ERROR",
    }
}
