//! A field of a shape: absent, null, readable or not, and how much that matters.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::lenient::null_field;
use crate::rpc::members::Kind;

use super::Wire;

/// Members that a shape does not know, kept as they came; prints their names alone.
#[derive(Clone, Default)]
pub struct Extra<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Extra<'a> {
    /// Keeps a member.
    pub fn push(&mut self, name: Cow<'a, str>, raw: &'a RawValue) {
        self.0.push((name, raw));
    }

    /// Walks through the members, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, raw)| (name.as_ref(), *raw))
    }
}

impl fmt::Debug for Extra<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.iter().map(|(name, raw)| (excerpt(name), Hidden(raw)));
        f.debug_map().entries(shown).finish()
    }
}

/// JSON of which only kind and length are printed, since anything may stand in it.
pub(crate) struct Hidden<'a>(pub(crate) &'a RawValue);

impl fmt::Debug for Hidden<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(raw) = self;
        write!(f, "<{}, {} bytes>", Kind::of(raw), raw.get().len())
    }
}

/// One field of a shape, as the list of fields has it.
#[derive(Debug, Clone, Copy)]
pub struct FieldRule {
    /// Its name on the wire.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// How much it matters.
    pub level: Level,
    /// Its JSON Schema.
    pub schema: fn(Reading) -> Value,
}

/// How much a field matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Without it the message has no certain meaning.
    Needed,
    /// The protocol asks for it; a lenient reader can do without.
    Expected,
    /// The protocol asks for it; a lenient reader can do without, but not with an unreadable one.
    ExpectedSure,
    /// It may be there, and may be null.
    Optional,
    /// It is needed, and null is an answer.
    NeededOrNull,
    /// It is expected, and null is an answer.
    ExpectedOrNull,
}

impl Level {
    /// Whether the message has no certain meaning without the field.
    pub const fn needed(self) -> bool {
        matches!(self, Self::Needed | Self::NeededOrNull)
    }

    /// Whether the protocol asks for the field.
    pub const fn expected(self) -> bool {
        !matches!(self, Self::Optional)
    }

    /// Whether null is an answer.
    pub const fn null(self) -> bool {
        matches!(
            self,
            Self::Optional | Self::NeededOrNull | Self::ExpectedOrNull
        )
    }
}

/// The content of a field.
#[derive(Clone, Copy, Default)]
pub enum Field<'a, T> {
    /// The field is not there.
    #[default]
    Absent,
    /// The field is there and null.
    Null,
    /// The field is there and readable.
    Is(T),
    /// The field is there and not readable; kept as it came.
    Unreadable(&'a RawValue),
}

impl<T: fmt::Debug> fmt::Debug for Field<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("Absent"),
            Self::Null => f.write_str("Null"),
            Self::Is(value) => f.debug_tuple("Is").field(value).finish(),
            Self::Unreadable(raw) => f.debug_tuple("Unreadable").field(&Hidden(raw)).finish(),
        }
    }
}

impl<'a, T> Field<'a, T> {
    /// The value, if there is a readable one.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Null | Self::Unreadable(_) => None,
        }
    }

    /// The value if there is one, and nothing at all if there is one that cannot be read.
    pub fn sure(&self) -> Option<Option<&T>> {
        match self {
            Self::Is(value) => Some(Some(value)),
            Self::Absent | Self::Null => Some(None),
            Self::Unreadable(_) => None,
        }
    }

    /// The value, taken out.
    pub fn into_option(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Null | Self::Unreadable(_) => None,
        }
    }

    /// Whether the field is not there.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    /// The value, or null where there is none.
    pub fn or_null(value: Option<T>) -> Self {
        value.map_or(Self::Null, Self::Is)
    }

    /// The value, or no field where there is none.
    pub fn or_absent(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Self::Is)
    }
}

impl<T> Field<'_, super::Parsed<'_, T>> {
    /// What the text means, if it means something.
    pub fn value(&self) -> Option<&T> {
        self.get().map(|parsed| &parsed.value)
    }
}

impl Field<'_, super::Text<'_>> {
    /// The text, if there is one.
    pub fn text(&self) -> Option<&str> {
        self.get().map(|super::Text(text)| text.as_ref())
    }
}

impl Field<'_, super::Whole> {
    /// The number, if there is one.
    pub fn number(&self) -> Option<u32> {
        self.get().map(|&super::Whole(number)| number)
    }
}

impl<'a, T: Wire<'a>> Field<'a, T> {
    /// Reads a member that is there.
    pub fn read(
        raw: &'a RawValue,
        name: &'static str,
        level: Level,
        at: &Path<'_>,
        notes: &mut Notes,
    ) -> Self {
        if raw.get() == "null" {
            if !level.null() {
                null_field(name, &at.member(name, level.needed()), notes);
            }
            return Self::Null;
        }
        let mut here = at.member(name, level.needed());
        here.needed |= level == Level::ExpectedSure;
        T::read(raw, &here, notes).map_or(Self::Unreadable(raw), Self::Is)
    }

    /// Notes that a field is missing which should be there.
    pub fn check(&self, rule: &FieldRule, at: &Path<'_>, notes: &mut Notes) {
        if self.is_absent() && rule.level.expected() {
            let FieldRule { name, about, .. } = rule;
            let about = about.trim().trim_end_matches('.');
            let detail = format!("`{name}` is missing; add it");
            let here = at.member(name, rule.level.needed());
            notes.note(
                Code::MissingField,
                &here,
                format!("`{name}`: {about}"),
                detail,
            );
        }
    }
}

impl<T: Serialize> Serialize for Field<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent | Self::Null => serializer.serialize_unit(),
            Self::Is(value) => value.serialize(serializer),
            Self::Unreadable(raw) => raw.serialize(serializer),
        }
    }
}
