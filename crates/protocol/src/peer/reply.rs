//! Reads an MCP peer's reply: a result, a refusal, a stream of events, or an unusable answer.

use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use super::PeerProfile;
use crate::finding::harmless;
use crate::rpc::members::{Kind, Members, split, text};
use crate::rpc::{self, Era, Id, Opened, open};

/// The longest quote of a peer's text, in characters.
pub const MAX_QUOTE: usize = 200;

/// The reply of a peer.
#[derive(Debug, Clone, Copy)]
pub struct HttpReply<'a> {
    /// The HTTP status; a transport without one uses 200.
    pub status: u16,
    /// The session that the peer named.
    pub session: Option<&'a str>,
    /// The JSON of the answer.
    pub body: &'a [u8],
}

/// Why an MCP answer is unusable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum McpFault {
    /// HTTP reports an error, and the body adds nothing.
    #[error("the agent answered with the HTTP status {0}")]
    Status(u16),
    /// It is not a JSON-RPC response.
    #[error("the agent's reply is not a JSON-RPC response")]
    Unreadable,
    /// It is a JSON-RPC error.
    #[error("the agent refused with the JSON-RPC error {code}: {message}")]
    Refused {
        /// The error code.
        code: i64,
        /// The peer's words, cut to a length that fits a sentence.
        message: String,
    },
    /// The peer asks for input, which the league never gives.
    #[error("the agent answered `{0}` where only `complete` is taken")]
    Incomplete(String),
    /// The result does not have the required shape.
    #[error("the agent's reply is not a tool result")]
    Shapeless,
}

/// Finds the result of a call.
///
/// # Errors
///
/// Returns why there is no result.
pub fn read(reply: &HttpReply<'_>, id: u64) -> Result<Box<RawValue>, McpFault> {
    let unreadable = || match reply.status {
        200..=299 => McpFault::Unreadable,
        status => McpFault::Status(status),
    };
    let Ok(Opened::Single(Ok(members))) = rpc::open(reply.body) else {
        return Err(unreadable());
    };
    let response = rpc::read_response(&members, Era::Simple).map_err(|_| unreadable())?;
    let ours = response.id == Some(Id::number(id));
    match response.outcome {
        Ok(result) if ours => Ok(result.to_owned()),
        Ok(_) => Err(unreadable()),
        Err(error) => Err(McpFault::Refused {
            code: error.code,
            message: quote(&error.message),
        }),
    }
}

/// Whether a peer has lost its session with us, so that a new handshake is due.
pub fn is_expired(profile: &PeerProfile, reply: &HttpReply<'_>) -> bool {
    let session = profile.session.as_ref();
    if !session.is_some_and(|session| session.handshake) {
        return false;
    }
    match reply.status {
        404 => true,
        400 => {
            let start = &reply.body[..reply.body.len().min(4 * MAX_QUOTE)];
            let said = String::from_utf8_lossy(start).to_ascii_lowercase();
            said.contains("session")
        }
        _ => false,
    }
}

/// A peer's words, cut and cleared of characters that could deceive a reader.
pub(crate) fn quote(text: &str) -> String {
    harmless(text, MAX_QUOTE)
}

/// The result of a tool call.
#[derive(Debug)]
pub enum ToolResult {
    /// A JSON object, which may be a message.
    Message(Box<RawValue>),
    /// Nothing, or a text that is not JSON: enough where no message is due.
    Acknowledged,
    /// The tool failed, in its own words, cut but not checked.
    Failed(String),
}

/// Reads the result of `tools/call`.
///
/// Structured content comes first, then the first text as JSON. Some libraries put values that are
/// not objects under `result`, sometimes as JSON in a string; both are unwrapped.
///
/// # Errors
///
/// Returns why it is not a complete tool result.
pub fn tool_result(result: &RawValue) -> Result<ToolResult, McpFault> {
    let members = split(result.get()).map_err(|_| McpFault::Shapeless)?;
    if let Some(kind) = members.get("resultType") {
        let kind = text(kind).ok_or(McpFault::Shapeless)?;
        if kind != "complete" {
            return Err(McpFault::Incomplete(quote(&kind)));
        }
    }
    let failed = members.get("isError").map(RawValue::get) == Some("true");
    match object(&members) {
        Some(object) if !failed || is_message(&object) => Ok(ToolResult::Message(object)),
        _ if failed => Ok(ToolResult::Failed(first_text(&members).map_or_else(
            || "the tool does not say why".to_owned(),
            |text| quote(&text),
        ))),
        _ if members.has("content") || members.has("structuredContent") => {
            Ok(ToolResult::Acknowledged)
        }
        _ => Err(McpFault::Shapeless),
    }
}

/// The object that a result holds.
fn object(members: &Members<'_>) -> Option<Box<RawValue>> {
    let structured = members.get("structuredContent").and_then(unwrapped);
    structured.or_else(|| parsed(&first_text(members)?))
}

fn is_message(object: &RawValue) -> bool {
    split(object.get()).is_ok_and(|members| members.has("message_type"))
}

