//! Values that can stand in a member: how each is read, spelled and described in each dialect.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Number, Value as Json, json};
use smol_str::SmolStr;

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::id::{GameType, MatchId, RefereeId};
use crate::lenient::no_zone;
use crate::rpc::MAX_DEPTH;
use crate::rpc::members::{Kind, MembersError, split, text};
use crate::secret::{Commitment, DrawMode, Proof, ProofKey, Seed};
use crate::sender::{CallStyle, Dialect};
use crate::time::{EXPECTED, TimeError, Timestamp};
use crate::token::{AuthToken, MAX_TOKEN_LENGTH, TokenHash};

use super::{Cx, not_an_object, object, wrong_kind};

/// The longest text that a member may hold, in bytes.
pub const MAX_TEXT_LENGTH: usize = 4_096;
/// How many elements an array of a message may have.
pub const MAX_ELEMENTS: usize = 20_000;

/// A value that can stand in a message, and knows its spelling in each dialect.
pub(crate) trait Value: Sized {
    /// Reads the value, or notes why it cannot be read.
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self>;

    fn spell(&self, dialect: Dialect) -> Spelling<'_>;

    /// Describes the value as JSON Schema.
    fn schema(dialect: Dialect, reading: Reading) -> Json;
}

/// A spelling of a type that has several, or belongs to somebody else.
pub(crate) trait Codec<T> {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<T>;

    fn spell(value: &T, dialect: Dialect) -> Spelling<'_>;

    fn schema(dialect: Dialect, reading: Reading) -> Json;
}

/// The spelling that a value has by itself.
pub(crate) struct Plain;

impl<T: Value> Codec<T> for Plain {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<T> {
        T::read(raw, at, cx)
    }

    fn spell(value: &T, dialect: Dialect) -> Spelling<'_> {
        value.spell(dialect)
    }

    fn schema(dialect: Dialect, reading: Reading) -> Json {
        T::schema(dialect, reading)
    }
}

/// A value as it is written.
#[derive(Debug)]
pub(crate) enum Spelling<'m> {
    /// Not written at all.
    Absent,
    Null,
    Text(Cow<'m, str>),
    Whole(u32),
    Flag(bool),
    Json(Cow<'m, Json>),
    List(Vec<Self>),
    Entries(Vec<(Cow<'m, str>, Self)>),
    /// Text that was written before.
    Written(Cow<'m, RawValue>),
}

impl Serialize for Spelling<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent | Self::Null => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Whole(number) => serializer.serialize_u32(*number),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Json(json) => json.serialize(serializer),
            Self::List(elements) => serializer.collect_seq(elements),
            Self::Entries(entries) => {
                serializer.collect_map(entries.iter().map(|(name, value)| (name, value)))
            }
            Self::Written(text) => text.serialize(serializer),
        }
    }
}

impl<'m> Spelling<'m> {
    pub(crate) fn text(text: impl Into<Cow<'m, str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn json(json: &'m Json) -> Self {
        Self::Json(Cow::Borrowed(json))
    }

    /// The text of the value.
    pub(crate) fn written(&self) -> Box<RawValue> {
        to_raw_value(self).unwrap_or_default()
    }
}

/// A member that was read: null, readable or not. One that is not there is absent.
#[derive(Debug, Clone, Default)]
pub(crate) enum Field<T> {
    #[default]
    Absent,
    Null,
    Is(T),
    Unreadable,
}

impl<T> Field<T> {
    /// The value, if there is a readable one.
    pub(crate) fn is(self) -> Option<T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Null | Self::Unreadable => None,
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Null | Self::Unreadable => None,
        }
    }
}

/// What a text can mean.
pub(crate) trait Vocabulary: Sized {
    /// Reads a text, or notes why it has no meaning.
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self>;

    fn text(&self, dialect: Dialect) -> Cow<'_, str>;

    /// Describes the texts as JSON Schema.
    fn schema(dialect: Dialect, reading: Reading) -> Json;
}

