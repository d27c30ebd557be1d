//! From configuration to the rules that the machines are given.

use std::time::Duration;

use league_core::breaker::BreakerRule;
use league_core::draw::LeagueSecret;
use league_core::league::{League, LeagueRules};
use league_core::timeouts::{Backoff, Timeouts};

use super::error::ConfigError;
use super::league::{LeagueConfig, LeagueStatus};
use super::system::{BackoffStrategy, SystemConfig};

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
