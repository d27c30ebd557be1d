//! One circuit breaker for each address that fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use league_protocol::time::Timestamp;

use crate::breaker::{Breaker, BreakerRule};

/// How many failing addresses are remembered; beyond it a new one is simply tried.
const MOST_BREAKERS: usize = 20_000;

/// The breakers of all addresses that have failed since they last answered.
#[derive(Debug, Clone, Default)]
pub(super) struct Breakers(BTreeMap<Arc<str>, Breaker>);

impl Breakers {
    /// Whether a question may be sent there.
    /// Whether nobody has failed of late, so that a good answer changes nothing.
    pub(super) fn are_closed(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn allow(&self, endpoint: &str, rule: &BreakerRule, at: Timestamp) -> bool {
        let breaker = self.0.get(endpoint);
        breaker.is_none_or(|breaker| breaker.allows(rule, at))
    }

    /// Notes silence.
    pub(super) fn fail(&mut self, endpoint: &Arc<str>, rule: &BreakerRule, at: Timestamp) {
        if let Some(breaker) = self.0.get_mut(endpoint) {
            breaker.fail(rule, at);
        } else if self.0.len() < MOST_BREAKERS {
            let mut breaker = Breaker::default();
            breaker.fail(rule, at);
            self.0.insert(endpoint.clone(), breaker);
        }
    }

    /// Notes a good answer.
    pub(super) fn succeed(&mut self, endpoint: &str) {
        self.0.remove(endpoint);
    }
}
