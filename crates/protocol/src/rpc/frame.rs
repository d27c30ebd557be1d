//! Incoming bodies: one message, a batch, or a refusal, by the rules of an era.
//!
//! Opening a body needs no era: the body is split first, its era is found from its content, and the
//! same members are then judged by the rules of that era.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::Finder;
use serde_json::value::RawValue;

use super::members::{
    self, Array, Broken, Kind, Members, MembersError, body_text, is_space, members, split, text,
};
use super::outgoing::{Refusal, RpcError, Status, fail};
use super::reply::{Response, read_response};
use crate::finding::excerpt;

/// Checks that a `Content-Type` declares JSON, whatever its parameters.
///
/// A missing header is refused as well: a web page can post a body without one to any port, while
/// declaring JSON requires the server's permission.
///
/// # Errors
///
/// Returns the error to answer with, under status 415.
pub fn check_content_type(header: Option<&str>) -> Result<(), Refusal> {
    // The usual spelling, checked first because it needs no parsing.
    if header == Some("application/json") || header.is_some_and(is_json) {
        return Ok(());
    }
    let wanted = "The request must carry the header `Content-Type: application/json`.";
    Err(Refusal {
        error: RpcError::invalid_request(wanted),
        status: Status::UnsupportedMediaType,
    })
}

fn is_json(header: &str) -> bool {
    const FAMILY: &str = "application/";
    const SUFFIX: &str = "+json";
    let media_type = header.split(';').next().unwrap_or_default().trim();
    let Some((family, subtype)) = media_type.split_at_checked(FAMILY.len()) else {
        return false;
    };
    let name = subtype
        .len()
        .checked_sub(SUFFIX.len())
        .and_then(|end| subtype.split_at_checked(end))
        .filter(|(_, suffix)| suffix.eq_ignore_ascii_case(SUFFIX))
        .map(|(name, _)| name);
    family.eq_ignore_ascii_case(FAMILY)
        && (subtype.eq_ignore_ascii_case("json") || name.is_some_and(is_name))
}

fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

/// The framing rules that a peer follows.
///
/// Plain JSON-RPC and the MCP revisions differ in the ids they allow, in whether a body may hold
/// several messages, and in how an error marks an unreadable id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Plain JSON-RPC 2.0, where the method is the tool.
    Simple,
    /// MCP up to 2025-03-26, or without a version header: batches are served.
    LegacyWithBatch,
    /// MCP 2025-06-18 and 2025-11-25: batches are not allowed.
    Legacy,
    /// MCP from 2026-07-28 on: no sessions, no batches, no null ids in either direction.
    Modern,
}

impl Era {
    /// Finds the era of an `MCP-Protocol-Version` header; `None` if the version is unknown.
    #[must_use]
    pub fn of_version(version: &str) -> Option<Self> {
        match version {
            "2024-11-05" | "2025-03-26" => Some(Self::LegacyWithBatch),
            "2025-06-18" | "2025-11-25" => Some(Self::Legacy),
            "2026-07-28" => Some(Self::Modern),
            _ => None,
        }
    }

    /// Whether one body may hold several messages.
    #[must_use]
    pub fn takes_batches(self) -> bool {
        matches!(self, Self::Simple | Self::LegacyWithBatch)
    }

    /// Whether the era is any revision of MCP.
    #[must_use]
    pub fn is_mcp(self) -> bool {
        self != Self::Simple
    }

    /// Whether an error for an unreadable request id has `"id":null`; otherwise it has no `id`.
    #[must_use]
    pub fn writes_null_ids(self) -> bool {
        self != Self::Modern
    }
}

/// How many messages a batch may hold.
pub const MAX_BATCH: usize = 64;

