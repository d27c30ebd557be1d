//! Objects on the wire, declared as rows.
//!
//! `objects!` lists the members of an object: the name on the wire, the place in
//! the model it stands for, how much it matters, and a sentence. The list reads the object with
//! all findings, writes it, and describes it as JSON Schema, in each dialect.
//!
//! An object is split once. Each member is read on its own, so that one wrong member is one
//! finding and not the end.

mod value;

pub(crate) use value::{
    Choice, Closed, Codec, Dict, Field, Plain, Quiet, QuietText, Round, Spelling, Value,
    Vocabulary, id, id_schema, no_time, read_elements, read_text, secret_text, settled, spell_list,
    utc_schema,
};
pub use value::{MAX_ELEMENTS, MAX_TEXT_LENGTH};

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json, json};

use crate::dialect::Hints;
use crate::fault::Code;
use crate::finding::{Notes, Path, Reading};
use crate::id::{GameType, LeagueId, MatchId, PlayerId};
use crate::lenient::{extra_fields, null_field};
use crate::message::Rows;
use crate::rpc::members::{Kind, Members, MembersError, members};
use crate::sender::Dialect;

/// The context of a reader: what it knows, and where it notes what it finds.
pub(crate) struct Cx<'c> {
    pub(crate) dialect: Dialect,
    pub(crate) hints: &'c Hints<'c>,
    pub(crate) notes: &'c mut Notes,
}

macro_rules! noting {
    ($($(#[$doc:meta])* $verb:ident)*) => {
        impl Cx<'_> {$(
            $(#[$doc])*
            pub(crate) fn $verb(
                &mut self,
                code: Code,
                at: &Path<'_>,
                expected: impl Into<String>,
                detail: impl Into<String>,
            ) {
                self.notes.$verb(code, at, expected, detail);
            }
        )*}
    };
}

noting! {
    /// Notes what is forgiven unless the message hangs on the place.
    note
    /// Notes what is never forgiven.
    refuse
    /// Notes what a lenient reader always forgives.
    forgive
}

/// An object with known members, which stand for parts of the model `M`.
pub(crate) struct Object<M: 'static> {
    /// What the object is, in a sentence.
    pub(crate) about: &'static str,
    /// Where it is written.
    pub(crate) clause: &'static str,
    /// Where the API page writes it, if it spells it its own way.
    pub(crate) api_clause: &'static str,
    /// Its members, in the order in which they are written.
    pub(crate) rows: &'static [Row<M>],
    /// Works out what follows from the rest, once all members are read; the last argument is the
    /// element's place in its list, from 1.
    pub(crate) settle: fn(&mut M, &RowStates<M>, u32),
}

/// One member of an object.
pub(crate) struct Row<M: 'static> {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// How much it matters.
    pub(crate) level: Level,
    /// How much it matters by the API page.
    pub(crate) api_level: Level,
    /// The only dialect that has it, if not all have.
    pub(crate) only: Option<Dialect>,
    /// Whether null is written where there is no value.
    pub(crate) null: bool,
    pub(crate) slot: &'static dyn Slot<M>,
}

/// How much a member matters.
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
    /// It is expected, and null is an answer.
    ExpectedOrNull,
}

impl Level {
    const fn needed(self) -> bool {
        matches!(self, Self::Needed)
    }

    const fn expected(self) -> bool {
        !matches!(self, Self::Optional)
    }

    const fn null(self) -> bool {
        matches!(self, Self::Optional | Self::ExpectedOrNull)
    }
}

/// What became of each row of an object that was read.
pub(crate) struct RowStates<M: 'static> {
    object: &'static Object<M>,
    states: [State; MAX_ROWS],
}

/// More rows than any object has.
const MAX_ROWS: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    Null,
    Readable,
    Unreadable,
}

impl<M> RowStates<M> {
    /// The place of the object, for a message.
    pub(crate) fn at(&self) -> Path<'static> {
        Path::root(self.object.clause)
    }

    /// Whether a member was there and could be read.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.state(name) == State::Readable
    }

    /// Whether a member was there and could not be read.
    pub(crate) fn unreadable(&self, name: &str) -> bool {
        self.state(name) == State::Unreadable
    }

    fn state(&self, name: &str) -> State {
        let mut states = self.object.rows.iter().zip(self.states);
        let found = states.find(|(row, state)| row.name == name && *state != State::Absent);
        found.map_or(State::Absent, |(_, state)| state)
    }

    /// Whether nothing is missing that the object cannot do without.
    fn is_whole(&self, dialect: Dialect) -> bool {
        let mut states = self.object.rows.iter().zip(self.states);
        states.all(|(row, state)| {
            let owed = row.is_in(dialect) && row.level(dialect).needed();
            !owed || state == State::Readable
        })
    }
}