impl<T: Vocabulary> Value for T {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        let text = read_text(raw, at, cx)?;
        T::parse(&text, at, cx)
    }

    fn spell(&self, dialect: Dialect) -> Spelling<'_> {
        Spelling::Text(self.text(dialect))
    }

    fn schema(dialect: Dialect, reading: Reading) -> Json {
        T::schema(dialect, reading)
    }
}

/// Reads a text that is not too long.
pub(crate) fn read_text<'a>(
    raw: &'a RawValue,
    at: &Path<'_>,
    cx: &mut Cx<'_>,
) -> Option<Cow<'a, str>> {
    let Some(text) = text(raw) else {
        wrong_kind(at, cx.notes, "a string", Kind::of(raw));
        return None;
    };
    is_within(&text, MAX_TEXT_LENGTH, "text", at, cx).then_some(text)
}

/// A secret that is not too long.
pub(crate) fn secret_text(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
    is_within(text, MAX_TOKEN_LENGTH, "secret", at, cx)
}

fn is_within(text: &str, most: usize, what: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> bool {
    let is_within = text.len() <= most;
    if !is_within {
        let detail = format!("the {what} has {} bytes; send at most {most}", text.len());
        let expected = format!("a shorter {what}");
        cx.note(Code::InvalidMessage, at, expected, detail);
    }
    is_within
}

macro_rules! texts {
    ($($text:ty)*) => {$(
        impl Vocabulary for $text {
            fn parse(text: &str, _: &Path<'_>, _: &mut Cx<'_>) -> Option<Self> {
                Some(text.into())
            }

            fn text(&self, _: Dialect) -> Cow<'_, str> {
                Cow::Borrowed(self)
            }

            fn schema(_: Dialect, _: Reading) -> Json {
                json!({"type": "string", "maxLength": MAX_TEXT_LENGTH})
            }
        }
    )*};
}

texts! { String SmolStr Arc<str> }

macro_rules! ids {
    ($($id:ty)*) => {$(
        impl Vocabulary for $id {
            fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
                id(Self::new(text), text, at, cx)
            }

            fn text(&self, _: Dialect) -> Cow<'_, str> {
                Cow::Borrowed(self.as_str())
            }

            fn schema(_: Dialect, _: Reading) -> Json {
                id_schema()
            }
        }
    )*};
}

ids! { GameType MatchId RefereeId }

/// An id, or a note why the text is none.
pub(crate) fn id<Id>(
    id: Result<Id, crate::id::IdError>,
    text: &str,
    at: &Path<'_>,
    cx: &mut Cx<'_>,
) -> Option<Id> {
    if let Err(problem) = &id {
        let detail = format!("`{}` is no id: {problem}", excerpt(text));
        cx.note(Code::InvalidMessage, at, "an id", detail);
    }
    id.ok()
}

pub(crate) fn id_schema() -> Json {
    json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"})
}

impl Vocabulary for AuthToken {
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        secret_text(text, at, cx).then(|| Self::new(text))
    }

    fn text(&self, _: Dialect) -> Cow<'_, str> {
        Cow::Borrowed(self.reveal())
    }

    fn schema(_: Dialect, _: Reading) -> Json {
        json!({"type": "string", "maxLength": MAX_TOKEN_LENGTH})
    }
}

impl Vocabulary for Timestamp {
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        let at = &at.under("000 §2.4.2");
        let problem = match Self::parse(text) {
            Ok(moment) => return Some(moment),
            Err(problem) => problem,
        };
        let detail = no_time(text, &problem);
        match problem {
            TimeError::NoZone(moment) => {
                no_zone(&detail, at, cx.notes);
                Some(moment)
            }
            TimeError::Spelling(moment) => {
                cx.forgive(Code::InvalidTimestamp, at, EXPECTED, detail);
                Some(moment)
            }
            TimeError::NotUtc(_) => {
                cx.refuse(Code::InvalidTimestamp, at, EXPECTED, detail);
                None
            }
            TimeError::NotATime => {
                cx.note(Code::InvalidTimestamp, at, EXPECTED, detail);
                None
            }
        }
    }

    fn text(&self, _: Dialect) -> Cow<'_, str> {
        Cow::Owned(self.to_seconds_text())
    }

    fn schema(_: Dialect, reading: Reading) -> Json {
        match reading {
            Reading::Strict => utc_schema(reading),
            Reading::Lenient => json!({"anyOf": [
                utc_schema(reading),
                {"type": "string", "pattern": format!("{DAY}T{TIME_OF_DAY}$")},
            ]}),
        }
    }
}

