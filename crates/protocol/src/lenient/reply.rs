//! Locates the message in a peer's reply, and decides which framing faults are forgiven.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::fault::Code;
use crate::finding::{Notes, Path, Reading, excerpt};
use crate::rpc::members::{Kind, Members, MembersError, split, text};
use crate::rpc::{self, Era, Id, Opened, PeerError, ReplyFault};

/// Finds the message in the reply to our call.
///
/// These faults are forgiven, and each is noted:
///
/// - a message without the JSON-RPC frame around it, as the main document's sample player sends it;
/// - `error: null` beside a result, which some libraries always write;
/// - a wrong or missing `id`, since a reply travels on the connection opened for this one call;
/// - a wrong or missing `jsonrpc`.
///
/// An MCP agent puts its message into `structuredContent` or into the first text; that is not a
/// departure. A `method` is not forgiven, because it turns the reply into a request.
pub fn reply<'a>(body: &'a [u8], id: u64, notes: &mut Notes) -> Option<Cow<'a, RawValue>> {
    let members = match opened(body) {
        Ok(members) => members,
        Err(fault) => {
            refuse(&fault, notes);
            return None;
        }
    };
    if members.has("message_type") {
        let at = Path::root(CLAUSE);
        let detail = "the message has no JSON-RPC frame; send it as the `result` of a response";
        notes.forgive(Code::InvalidMessage, &at, EXPECTED, detail);
        let bare = serde_json::from_slice(body).ok().map(Cow::Borrowed);
        return bare.filter(|_| notes.reading == Reading::Lenient);
    }
    let strictly_right = notes.findings.len();
    match response(&members, Some(id), notes)? {
        Err(error) => {
            let at = Path::root(CLAUSE);
            let told = excerpt(&error.message);
            let detail = format!(
                "the agent refused with the JSON-RPC error {}: {told}",
                error.code
            );
            notes.refuse(
                Code::InvalidMessage,
                &at.member("error", true),
                "a result",
                detail,
            );
            None
        }
        Ok(_) if notes.reading == Reading::Strict && notes.findings.len() > strictly_right => None,
        Ok(result) => Some(
            InnerMessage::inside(result, "result")
                .map_or(Cow::Borrowed(result), |found| found.message),
        ),
    }
}

const CLAUSE: &str = "ruling 13";
const EXPECTED: &str = "a JSON-RPC 2.0 response with `jsonrpc`, `id` and `result`";

fn opened(body: &[u8]) -> Result<Members<'_>, ReplyFault> {
    match rpc::open(body)? {
        Opened::Single(element) => Ok(element?),
        Opened::Batch { .. } => Err(ReplyFault::NotAnObject { found: Kind::Array }),
    }
}

/// Reads a response and forgives faults that leave its meaning certain; `None` if the meaning is
/// not certain.
pub(crate) fn response<'a>(
    members: &Members<'a>,
    asked: Option<u64>,
    notes: &mut Notes,
) -> Option<Result<&'a RawValue, PeerError<'a>>> {
    /// `jsonrpc`, `id` and `error` can each be mended once.
    const MENDS: usize = 3;
    let mut mended = members.clone();
    for _ in 0..=MENDS {
        let fault = match rpc::read_response(&mended, Era::Simple) {
            Ok(response) => {
                compare_ids(members, asked, notes);
                return Some(response.outcome);
            }
            Err(fault) => fault,
        };
        let Some(better) = mend(&mended, &fault) else {
            refuse(&fault, notes);
            return None;
        };
        forgive(&fault, notes);
        mended = better;
    }
    None
}

/// The members without the fault, if the meaning stays certain.
fn mend<'a>(members: &Members<'a>, fault: &ReplyFault) -> Option<Members<'a>> {
    let null_error = || members.get("error").map(Kind::of) == Some(Kind::Null);
    let (name, right) = match fault {
        ReplyFault::Version => ("jsonrpc", Some("\"2.0\"")),
        ReplyFault::IdMissing | ReplyFault::IdKind => ("id", Some("0")),
        ReplyFault::Both if null_error() => ("error", None),
        _ => return None,
    };
    let right: Option<&'static RawValue> = right.and_then(|text| serde_json::from_str(text).ok());
    let others = members
        .clone()
        .into_iter()
        .filter(|(other, _)| other != name);
    let mended: Vec<_> = others
        .chain(right.map(|raw| (Cow::Borrowed(name), raw)))
        .collect();
    Some(mended.into())
}

