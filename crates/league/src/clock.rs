//! The only place that asks the time.

use std::time::{SystemTime, UNIX_EPOCH};

use league_protocol::time::Timestamp;

/// The present moment.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
