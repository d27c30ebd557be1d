//! Arrays and objects with free names.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading};
use crate::rpc::members::Kind;

use super::{Field, Wire, object, wrong_kind};

/// How many elements an array of a message may have.
pub const MAX_ELEMENTS: usize = 20_000;

/// An array; an element that cannot be read is kept as it came.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct List<'a, T: Serialize>(pub Vec<Field<'a, T>>);

impl<'a, T: Serialize> List<'a, T> {
    /// An array of these values.
    pub fn of(values: impl IntoIterator<Item = T>) -> Self {
        Self(values.into_iter().map(Field::Is).collect())
    }

    /// The elements that could be read.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(Field::get)
    }
}

impl<'a, T: Wire<'a>> Wire<'a> for List<'a, T> {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        if Kind::of(raw) != Kind::Array {
            wrong_kind(at, notes, "an array", Kind::of(raw));
            return None;
        }
        let elements: Vec<&'a RawValue> = serde_json::from_str(raw.get()).ok()?;
        if elements.len() > MAX_ELEMENTS {
            let detail = format!(
                "the array has {} elements; send at most {MAX_ELEMENTS}",
                elements.len()
            );
            notes.refuse(Code::InvalidMessage, at, "a shorter array", detail);
            return None;
        }
        let mut list = Vec::with_capacity(elements.len());
        for (index, element) in elements.into_iter().enumerate() {
            let read = T::read(element, &at.element(index), notes);
            list.push(read.map_or(Field::Unreadable(element), Field::Is));
        }
        Some(Self(list))
    }

    fn schema(reading: Reading) -> Value {
        json!({"type": "array", "items": T::schema(reading)})
    }
}

/// An object whose names are free, such as points by player.
#[derive(Debug, Clone)]
pub struct Dict<'a, T>(pub Vec<(Cow<'a, str>, Field<'a, T>)>);

impl<'a, T> Dict<'a, T> {
    /// An object of these names and values.
    pub fn of(entries: impl IntoIterator<Item = (impl Into<Cow<'a, str>>, T)>) -> Self {
        Self(
            entries
                .into_iter()
                .map(|(name, value)| (name.into(), Field::Is(value)))
                .collect(),
        )
    }

    /// The entries that could be read.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0
            .iter()
            .filter_map(|(name, field)| Some((name.as_ref(), field.get()?)))
    }
}

impl<T: Serialize> Serialize for Dict<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'a, T: Wire<'a>> Wire<'a> for Dict<'a, T> {
    fn read(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Self> {
        let members = object(raw, at, notes)?;
        let mut entries = Vec::with_capacity(members.len());
        for (name, value) in members {
            let read = T::read(value, &at.member(&name, true), notes);
            entries.push((name, read.map_or(Field::Unreadable(value), Field::Is)));
        }
        Some(Self(entries))
    }

    fn schema(reading: Reading) -> Value {
        json!({"type": "object", "additionalProperties": T::schema(reading)})
    }
}