impl<M> Row<M> {
    fn is_in(&self, dialect: Dialect) -> bool {
        self.only.is_none_or(|only| only == dialect)
    }

    fn level(&self, dialect: Dialect) -> Level {
        match dialect {
            Dialect::V2Api => self.api_level,
            Dialect::V2 | Dialect::V1 => self.level,
        }
    }

    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> State {
        let level = self.level(cx.dialect);
        let mut here = at.member(self.name, level.needed());
        if raw.get() == "null" {
            if !level.null() {
                null_field(self.name, &here, cx.notes);
            }
            self.slot.null(model);
            return State::Null;
        }
        here.needed |= level == Level::ExpectedSure;
        if self.slot.read(model, raw, &here, cx) {
            State::Readable
        } else {
            State::Unreadable
        }
    }

    fn note_missing(&self, at: &Path<'_>, cx: &mut Cx<'_>) {
        let level = self.level(cx.dialect);
        if level.expected() {
            let Self { name, about, .. } = self;
            let about = about.trim().trim_end_matches('.');
            let here = at.member(name, level.needed());
            let expected = format!("`{name}`: {about}");
            let detail = format!("`{name}` is missing; add it");
            cx.note(Code::MissingField, &here, expected, detail);
        }
    }

    /// The member as it is written; absent if it is not.
    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelling<'m> {
        if !self.is_in(dialect) {
            return Spelling::Absent;
        }
        match self.slot.spell(model, dialect) {
            Spelling::Absent if self.null || self.level == Level::ExpectedOrNull => Spelling::Null,
            spelled => spelled,
        }
    }
}

/// Members that an object does not know, as they came.
pub(crate) type Extra<'a> = Vec<(&'a str, &'a RawValue)>;