/// A body, read by the rules of an era.
#[derive(Debug, Clone)]
pub enum Incoming<'a> {
    /// One message.
    Single(Frame<'a>),
    /// Several messages, each served independently of the others.
    Batch(Vec<Frame<'a>>),
    /// Not a message.
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
/// Refuses a body that is too large, is not JSON, or could not be parsed safely.
pub fn open(body: &[u8]) -> Result<Opened<'_>, Broken> {
    let text = body_text(body)?;
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
    /// Determines the era from the `MCP-Protocol-Version` header and from the body.
    ///
    /// Modern metadata in the body proves the modern era, whatever the header says. Without header
    /// and metadata, one MCP method makes a body the oldest MCP, and everything else is plain
    /// JSON-RPC. `ping` belongs to both and counts as plain. An unknown version gives `None`.
    #[must_use]
    pub fn era(&self, version: Option<&str>) -> Option<Era> {
        let named = version.map(Era::of_version);
        let mut objects = self.elements().iter().flatten();
        // A modern header makes the search in the body unnecessary.
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

/// Reports a syntax error for the whole body; all other faults concern one message.
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

/// Whether a value can contain a member `_meta`: its text has the name literally, or an escape.
/// This saves splitting most values.
fn may_have_metadata(value: &RawValue) -> bool {
    static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("_meta"));
    let bytes = value.get().as_bytes();
    NAME.find(bytes).is_some() || memchr(b'\\', bytes).is_some()
}

/// The longest method name that is accepted, in bytes.
pub const MAX_METHOD: usize = 128;

/// One message of a body.
#[derive(Debug, Clone)]
pub enum Frame<'a> {
    /// A request, which must get exactly one answer.
    Call(Call<'a>),
    /// A request without an id, which never gets an answer.
    Notification(Notification<'a>),
    /// An answer to a call that we may have made.
    Response(Response<'a>),
    /// None of these; the error to answer with is inside.
    Malformed(Malformed<'a>),
}

/// A request that expects an answer.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The id to answer under.
    pub id: Id<'a>,
    /// The method, unescaped.
    pub method: Cow<'a, str>,
    /// The parameters, unread.
    pub params: Params<'a>,
}

/// A request that does not expect an answer.
#[derive(Debug, Clone)]
pub struct Notification<'a> {
    /// The method, unescaped.
    pub method: Cow<'a, str>,
    /// The parameters, unread.
    pub params: Params<'a>,
}

/// An invalid message, and the error to answer with.
#[derive(Debug, Clone)]
pub struct Malformed<'a> {
    /// The id, if it is certain.
    pub id: Option<Id<'a>>,
    /// The member at fault; empty for the message as a whole.
    pub place: &'static str,
    /// The error.
    pub error: RpcError,
}

impl Malformed<'_> {
    /// Writes the answer.
    #[must_use]
    pub fn answer(&self, era: Era) -> Vec<u8> {
        fail(self.id.as_ref(), &self.error, era)
    }

    /// Suggests the HTTP status if this was the only message of its body.
    #[must_use]
    pub fn status(&self, era: Era) -> Status {
        self.error.status(era)
    }
}

/// The parameters of a request; `Debug` prints only their kind.
#[derive(Clone, Copy)]
pub enum Params<'a> {
    /// There are none.
    Absent,
    /// By name: a JSON object.
    Named(&'a RawValue),
    /// By place: a JSON array.
    Placed(&'a RawValue),
}

impl fmt::Debug for Params<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "Absent",
            Self::Named(_) => "Named(…)",
            Self::Placed(_) => "Placed(…)",
        })
    }
}

impl<'a> Params<'a> {
    /// Returns the JSON, if there is any.
    pub fn text(self) -> Option<&'a str> {
        match self {
            Self::Absent => None,
            Self::Named(raw) | Self::Placed(raw) => Some(raw.get()),
        }
    }

    /// Returns the object, or nothing if there are no parameters.
    ///
    /// # Errors
    ///
    /// Positional parameters are answered with this error. Every tool of the league and every
    /// method of MCP names its parameters.
    pub fn named(self) -> Result<Option<&'a RawValue>, RpcError> {
        match self {
            Self::Absent => Ok(None),
            Self::Named(object) => Ok(Some(object)),
            Self::Placed(_) => {
                let message = "`params` is an array. Send an object that names each parameter.";
                Err(RpcError::invalid_params(message))
            }
        }
    }
}

/// Reads one message.
pub(crate) fn frame<'a>(element: Element<'a>, era: Era, in_batch: bool) -> Frame<'a> {
    let read = element
        .map_err(|error| unreadable(&error))
        .and_then(|members| {
            if is_response(&members) {
                posted(&members, era)
            } else {
                request(&members, era, in_batch)
            }
        });
    read.unwrap_or_else(Frame::Malformed)
}

