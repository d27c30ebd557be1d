//! A circuit breaker: who fails too often is left alone for a while.
//!
//! The value is changed in `apply` only, by facts that carry their time.

use std::time::Duration;

use league_protocol::time::Timestamp;
use serde::{Deserialize, Serialize};

/// When a breaker opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerRule {
    /// Failures in a row that open it.
    pub threshold: u32,
    /// How long it stays open before one call is let through.
    pub rest: Duration,
}

impl Default for BreakerRule {
    fn default() -> Self {
        Self {
            threshold: 5,
            rest: Duration::from_secs(60),
        }
    }
}

/// The failures of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Breaker {
    failures: u32,
    open_since: Option<Timestamp>,
}

impl Breaker {
    /// Whether a call may be made: closed, or open for long enough that one is tried.
    pub fn allows(&self, rule: &BreakerRule, at: Timestamp) -> bool {
        self.retry_at(rule).is_none_or(|retry| at >= retry)
    }

    /// When an open breaker lets a call through; `None` while it is closed.
    pub fn retry_at(&self, rule: &BreakerRule) -> Option<Timestamp> {
        self.open_since.map(|since| since + rule.rest)
    }

    /// Whether it is open, resting or half open.
    pub fn is_open(&self) -> bool {
        self.open_since.is_some()
    }

    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Notes a failure; one more while it is open starts the rest anew.
    pub fn fail(&mut self, rule: &BreakerRule, at: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= rule.threshold.max(1) {
            self.open_since = Some(at);
        }
    }

    /// Notes a good answer.
    pub fn succeed(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(n: i64) -> Timestamp {
        Timestamp::from_millis(n * 1_000)
    }

    #[test]
    fn breaker_opens_after_five_failures_and_retries_after_a_minute() {
        let rule = BreakerRule::default();
        let mut breaker = Breaker::default();
        for n in 0..4 {
            breaker.fail(&rule, second(n));
            assert!(breaker.allows(&rule, second(n)));
        }
        breaker.fail(&rule, second(4));
        assert!(!breaker.allows(&rule, second(63)));
        assert!(breaker.allows(&rule, second(64)));
        breaker.fail(&rule, second(64));
        assert!(!breaker.allows(&rule, second(123)));
        breaker.succeed();
        assert!(breaker.allows(&rule, second(65)) && !breaker.is_open());
    }
}