impl<M> Object<M> {
    pub(crate) fn clause(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::V2Api => self.api_clause,
            Dialect::V2 | Dialect::V1 => self.clause,
        }
    }

    /// The names of its members, in the order in which they are written.
    pub(crate) fn names(&self, dialect: Dialect) -> impl Iterator<Item = &'static str> {
        let rows = self.rows.iter().filter(move |row| row.is_in(dialect));
        rows.map(|row| row.name)
    }

    /// Reads the members, notes what is missing, and gives back what is not known.
    pub(crate) fn take<'a>(
        &'static self,
        model: &mut M,
        members: impl Iterator<Item = (&'a str, &'a RawValue)>,
        at: &Path<'_>,
        cx: &mut Cx<'_>,
    ) -> (RowStates<M>, Extra<'a>) {
        let mut seen = RowStates {
            object: self,
            states: [State::Absent; MAX_ROWS],
        };
        let mut extra = Vec::new();
        for (name, raw) in members {
            let known = |row: &Row<M>| row.name == name && row.is_in(cx.dialect);
            match self.rows.iter().position(known) {
                Some(place) => {
                    seen.states[place] = self.rows[place].read(model, raw, at, cx);
                }
                None => extra.push((name, raw)),
            }
        }
        for (row, state) in self.rows.iter().zip(seen.states) {
            if state == State::Absent && row.is_in(cx.dialect) {
                row.note_missing(at, cx);
            }
        }
        (seen, extra)
    }

    /// Reads an object at a place into the model; says whether it has all that it needs. `None` if
    /// it is not an object.
    pub(crate) fn read(
        &'static self,
        model: &mut M,
        raw: &RawValue,
        at: &Path<'_>,
        cx: &mut Cx<'_>,
    ) -> Option<bool> {
        self.read_element(model, raw, at, 1, cx)
    }

    fn read_element(
        &'static self,
        model: &mut M,
        raw: &RawValue,
        at: &Path<'_>,
        place: u32,
        cx: &mut Cx<'_>,
    ) -> Option<bool> {
        let at = &at.under(self.clause(cx.dialect));
        let members = object(raw, at, cx.notes)?;
        let (seen, extra) = self.take(model, members.iter(), at, cx);
        extra_fields(&extra, at, cx.notes);
        (self.settle)(model, &seen, place);
        Some(seen.is_whole(cx.dialect))
    }

    /// Reads the members of a message; says whether it has all that it needs.
    pub(crate) fn read_message(
        &'static self,
        model: &mut M,
        members: &Members<'_>,
        cx: &mut Cx<'_>,
    ) -> (RowStates<M>, bool) {
        let at = &Path::root(self.clause(cx.dialect));
        let (seen, extra) = self.take(model, members.iter(), at, cx);
        extra_fields(&extra, at, cx.notes);
        (self.settle)(model, &seen, 1);
        let whole = seen.is_whole(cx.dialect);
        (seen, whole)
    }

    /// Writes the members into an object that is being written.
    pub(crate) fn write<S: SerializeMap>(
        &self,
        model: &M,
        dialect: Dialect,
        map: &mut S,
    ) -> Result<(), S::Error> {
        for row in self.rows {
            match row.spell(model, dialect) {
                Spelling::Absent => {}
                spelled => map.serialize_entry(row.name, &spelled)?,
            }
        }
        Ok(())
    }

    /// The whole object as it is written.
    pub(crate) fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelling<'m> {
        let rows = self.rows.iter();
        let spelled = rows.map(|row| (row.name.into(), row.spell(model, dialect)));
        let written = spelled.filter(|(_, spelled)| !matches!(spelled, Spelling::Absent));
        Spelling::Entries(written.collect())
    }

    /// Describes the object as JSON Schema; a lenient one asks only for what is needed.
    pub(crate) fn schema(&self, dialect: Dialect, reading: Reading) -> Map<String, Json> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for row in self.rows.iter().filter(|row| row.is_in(dialect)) {
            let level = row.level(dialect);
            let mut schema = row.slot.schema(dialect, reading);
            if level.null() || reading == Reading::Lenient && !level.needed() {
                schema = or_null(schema);
            }
            if let Json::Object(schema) = &mut schema {
                schema.insert("description".into(), row.about.trim().into());
            }
            properties.insert(row.name.into(), schema);
            if level.needed() || reading == Reading::Strict && level.expected() {
                required.push(Json::from(row.name));
            }
        }
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        schema.insert("properties".into(), properties.into());
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        if reading == Reading::Strict {
            schema.insert("additionalProperties".into(), false.into());
        }
        schema
    }
}

/// Reads a member into a model and writes it from there.
pub(crate) trait Slot<M>: Sync {
    /// Reads a member that is there and not null; says whether it could be read.
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool;

    /// Takes notice that the member is null.
    fn null(&self, _model: &mut M) {}

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelling<'m>;

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json;
}

/// A field of the model, spelled by a codec.
pub(crate) struct Lens<M, T, C> {
    pub(crate) get: fn(&M) -> &T,
    pub(crate) set: fn(&mut M) -> &mut T,
    pub(crate) codec: PhantomData<fn() -> C>,
}

impl<M, T: 'static, C: Codec<T>> Slot<M> for Lens<M, T, C> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        let value = C::read(raw, at, cx);
        value.map(|value| *(self.set)(model) = value).is_some()
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelling<'m> {
        C::spell((self.get)(model), dialect)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        C::schema(dialect, reading)
    }
}

/// A field of the model that may be empty.
pub(crate) struct Maybe<M, T, C>(pub(crate) Lens<M, Option<T>, C>);

impl<M, T: 'static, C: Codec<T>> Slot<M> for Maybe<M, T, C> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        let value = C::read(raw, at, cx);
        let is_readable = value.is_some();
        if is_readable {
            *(self.0.set)(model) = value;
        }
        is_readable
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelling<'m> {
        let value = (self.0.get)(model).as_ref();
        value.map_or(Spelling::Absent, |value| C::spell(value, dialect))
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        C::schema(dialect, reading)
    }
}

/// A second place of a field: it is read only where the first says nothing.
pub(crate) struct Second<M, T, C>(pub(crate) Lens<M, T, C>);

