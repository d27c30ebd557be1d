//! Moments in time, always in UTC.
//!
//! A [`Timestamp`] is always passed in; nothing here reads a clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

use crate::finding::excerpt;

/// A moment, in milliseconds since 1970 in UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// Why a text is not a moment in UTC.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimeError {
    /// The text has an offset that is not zero.
    #[error("the time must be in UTC: end it with `Z` or `+00:00`, not `{0}`")]
    NotUtc(String),
    /// The text has no offset at all; the moment is read as if it were UTC.
    #[error("the time has no zone: end it with `Z`")]
    NoZone(Timestamp),
    /// The text means UTC, in another form than the documents use; the moment is certain.
    #[error("the time has another form; write it as `2025-01-15T10:30:00Z`")]
    Spelling(Timestamp),
    /// The text is not a time.
    #[error("a time is written `YYYY-MM-DDTHH:MM:SSZ`")]
    NotATime,
}

/// The expected format, for error messages.
pub const EXPECTED: &str = "a time in UTC, such as `2025-01-15T10:30:00Z`";

/// The latest moment that can be written: the end of the year 9999.
const LATEST: i64 = 253_402_300_799_999;
/// The length of `2025-01-15T10:30:00.000Z`, in bytes.
const LENGTH: usize = 24;

impl Timestamp {
    /// The last moment; used for a deadline that was not set.
    pub const LAST: Self = Self(LATEST);

    /// The moment at this many milliseconds after the start of 1970, clamped to the years 1970 to
    /// 9999.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, LATEST))
    }

    /// Milliseconds since the start of 1970.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// Parses the forms that the documents allow: `Z` or `+00:00`, with or without fractions.
    pub fn parse(text: &str) -> Result<Self, TimeError> {
        if let Some(moment) = utc(text) {
            return Ok(Self::from_moment(moment));
        }
        if let Some(zone) = foreign_zone(text) {
            return Err(TimeError::NotUtc(excerpt(zone)));
        }
        if let Some(moment) = spelled_otherwise(text) {
            return Err(TimeError::Spelling(Self::from_moment(moment)));
        }
        match utc(&format!("{text}Z")) {
            Some(moment) => Err(TimeError::NoZone(Self::from_moment(moment))),
            None => Err(TimeError::NotATime),
        }
    }

    /// Writes whole seconds, as `league.v2` does.
    pub fn to_seconds_text(self) -> String {
        let written = self.written();
        format!("{}Z", ascii(&written[..LENGTH - 5]))
    }

    /// Writes milliseconds, as `league.v1` does.
    pub fn to_millis_text(self) -> String {
        ascii(&self.written()).to_owned()
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// The text with milliseconds. By hand: a match has a hundred times in messages, log lines and
    /// journals, and a formatter that interprets a description costs several times as much.
    fn written(self) -> [u8; LENGTH] {
        let mut written = *b"1970-01-01T00:00:00.000Z";
        let moment = OffsetDateTime::from_unix_timestamp(self.0.div_euclid(1_000));
        let moment = moment.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (year, month, day) = moment.to_calendar_date();
        let (hour, minute, second) = moment.to_hms();
        let year = u32::try_from(year).unwrap_or_default();
        put(&mut written[0..4], year);
        put(&mut written[5..7], u8::from(month).into());
        put(&mut written[8..10], day.into());
        put(&mut written[11..13], hour.into());
        put(&mut written[14..16], minute.into());
        put(&mut written[17..19], second.into());
        let millis = u32::try_from(self.0.rem_euclid(1_000)).unwrap_or_default();
        put(&mut written[20..23], millis);
        written
    }

    fn from_moment(moment: OffsetDateTime) -> Self {
        let millis = moment.unix_timestamp_nanos().div_euclid(1_000_000);
        Self::from_millis(i64::try_from(millis).unwrap_or(LATEST))
    }
}

/// Writes a number in decimal digits, with leading zeros.
fn put(digits: &mut [u8], number: u32) {
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// ASCII bytes as a text.
fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// A duration for people: `840 ms`, `2 s`, `2.5 s`.
pub fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let millis = (seconds * 1_000.0).round();
    if millis < 1_000.0 {
        return format!("{millis} ms");
    }
    format!("{} s", (seconds * 10.0).round() / 10.0)
}

/// Parses a text in the form of 000 table 3. RFC 3339 would also allow a blank or a small `t`, a
/// small `z` and `-00:00`; the table does not, and neither does the schema.
fn utc(text: &str) -> Option<OffsetDateTime> {
    let tabled = text.as_bytes().get(10) == Some(&b'T');
    let tabled = tabled && (text.ends_with('Z') || text.ends_with("+00:00"));
    let moment = tabled.then(|| OffsetDateTime::parse(text, &Rfc3339).ok())?;
    moment.filter(|moment| moment.offset() == UtcOffset::UTC)
}

/// Endings that certainly mean UTC, though the table does not allow them. Python code that appends
/// a `Z` by hand produces `+00:00Z`; longer endings come before those they contain.
const OTHER_ENDS: [&str; 10] = [
    "+00:00Z", "-00:00", "+00:00", "+0000", "-0000", "+00", "UTC", "GMT", "Z", "z",
];

/// Parses a text that certainly means UTC in a form that the table does not allow.
fn spelled_otherwise(text: &str) -> Option<OffsetDateTime> {
    if let Some(moment) = basic(text) {
        return Some(moment);
    }
    let time = OTHER_ENDS.iter().find_map(|end| text.strip_suffix(end))?;
    let time = time.strip_suffix(' ').unwrap_or(time);
    let (day, time) = (time.get(..10)?, time.get(10..)?);
    let time = time.strip_prefix(['T', 't', ' '])?;
    utc(&format!("{day}T{time}Z"))
}