/// Whether the members are those of a response; a `method` makes any message a request.
fn is_response(members: &Members<'_>) -> bool {
    !members.has("method") && (members.has("result") || members.has("error"))
}

fn unreadable<'a>(error: &MembersError) -> Malformed<'a> {
    let message = match error {
        MembersError::NotAnObject { found } => {
            format!("A message must be a JSON-RPC 2.0 object, not {found}.")
        }
        other => format!("The message cannot be read: {other}."),
    };
    Malformed {
        id: None,
        place: "",
        error: RpcError::invalid_request(message),
    }
}

/// Reads a response that was posted to us; modern MCP does not allow one.
fn posted<'a>(members: &Members<'a>, era: Era) -> Result<Frame<'a>, Malformed<'a>> {
    let refuse = |error| Malformed {
        id: None,
        place: "",
        error,
    };
    if era == Era::Modern {
        return Err(refuse(RpcError::unasked_response()));
    }
    let response = read_response(members, era).map_err(|fault| {
        refuse(RpcError::invalid_request(format!(
            "The posted response is not one: {fault}."
        )))
    })?;
    Ok(Frame::Response(response))
}

fn request<'a>(
    members: &Members<'a>,
    era: Era,
    in_batch: bool,
) -> Result<Frame<'a>, Malformed<'a>> {
    let id = match members.count("id") {
        1 => members.get("id").map(|id| Id::read(id, era)).transpose(),
        _ => Ok(None),
    };
    let id = id.map_err(|error| Malformed {
        id: None,
        place: "id",
        error,
    })?;
    match named_parts(members).and_then(|parts| check_method(parts, id.is_some(), era, in_batch)) {
        Err((place, error)) => Err(Malformed { id, place, error }),
        Ok((method, params)) => Ok(match id {
            Some(id) => Frame::Call(Call { id, method, params }),
            None => Frame::Notification(Notification { method, params }),
        }),
    }
}

type Parts<'a> = (Cow<'a, str>, Params<'a>);
/// The member at fault, and the error.
type Misplaced = (&'static str, RpcError);

/// Reads everything but the id, in the order in which a developer would fix the faults.
fn named_parts<'a>(members: &Members<'a>) -> Result<Parts<'a>, Misplaced> {
    let refused = |place, message: String| Err((place, RpcError::invalid_request(message)));
    if let Some(name) = members.repeated() {
        let name = excerpt(name);
        let message = format!("Member `{name}` appears more than once. Send each member once.");
        return refused("", message);
    }
    if members.get("jsonrpc").and_then(text).as_deref() != Some("2.0") {
        let message = "`jsonrpc` must be the string \"2.0\".".to_owned();
        return refused("jsonrpc", message);
    }
    let Some(method) = members.get("method").and_then(text) else {
        let message = "`method` must be a string that names the method.".to_owned();
        return refused("method", message);
    };
    if method.len() > MAX_METHOD {
        let message = format!("`method` is longer than {MAX_METHOD} bytes.");
        return refused("method", message);
    }
    let params = params(members).map_err(|error| ("params", error))?;
    Ok((method, params))
}

fn params<'a>(members: &Members<'a>) -> Result<Params<'a>, RpcError> {
    let Some(params) = members.get("params") else {
        return Ok(Params::Absent);
    };
    match Kind::of(params) {
        Kind::Object => Ok(Params::Named(params)),
        Kind::Array => Ok(Params::Placed(params)),
        found => {
            let message =
                format!("`params` must be an object or an array, not {found}. Or leave it out.");
            Err(RpcError::invalid_request(message))
        }
    }
}

/// Refuses calls of reserved methods, and `initialize` in an MCP batch. Such a notification cannot
/// be answered, so it is passed on and ignored like any unknown one.
fn check_method<'a>(
    parts: Parts<'a>,
    is_call: bool,
    era: Era,
    in_batch: bool,
) -> Result<Parts<'a>, Misplaced> {
    let method = parts.0.as_ref();
    if is_call && method.starts_with("rpc.") {
        return Err(("method", RpcError::method_not_found(method)));
    }
    if is_call && in_batch && era.is_mcp() && method == "initialize" {
        let message = "`initialize` must not be part of a batch. Send it alone.";
        return Err(("method", RpcError::invalid_request(message)));
    }
    Ok(parts)
}