impl<M, T: Default + PartialEq + 'static, C: Codec<T>> Slot<M> for Second<M, T, C> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        let value = C::read(raw, at, cx);
        let is_readable = value.is_some();
        let place = (self.0.set)(model);
        if let Some(value) = value.filter(|_| *place == T::default()) {
            *place = value;
        }
        is_readable
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelling<'m> {
        self.0.spell(model, dialect)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        self.0.schema(dialect, reading)
    }
}

/// A nested object that stands for parts of the same model.
pub(crate) struct Inside<M: 'static> {
    pub(crate) object: &'static Object<M>,
    pub(crate) is_written: fn(&M) -> bool,
}

impl<M> Slot<M> for Inside<M> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        self.object.read(model, raw, at, cx).is_some()
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelling<'m> {
        if (self.is_written)(model) {
            self.object.spell(model, dialect)
        } else {
            Spelling::Absent
        }
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        self.object.schema(dialect, reading).into()
    }
}

/// A member that is given and taken by functions.
pub(crate) struct By<M, T> {
    pub(crate) give: for<'m> fn(&'m M, Dialect) -> Spelling<'m>,
    pub(crate) take: fn(&mut M, Field<T>),
}

impl<M, T: Value> Slot<M> for By<M, T> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        let value = T::read(raw, at, cx);
        let is_readable = value.is_some();
        (self.take)(model, value.map_or(Field::Unreadable, Field::Is));
        is_readable
    }

    fn null(&self, model: &mut M) {
        (self.take)(model, Field::Null);
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelling<'m> {
        (self.give)(model, dialect)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        T::schema(dialect, reading)
    }
}

/// A slot whose value is written by a function.
pub(crate) struct WithWriter<M, S> {
    pub(crate) give: for<'m> fn(&'m M, Dialect) -> Spelling<'m>,
    pub(crate) slot: S,
}

impl<M, S: Slot<M>> Slot<M> for WithWriter<M, S> {
    fn read(&self, model: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        self.slot.read(model, raw, at, cx)
    }

    fn spell<'m>(&self, model: &'m M, dialect: Dialect) -> Spelling<'m> {
        (self.give)(model, dialect)
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        self.slot.schema(dialect, reading)
    }
}

/// A member that is checked and goes nowhere.
pub(crate) struct Check<T>(pub(crate) PhantomData<fn() -> T>);

impl<M, T: Value> Slot<M> for Check<T> {
    fn read(&self, _: &mut M, raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
        T::read(raw, at, cx).is_some()
    }

    fn spell<'m>(&self, _: &'m M, _: Dialect) -> Spelling<'m> {
        Spelling::Absent
    }

    fn schema(&self, dialect: Dialect, reading: Reading) -> Json {
        T::schema(dialect, reading)
    }
}