/// Notes a readable id that belongs to another call.
fn compare_ids(members: &Members<'_>, asked: Option<u64>, notes: &mut Notes) {
    let id = members
        .get("id")
        .and_then(|id| Id::read(id, Era::Simple).ok());
    if let (Some(id), Some(expected)) = (id, asked)
        && id != Id::number(expected)
        && id.token() != "null"
    {
        let found = excerpt(id.token());
        forgive(&ReplyFault::WrongId { expected, found }, notes);
    }
}

fn forgive(fault: &ReplyFault, notes: &mut Notes) {
    at_fault(fault, |at, detail| {
        notes.forgive(Code::InvalidMessage, at, EXPECTED, detail)
    });
}

fn refuse(fault: &ReplyFault, notes: &mut Notes) {
    at_fault(fault, |at, detail| {
        notes.refuse(Code::InvalidMessage, at, EXPECTED, detail)
    });
}

/// Reports a fault with its place, its cause and the remedy.
fn at_fault(fault: &ReplyFault, tell: impl FnOnce(&Path<'_>, String)) {
    let root = Path::root(CLAUSE);
    let detail = format!("{}; {}", cause(fault), remedy(fault));
    match fault.field() {
        "$" => tell(&root, detail),
        name => tell(&root.member(name, true), detail),
    }
}

fn cause(fault: &ReplyFault) -> String {
    match fault {
        ReplyFault::Broken(broken) => format!("{fault}: {broken}"),
        _ => fault.to_string(),
    }
}

fn remedy(fault: &ReplyFault) -> &'static str {
    match fault {
        ReplyFault::Broken(_) | ReplyFault::NotAnObject { .. } => "send one JSON-RPC 2.0 object",
        ReplyFault::Members(MembersError::Repeated { .. }) => "send each name once",
        ReplyFault::Members(_) => "send one object of moderate size",
        ReplyFault::Version => "send `\"jsonrpc\": \"2.0\"`",
        ReplyFault::Method => "leave it out",
        ReplyFault::IdMissing | ReplyFault::IdKind | ReplyFault::WrongId { .. } => {
            "repeat the `id` of the request"
        }
        ReplyFault::Both | ReplyFault::Neither => "send one of the two",
        ReplyFault::Result { .. } => "send an object",
        ReplyFault::Error { .. } | ReplyFault::ErrorCode | ReplyFault::ErrorMessage => {
            "send an object with the number `code` and the text `message`"
        }
    }
}

/// A message and where in its frame it was found.
pub(crate) struct InnerMessage<'a> {
    /// `params`, `params.arguments`, `result`, `result.structuredContent`, ….
    pub(crate) place: &'static str,
    /// The message.
    pub(crate) message: Cow<'a, RawValue>,
}

impl<'a> InnerMessage<'a> {
    /// Finds the message in the `params` or the `result` of a frame, plain or wrapped as MCP does.
    pub(crate) fn inside(content: &'a RawValue, inner: &str) -> Option<Self> {
        let members = split(content.get()).ok()?;
        if inner == "params" {
            return Self::plain(content, "params")
                .or_else(|| Self::plain(members.get("arguments")?, "params.arguments"));
        }
        Self::plain(content, "result")
            .or_else(|| {
                Self::plain(
                    members.get("structuredContent")?,
                    "result.structuredContent",
                )
            })
            .or_else(|| Self::quoted(members.get("content")?))
    }

    fn plain(raw: &'a RawValue, place: &'static str) -> Option<Self> {
        let message = Cow::Borrowed(raw);
        is_message(raw).then_some(Self { place, message })
    }

    /// The message in the first text of an MCP result.
    fn quoted(content: &'a RawValue) -> Option<Self> {
        let parts: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
        let part = split(parts.first()?.get()).ok()?;
        let quoted = text(part.get("text")?)?;
        // The text is parsed as a separate body, with the same bounds.
        rpc::open(quoted.as_bytes()).ok()?;
        let message = RawValue::from_string(quoted.trim().to_owned()).ok()?;
        is_message(&message).then_some(Self {
            place: "result.content[0].text",
            message: Cow::Owned(message),
        })
    }
}

fn is_message(raw: &RawValue) -> bool {
    split(raw.get()).is_ok_and(|members| members.has("message_type"))
}
