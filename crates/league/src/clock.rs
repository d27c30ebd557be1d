//! The only place that reads the clock.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use league_protocol::time::Timestamp;

/// The clock is resynchronised with the system clock when they differ by more than this.
const FOLLOWED: Duration = Duration::from_secs(1);

/// The system time and the monotonic time at the last synchronisation.
static FIXED: LazyLock<Mutex<(SystemTime, Instant)>> =
    LazyLock::new(|| Mutex::new((SystemTime::now(), Instant::now())));

/// The present time, to the millisecond.
///
/// Time advances with the monotonic clock, so small corrections of the system clock never move it
/// backwards. After a large change, such as a clock that was set or a machine that slept, it
/// follows the system clock: all processes of a league must agree on the time.
pub(crate) fn now() -> Timestamp {
    let (wall, here) = (SystemTime::now(), Instant::now());
    let mut fixed = FIXED.lock().unwrap_or_else(PoisonError::into_inner);
    let counted = fixed.0 + here.saturating_duration_since(fixed.1);
    let off = wall
        .duration_since(counted)
        .unwrap_or_else(|error| error.duration());
    if off > FOLLOWED {
        *fixed = (wall, here);
        return stamp(wall);
    }
    stamp(counted)
}

fn stamp(moment: SystemTime) -> Timestamp {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