/// What stands in a model until a message says otherwise.
pub(crate) trait Draft {
    fn draft(hints: &Hints<'_>) -> Self;
}

macro_rules! empty_drafts {
    ($($type:ty)*) => {$(
        impl Draft for $type {
            fn draft(_: &Hints<'_>) -> Self {
                Self::default()
            }
        }
    )*};
}

empty_drafts! { () bool u32 String Arc<str> Json Arc<Json> Map<String, Json> }

impl<T> Draft for Option<T> {
    fn draft(_: &Hints<'_>) -> Self {
        None
    }
}

impl<T> Draft for Vec<T> {
    fn draft(_: &Hints<'_>) -> Self {
        Self::new()
    }
}

impl<T> Draft for Arc<[T]> {
    fn draft(_: &Hints<'_>) -> Self {
        Self::from([])
    }
}

impl<T> Draft for Rows<T> {
    fn draft(_: &Hints<'_>) -> Self {
        Self::from(Vec::new())
    }
}

impl Draft for LeagueId {
    fn draft(hints: &Hints<'_>) -> Self {
        hints.league(None)
    }
}

impl Draft for GameType {
    fn draft(hints: &Hints<'_>) -> Self {
        hints.game(None)
    }
}

impl Draft for PlayerId {
    fn draft(_: &Hints<'_>) -> Self {
        Self::unknown()
    }
}

/// Stands for a match until the message names it.
impl Draft for MatchId {
    fn draft(_: &Hints<'_>) -> Self {
        Self::numbered(0, 0)
    }
}

/// Says what stands in each field of a model until a message says otherwise: the draft of its type,
/// or what a function of the hints gives.
macro_rules! drafts {
    ($($model:ty { $($field:ident $(= $value:expr)?),* $(,)? })*) => {$(
        impl $crate::shape::Draft for $model {
            fn draft(hints: &$crate::dialect::Hints<'_>) -> Self {
                Self { $($field: $crate::shape::drafts!(@value hints $(, $value)?)),* }
            }
        }
    )*};
    (@value $hints:ident) => { $crate::shape::Draft::draft($hints) };
    (@value $hints:ident, $value:expr) => { ($value)($hints) };
}
pub(crate) use drafts;

/// A list of objects in a model.
pub(crate) trait PartList<T: 'static>: From<Vec<T>> {
    fn spell(&self, object: &'static Object<T>, dialect: Dialect) -> Spelling<'_>;
}

macro_rules! part_lists {
    ($($list:ty)*) => {$(
        impl<T: 'static> PartList<T> for $list {
            fn spell(&self, object: &'static Object<T>, dialect: Dialect) -> Spelling<'_> {
                let parts = self.iter();
                Spelling::List(parts.map(|part| object.spell(part, dialect)).collect())
            }
        }
    )*};
}

part_lists! { Vec<T> Arc<[T]> }

/// Reads a list of objects; one that lacks what it needs is left out.
pub(crate) fn read_parts<T: Draft>(
    object: &'static Object<T>,
    raw: &RawValue,
    at: &Path<'_>,
    cx: &mut Cx<'_>,
) -> Option<Vec<T>> {
    let mut place = 0;
    read_elements(raw, at, cx, |raw, at, cx| {
        let mut part = T::draft(cx.hints);
        place += u32::from(Kind::of(raw) == Kind::Object);
        let is_whole = object.read_element(&mut part, raw, at, place, cx)?;
        is_whole.then_some(part)
    })
}

/// Splits the object at a place, or notes that there is none.
pub fn object<'a>(raw: &'a RawValue, at: &Path<'_>, notes: &mut Notes) -> Option<Members<'a>> {
    match members(raw.get()) {
        Ok(members) => Some(members),
        Err(problem) => {
            not_an_object(&problem, at, notes);
            None
        }
    }
}

/// Notes why a value could not be split into members, and what to do.
pub(crate) fn not_an_object(problem: &MembersError, at: &Path<'_>, notes: &mut Notes) {
    let (expected, remedy) = match problem {
        MembersError::NotAnObject { found } => return wrong_kind(at, notes, "an object", *found),
        MembersError::Repeated { .. } => ("an object with each name once", "send each name once"),
        MembersError::TooMany => ("a smaller object", "send fewer members"),
        MembersError::Syntax { .. } => ("an object", "send JSON"),
    };
    let detail = format!("{problem}; {remedy}");
    notes.refuse(Code::InvalidMessage, at, expected, detail);
}

/// Notes a value of the wrong kind.
pub(crate) fn wrong_kind(at: &Path<'_>, notes: &mut Notes, expected: &str, found: Kind) {
    let detail = format!("found {found}; send {expected}");
    notes.note(Code::InvalidMessage, at, expected, detail);
}

/// JSON of which only kind and length are printed, since anything may stand in it.
pub(crate) struct Hidden<'a>(pub(crate) &'a RawValue);

impl fmt::Debug for Hidden<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(raw) = self;
        write!(f, "<{}, {} bytes>", Kind::of(raw), raw.get().len())
    }
}

