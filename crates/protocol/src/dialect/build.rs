//! Short words for filling the fields of a shape.

use std::borrow::Cow;

use crate::shape::{Field, Flag, Parsed, Round, Secret, Text, Whole};
use crate::time::Timestamp;

pub(crate) fn text<'a>(text: impl Into<Cow<'a, str>>) -> Field<'a, Text<'a>> {
    Field::Is(Text(text.into()))
}

pub(crate) fn secret<'a>(text: impl Into<Cow<'a, str>>) -> Field<'a, Secret<'a>> {
    Field::Is(Secret(text.into()))
}

pub(crate) fn id<'a, T>(id: &'a T) -> Field<'a, Parsed<'a, T>>
where
    Parsed<'a, T>: From<&'a T>,
{
    Field::Is(id.into())
}

pub(crate) fn whole<'a>(number: u32) -> Field<'a, Whole> {
    Field::Is(Whole(number))
}

pub(crate) fn flag<'a>(flag: bool) -> Field<'a, Flag> {
    Field::Is(Flag(flag))
}

pub(crate) fn round<'a>(number: u32) -> Field<'a, Round> {
    Field::Is(Round::Number(number))
}

/// A moment as `league.v2` writes it.
pub(crate) fn seconds<'a>(moment: Timestamp) -> Parsed<'a, Timestamp> {
    Parsed::new(moment.to_seconds_text(), moment)
}
