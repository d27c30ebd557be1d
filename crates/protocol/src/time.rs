//! Moments in time: UTC or nothing.
//!
//! A [`Timestamp`] is always handed in; nothing here asks what time it is.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;
use time::format_description::FormatItem;
use time::format_description::well_known::{Iso8601, Rfc3339};
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime, UtcOffset};

/// A moment, in milliseconds since 1970 in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// A text that is no moment in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimeError {
    /// The text has an offset that is not zero.
    #[error("the time must be in UTC: end it with `Z` or `+00:00`, not `{0}`")]
    NotUtc(String),
    /// The text has no offset at all; the moment is read as if it were UTC.
    #[error("the time has no zone: end it with `Z`")]
    NoZone(Timestamp),
    /// The text is no time.
    #[error("a time is written `YYYY-MM-DDTHH:MM:SSZ`")]
    NotATime,
}

/// What a time should look like, for people.
pub const EXPECTED: &str = "a time in UTC, such as `2025-01-15T10:30:00Z`";

/// The latest moment that can be written: the end of the year 9999.
const LATEST: i64 = 253_402_300_799_999;
const SECONDS: &[FormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
const MILLISECONDS: &[FormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

impl Timestamp {
    /// The last moment there is; stands for a deadline that nobody set.
    pub const LAST: Self = Self(LATEST);

    /// The moment so many milliseconds after the start of 1970, held inside the years 0 to 9999.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, LATEST))
    }

    /// Milliseconds since the start of 1970.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Reads what the documents call valid: `Z` or `+00:00`, with or without fractions.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        if let Ok(moment) = OffsetDateTime::parse(text, &Rfc3339) {
            return if moment.offset() == UtcOffset::UTC {
                Ok(Self::from_moment(moment))
            } else {
                let offset = text
                    .find(['T', 't'])
                    .and_then(|at| text[at..].rfind(['+', '-']).map(|o| at + o));
                Err(TimeError::NotUtc(text[offset.unwrap_or(0)..].to_owned()))
            };
        }
        match PrimitiveDateTime::parse(text, &Iso8601::PARSING) {
            Ok(moment) => Err(TimeError::NoZone(Self::from_moment(moment.assume_utc()))),
            Err(_) => Err(TimeError::NotATime),
        }
    }

    /// Writes whole seconds, as `league.v2` does.
    pub fn to_seconds_text(self) -> String {
        self.write(SECONDS)
    }

    /// Writes milliseconds, as `league.v1` does.
    pub fn to_millis_text(self) -> String {
        self.write(MILLISECONDS)
    }

    /// How long it is from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    fn write(self, format: &[FormatItem<'_>]) -> String {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .ok()
            .and_then(|moment| moment.format(format).ok())
            .unwrap_or_default()
    }

    fn from_moment(moment: OffsetDateTime) -> Self {
        let millis = moment.unix_timestamp_nanos().div_euclid(1_000_000);
        Self::from_millis(i64::try_from(millis).unwrap_or(LATEST))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, wait: Duration) -> Self {
        let wait = i64::try_from(wait.as_millis()).unwrap_or(LATEST);
        Self::from_millis(self.0.saturating_add(wait))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, wait: Duration) -> Self {
        let wait = i64::try_from(wait.as_millis()).unwrap_or(LATEST);
        Self::from_millis(self.0.saturating_sub(wait))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_millis_text())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_millis_text())
    }
}

/// In journals and files a moment is written with milliseconds.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_millis_text())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_3_of_the_document_holds() {
        let half_past_ten = Timestamp::from_millis(1_736_937_000_000);
        for valid in [
            "2025-01-15T10:30:00Z",
            "2025-01-15T10:30:00+00:00",
            "2025-01-15T10:30:00.000Z",
        ] {
            assert_eq!(Timestamp::parse(valid), Ok(half_past_ten), "{valid}");
        }
        let offset = Timestamp::parse("2025-01-15T10:30:00+02:00");
        assert_eq!(offset, Err(TimeError::NotUtc("+02:00".into())));
        assert_eq!(
            Timestamp::parse("2025-01-15T10:30:00"),
            Err(TimeError::NoZone(half_past_ten))
        );
        assert_eq!(
            Timestamp::parse("2025-01-15T10:30:00.123456"),
            Err(TimeError::NoZone(Timestamp::from_millis(1_736_937_000_123)))
        );
        for nonsense in [
            "",
            "soon",
            "2025-13-45T99:00:00Z",
            "20250115T101500Z!",
            "10:30",
        ] {
            assert_eq!(
                Timestamp::parse(nonsense),
                Err(TimeError::NotATime),
                "{nonsense}"
            );
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let moment = Timestamp::from_millis(1_765_661_400_123);
        assert_eq!(moment.to_seconds_text(), "2025-12-13T21:30:00Z");
        assert_eq!(moment.to_millis_text(), "2025-12-13T21:30:00.123Z");
        assert_eq!(Timestamp::parse(&moment.to_millis_text()), Ok(moment));
    }

    #[test]
    fn no_wait_overflows() {
        let moment = Timestamp::from_millis(5) + Duration::MAX;
        assert_eq!(moment.to_seconds_text(), "9999-12-31T23:59:59Z");
        assert_eq!(moment - Duration::MAX, Timestamp::from_millis(0));
    }
}
