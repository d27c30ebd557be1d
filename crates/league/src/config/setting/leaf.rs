//! The single values of a configuration: texts, numbers, times, ids, ports.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use league_protocol::id::{GameType, LeagueId, PlayerId, RefereeId};
use league_protocol::sender::Dialect;
use league_protocol::time::{self, Timestamp};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Reading, Setting, wrong};
use crate::config::Wrong;

/// The longest text, in bytes.
const LONGEST_TEXT: usize = 1_024;

/// Implements [`Setting`] for a kind of value that is read in one step.
macro_rules! leaf {
    ($kind:ty, $expected:expr, $read:expr) => {
        impl Setting for $kind {
            fn expected() -> String {
                $expected.to_owned()
            }

            fn read(value: &Value, path: &str, _: &mut Reading) -> Result<Self, Wrong> {
                let read: fn(&Value) -> Option<Self> = $read;
                read(value).ok_or_else(|| wrong(path, value, Self::expected()))
            }
        }
    };
}

leaf!(bool, "`true` or `false`", Value::as_bool);
leaf!(u16, "a whole number up to 65535", |value| {
    u16::try_from(value.as_u64()?).ok()
});
leaf!(u32, "a whole number", |value| {
    u32::try_from(value.as_u64()?).ok()
});
leaf!(u64, "a whole number", Value::as_u64);
leaf!(usize, "a whole number", |value| {
    usize::try_from(value.as_u64()?).ok()
});
leaf!(String, "a text of 1 to 1024 bytes", |value| {
    let text = value.as_str()?;
    let fits = !text.trim().is_empty() && text.len() <= LONGEST_TEXT;
    fits.then(|| text.to_owned())
});
leaf!(Map<String, Value>, "an object", |value| value
    .as_object()
    .cloned());
leaf!(Timestamp, time::EXPECTED, |value| {
    Timestamp::parse(value.as_str()?).ok()
});
leaf!(IpAddr, "an address such as `127.0.0.1`", |value| {
    value.as_str()?.parse().ok()
});

leaf!(Dialect, "`v2`, `v2-api` or `v1`", |value| {
    Dialect::parse(value.as_str()?)
});

const ID: &str = "an id: a letter or digit, then up to 63 letters, digits, `_` and `-`";
leaf!(LeagueId, ID, |value| LeagueId::new(value.as_str()?).ok());
leaf!(PlayerId, ID, |value| PlayerId::new(value.as_str()?).ok());
leaf!(RefereeId, ID, |value| RefereeId::new(value.as_str()?).ok());
leaf!(GameType, ID, |value| GameType::new(value.as_str()?).ok());

/// A span of time, written as a number of seconds; fractions are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Seconds(pub Duration);

impl Seconds {
    /// So many whole seconds.
    pub const fn of(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// So many thousandths.
    pub const fn of_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// The span itself.
    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs_f64())
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.subsec_nanos() == 0 {
            serializer.serialize_u64(self.0.as_secs())
        } else {
            serializer.serialize_f64(self.0.as_secs_f64())
        }
    }
}

leaf!(Seconds, "a number of seconds", |value| {
    let span = Duration::try_from_secs_f64(value.as_f64()?).ok()?;
    // Milliseconds are all that the league tells apart.
    let millis = u64::try_from(span.as_millis()).ok()?;
    Some(Seconds::of_millis(millis))
});

/// Ports from the first to the last, both included, written as a list of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
}

impl PortRange {
    /// The port at a place, counted from 0.
    pub fn get(self, place: u32) -> Option<u16> {
        let port = u32::from(self.first).checked_add(place)?;
        u16::try_from(port).ok().filter(|port| *port <= self.last)
    }
}

impl Serialize for PortRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.first, self.last].serialize(serializer)
    }
}

leaf!(PortRange, "two ports, such as `[8001, 8100]`", |value| {
    let [first, last] = value.as_array()?.as_slice() else {
        return None;
    };
    let port = |value: &Value| u16::try_from(value.as_u64()?).ok().filter(|port| *port > 0);
    let (first, last) = (port(first)?, port(last)?);
    (first <= last).then_some(PortRange { first, last })
});

/// The version of a file's form; all of `1` can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SchemaVersion(String);

impl Default for SchemaVersion {
    fn default() -> Self {
        Self("1.0.0".to_owned())
    }
}

impl SchemaVersion {
    /// The version as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

leaf!(
    SchemaVersion,
    "a version such as `1.0.0`, of the first form",
    |value| {
        let text = value.as_str()?;
        let numbers: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.len() <= 3)?;
        (numbers.first() == Some(&1)).then(|| SchemaVersion(text.to_owned()))
    }
);