const DAY: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}";
const TIME_OF_DAY: &str = "[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?";

/// What says UTC: as 000 table 3 writes it, or also as others do.
pub(crate) fn utc_schema(reading: Reading) -> Json {
    let pattern = match reading {
        Reading::Strict => format!("{DAY}T{TIME_OF_DAY}(Z|\\+00:00)$"),
        Reading::Lenient => {
            let ends = "(Z|z|\\+00:00Z|[+-]00:?00|\\+00|UTC|GMT)";
            format!("{DAY}[Tt ]{TIME_OF_DAY} ?{ends}$")
        }
    };
    json!({"type": "string", "pattern": pattern})
}

/// Says why a text is no time, and what to send.
pub(crate) fn no_time(text: &str, problem: &TimeError) -> String {
    match problem {
        TimeError::NotUtc(_) | TimeError::NoZone(_) | TimeError::Spelling(_) => problem.to_string(),
        TimeError::NotATime => format!("`{}` is no time: {problem}", excerpt(text)),
    }
}

/// A closed list of words.
pub(crate) trait Closed: Copy + PartialEq + 'static {
    /// The code of a word that is not in the list.
    const CODE: Code = Code::InvalidMessage;

    fn words(dialect: Dialect) -> &'static [(Self, &'static str)];

    fn word(self, dialect: Dialect) -> &'static str {
        let mut words = Self::words(dialect).iter();
        let found = words.find(|(value, _)| *value == self);
        found.map_or("", |(_, word)| word)
    }
}

impl<T: Closed> Vocabulary for T {
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        let words = T::words(cx.dialect);
        let known = words.iter().find(|(_, word)| *word == text);
        if known.is_none() {
            let listed: Vec<String> = words.iter().map(|(_, word)| format!("`{word}`")).collect();
            let expected = listed.join(" or ");
            let detail = format!("found `{}`; send {expected}", excerpt(text));
            cx.note(T::CODE, at, expected, detail);
        }
        known.map(|(value, _)| *value)
    }

    fn text(&self, dialect: Dialect) -> Cow<'_, str> {
        Cow::Borrowed(self.word(dialect))
    }

    fn schema(dialect: Dialect, _: Reading) -> Json {
        let words: Vec<_> = T::words(dialect).iter().map(|(_, word)| *word).collect();
        json!({"type": "string", "enum": words})
    }
}

impl Vocabulary for Code {
    fn parse(text: &str, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        let code = Self::parse(text);
        if code.is_none() {
            let detail = format!("`{}` is no error code of the league", excerpt(text));
            let expected = "a code of the closed list, from `E001` to `E013`, `E018` or `E021`";
            let at = &at.under("000 §2.9.3");
            cx.note(Self::InvalidMessage, at, expected, detail);
        }
        code
    }

    fn text(&self, _: Dialect) -> Cow<'_, str> {
        Cow::Borrowed(self.as_str())
    }

    fn schema(_: Dialect, _: Reading) -> Json {
        let codes: Vec<_> = Self::ALL.iter().map(|code| code.as_str()).collect();
        json!({"type": "string", "enum": codes})
    }
}

/// A yes or no that is spelled as one of two words.
pub(crate) trait Choice {
    /// The words for yes and no.
    fn words(dialect: Dialect) -> [&'static str; 2];
}

impl<C: Choice> Codec<bool> for C {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<bool> {
        let text = read_text(raw, at, cx)?;
        let [yes, no] = C::words(cx.dialect);
        if text != yes && text != no {
            let expected = format!("`{yes}` or `{no}`");
            let detail = format!("found `{}`; send {expected}", excerpt(&text));
            cx.note(Code::InvalidMessage, at, expected, detail);
            return None;
        }
        Some(text == yes)
    }

