//! The two macros that turn lists of fields and of messages into types.
//!
//! They exist because the alternative is to say each field five times: in a struct, in a reader
//! that goes on after a wrong field, in a writer, in a schema, and in a table of what is required.

/// Makes a shape: a struct that is read, checked, written and described by one list of fields.
#[macro_export]
macro_rules! shape {
    ($(
        #[doc = $about:literal]
        $name:ident<$life:lifetime> $clause:literal {$(
            #[doc = $field_about:literal]
            $field:ident $(= $wire:literal)?: $type:ty, $level:ident;
        )*}
    )*) => {$(
        #[doc = $about]
        #[derive(Debug, Clone, Default)]
        pub struct $name<$life> {
            $(#[doc = $field_about] pub $field: $crate::shape::Field<$life, $type>,)*
            /// What is not known here, kept as it came.
            pub extra: $crate::shape::Extra<$life>,
        }

        impl<$life> $crate::shape::Shape<$life> for $name<$life> {
            const ABOUT: &'static str = $about;
            const CLAUSE: &'static str = $clause;
            const FIELDS: &'static [$crate::shape::FieldRule] = &[$(
                $crate::shape::FieldRule {
                    name: $crate::shape!(@name $field $($wire)?),
                    about: $field_about,
                    level: $crate::shape::Level::$level,
                    schema: <$type as $crate::shape::Wire<'_>>::schema,
                },
            )*];

            fn take(
                members: $crate::rpc::members::Members<$life>,
                at: &$crate::finding::Path<'_>,
                notes: &mut $crate::finding::Notes,
            ) -> Self {
                let mut shape = Self::default();
                for (name, raw) in members {
                    match name.as_ref() {
                        $($crate::shape!(@name $field $($wire)?) => {
                            shape.$field = $crate::shape::Field::read(
                                raw,
                                $crate::shape!(@name $field $($wire)?),
                                $crate::shape::Level::$level,
                                at,
                                notes,
                            );
                        })*
                        _ => shape.extra.push(name, raw),
                    }
                }
                let mut rules = Self::FIELDS.iter();
                $(if let Some(rule) = rules.next() {
                    shape.$field.check(rule, at, notes);
                })*
                shape
            }
        }

        impl<$life> $crate::shape::Wire<$life> for $name<$life> {
            fn read(
                raw: &$life serde_json::value::RawValue,
                at: &$crate::finding::Path<'_>,
                notes: &mut $crate::finding::Notes,
            ) -> Option<Self> {
                let at = &at.under(<Self as $crate::shape::Shape<'_>>::CLAUSE);
                let members = $crate::shape::object(raw, at, notes)?;
                let shape: Self = $crate::shape::Shape::take(members, at, notes);
                $crate::lenient::extra_fields(&shape.extra, at, notes);
                Some(shape)
            }

            fn schema(reading: $crate::finding::Reading) -> serde_json::Value {
                $crate::shape::shape_schema::<Self>(reading).into()
            }
        }

        impl serde::Serialize for $name<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                self.write_members(&mut map)?;
                map.end()
            }
        }

        impl $name<'_> {
            /// Writes the members into an object that is being written.
            pub fn write_members<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $(if !self.$field.is_absent() {
                    map.serialize_entry($crate::shape!(@name $field $($wire)?), &self.$field)?;
                })*
                for (name, raw) in self.extra.iter() {
                    map.serialize_entry(name, raw)?;
                }
                Ok(())
            }
        }
    )*};
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $wire:literal) => { $wire };
}

/// Makes the messages of a dialect: an enum over shapes, read and described by message type.
#[macro_export]
macro_rules! bodies {
    (#[doc = $about:literal] $($type:literal => $variant:ident,)*) => {
        #[doc = $about]
        #[derive(Debug, Clone)]
        pub enum Body<'a> {
            $(#[doc = concat!("`", $type, "`")] $variant($variant<'a>),)*
        }

        impl<'a> Body<'a> {
            /// The message types of this dialect.
            pub const TYPES: &'static [&'static str] = &[$($type,)*];

            /// Reads the body of a message; gives the members back if this dialect has no such type.
            pub fn read(
                message_type: &str,
                members: $crate::rpc::members::Members<'a>,
                notes: &mut $crate::finding::Notes,
            ) -> Result<Self, $crate::rpc::members::Members<'a>> {
                use $crate::shape::Shape;
                match message_type {
                    $($type => {
                        let at = $crate::finding::Path::root($variant::CLAUSE);
                        Ok(Self::$variant(Shape::take(members, &at, notes)))
                    })*
                    _ => Err(members),
                }
            }

            /// The message type as it is written.
            pub fn message_type(&self) -> &'static str {
                match self { $(Self::$variant(_) => $type,)* }
            }

            /// What is not known in the body.
            pub fn extra(&self) -> &$crate::shape::Extra<'a> {
                match self { $(Self::$variant(body) => &body.extra,)* }
            }

            /// Where the message is written.
            pub fn clause(&self) -> &'static str {
                use $crate::shape::Shape;
                match self { $(Self::$variant(_) => $variant::CLAUSE,)* }
            }

            /// Writes the members into an object that is being written.
            pub fn write_members<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self { $(Self::$variant(body) => body.write_members(map),)* }
            }

            /// What a message is about and how its body is described as JSON Schema.
            pub fn schema(
                message_type: &str,
                reading: $crate::finding::Reading,
            ) -> Option<(&'static str, &'static str, serde_json::Map<String, serde_json::Value>)> {
                use $crate::shape::{Shape, shape_schema};
                match message_type {
                    $($type => Some((
                        $variant::ABOUT,
                        $variant::CLAUSE,
                        shape_schema::<$variant<'_>>(reading),
                    )),)*
                    _ => None,
                }
            }
        }
    };
}

/// Makes a closed list of words: an enum that is read from and written as one of them.
#[macro_export]
macro_rules! words {
    ($(
        #[doc = $about:literal]
        $name:ident, $code:ident {$(
            #[doc = $word_about:literal]
            $variant:ident = $word:literal,
        )*}
    )*) => {$(
        #[doc = $about]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = $word_about] $variant,)*
        }

        impl $name {
            /// The word as it is written.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The word as a field.
            pub const fn wire<'a>(self) -> $crate::shape::Parsed<'a, Self> {
                $crate::shape::Parsed::word(self.as_str(), self)
            }
        }

        impl $crate::shape::Vocabulary for $name {
            fn parse(
                text: &str,
                at: &$crate::finding::Path<'_>,
                notes: &mut $crate::finding::Notes,
            ) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)*
                    _ => {
                        let expected = [$(concat!("`", $word, "`"),)*].join(" or ");
                        let found = $crate::finding::excerpt(text);
                        let detail = format!("found `{found}`; send {expected}");
                        notes.note($crate::fault::Code::$code, at, expected, detail);
                        None
                    }
                }
            }

            fn schema(_: $crate::finding::Reading) -> serde_json::Value {
                serde_json::json!({"type": "string", "enum": [$($word,)*]})
            }
        }
    )*};
}
