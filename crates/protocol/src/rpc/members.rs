//! Splits a JSON object into its members once, without interpreting their values.
//!
//! Values stay as the bytes that were sent, so a number keeps its spelling and whoever reads a
//! member reads what everybody else reads. Depth is not checked: values are skipped without
//! recursion.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

use super::error::excerpt;

/// How many members an object may have.
pub const MAX_MEMBERS: usize = 256;

/// Up to how many members are compared each with each.
const FEW: usize = 16;

/// Why a text could not be split into members.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MembersError {
    /// The text is JSON of another kind.
    #[error("expected an object, found {found}")]
    NotAnObject {
        /// The kind that was found.
        found: Kind,
    },
    /// Two members have the same name, so readers could disagree on which one counts.
    #[error("member `{name}` appears more than once")]
    Repeated {
        /// The name, cut to a length that fits a sentence.
        name: String,
    },
    /// There are more than [`MAX_MEMBERS`].
    #[error("the object has more than {MAX_MEMBERS} members")]
    TooMany,
    /// The text is not JSON.
    #[error("not JSON at line `{line}`, column `{column}`")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column in bytes, counted from 1.
        column: usize,
    },
}

impl MembersError {
    /// Says that a name is there more than once.
    pub(crate) fn repeated(name: &str) -> Self {
        Self::Repeated {
            name: excerpt(name).into_owned(),
        }
    }
}

/// Splits an object whose members all have different names.
///
/// # Errors
///
/// Refuses what is not an object, has too many members, or names one twice.
pub fn members(raw: &str) -> Result<Members<'_>, MembersError> {
    let members = split(raw)?;
    match members.repeated() {
        Some(name) => Err(MembersError::repeated(name)),
        None => Ok(members),
    }
}

/// Splits an object and keeps every member, repeated names too.
///
/// This is for a reader that wants the facts before it judges; all others use [`members`].
///
/// # Errors
///
/// Refuses what is not an object or has too many members.
pub fn split(raw: &str) -> Result<Members<'_>, MembersError> {
    if !raw
        .trim_start_matches(super::body::is_space)
        .starts_with('{')
    {
        let value: &RawValue = serde_json::from_str(raw).map_err(|error| syntax(&error))?;
        return Err(MembersError::NotAnObject {
            found: Kind::of(value),
        });
    }
    let entries: Entries<'_> = serde_json::from_str(raw).map_err(|error| syntax(&error))?;
    if entries.count > MAX_MEMBERS {
        return Err(MembersError::TooMany);
    }
    Ok(Members {
        entries: entries.kept,
    })
}

/// The members of one object, in the order they were written; prints their names and kinds alone.
#[derive(Clone, Default)]
pub struct Members<'a> {
    entries: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Members<'a> {
    /// Finds a member by its unescaped name; of several, the first.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.entries
            .iter()
            .find(|(entry, _)| entry == name)
            .map(|(_, value)| *value)
    }

    /// Tells whether there is a member of that name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Counts the members of that name.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        self.entries
            .iter()
            .filter(|(entry, _)| entry == name)
            .count()
    }

    /// Finds a name that more than one member has.
    #[must_use]
    pub fn repeated(&self) -> Option<&str> {
        if self.entries.len() <= FEW {
            return self.repeated_of_few();
        }
        let mut names: Vec<&str> = self.entries.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        names
            .windows(2)
            .find(|pair| pair.first() == pair.last())?
            .first()
            .copied()
    }

    /// Compares each with each, which for few is cheaper than sorting.
    fn repeated_of_few(&self) -> Option<&str> {
        let mut rest = self.entries.as_slice();
        while let Some(((name, _), others)) = rest.split_first() {
            if others.iter().any(|(other, _)| other == name) {
                return Some(name);
            }
            rest = others;
        }
        None
    }

    /// Walks through all members.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &'a RawValue)> {
        self.entries
            .iter()
            .map(|(name, value)| (name.as_ref(), *value))
    }

    /// Counts all members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Tells whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .iter()
            .map(|(name, value)| (crate::finding::excerpt(name), crate::shape::Hidden(value)));
        f.debug_map().entries(shown).finish()
    }
}

impl<'a> From<Vec<(Cow<'a, str>, &'a RawValue)>> for Members<'a> {
    fn from(entries: Vec<(Cow<'a, str>, &'a RawValue)>) -> Self {
        Self { entries }
    }
}

impl<'a> IntoIterator for Members<'a> {
    type Item = (Cow<'a, str>, &'a RawValue);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

/// The six kinds of JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// Digits, perhaps with a sign, a fraction or an exponent.
    Number,
    /// `true` or `false`
    Boolean,
    /// `null`
    Null,
}

impl Kind {
    /// Finds the kind of a value, which its first byte tells.
    #[must_use]
    pub fn of(value: &RawValue) -> Self {
        match value.get().as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Boolean => "a boolean",
            Self::Null => "null",
        })
    }
}

/// Reads a value as text if it is a string, borrowing where nothing is escaped.
#[must_use]
pub fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    let inner = value.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.as_bytes().contains(&b'\\') {
        return serde_json::from_str(value.get()).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

fn syntax(error: &serde_json::Error) -> MembersError {
    MembersError::Syntax {
        line: error.line(),
        column: error.column(),
    }
}

/// Up to [`MAX_MEMBERS`] members, and how many there were.
struct Entries<'a> {
    kept: Vec<(Cow<'a, str>, &'a RawValue)>,
    count: usize,
}

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    /// Reads to the end even past the bound, so that broken JSON is known as such.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Entries {
            // As many as a message of the league has, so that the list seldom grows.
            kept: Vec::with_capacity(FEW),
            count: 0,
        };
        while let Some(Name(name)) = map.next_key()? {
            entries.count += 1;
            if entries.count > MAX_MEMBERS {
                map.next_value::<IgnoredAny>()?;
            } else {
                entries.kept.push((name, map.next_value()?));
            }
        }
        Ok(entries)
    }
}

/// A member's name, borrowed unless it was escaped.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameVisitor).map(Name)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}