    fn spell(value: &bool, dialect: Dialect) -> Spelling<'_> {
        let [yes, no] = C::words(dialect);
        Spelling::text(if *value { yes } else { no })
    }

    fn schema(dialect: Dialect, _: Reading) -> Json {
        json!({"type": "string", "enum": C::words(dialect)})
    }
}

/// A text that is no mistake where it means nothing to us: it counts as not there.
pub(crate) trait QuietText: Sized {
    /// What should be sent.
    const EXPECTED: &'static str;
    /// The same as a regular expression.
    const PATTERN: &'static str;

    fn parse(text: &str) -> Option<Self>;

    fn text(&self) -> Cow<'_, str>;
}

/// The spelling of a [`QuietText`].
pub(crate) struct Quiet;

impl<T: QuietText> Codec<T> for Quiet {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<T> {
        T::parse(&read_text(raw, at, cx)?)
    }

    fn spell(value: &T, _: Dialect) -> Spelling<'_> {
        Spelling::Text(value.text())
    }

    fn schema(dialect: Dialect, reading: Reading) -> Json {
        <String as Value>::schema(dialect, reading)
    }
}

impl QuietText for CallStyle {
    const EXPECTED: &'static str = "`simple` or `mcp`";
    const PATTERN: &'static str = "^(simple|mcp)$";

    fn parse(text: &str) -> Option<Self> {
        Self::parse(text)
    }

    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.as_str())
    }
}

macro_rules! hex {
    ($($type:ty)*) => {$(
        impl QuietText for $type {
            const EXPECTED: &'static str = "64 hex digits";
            const PATTERN: &'static str = "^[0-9A-Fa-f]{64}$";

            fn parse(text: &str) -> Option<Self> {
                Self::from_hex(text)
            }

            fn text(&self) -> Cow<'_, str> {
                Cow::Owned(self.to_hex())
            }
        }
    )*};
}

hex! { Commitment Seed TokenHash Proof ProofKey }

impl QuietText for DrawMode {
    const EXPECTED: &'static str = "`chance` or `reproducible`";
    const PATTERN: &'static str = "^(chance|reproducible)$";

    fn parse(text: &str) -> Option<Self> {
        Self::parse(text)
    }

    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.as_str())
    }
}

impl QuietText for Dialect {
    const EXPECTED: &'static str = "`v2`, `v2-api` or `v1`";
    const PATTERN: &'static str = "^(v2|v2-api|v1)$";

    fn parse(text: &str) -> Option<Self> {
        Self::parse(text)
    }

    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.as_str())
    }
}

/// A whole number that is not negative and fits into 32 bits: the league counts nothing higher.
impl Value for u32 {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        let number = raw.get().parse().ok();
        if number.is_none() {
            let detail = format!("found `{}`; send a whole number", excerpt(raw.get()));
            let expected = "a whole number from 0 to 4294967295";
            cx.note(Code::InvalidMessage, at, expected, detail);
        }
        number
    }

    fn spell(&self, _: Dialect) -> Spelling<'_> {
        Spelling::Whole(*self)
    }

    fn schema(_: Dialect, _: Reading) -> Json {
        json!({"type": "integer", "minimum": 0, "maximum": Self::MAX})
    }
}

/// Any number that 64 bits can hold.
impl Value for Number {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        let number = serde_json::from_str(raw.get()).ok();
        if number.is_none() {
            wrong_kind(at, cx.notes, "a number", Kind::of(raw));
        }
        number
    }

    fn spell(&self, _: Dialect) -> Spelling<'_> {
        Spelling::Json(Cow::Owned(Json::Number(self.clone())))
    }

    fn schema(_: Dialect, _: Reading) -> Json {
        json!({"type": "number"})
    }
}

impl Value for bool {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        match raw.get() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                wrong_kind(at, cx.notes, "`true` or `false`", Kind::of(raw));
                None
            }
        }
    }

    fn spell(&self, _: Dialect) -> Spelling<'_> {
        Spelling::Flag(*self)
    }

    fn schema(_: Dialect, _: Reading) -> Json {
        json!({"type": "boolean"})
    }
}

