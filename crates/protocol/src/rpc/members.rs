//! JSON text, checked and split: the bounds of a body, and the members of an object.
//!
//! A body is checked for size, encoding, depth and escapes in one flat pass. An object is split into
//! its members once, without interpreting their values: they stay the bytes that were sent, so a
//! number keeps its spelling.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::finding::excerpt;

/// The largest body that is read, in bytes.
pub const MAX_BODY: usize = 256 * 1024;

/// How many objects and arrays may be open at once, the outermost included.
pub const MAX_DEPTH: usize = 32;

/// Why a body could not be read as JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Broken {
    /// The body holds more than [`MAX_BODY`] bytes.
    #[error("the body is larger than {MAX_BODY} bytes")]
    TooLarge,
    /// The bytes are not UTF-8.
    #[error("the body is not UTF-8")]
    NotUtf8,
    /// The text starts with U+FEFF.
    #[error("the body starts with a byte order mark")]
    ByteOrderMark,
    /// There is nothing but white space.
    #[error("the body is empty")]
    Empty,
    /// More than [`MAX_DEPTH`] objects and arrays are open at once.
    #[error("the body nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A string escapes half of a surrogate pair, which is not a character.
    #[error("a string holds a `\\u` escape that is half of a surrogate pair")]
    LoneSurrogate,
    /// The text is not JSON.
    #[error("the body is not JSON at line `{line}`, column `{column}`")]
    NotJson {
        /// The line, counted from 1.
        line: usize,
        /// The column in bytes, counted from 1.
        column: usize,
    },
}

/// Returns the body as trimmed text, bounded in size and depth, without lone surrogates.
pub(crate) fn body_text(body: &[u8]) -> Result<&str, Broken> {
    if body.len() > MAX_BODY {
        return Err(Broken::TooLarge);
    }
    let text = std::str::from_utf8(body).map_err(|_| Broken::NotUtf8)?;
    if text.starts_with('\u{feff}') {
        return Err(Broken::ByteOrderMark);
    }
    if text.chars().all(is_space) {
        return Err(Broken::Empty);
    }
    if may_be_unsafe(text.as_bytes()) {
        scan(text.as_bytes())?;
    }
    Ok(text)
}

/// Whether a scan could find a fault. A text without escapes and with few opening brackets can be
/// neither too deep nor contain a lone surrogate. Most bodies need no scan.
fn may_be_unsafe(bytes: &[u8]) -> bool {
    // Counts in single bytes, over chunks that cannot overflow one, without branches, so that the
    // compiler can vectorise the loop.
    let mut opened = 0;
    let mut escaped = false;
    for chunk in bytes.chunks(usize::from(u8::MAX)) {
        let mut opens = 0_u8;
        for &byte in chunk {
            opens += u8::from(byte == b'{') | u8::from(byte == b'[');
            escaped |= byte == b'\\';
        }
        opened += usize::from(opens);
    }
    escaped || opened > MAX_DEPTH
}

/// Whether JSON treats a character as white space; Unicode has more white space than JSON.
pub(crate) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// Scans the text once with a single counter, so that depth costs no stack.
fn scan(bytes: &[u8]) -> Result<(), Broken> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = skip_string(bytes, at)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(Broken::TooDeep);
        }
    }
    Ok(())
}

/// Returns the position after the string whose text starts at `at`.
fn skip_string(bytes: &[u8], mut at: usize) -> Result<usize, Broken> {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at + 1),
            b'\\' => at = skip_escape(bytes, at)?,
            _ => at += 1,
        }
    }
    Ok(at)
}

/// Returns the position after the escape, or after the pair of escapes, that starts at `at`.
fn skip_escape(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    match code_unit(bytes, at) {
        Some(0xD800..=0xDBFF) => match code_unit(bytes, at + 6) {
            Some(0xDC00..=0xDFFF) => Ok(at + 12),
            _ => Err(Broken::LoneSurrogate),
        },
        Some(0xDC00..=0xDFFF) => Err(Broken::LoneSurrogate),
        Some(_) => Ok(at + 6),
        None => Ok(at + 2),
    }
}

/// Reads a `\uXXXX` escape; the parser refuses a malformed one.
fn code_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit: u16, digit| {
        let value = char::from(*digit).to_digit(16)?;
        Some((unit << 4) | u16::try_from(value).ok()?)
    })
}

/// How many members an object may have.
pub const MAX_MEMBERS: usize = 256;

/// Up to this many members, repeated names are found by comparing each pair.
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
    /// The error for a repeated name.
    pub(crate) fn repeated(name: &str) -> Self {
        Self::Repeated {
            name: excerpt(name),
        }
    }
}

/// Splits an object whose members all have different names.
///
/// # Errors
///
/// Refuses a text that is not an object, has too many members, or repeats a name.
pub fn members(raw: &str) -> Result<Members<'_>, MembersError> {
    let members = split(raw)?;
    match members.repeated() {
        Some(name) => Err(MembersError::repeated(name)),
        None => Ok(members),
    }
}

/// Splits an object and keeps every member, including repeated names.
///
/// This is for readers that want the facts before they judge; all others use [`members`].
///
/// # Errors
///
/// Refuses a text that is not an object or has too many members.
pub fn split(raw: &str) -> Result<Members<'_>, MembersError> {
    if !raw.trim_start_matches(is_space).starts_with('{') {
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

/// The members of one object, in the order they were written; `Debug` prints only names and kinds.
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

    /// Whether there is a member of that name.
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

    /// Compares each pair, which is cheaper than sorting for a few members.
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

    /// Iterates over all members.
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

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl fmt::Debug for Members<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .iter()
            .map(|(name, value)| (excerpt(name), crate::shape::Hidden(value)));
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
    /// Determines the kind of a value from its first byte.
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

    /// Reads to the end even past the bound, so that broken JSON is reported as such.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Entries {
            // Enough for most messages of the league, so that the list seldom grows.
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

/// Up to `MOST` elements, and how many there were.
pub(crate) struct Array<'a, const MOST: usize> {
    pub(crate) kept: Vec<&'a RawValue>,
    pub(crate) length: usize,
}

impl<'de, const MOST: usize> Deserialize<'de> for Array<'de, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ArrayVisitor::<MOST>)
    }
}

struct ArrayVisitor<const MOST: usize>;

impl<'de, const MOST: usize> Visitor<'de> for ArrayVisitor<MOST> {
    type Value = Array<'de, MOST>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut array = Array {
            kept: Vec::new(),
            length: 0,
        };
        while array.length < MOST {
            let Some(element) = seq.next_element()? else {
                return Ok(array);
            };
            array.kept.push(element);
            array.length += 1;
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {
            array.length += 1;
        }
        Ok(array)
    }
}
