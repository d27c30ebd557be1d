//! Calls that were turned away before anybody read them: what is no JSON, too large, or from somebody
//! whom the gate does not let in.
//!
//! Each is a line in the log of whoever was called. Anybody can send such calls without end, so of
//! many in a minute no more is told than how many there were.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use league_mcp::Origin;
use tokio::time::Instant;

use super::Way;
use crate::agents::identity::{Identity, LogNames};

/// How many are told one by one in a minute; of more only each that doubles their number.
const TOLD_ONE_BY_ONE: u64 = 16;
const MINUTE: Duration = Duration::from_secs(60);

/// A call that was turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RejectedCall {
    pub origin: Origin,
    /// The status of the HTTP response.
    pub status: u16,
    /// The code of the JSON-RPC error.
    pub code: i64,
}

/// How many calls one agent turned away in this minute.
#[derive(Debug, Default)]
pub(crate) struct RejectionTally(Mutex<Option<(Instant, u64)>>);

impl RejectionTally {
    /// Logs a call that was turned away, if it is one that is told.
    pub(crate) fn log(&self, own: &Identity, call: &RejectedCall) {
        let Some(times) = self.told(Instant::now()) else {
            return;
        };
        let from = match call.origin {
            Origin::Network { from, .. } => from.to_string(),
            Origin::Pipe => "standard input".to_owned(),
            Origin::Unknown => "unknown".to_owned(),
        };
        let LogNames { log, label } = own.names();
        tracing::info!(
            agent_id = &*log,
            component = &*label,
            event_type = Way::Received.event_type(),
            message_type = "unknown",
            direction = Way::Received.as_str(),
            peer = from,
            outcome = "refused",
            code = call.code,
            status = call.status,
            times,
        );
    }

    /// Counts one; gives how many there were in this minute if this one is told.
    fn told(&self, now: Instant) -> Option<u64> {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let present = minute.filter(|(began, _)| now.duration_since(*began) < MINUTE);
        let (began, before) = present.unwrap_or((now, 0));
        let times = before + 1;
        *minute = Some((began, times));
        (times <= TOLD_ONE_BY_ONE || times.is_power_of_two()).then_some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_only_its_growth_is_told_and_after_a_minute_each_one_again() {
        let (tally, now) = (RejectionTally::default(), Instant::now());
        let told: Vec<u64> = (0..1_000).filter_map(|_| tally.told(now)).collect();
        let mut expected: Vec<u64> = (1..=16).collect();
        expected.extend([32, 64, 128, 256, 512]);
        assert_eq!(told, expected);
        assert_eq!(tally.told(now + MINUTE), Some(1));
    }
}
