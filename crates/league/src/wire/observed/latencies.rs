//! How long agents take to answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use league_protocol::sender::Agent;
use serde::{Deserialize, Serialize};

/// How many agents are kept apart; more are not measured.
const MOST_AGENTS: usize = 20_000;
/// The longest time that is told from a longer one, in microseconds.
const LONGEST: u64 = 120_000_000;
/// How many digits of a time are kept, so that an agent takes little room.
const DIGITS: u8 = 1;

/// How long an agent takes to answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Latency {
    /// How many calls were measured.
    pub(crate) calls: u64,
    /// Half of them took at most so long.
    pub(crate) median_ms: f64,
    /// Nineteen of twenty took at most so long.
    pub(crate) p95_ms: f64,
}

/// How long the agents take to answer that this process calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies(Arc<Measured>);

#[derive(Debug, Default)]
struct Measured {
    agents: Mutex<BTreeMap<Agent, Histogram<u32>>>,
    calls: AtomicU64,
}

impl Latencies {
    /// Notes how long an agent took.
    pub(crate) fn note(&self, agent: &Agent, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(LONGEST);
        let mut agents = self.0.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = agents.get_mut(agent) {
            known.saturating_record(took);
        } else if agents.len() < MOST_AGENTS
            && let Ok(mut new) = Histogram::new_with_max(LONGEST, DIGITS)
        {
            new.saturating_record(took);
            agents.insert(agent.clone(), new);
        }
        self.0.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// How many calls were measured.
    pub(crate) fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// How many agents were called.
    pub(crate) fn agents(&self) -> usize {
        let agents = self.0.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.len()
    }

    /// What was measured, by agent.
    pub(crate) fn all(&self) -> BTreeMap<String, Latency> {
        let agents = self.0.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let millis = |micros: u64| micros as f64 / 1_000.0;
        let latency = |times: &Histogram<u32>| Latency {
            calls: times.len(),
            median_ms: millis(times.value_at_quantile(0.5)),
            p95_ms: millis(times.value_at_quantile(0.95)),
        };
        agents
            .iter()
            .map(|(agent, times)| (agent.to_string(), latency(times)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_and_nineteen_of_twenty_are_told() {
        let latencies = Latencies::default();
        for millis in 1..=100 {
            latencies.note(&Agent::Manager, Duration::from_millis(millis));
        }
        let told = latencies.all()["league_manager"];
        assert_eq!(told.calls, 100);
        assert!((47.0..55.0).contains(&told.median_ms), "{told:?}");
        assert!((90.0..105.0).contains(&told.p95_ms), "{told:?}");
    }

    #[test]
    fn a_time_beyond_all_bounds_counts_as_the_longest() {
        let latencies = Latencies::default();
        latencies.note(&Agent::Manager, Duration::MAX);
        assert!(latencies.all()["league_manager"].p95_ms >= 110_000.0);
    }
}
