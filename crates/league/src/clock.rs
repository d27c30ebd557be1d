//! The only place that reads the clock.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use league_protocol::time::Timestamp;

static CLOCK: LazyLock<Clock> = LazyLock::new(|| Clock::new(wall(), Instant::now()));

/// The present time of this process, to the millisecond.
///
/// It begins with the system clock and advances with the monotonic clock, so a system clock that is
/// set while a league runs neither stops nor ends a deadline.
pub(crate) fn now() -> Timestamp {
    CLOCK.at(Instant::now())
}

/// Sets the clock forward to a time from a journal: a system clock that was set back since then must
/// not stop the deadlines that began before.
pub(crate) fn resume_from(last: Timestamp) {
    CLOCK.resume_from(last, Instant::now());
}

/// The time of the system clock, for log lines: people compare them with other logs.
pub(crate) fn wall() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.unwrap_or_default().as_millis();
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

/// Reads a moment: RFC 3339, or a time from now such as `10m`.
pub(crate) fn moment(text: &str) -> Result<Timestamp, String> {
    if let Ok(wait) = duration(text) {
        return Ok(now() + wait);
    }
    Timestamp::parse(text)
        .map_err(|_| "give a time from now such as `10m`, or `2026-05-04T14:00:00Z`".to_owned())
}

/// Reads a duration: `400ms`, `2s`, `1m`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|letter: char| !letter.is_ascii_digit());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let expected = || format!("`{text}` is not a duration; write `400ms`, `2s` or `1m`");
    let number: u64 = number.parse().map_err(|_| expected())?;
    let millis = match unit {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        _ => None,
    };
    millis.map(Duration::from_millis).ok_or_else(expected)
}

#[derive(Debug)]
struct Clock {
    time: Timestamp,
    read_at: Instant,
    /// How far it was set forward, in milliseconds.
    ahead: AtomicU64,
}

impl Clock {
    fn new(time: Timestamp, read_at: Instant) -> Self {
        Self {
            time,
            read_at,
            ahead: AtomicU64::new(0),
        }
    }

    fn at(&self, here: Instant) -> Timestamp {
        let ahead = Duration::from_millis(self.ahead.load(Ordering::Relaxed));
        self.time + here.saturating_duration_since(self.read_at) + ahead
    }

    fn resume_from(&self, last: Timestamp, here: Instant) {
        let behind = last.since(self.time + here.saturating_duration_since(self.read_at));
        let behind = u64::try_from(behind.as_millis()).unwrap_or(u64::MAX);
        self.ahead.fetch_max(behind, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_advances_by_itself_and_never_goes_back() {
        let (noon, started) = (Timestamp::from_millis(1_736_937_000_000), Instant::now());
        let hour = Duration::from_secs(3_600);
        let clock = Clock::new(noon, started);
        assert_eq!(clock.at(started + hour), noon + hour);
        clock.resume_from(noon + hour * 2, started + hour);
        assert_eq!(clock.at(started + hour), noon + hour * 2);
        clock.resume_from(noon, started + hour * 2);
        assert_eq!(clock.at(started + hour * 2), noon + hour * 3);
    }

    #[test]
    fn process_goes_on_from_the_last_time_in_its_journal() {
        let ahead = now() + Duration::from_secs(5);
        resume_from(ahead);
        assert!(now() >= ahead);
    }

    #[test]
    fn duration_needs_a_number_and_a_unit() {
        assert_eq!(duration("400ms"), Ok(Duration::from_millis(400)));
        assert_eq!(duration("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("1m"), Ok(Duration::from_secs(60)));
        for wrong in ["", "2", "s", "2h", "-1s", "1.5s", "99999999999999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
