//! How values are read from JSON by hand, so that a wrong one is named with its place.
//!
//! `settings!` and `words!` make the types: a key, its kind, its default and its range stand in
//! one line each. Which keys there are is left to the files of the five kinds of configuration.

mod leaf;
mod nearest;

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::error::Wrong;
pub use leaf::{PortRange, SchemaVersion, Seconds};
pub(super) use nearest::nearest;

/// The most entries of a list.
const MOST_ENTRIES: usize = 100_000;
/// How much of a wrong value is shown, in characters.
const LONGEST_EXCERPT: usize = 60;

/// A value that can stand in a configuration.
pub(super) trait Setting: Sized {
    /// What should be there, for people.
    fn expected() -> String;

    /// Reads the value that stands at `path`.
    fn read(value: &Value, path: &str, reading: &mut Reading) -> Result<Self, Wrong>;
}

/// What is noted while a file is read.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// Paths of keys that nothing reads, and the known key that each resembles.
    pub(super) unknown: Vec<(String, Option<&'static str>)>,
}

impl Reading {
    /// The members of an object; those that are not known are noted.
    pub(super) fn members<'value>(
        &mut self,
        value: &'value Value,
        path: &str,
        known: &[&'static str],
    ) -> Result<&'value Map<String, Value>, Wrong> {
        let Value::Object(members) = value else {
            return Err(wrong(path, value, "an object"));
        };
        for key in members.keys().filter(|key| !known.contains(&key.as_str())) {
            self.unknown
                .push((below(path, key), nearest(key, known.iter().copied())));
        }
        Ok(members)
    }

    /// A member, or its default if it is not there.
    pub(super) fn member<T: Setting + serde::Serialize>(
        &mut self,
        members: &Map<String, Value>,
        path: &str,
        key: &str,
        default: T,
    ) -> Result<T, Wrong> {
        let Some(value) = members.get(key) else {
            return Ok(default);
        };
        let read = T::read(value, &below(path, key), self);
        read.map_err(|wrong| suggest(wrong, &below(path, key), &default))
    }

    /// A member that must be there.
    pub(super) fn needed<T: Setting>(
        &mut self,
        members: &Map<String, Value>,
        path: &str,
        key: &str,
    ) -> Result<T, Wrong> {
        let Some(value) = members.get(key) else {
            return Err(Wrong {
                path: below(path, key),
                found: "absent".to_owned(),
                expected: T::expected(),
                hint: Some(format!("add the key `{key}`")),
            });
        };
        T::read(value, &below(path, key), self)
    }
}

/// Refuses a value outside of its range.
pub(super) fn within<T: PartialOrd + Display + serde::Serialize>(
    value: &T,
    range: &RangeInclusive<T>,
    path: &str,
    default: &T,
) -> Result<(), Wrong> {
    if range.contains(value) {
        return Ok(());
    }
    let (least, most) = (range.start(), range.end());
    let wrong = Wrong {
        path: path.to_owned(),
        found: format!("`{value}`"),
        expected: if least == most {
            format!("`{least}`")
        } else {
            format!("from `{least}` to `{most}`")
        },
        hint: None,
    };
    Err(suggest(wrong, path, default))
}

/// A value of a kind that is not expected.
pub(super) fn wrong(path: &str, value: &Value, expected: impl Into<String>) -> Wrong {
    let text = value.to_string();
    let mut found: String = text.chars().take(LONGEST_EXCERPT).collect();
    if found.len() < text.len() {
        found.push('…');
    }
    Wrong {
        path: path.to_owned(),
        found: format!("`{found}`"),
        expected: expected.into(),
        hint: None,
    }
}