/// The number of a round: `1`, or `"ROUND_1"` by the API page; `league.v2` reads both.
pub(crate) struct Round;

impl Codec<u32> for Round {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<u32> {
        if cx.dialect == Dialect::V1 {
            return u32::read(raw, at, cx);
        }
        let round = match text(raw) {
            None => serde_json::from_str(raw.get()).ok(),
            Some(text) => Self::parse(&text),
        };
        if round.is_none() {
            let found = excerpt(raw.get());
            let detail = format!("found `{found}`; send the number of the round");
            let expected = "a round: `1` or `\"ROUND_1\"`";
            cx.note(Code::InvalidMessage, at, expected, detail);
        }
        round
    }

    fn spell(value: &u32, dialect: Dialect) -> Spelling<'_> {
        match dialect {
            Dialect::V2Api => Spelling::Text(Cow::Owned(Self::name(*value))),
            Dialect::V2 | Dialect::V1 => Spelling::Whole(*value),
        }
    }

    fn schema(dialect: Dialect, reading: Reading) -> Json {
        let number = u32::schema(dialect, reading);
        match dialect {
            Dialect::V1 => number,
            Dialect::V2 | Dialect::V2Api => json!({"anyOf": [
                number,
                {"type": "string", "pattern": "^ROUND_(0|[1-9][0-9]*)$"},
            ]}),
        }
    }
}

impl Round {
    pub(crate) fn name(number: u32) -> String {
        format!("ROUND_{number}")
    }

    fn parse(name: &str) -> Option<u32> {
        let digits = name.strip_prefix("ROUND_")?;
        let canonical = !digits.starts_with(['0', '+']) || digits == "0";
        canonical.then(|| digits.parse().ok())?
    }
}

/// JSON that is passed through.
impl Value for Json {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        settled(raw, at, cx.notes).then(|| serde_json::from_str(raw.get()).unwrap_or(Self::Null))
    }

    fn spell(&self, _: Dialect) -> Spelling<'_> {
        Spelling::json(self)
    }

    fn schema(_: Dialect, _: Reading) -> Json {
        json!({})
    }
}

/// JSON that is an object, passed through; what is none counts as an empty one.
impl Value for Map<String, Json> {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        match Json::read(raw, at, cx)? {
            Json::Object(map) => Some(map),
            _ => Some(Self::new()),
        }
    }

    fn spell(&self, _: Dialect) -> Spelling<'_> {
        let entries = self.iter();
        Spelling::Entries(
            entries
                .map(|(name, value)| (name.into(), Spelling::json(value)))
                .collect(),
        )
    }

    fn schema(_: Dialect, _: Reading) -> Json {
        json!({})
    }
}

/// Reads the elements of an array; those that cannot be read are left out.
pub(crate) fn read_elements<T>(
    raw: &RawValue,
    at: &Path<'_>,
    cx: &mut Cx<'_>,
    mut read: impl FnMut(&RawValue, &Path<'_>, &mut Cx<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    if Kind::of(raw) != Kind::Array {
        wrong_kind(at, cx.notes, "an array", Kind::of(raw));
        return None;
    }
    let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).ok()?;
    let length = elements.len();
    if length > MAX_ELEMENTS {
        let detail = format!("the array has {length} elements; send at most {MAX_ELEMENTS}");
        cx.refuse(Code::InvalidMessage, at, "a shorter array", detail);
        return None;
    }
    let mut list = Vec::with_capacity(length);
    for (index, element) in elements.into_iter().enumerate() {
        list.extend(read(element, &at.element(index), cx));
    }
    Some(list)
}

pub(crate) fn spell_list<T: Value>(values: &[T], dialect: Dialect) -> Spelling<'_> {
    let elements = values.iter().map(|value| value.spell(dialect));
    Spelling::List(elements.collect())
}

macro_rules! lists {
    ($($list:ty)*) => {$(
        impl<T: Value> Value for $list {
            fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
                read_elements(raw, at, cx, T::read).map(Into::into)
            }

            fn spell(&self, dialect: Dialect) -> Spelling<'_> {
                spell_list(self, dialect)
            }

            fn schema(dialect: Dialect, reading: Reading) -> Json {
                json!({"type": "array", "items": T::schema(dialect, reading)})
            }
        }
    )*};
}

