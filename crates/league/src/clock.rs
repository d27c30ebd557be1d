//! The only place that asks what time it is.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use league_protocol::time::Timestamp;

/// How far the clock on the wall may be off before it is followed.
const FOLLOWED: Duration = Duration::from_secs(1);

/// When the clock on the wall was last followed, by it and by the one that only goes forward.
static FIXED: LazyLock<Mutex<(SystemTime, Instant)>> =
    LazyLock::new(|| Mutex::new((SystemTime::now(), Instant::now())));

/// The present moment, to the millisecond.
///
/// Time is counted on from a look at the clock on the wall, so that small corrections of it move
/// nothing backwards. A clock that was set, or a machine that slept, is followed: all processes of
/// a league go by one time.
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