/// The path of a member.
pub(super) fn below(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// Adds the default as a hint, unless something better is known.
fn suggest<T: serde::Serialize>(mut wrong: Wrong, path: &str, default: &T) -> Wrong {
    if wrong.hint.is_none() && wrong.path == path {
        let default = serde_json::to_string(default).unwrap_or_default();
        wrong.hint = Some(format!("leave the key out for the default, `{default}`"));
    }
    wrong
}

impl<T: Setting> Setting for Vec<T> {
    fn expected() -> String {
        "a list".to_owned()
    }

    fn read(value: &Value, path: &str, reading: &mut Reading) -> Result<Self, Wrong> {
        let Value::Array(entries) = value else {
            return Err(wrong(path, value, Self::expected()));
        };
        if entries.len() > MOST_ENTRIES {
            let expected = format!("a list of at most {MOST_ENTRIES} entries");
            return Err(wrong(path, value, expected));
        }
        let entries = entries.iter().enumerate();
        entries
            .map(|(index, entry)| T::read(entry, &format!("{path}[{index}]"), reading))
            .collect()
    }
}

/// Makes a part of the configuration: each line is a key, its kind, its default and its range.
///
/// With `needs`, the keys named there have no default.
macro_rules! settings {
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            $( $(#[$field_doc:meta])*
            $field:ident: $kind:ty = $default:expr $(, within $range:expr)?; )*
        }
    ) => {
        settings! {
            @with
            $(#[$doc])*
            pub struct $name {
                needs {}
                has { $( $(#[$field_doc])* $field: $kind = $default $(, within $range)?; )* }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            needs { $($needs:tt)* }
            has { $($has:tt)* }
        }
    ) => {
        settings! {
            @with
            $(#[$doc])*
            pub struct $name { needs { $($needs)* } has { $($has)* } }
        }
    };
    (
        @with
        $(#[$doc:meta])*
        pub struct $name:ident {
            needs { $( $(#[$needed_doc:meta])* $needed:ident: $needed_kind:ty; )* }
            has {
                $( $(#[$field_doc:meta])*
                $field:ident: $kind:ty = $default:expr $(, within $range:expr)?; )*
            }
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        pub struct $name {
            $( $(#[$needed_doc])* pub $needed: $needed_kind, )*
            $( $(#[$field_doc])* pub $field: $kind, )*
        }

        impl $crate::config::setting::Setting for $name {
            fn expected() -> String {
                "an object".to_owned()
            }

            fn read(
                value: &serde_json::Value,
                path: &str,
                reading: &mut $crate::config::setting::Reading,
            ) -> Result<Self, $crate::config::Wrong> {
                let known = [$(stringify!($needed),)* $(stringify!($field),)*];
                let members = reading.members(value, path, &known)?;
                $( let $needed = reading.needed(members, path, stringify!($needed))?; )*
                $(
                    let $field = reading.member(members, path, stringify!($field), $default)?;
                    $( $crate::config::setting::within(
                        &$field,
                        &$range,
                        &$crate::config::setting::below(path, stringify!($field)),
                        &$default,
                    )?; )?
                )*
                Ok(Self { $($needed,)* $($field,)* })
            }
        }
    };
}

/// Makes a closed list of words.
macro_rules! words {
    (
        $(#[$doc:meta])*
        pub enum $name:ident { $( $(#[$word_doc:meta])* $variant:ident = $word:literal, )* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
        pub enum $name {
            $( $(#[$word_doc])* #[serde(rename = $word)] $variant, )*
        }

        impl $name {
            /// The word as it is written.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word, )* }
            }
        }

        impl $crate::config::setting::Setting for $name {
            fn expected() -> String {
                format!("one of {}", [$(concat!("`", $word, "`")),*].join(", "))
            }

            fn read(
                value: &serde_json::Value,
                path: &str,
                _: &mut $crate::config::setting::Reading,
            ) -> Result<Self, $crate::config::Wrong> {
                match value.as_str() {
                    $( Some($word) => Ok(Self::$variant), )*
                    other => {
                        let mut wrong =
                            $crate::config::setting::wrong(path, value, Self::expected());
                        let words = [$($word),*].into_iter();
                        let near = other
                            .and_then(|other| $crate::config::setting::nearest(other, words));
                        wrong.hint = near.map(|near| format!("did you mean `{near}`?"));
                        Err(wrong)
                    }
                }
            }
        }
    };
}

pub(super) use settings;
pub(super) use words;