/// An object, unwrapped if necessary.
fn unwrapped(structured: &RawValue) -> Option<Box<RawValue>> {
    let members = split(structured.get()).ok()?;
    let inner = members.get("result").filter(|_| members.len() == 1);
    match inner.map(|inner| (inner, Kind::of(inner))) {
        Some((inner, Kind::Object)) => Some(inner.to_owned()),
        Some((inner, Kind::String)) => parsed(&text(inner)?),
        Some(_) => None,
        None => Some(structured.to_owned()),
    }
}

/// A text that is one JSON object, within the bounds of a body.
fn parsed(text: &str) -> Option<Box<RawValue>> {
    rpc::open(text.as_bytes()).ok()?;
    let object = RawValue::from_string(text.trim().to_owned()).ok()?;
    (Kind::of(&object) == Kind::Object).then_some(object)
}

fn first_text(members: &Members<'_>) -> Option<String> {
    let parts: Vec<Value> = serde_json::from_str(members.get("content")?.get()).ok()?;
    let mut texts = parts.iter().filter(|part| part["type"] == "text");
    texts.next()?["text"].as_str().map(str::to_owned)
}

/// The most events of one answer that are read.
pub const MAX_EVENTS: usize = 1_024;

/// Searches a stream of events for the answer to a call; each byte is read once, in chunks of any
/// size.
#[derive(Debug)]
pub struct EventStream {
    id: u64,
    line: Vec<u8>,
    /// The data of the current event.
    data: Vec<u8>,
    seen: usize,
}

/// The state of an event stream.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamState {
    /// No answer yet.
    Waiting,
    /// The JSON of the answer; the rest of the stream can be ignored.
    Answer(Vec<u8>),
    /// The stream has ended, or had too many events without an answer.
    Exhausted,
}

impl EventStream {
    /// Waits for the answer to the call of this id.
    pub const fn new(id: u64) -> Self {
        Self {
            id,
            line: Vec::new(),
            data: Vec::new(),
            seen: 0,
        }
    }

    /// Takes the next bytes. The caller bounds their total.
    pub fn hear(&mut self, mut more: &[u8]) -> StreamState {
        while let Some(end) = more.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&more[..end]);
            more = &more[end + 1..];
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if let Some(heard) = self.take(&line) {
                return heard;
            }
            line.clear();
            self.line = line;
        }
        self.line.extend_from_slice(more);
        StreamState::Waiting
    }

    /// Takes the end of the stream, which also ends its last event.
    pub fn end(&mut self) -> StreamState {
        match self.hear(b"\n\n") {
            StreamState::Waiting => StreamState::Exhausted,
            heard => heard,
        }
    }

    fn take(&mut self, line: &[u8]) -> Option<StreamState> {
        if let Some(more) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data
                .extend_from_slice(more.strip_prefix(b" ").unwrap_or(more));
        }
        if !line.is_empty() || self.data.is_empty() {
            return None;
        }
        let data = std::mem::take(&mut self.data);
        if is_answer(&data, self.id) {
            return Some(StreamState::Answer(data));
        }
        self.seen += 1;
        (self.seen >= MAX_EVENTS).then_some(StreamState::Exhausted)
    }
}

/// Whether a message answers this call, or a call whose id could not be read.
fn is_answer(data: &[u8], id: u64) -> bool {
    let Ok(Opened::Single(Ok(members))) = open(data) else {
        return false;
    };
    if members.has("method") {
        return false;
    }
    members.has("error") || members.has("result") && is_id(&members, id)
}

fn is_id(members: &Members<'_>, id: u64) -> bool {
    let found = members.get("id");
    let found = found.and_then(|found| Id::read(found, Era::Simple).ok());
    found.is_some_and(|found| found == Id::number(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b": hello\r\n\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\r\n\r\n\
        id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,\ndata: \"result\":{}}\n\n";

    #[test]
    fn the_answer_is_found_among_other_events_however_they_are_cut() {
        let answer = b"{\"jsonrpc\":\"2.0\",\"id\":3,\n\"result\":{}}".to_vec();
        for cut in 1..STREAM.len() {
            let mut events = EventStream::new(3);
            let mut heard = StreamState::Waiting;
            for chunk in STREAM.chunks(cut) {
                assert_eq!(heard, StreamState::Waiting, "{cut}");
                heard = events.hear(chunk);
            }
            assert_eq!(heard, StreamState::Answer(answer.clone()), "{cut}");
        }
        assert_eq!(EventStream::new(4).hear(STREAM), StreamState::Waiting);
    }

    #[test]
    fn the_end_of_a_stream_ends_its_last_event() {
        let mut events = EventStream::new(3);
        assert_eq!(
            events.hear(&STREAM[..STREAM.len() - 2]),
            StreamState::Waiting
        );
        assert!(matches!(events.end(), StreamState::Answer(_)));
        assert_eq!(EventStream::new(3).end(), StreamState::Exhausted);
    }

    #[test]
    fn a_request_within_a_stream_is_no_answer() {
        let stream =
            b"data: {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"sampling/createMessage\"}\n\n";
        assert_eq!(EventStream::new(3).hear(stream), StreamState::Waiting);
    }

    #[test]
    fn a_stream_of_other_events_is_given_up() {
        let stream = "data: {}\n\n".repeat(MAX_EVENTS);
        assert_eq!(
            EventStream::new(3).hear(stream.as_bytes()),
            StreamState::Exhausted
        );
    }
}