/// Parses the basic form of ISO 8601 with `Z`: `20250115T103000Z`.
fn basic(text: &str) -> Option<OffsetDateTime> {
    let (day, time) = text.strip_suffix('Z')?.split_once('T')?;
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = time.split_at_checked(6)?;
    let is_basic = day.len() == 8 && digits(day) && digits(whole);
    is_basic.then_some(())?;
    let (year, month, date) = (&day[..4], &day[4..6], &day[6..]);
    let (hour, minute, second) = (&whole[..2], &whole[2..4], &whole[4..]);
    utc(&format!(
        "{year}-{month}-{date}T{hour}:{minute}:{second}{fraction}Z"
    ))
}

/// The end of a text that names another time zone, in any spelling.
///
/// Such a text is always refused: a time that is an hour off is worse than none.
fn foreign_zone(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let named = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let start = if named.len() < text.len() && named.ends_with(|last: char| last.is_ascii_digit()) {
        named.len()
    } else {
        text.rfind(['+', '-', '−', ' ', '['])?
    };
    let (time, zone) = text.split_at(start);
    let zone = zone.trim_start();
    (has_time_of_day(time) && is_foreign(zone)).then_some(zone)
}

/// Whether a text has hours and minutes: `10:30`, or `T103000`.
fn has_time_of_day(text: &str) -> bool {
    let between_digits = |mark: usize| {
        let bytes = text.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        mark.checked_sub(1).is_some_and(digit) && digit(mark + 1)
    };
    let mut marks = text.match_indices([':', 'T', 't']);
    marks.any(|(mark, _)| between_digits(mark))
}

fn is_foreign(zone: &str) -> bool {
    if let Some(offset) = zone.strip_prefix(['+', '-', '−']) {
        let digits = offset.bytes().filter(u8::is_ascii_digit).count();
        let plain = offset
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b':');
        return plain && digits > 0 && offset.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    }
    let name = zone.trim_matches(['[', ']', '(', ')']);
    let named = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || b"/_".contains(&byte));
    let universal = ["Z", "UTC", "GMT", "UT", "AM", "PM"];
    named && !universal.iter().any(|word| name.eq_ignore_ascii_case(word))
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
        f.write_str(ascii(&self.written()))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ascii(&self.written()))
    }
}

/// Journals and files store moments with milliseconds.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(ascii(&self.written()))
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
    fn durations_are_rounded_for_people() {
        for (nanos, words) in [
            (1_999_999_918, "2 s"),
            (2_540_000_000, "2.5 s"),
            (90_000_000_000, "90 s"),
            (840_400_000, "840 ms"),
            (999_700_000, "1 s"),
            (0, "0 ms"),
        ] {
            assert_eq!(in_words(Duration::from_nanos(nanos)), words);
        }
    }

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
    fn a_time_of_another_zone_is_never_read_as_utc_whatever_its_spelling() {
        for (text, zone) in [
            ("2025-01-15T10:30:00+0200", "+0200"),
            ("2025-01-15T10:30:00+02", "+02"),
            ("2025-01-15T10:30:00.5-05:30", "-05:30"),
            ("2025-01-15t10:30:00−05:30", "−05:30"),
            ("20250115T103000+0200", "+0200"),
            ("2025-01-15T10:30+02:00", "+02:00"),
            ("2025-01-15T10:30:00 +02:00", "+02:00"),
            ("2025-01-15T10:30:00 EST", "EST"),
            ("2025-01-15T10:30:00EST", "EST"),
            ("2025-01-15T10:30:00[Europe/Paris]", "[Europe/Paris]"),
            ("2025-01-15T10:30:00 (CET)", "(CET)"),
            ("Wed, 15 Jan 2025 10:30:00 +0200", "+0200"),
        ] {
            let expected = Err(TimeError::NotUtc(zone.to_owned()));
            assert_eq!(Timestamp::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn a_time_of_utc_in_another_spelling_is_certain_and_not_right() {
        let half_past_ten = Timestamp::parse("2025-01-15T10:30:00Z").unwrap();
        for text in [
            "2025-01-15T10:30:00+00:00Z",
            "2025-01-15 10:30:00+00:00",
            "2025-01-15T10:30:00.000000+00:00Z",
            "2025-01-15T10:30:00+0000",
            "2025-01-15T10:30:00+00",
            "2025-01-15T10:30:00 UTC",
            "2025-01-15 10:30:00Z",
            "2025-01-15t10:30:00Z",
            "2025-01-15T10:30:00z",
            "2025-01-15T10:30:00-00:00",
            "20250115T103000Z",
            "20250115T103000.000Z",
        ] {
            let expected = Err(TimeError::Spelling(half_past_ten));
            assert_eq!(Timestamp::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn what_leaves_any_doubt_is_no_time() {
        for text in [
            "2025-01-15T10:30:00+02:00Z",
            "Wed, 15 Jan 2025 10:30:00 GMT",
            "2025-01-15",
            "2025-01-15T10:30",
            "2025-01-15T10:30Z",
            "20250115T103000",
            "20250115T1030Z",
            "20250115T103000+0000",
            "20250115103000Z",
            "2025-01-15 10:30:00",
            "15/01/2025 10:30:00Z",
        ] {
            assert_eq!(Timestamp::parse(text), Err(TimeError::NotATime), "{text}");
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
