//! The only place that asks what time it is.

use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use league_protocol::time::Timestamp;

/// When this process first asked, by the clock on the wall and by the one that only goes forward.
static START: LazyLock<(SystemTime, Instant)> =
    LazyLock::new(|| (SystemTime::now(), Instant::now()));

/// The present moment, to the millisecond.
///
/// The clock on the wall is read once and counted on from there: somebody who sets it neither
/// stretches nor cuts a deadline that is running.
pub fn now() -> Timestamp {
    let (wall, first) = *START;
    let since = (wall + first.elapsed())
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