/// The longest id that is accepted, in bytes of its JSON token.
pub const MAX_ID: usize = 256;

/// A request's id, spelled as its sender spelled it.
///
/// Two ids are equal if their spellings are: `1`, `1.0`, `"1"` and `"\u0031"` are four ids. An
/// answer must repeat the id, and only the same bytes are the same to every reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// Makes one of our own ids.
    #[must_use]
    pub fn number(number: u64) -> Id<'static> {
        Id(Cow::Owned(number.to_string()))
    }

    /// Accepts a token as an id if the era allows it.
    ///
    /// Plain JSON-RPC takes strings, numbers and null; MCP takes strings and whole numbers.
    ///
    /// # Errors
    ///
    /// Returns the error to answer with, which then cannot carry the id.
    pub fn read(value: &'a RawValue, era: Era) -> Result<Self, RpcError> {
        let token = value.get();
        if token.len() > MAX_ID {
            let message = format!("`id` is longer than {MAX_ID} bytes. Send a shorter one.");
            return Err(RpcError::invalid_request(message));
        }
        let allowed = match Kind::of(value) {
            Kind::String => true,
            Kind::Number => !era.is_mcp() || is_whole(token),
            Kind::Null => !era.is_mcp(),
            Kind::Object | Kind::Array | Kind::Boolean => false,
        };
        if !allowed {
            let wanted = if era.is_mcp() {
                "a string or a whole number"
            } else {
                "a string or a number"
            };
            return Err(RpcError::invalid_request(format!("`id` must be {wanted}.")));
        }
        Ok(Self(Cow::Borrowed(token)))
    }

    /// Returns the JSON token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.0
    }

    /// Copies the token, so that the id outlives the body it came in.
    #[must_use]
    pub fn into_owned(self) -> Id<'static> {
        Id(Cow::Owned(self.0.into_owned()))
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whether a JSON number is whole, judged by its digits alone.
///
/// `1e2` is `100` and `15e-1` is `1.5`; computing the value would lose digits of longer numbers.
fn is_whole(token: &str) -> bool {
    let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return true;
    }
    // The place of the last significant digit: 0 for ones, -1 for tenths. Both lengths are within
    // `MAX_ID`, so neither cast nor difference can overflow.
    let place = (digits.len() - significant.len()) as i64 - fraction.len() as i64;
    match exponent.parse::<i64>() {
        Ok(exponent) => exponent.saturating_add(place) >= 0,
        Err(_) => !exponent.starts_with('-'),
    }
}

/// How many calls of one stream may be pending at once.
pub const MAX_IN_FLIGHT: usize = 1024;

/// The ids of a stream's unanswered calls.
#[derive(Debug, Clone, Default)]
pub struct InFlight {
    ids: BTreeSet<String>,
}

impl InFlight {
    /// Registers a call.
    ///
    /// # Errors
    ///
    /// Returns the error to answer with if the id is in use, or if too many calls are pending.
    pub fn begin(&mut self, id: &Id<'_>) -> Result<(), RpcError> {
        if self.ids.contains(&key(id)) {
            let message = "`id` is in use by a call that still waits. Send another id.";
            return Err(RpcError::invalid_request(message));
        }
        if self.ids.len() >= MAX_IN_FLIGHT {
            let message = format!("{MAX_IN_FLIGHT} calls wait already. Wait for an answer first.");
            return Err(RpcError::invalid_request(message));
        }
        self.ids.insert(key(id));
        Ok(())
    }

    /// Removes a call that was answered.
    pub fn end(&mut self, id: &Id<'_>) {
        self.ids.remove(&key(id));
    }
}

/// Normalises the escapes of a string id; numbers stay as they are.
fn key(id: &Id<'_>) -> String {
    match serde_json::from_str::<String>(id.token()) {
        Ok(text) => format!("\"{text}"),
        Err(_) => id.token().to_owned(),
    }
}