/// The same schema, or null.
pub(crate) fn or_null(mut schema: Json) -> Json {
    if let Some(Json::Array(any)) = schema.get_mut("anyOf") {
        any.push(json!({"type": "null"}));
        return schema;
    }
    match schema.get("type") {
        Some(Json::String(kind))
            if schema.get("enum").is_none() && schema.get("const").is_none() =>
        {
            let kind = kind.clone();
            schema["type"] = json!([kind, "null"]);
            schema
        }
        _ if schema.as_object().is_some_and(Map::is_empty) => schema,
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

/// Declares objects on the wire.
///
/// A row reads: a sentence, the name on the wire, the place in the model, and how much it matters.
/// `api LEVEL` says how much by the API page, `in DIALECT` that only one dialect has the row, and
/// `or null` that null is written where there is no value.
///
/// The place is one of:
/// - `[field]`; `[field ?]` for a field that may be empty; `[field as Codec]` for a value that is
///   spelled in its own way; `[give => field]` where a function writes it; `[second field as Codec]`
///   for a place that counts only if the first says nothing;
/// - `[inside OBJECT]` for a nested object that stands for parts of the same model, which may be
///   written only `if` something is the case;
/// - `[by TYPE, give, take]` for a pair of functions, `[= TYPE, give]` for what is written and only
///   checked when read, `[check TYPE]` for what is never written, and `[slot SLOT]` for all else.
macro_rules! objects {
    ($(
        #[doc = $about:literal]
        $vis:vis $name:ident: $model:ty = $clause:literal
        $(, api $api_clause:literal)? $(, settle $settle:path)? {$(
            #[doc = $row_about:literal]
            $wire:literal $slot:tt $level:ident
            $(api $api:ident)? $(in $only:ident)? $(or $null:ident)?;
        )*}
    )*) => {$(
        #[doc = $about]
        $vis static $name: $crate::shape::Object<$model> = $crate::shape::Object {
            about: $about,
            clause: $clause,
            api_clause: $crate::shape::objects!(@last $clause $($api_clause)?),
            settle: $crate::shape::objects!(@settle $($settle)?),
            rows: &[$($crate::shape::Row {
                name: $wire,
                about: $row_about,
                level: $crate::shape::Level::$level,
                api_level: $crate::shape::objects!(@level $level $($api)?),
                only: $crate::shape::objects!(@only $($only)?),
                null: $crate::shape::objects!(@null $($null)?),
                slot: &$crate::shape::objects!(@slot $model, $slot),
            },)*],
        };
    )*};
    (@last $clause:literal) => { $clause };
    (@last $clause:literal $api:literal) => { $api };
    (@settle) => { |_, _, _| () };
    (@settle $settle:path) => { $settle };
    (@level $level:ident) => { $crate::shape::Level::$level };
    (@level $level:ident $api:ident) => { $crate::shape::Level::$api };
    (@only) => { None };
    (@only $only:ident) => { Some($crate::sender::Dialect::$only) };
    (@null) => { false };
    (@null null) => { true };
    (@slot $model:ty, [inside $object:ident]) => {
        $crate::shape::Inside::<$model> { object: &$object, is_written: |_| true }
    };
    (@slot $model:ty, [inside $object:ident if $is_written:expr]) => {
        $crate::shape::Inside::<$model> { object: &$object, is_written: $is_written }
    };
    (@slot $model:ty, [by $type:ty, $give:expr, $take:expr]) => {
        $crate::shape::By::<$model, $type> { give: $give, take: $take }
    };
    (@slot $model:ty, [= $type:ty, $give:expr]) => {
        $crate::shape::By::<$model, $type> { give: $give, take: |_, _| () }
    };
    (@slot $model:ty, [slot $slot:expr]) => { $slot };
    (@slot $model:ty, [check $type:ty]) => {
        $crate::shape::Check::<$type>(std::marker::PhantomData)
    };
    (@slot $model:ty, [$give:path => $($place:tt)+]) => {
        $crate::shape::WithWriter::<$model, _> {
            give: $give,
            slot: $crate::shape::objects!(@slot $model, [$($place)+]),
        }
    };
    (@slot $model:ty, [second $($field:ident).+ as $codec:ty]) => {
        $crate::shape::Second($crate::shape::objects!(@slot $model, [$($field).+ as $codec]))
    };
    (@slot $model:ty, [$($field:ident).+]) => {
        $crate::shape::objects!(@slot $model, [$($field).+ as $crate::shape::Plain])
    };
    (@slot $model:ty, [$($field:ident).+ ?]) => {
        $crate::shape::objects!(@slot $model, [$($field).+ ? as $crate::shape::Plain])
    };
    (@slot $model:ty, [$($field:ident).+ as $codec:ty]) => {
        $crate::shape::Lens::<$model, _, $codec> {
            get: |model| &model.$($field).+,
            set: |model| &mut model.$($field).+,
            codec: std::marker::PhantomData,
        }
    };
    (@slot $model:ty, [$($field:ident).+ ? as $codec:ty]) => {
        $crate::shape::Maybe($crate::shape::objects!(@slot $model, [$($field).+ as $codec]))
    };
}
pub(crate) use objects;
