//! A whole body: one message, a batch, or a refusal.
//!
//! Opening needs no era, so that a body may be split first, its era be told from what is inside,
//! and the same split then be read by that era's rules.

use std::fmt;
use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::Finder;
use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::body::{Broken, is_space, text};
use super::era::Era;
use super::error::Refusal;
use super::frame::{Frame, frame};
use super::members::{self, Members, MembersError, members, split};

/// How many messages a batch may hold.
pub const MAX_BATCH: usize = 64;

/// A body, read by the rules of an era.
#[derive(Debug, Clone)]
pub enum Incoming<'a> {
    /// One message.
    Single(Frame<'a>),
    /// Several messages, each to be served whatever becomes of the others.
    Batch(Vec<Frame<'a>>),
    /// No message at all.
    Refused(Refusal),
}

/// Reads a body by the rules of an era.
#[must_use]
pub fn read(body: &[u8], era: Era) -> Incoming<'_> {
    match open(body) {
        Ok(opened) => opened.read(era),
        Err(broken) => Incoming::Refused(broken.into()),
    }
}

/// One message split into its members with repeated names kept, or why it cannot be split.
pub type Element<'a> = Result<Members<'a>, MembersError>;

/// A body that is JSON within our bounds, split but not judged.
#[derive(Debug, Clone)]
pub enum Opened<'a> {
    /// Anything but an array.
    Single(Element<'a>),
    /// An array.
    Batch {
        /// The first [`MAX_BATCH`] elements.
        elements: Vec<Element<'a>>,
        /// How many there were.
        length: usize,
    },
}

/// Splits a body into the members of its messages.
///
/// # Errors
///
/// Refuses what is too large, is not JSON, or could not be parsed safely.
pub fn open(body: &[u8]) -> Result<Opened<'_>, Broken> {
    let text = text(body)?;
    if !text.trim_start_matches(is_space).starts_with('[') {
        return checked(split(text)).map(Opened::Single);
    }
    let array: Array<'_, MAX_BATCH> =
        serde_json::from_str(text).map_err(|error| Broken::NotJson {
            line: error.line(),
            column: error.column(),
        })?;
    let split_each = array
        .kept
        .iter()
        .map(|element| checked(split(element.get())));
    let elements = split_each.collect::<Result<_, _>>()?;
    Ok(Opened::Batch {
        elements,
        length: array.length,
    })
}

impl<'a> Opened<'a> {
    /// Tells the era from the `MCP-Protocol-Version` header and from what the body holds.
    ///
    /// Modern metadata inside is proof of the modern era, whatever the header says. Without header
    /// and metadata, one method of MCP makes a body the oldest MCP, and all else is plain JSON-RPC.
    /// `ping` belongs to both, and counts as plain. A version that nobody knows gives nothing.
    #[must_use]
    pub fn era(&self, version: Option<&str>) -> Option<Era> {
        let named = version.map(Era::of_version);
        let mut objects = self.elements().iter().flatten();
        // A header that says so already saves the look inside.
        if named == Some(Some(Era::Modern)) || objects.clone().any(has_modern_metadata) {
            return Some(Era::Modern);
        }
        match named {
            Some(era) => era,
            None if objects.any(calls_mcp) => Some(Era::LegacyWithBatch),
            None => Some(Era::Simple),
        }
    }

    /// Lists the messages, split but not judged.
    pub fn elements(&self) -> &[Element<'a>] {
        match self {
            Self::Single(element) => std::slice::from_ref(element),
            Self::Batch { elements, .. } => elements,
        }
    }

    /// Judges the messages by the rules of an era.
    #[must_use]
    pub fn read(self, era: Era) -> Incoming<'a> {
        match self {
            Self::Single(element) => Incoming::Single(frame(element, era, false)),
            Self::Batch { elements, length } => match refused_batch(length, era) {
                Some(refusal) => Incoming::Refused(refusal),
                None => Incoming::Batch(
                    elements
                        .into_iter()
                        .map(|element| frame(element, era, true))
                        .collect(),
                ),
            },
        }
    }
}

fn refused_batch(length: usize, era: Era) -> Option<Refusal> {
    if !era.takes_batches() {
        return Some(Refusal::invalid(
            "Batching is not supported in this protocol version. Send one object per body.",
        ));
    }
    if length == 0 {
        return Some(Refusal::invalid(
            "The batch is empty. Send at least one message.",
        ));
    }
    (length > MAX_BATCH).then(|| {
        Refusal::invalid(format!(
            "A batch may hold {MAX_BATCH} messages, not {length}."
        ))
    })
}

/// Lifts a syntax error to the body as a whole; all else concerns one message.
fn checked(element: Element<'_>) -> Result<Element<'_>, Broken> {
    match element {
        Err(MembersError::Syntax { line, column }) => Err(Broken::NotJson { line, column }),
        other => Ok(other),
    }
}

fn calls_mcp(message: &Members<'_>) -> bool {
    let method = message.get("method").and_then(members::text);
    method.is_some_and(|method| method == "initialize" || method.contains('/'))
}

fn has_modern_metadata(message: &Members<'_>) -> bool {
    const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    let params = message
        .get("params")
        .filter(|params| may_have_metadata(params));
    let params = params.and_then(|params| members(params.get()).ok());
    let metadata = params.and_then(|params| members(params.get("_meta")?.get()).ok());
    metadata.is_some_and(|metadata| metadata.has(VERSION))
}

/// Tells whether a member `_meta` can be anywhere in a value, so that most need no splitting: the
/// name is there letter by letter, or something is escaped.
fn may_have_metadata(value: &RawValue) -> bool {
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("_meta"));
    let bytes = value.get().as_bytes();
    NAME.find(bytes).is_some() || memchr(b'\\', bytes).is_some()
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