lists! { Vec<T> Arc<[T]> }

impl<T: Value> Value for Arc<T> {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        T::read(raw, at, cx).map(Self::new)
    }

    fn spell(&self, dialect: Dialect) -> Spelling<'_> {
        T::spell(self, dialect)
    }

    fn schema(dialect: Dialect, reading: Reading) -> Json {
        T::schema(dialect, reading)
    }
}

/// An object whose names are free, such as points by player; a value that could not be read is
/// empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dict<T>(pub(crate) Vec<(String, Option<T>)>);

impl<T> Dict<T> {
    /// The entries that could be read.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &T)> {
        let entries = self.0.iter();
        entries.filter_map(|(name, value)| Some((name.as_ref(), value.as_ref()?)))
    }
}

impl<T: Value> Value for Dict<T> {
    fn read(raw: &RawValue, at: &Path<'_>, cx: &mut Cx<'_>) -> Option<Self> {
        let members = object(raw, at, cx.notes)?;
        let mut entries = Vec::with_capacity(members.len());
        for (name, raw) in members.iter() {
            let value = T::read(raw, &at.member(name, true), cx);
            entries.push((name.to_owned(), value));
        }
        Some(Self(entries))
    }

    fn spell(&self, dialect: Dialect) -> Spelling<'_> {
        let entries = self.entries();
        Spelling::Entries(
            entries
                .map(|(name, value)| (name.into(), value.spell(dialect)))
                .collect(),
        )
    }

    fn schema(dialect: Dialect, reading: Reading) -> Json {
        json!({"type": "object", "additionalProperties": T::schema(dialect, reading)})
    }
}

/// Whether free JSON means one thing: each name once, each number one that can be held.
///
/// A repeated name is never forgiven, since readers differ in which of the two they take. What
/// cannot be held is forgiven where the message does not hang on it, and counts as not there.
pub(crate) fn settled(raw: &RawValue, at: &Path<'_>, notes: &mut Notes) -> bool {
    settled_within(raw, at, notes, MAX_DEPTH)
}

fn settled_within(raw: &RawValue, at: &Path<'_>, notes: &mut Notes, depth: usize) -> bool {
    match Kind::of(raw) {
        Kind::Object | Kind::Array if depth == 0 => {
            let detail =
                format!("the value nests deeper than {MAX_DEPTH} levels; send a flatter one");
            notes.refuse(Code::InvalidMessage, at, "a flatter value", detail);
            false
        }
        Kind::Object => settled_object(raw, at, notes, depth - 1),
        Kind::Array => settled_array(raw, at, notes, depth - 1),
        Kind::Number => settled_number(raw, at, notes),
        Kind::String | Kind::Boolean | Kind::Null => true,
    }
}

fn settled_object(raw: &RawValue, at: &Path<'_>, notes: &mut Notes, depth: usize) -> bool {
    let split = split(raw.get());
    let problem = match &split {
        Err(problem) => Some(problem.clone()),
        Ok(members) => members.repeated().map(MembersError::repeated),
    };
    if let Some(problem) = problem {
        not_an_object(&problem, at, notes);
        return false;
    }
    let mut members = split.into_iter().flatten();
    members.all(|(name, value)| settled_within(value, &at.member(&name, true), notes, depth))
}

fn settled_array(raw: &RawValue, at: &Path<'_>, notes: &mut Notes, depth: usize) -> bool {
    let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
    let mut elements = elements.into_iter().enumerate();
    elements.all(|(index, value)| settled_within(value, &at.element(index), notes, depth))
}

fn settled_number(raw: &RawValue, at: &Path<'_>, notes: &mut Notes) -> bool {
    let held = serde_json::from_str::<serde_json::Number>(raw.get()).is_ok();
    if !held {
        let detail = "the number is out of range; send one that a 64-bit float can hold";
        notes.note(Code::InvalidMessage, at, "a number in range", detail);
    }
    held
}
