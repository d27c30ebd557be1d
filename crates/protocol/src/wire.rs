//! Receiving, without transport and without state: calls to us, and replies to our calls.
//!
//! [`receive`] and [`read_reply`] take what [`rpc`](crate::rpc) framed, find the message in it,
//! read it exactly if possible, repair it if the meaning is certain, and note each departure. Both
//! give a [`Received`] message, or an [`Unread`] one with the reason. The exact reading comes first;
//! if it fails, a lenient receiver guesses the meaning, and `lenient` decides what is repaired.

mod reply;

pub use reply::{ReadReply, SentCall, read_content, read_reply};

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::decode::{Decoded, SenderName, decode};
use crate::dialect::Hints;
use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading, excerpt};
use crate::id::{ConversationId, PlayerId, RefereeId};
use crate::lenient::{self, Expected, Repair};
use crate::message::{LeagueError, Message, reply_type, types_taken};
use crate::rpc::members::{self, split};
use crate::rpc::{Call, Id, Params, Refusal, RpcError, open};
use crate::schema::is_message_type;
use crate::sender::{Agent, CallStyle, Dialect};
use crate::time::Timestamp;
use crate::token::AuthToken;
use crate::tools::{ToolArguments, ToolEntry};

/// The receiver's configuration and knowledge.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'c> {
    pub reading: Reading,
    /// The dialect that is assumed for every message; without one it is recognised.
    pub pinned: Option<Dialect>,
    pub hints: Hints<'c>,
    /// The tools that the receiver has.
    pub tools: &'static [ToolEntry],
    /// The token in the headers, for a message without one.
    pub bearer: Option<&'c str>,
    /// Whether the receiver acknowledges news that it does not understand (ruling 47).
    pub acknowledges_all: bool,
    /// Whether the receiver takes orders to run a match in words that are not ours.
    pub reads_orders: bool,
}

/// A message that was understood.
#[derive(Debug)]
pub struct Received {
    pub message: Message,
    pub sender: ClaimedSender,
    pub dialect: Dialect,
    pub conversation: Option<ConversationId>,
    pub token: Option<AuthToken>,
    /// When it was sent, by the clock of its sender.
    pub sent: Option<Timestamp>,
    /// The type of the answer that the documents show for it.
    pub reply_type: Option<&'static str>,
    /// How the sender calls, if that differs from the documents.
    pub style: Option<CallStyle>,
    /// The departures that were forgiven.
    pub findings: Vec<Finding>,
}

/// A message that was not understood.
#[derive(Debug)]
pub struct Unread {
    pub error: Box<LeagueError>,
    pub sender: ClaimedSender,
    pub dialect: Dialect,
    pub conversation: Option<ConversationId>,
    pub findings: Vec<Finding>,
}

impl Unread {
    /// Content of which only the error is known.
    pub fn new(error: LeagueError) -> Self {
        Self {
            error: Box::new(error),
            sender: ClaimedSender::Unknown,
            dialect: Dialect::V2,
            conversation: None,
            findings: Vec::new(),
        }
    }
}

/// The sender that a message names. The token does not say more: a match token belongs to the
/// referee of the match, whichever that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimedSender {
    Agent(Agent),
    /// A referee without an id, as in `league.v1`.
    SomeReferee,
    /// No sender, or a sender without a valid id.
    Unknown,
}

impl ClaimedSender {
    fn of(decoded: &Decoded<'_>) -> Self {
        let agent = match &decoded.envelope.sender {
            Some(SenderName::Manager) => Some(Agent::Manager),
            Some(SenderName::Referee(None)) => return Self::SomeReferee,
            Some(SenderName::Referee(Some(id))) => {
                RefereeId::new(id.as_str()).ok().map(Agent::Referee)
            }
            Some(SenderName::Player(id)) => PlayerId::new(id.as_str()).ok().map(Agent::Player),
            None => None,
        };
        agent.map_or(Self::Unknown, Self::Agent)
    }

    pub fn into_agent(self) -> Option<Agent> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::SomeReferee | Self::Unknown => None,
        }
    }

    pub fn agent(&self) -> Option<&Agent> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::SomeReferee | Self::Unknown => None,
        }
    }
}

/// The form used in logs.
impl fmt::Display for ClaimedSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => agent.fmt(f),
            Self::SomeReferee => f.write_str("referee:unknown"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

fn conversation(decoded: &Decoded<'_>) -> Option<ConversationId> {
    let named = decoded.envelope.conversation_id.as_ref();
    named.map(|named| ConversationId::new(named.as_str()))
}

/// Notes a forgiven departure at a member of a call or reply, or at the whole.
fn forgive(
    notes: &mut Notes,
    clause: &'static str,
    code: Code,
    member: &str,
    expected: &str,
    detail: &str,
) {
    let root = Path::root(clause);
    match member {
        "" => notes.forgive(code, &root, expected, detail),
        member => notes.forgive(code, &root.member(member, false), expected, detail),
    }
}

/// The content of a call.
#[derive(Debug)]
pub enum Inbound {
    /// A message to answer.
    Message(Box<Received>),
    /// An undecodable message, to answer with its error or with an acknowledgement.
    Unread(Box<Unread>),
    /// Arguments for a tool that does not take a message.
    Arguments(ToolArguments),
    /// News that was not understood, and is acknowledged all the same.
    Acknowledged,
    /// A call that can only be answered with this error.
    Error(RpcError),
}

impl From<Result<Received, Unread>> for Inbound {
    fn from(read: Result<Received, Unread>) -> Self {
        match read {
            Ok(received) => Self::Message(Box::new(received)),
            Err(unread) => Self::Unread(Box::new(unread)),
        }
    }
}

/// Reads a plain JSON-RPC call.
pub fn receive(call: &Call<'_>, context: &Context<'_>) -> Inbound {
    match receive_known(call, context) {
        unread @ (Inbound::Unread(_) | Inbound::Error(_)) => {
            let order = call
                .params
                .text()
                .and_then(|said| foreign_order(said, context));
            order.map_or(unread, |order| Inbound::Message(Box::new(order)))
        }
        read => read,
    }
}

/// An order to run a match, read by its content.
fn foreign_order(said: &str, context: &Context<'_>) -> Option<Received> {
    let may_read = context.reads_orders && context.reading == Reading::Lenient;
    let order = lenient::order(said, &context.hints).filter(|_| may_read)?;
    let detail = "no document shows such an order; its match is taken from its content";
    Some(Received {
        message: Message::from(order),
        sender: ClaimedSender::Unknown,
        dialect: Dialect::V2,
        conversation: None,
        token: None,
        sent: None,
        reply_type: None,
        style: None,
        findings: note("method", "`ROUND_ANNOUNCEMENT`", detail)
            .into_iter()
            .collect(),
    })
}

fn receive_known(call: &Call<'_>, context: &Context<'_>) -> Inbound {
    let tool = find(context.tools, &call.method);
    let is_type = tool.is_none() && is_message_type(&call.method);
    let is_known = tool.is_some() || is_type || call.method == CallStyle::GENERIC_METHOD;
    let refusal = match call.params.named() {
        Ok(Some(params)) if is_known => {
            let (decoded, holder) = locate(params, context);
            if let Some(decoded) = decoded {
                let layout = CallStyle::of_call(&call.method, is_type, holder);
                let content = Content {
                    tool,
                    method: Some(&call.method),
                    style: (layout != CallStyle::Tool).then_some(layout),
                    forgiven: note_holder(holder),
                };
                return content.read_or_repair(decoded, context).into();
            }
            match tool {
                Some(tool) if !tool.takes_message() => {
                    return arguments(Some(params), context);
                }
                _ => RpcError::method_not_found(&call.method),
            }
        }
        Ok(None) if tool.is_some_and(|tool| !tool.takes_message()) => {
            return arguments(None, context);
        }
        Ok(_) => RpcError::method_not_found(&call.method),
        Err(error) => error,
    };
    by_meaning(call, tool, is_known, refusal, context)
}

/// Reads a call by its probable meaning, or refuses it.
fn by_meaning(
    call: &Call<'_>,
    tool: Option<&'static ToolEntry>,
    is_known: bool,
    refusal: RpcError,
    context: &Context<'_>,
) -> Inbound {
    let params = call.params.text();
    let is_lenient = context.reading == Reading::Lenient;
    if is_lenient
        && let Some(mut repaired) =
            repair(params.unwrap_or("{}"), tool, Some(&call.method), context)
    {
        if !is_known {
            let shown = excerpt(&call.method);
            let detail = format!("there is no method `{shown}`; name the tool");
            repaired
                .findings
                .extend(note("method", "the name of a tool", &detail));
        }
        let read = repaired.read(context);
        // An unknown method is forgiven only if everything else is clear.
        if is_known || read.is_ok() {
            return read
                .or_else(|unread| repaired.read_again(context).ok_or(unread))
                .into();
        }
    }
    let has_type = || params.is_some_and(holds_type);
    if is_lenient && context.acknowledges_all && (has_type() || brings_news(&call.method)) {
        return Inbound::Acknowledged;
    }
    let takes_object = params.is_none_or(|params| params.trim_start().starts_with('{'));
    if is_known && takes_object {
        return Inbound::Unread(Box::new(Unread::new(no_message())));
    }
    Inbound::Error(refusal)
}

/// Reads a body that is a message without a frame; `None` if its meaning is not certain.
///
/// A body that names a method is a malformed call, not a bare message.
pub fn receive_bare(body: &[u8], context: &Context<'_>) -> Option<Inbound> {
    let body = std::str::from_utf8(body).ok()?;
    let members = split(body).ok()?;
    let is_bare = members.has("message_type") && !members.has("method") && !members.has("jsonrpc");
    if !is_bare || context.reading == Reading::Strict {
        return None;
    }
    let mut repaired = repair(body, None, Some(""), context)?;
    let detail = "the message has no JSON-RPC frame; send it as `params` of a call";
    repaired
        .findings
        .extend(note("", "a JSON-RPC 2.0 request", detail));
    let read = repaired.read(context);
    Some(
        read.or_else(|unread| repaired.read_again(context).ok_or(unread))
            .into(),
    )
}

/// Reads a plain registration, as small REST clients post it to a path of its own: a body without
/// frame and envelope.
pub fn receive_registration(body: &[u8], context: &Context<'_>) -> Inbound {
    let refused = |detail: String| {
        let error = LeagueError::new(Code::InvalidMessage, detail);
        Inbound::Unread(Box::new(Unread::new(error)))
    };
    if context.reading == Reading::Strict {
        let detail = "a strict league takes registrations as calls to `/mcp` only";
        return refused(detail.to_owned());
    }
    if let Err(broken) = open(body) {
        return refused(Refusal::from(broken).error.message.into_owned());
    }
    let Ok(raw) = serde_json::from_slice::<&RawValue>(body) else {
        return refused("the body is not JSON".to_owned());
    };
    let members = split(raw.get()).unwrap_or_default();
    let kind = members.get("message_type").and_then(members::text);
    let is_referee = kind.is_some_and(|kind| kind.starts_with("REFEREE"));
    let method = if is_referee || members.has("referee_meta") {
        "register_referee"
    } else {
        "register_player"
    };
    let call = Call {
        id: Id::number(0),
        method: method.into(),
        params: Params::Named(raw),
    };
    let mut inbound = receive(&call, context);
    if let Inbound::Message(received) = &mut inbound
        && let Message::PlayerRegisterRequest(request) | Message::RefereeRegisterRequest(request) =
            &mut received.message
    {
        request.is_plain = true;
        let detail = "the registration came as a plain request; call the tool at `/mcp`";
        received
            .findings
            .extend(note("", "a JSON-RPC 2.0 request", detail));
    }
    inbound
}

/// Reads an MCP tool call, which may omit the envelope; `None` if the tool does not exist.
pub fn receive_tool_call(
    tool: &str,
    given: Option<&RawValue>,
    at: Timestamp,
    context: &Context<'_>,
) -> Option<Inbound> {
    let entry = find(context.tools, tool)?;
    let content = Content {
        tool: Some(entry),
        method: Some(tool),
        style: Some(CallStyle::Mcp),
        forgiven: None,
    };
    if let Some(given) = given
        && let (Some(decoded), _) = locate(given, context)
    {
        return Some(content.read_or_repair(decoded, context).into());
    }
    if !entry.takes_message() {
        return Some(arguments(given, context));
    }
    let Some(raw) = with_envelope(given, entry.message_type(), at) else {
        return Some(Inbound::Unread(Box::new(Unread::new(unclear()))));
    };
    let found = RawMessage {
        raw: &raw,
        decoded: decode(&raw, context.reading, context.pinned),
    };
    Some(content.read_or_repair(found, context).into())
}

/// Whether a plain call may name this method: a tool, the type of a message, or `mcp_message`.
pub fn has_method(tools: &'static [ToolEntry], method: &str) -> bool {
    find(tools, method).is_some() || method == CallStyle::GENERIC_METHOD || is_message_type(method)
}

fn find(tools: &'static [ToolEntry], name: &str) -> Option<&'static ToolEntry> {
    tools.iter().find(|tool| tool.name == name)
}

fn holds_type(object: &str) -> bool {
    split(object).is_ok_and(|members| members.has("message_type"))
}

fn arguments(given: Option<&RawValue>, context: &Context<'_>) -> Inbound {
    let members = given.and_then(|given| serde_json::from_str(given.get()).ok());
    let members: Map<String, Value> = members.unwrap_or_default();
    let token = members.get("auth_token").and_then(Value::as_str);
    let token = token.filter(|token| !token.is_empty()).or(context.bearer);
    Inbound::Arguments(ToolArguments {
        token: token.map(AuthToken::new),
        members,
    })
}

/// A message, its place and its envelope.
struct RawMessage<'a> {
    raw: &'a RawValue,
    decoded: Result<Decoded<'a>, Notes>,
}

/// Finds the message in the parameters: the parameters themselves, or their `message` or
/// `arguments`.
///
/// Parameters are split once: reading them as a message shows whether they are one.
fn locate<'a>(
    params: &'a RawValue,
    context: &Context<'_>,
) -> (Option<RawMessage<'a>>, Option<&'static str>) {
    let read = |raw: &'a RawValue| RawMessage {
        raw,
        decoded: decode(raw, context.reading, context.pinned),
    };
    let whole = read(params);
    let decoded = match &whole.decoded {
        Ok(decoded) if decoded.names_type() => return (Some(whole), None),
        Err(_) if holds_type(params.get()) => return (Some(whole), None),
        Err(_) => {
            // Repeated members; the message inside them is looked for all the same.
            let Ok(members) = split(params.get()) else {
                return (None, None);
            };
            return inside(|name| members.get(name), read);
        }
        Ok(decoded) => decoded,
    };
    inside(|name| decoded.member(name), read)
}

fn inside<'a>(
    member: impl Fn(&str) -> Option<&'a RawValue>,
    read: impl Fn(&'a RawValue) -> RawMessage<'a>,
) -> (Option<RawMessage<'a>>, Option<&'static str>) {
    let mut holders = ["message", "arguments"].into_iter();
    let found = holders.find_map(|holder| Some((member(holder)?, holder)));
    match found.filter(|(raw, _)| holds_type(raw.get())) {
        Some((raw, holder)) => (Some(read(raw)), Some(holder)),
        None => (None, None),
    }
}

/// The parameters as a message of a type, with missing envelope fields filled in.
///
/// Only certain values are filled in; the sender is not.
fn with_envelope(given: Option<&RawValue>, kind: &str, at: Timestamp) -> Option<Box<RawValue>> {
    let members = split(given.map_or("{}", RawValue::get)).ok()?;
    let certain = [
        ("protocol", Dialect::V2.protocol().to_owned()),
        ("message_type", kind.to_owned()),
        ("timestamp", at.to_seconds_text()),
        (
            "conversation_id",
            format!("conv-mcp-{}", kind.to_ascii_lowercase()),
        ),
    ];
    let quoted = |text: &str| Value::from(text).to_string();
    let left_out = certain.iter().filter(|(name, _)| !members.has(name));
    let put_in = left_out.map(|(name, value)| (*name, quoted(value)));
    let given = members
        .iter()
        .map(|(name, value)| (name, value.get().to_owned()));
    let written = put_in
        .chain(given)
        .map(|(name, value)| format!("{}:{value}", quoted(name)));
    let text = format!("{{{}}}", written.collect::<Vec<_>>().join(","));
    RawValue::from_string(text).ok()
}

/// The call around a message.
struct Content<'t> {
    /// The tool that was named.
    tool: Option<&'static ToolEntry>,
    method: Option<&'t str>,
    style: Option<CallStyle>,
    /// The departure that was forgiven before the message was read.
    forgiven: Option<Finding>,
}

impl Content<'_> {
    /// Reads a message as it is, or else repaired; if neither works, the refusal is about the
    /// original.
    fn read_or_repair(
        &self,
        found: RawMessage<'_>,
        context: &Context<'_>,
    ) -> Result<Received, Unread> {
        let raw = found.raw;
        self.read(found.decoded, context).or_else(|unread| {
            if context.reading == Reading::Strict {
                return Err(unread);
            }
            let repaired = repair(raw.get(), self.tool, self.method, context).ok_or(());
            let read = repaired.and_then(|repaired| {
                let decoded = decode(&repaired.message, context.reading, context.pinned);
                let mut received = self.read(decoded, context).map_err(|_| ())?;
                received.findings.extend(repaired.findings);
                Ok(received)
            });
            read.map_err(|()| unread)
        })
    }

    /// Reads a message as it is; if the call named a tool, the tool must take the type.
    fn read(
        &self,
        decoded: Result<Decoded<'_>, Notes>,
        context: &Context<'_>,
    ) -> Result<Received, Unread> {
        let mut decoded = decoded.map_err(|notes| {
            let error = notes.first_error().map(LeagueError::from);
            Unread::new(error.unwrap_or_else(unclear))
        })?;
        let (message, token) = match self.message(&mut decoded, context) {
            Ok(read) => read,
            Err(mut error) => {
                error.original_message_type = decoded.message_type().map(str::to_owned);
                return Err(Unread {
                    error: Box::new(error),
                    sender: ClaimedSender::of(&decoded),
                    dialect: decoded.dialect,
                    conversation: conversation(&decoded),
                    findings: Vec::new(),
                });
            }
        };
        let mut findings: Vec<Finding> = self.forgiven.iter().cloned().collect();
        findings.append(&mut decoded.notes.findings);
        Ok(Received {
            message,
            sender: ClaimedSender::of(&decoded),
            dialect: decoded.dialect,
            conversation: conversation(&decoded),
            token,
            sent: decoded.envelope.timestamp,
            reply_type: decoded
                .message_type()
                .and_then(|kind| reply_type(decoded.dialect, kind)),
            style: self.style,
            findings,
        })
    }

    fn message(
        &self,
        decoded: &mut Decoded<'_>,
        context: &Context<'_>,
    ) -> Result<(Message, Option<AuthToken>), LeagueError> {
        // A player may leave out that it asks for itself.
        let asker = match &decoded.envelope.sender {
            Some(SenderName::Player(id)) if decoded.message_type() == Some("LEAGUE_QUERY") => {
                PlayerId::new(id.as_str()).ok()
            }
            _ => None,
        };
        let hints = Hints {
            reader: asker.as_ref().or(context.hints.reader),
            ..context.hints
        };
        let read = decoded.message(&hints);
        let mut message = read.map_err(|finding| LeagueError::from(&finding))?;
        if let Some(tool) = self.tool {
            tool.admit(&message)?;
        }
        let token = decoded
            .token()
            .or_else(|| context.bearer.map(AuthToken::new));
        if let Message::PlayerRegisterRequest(request) | Message::RefereeRegisterRequest(request) =
            &mut message
        {
            request.token.clone_from(&token);
            // Agents are assumed to answer in the style in which they call, unless they declare
            // another.
            request.meta.speech = request.meta.speech.or(self.style);
            lenient::application(
                &mut request.meta,
                context.hints.game_type,
                &mut decoded.notes,
            );
        }
        Ok((message, token))
    }
}

/// A repaired message, and the departures that were forgiven for it.
struct RepairedMessage {
    message: Box<RawValue>,
    findings: Vec<Finding>,
}

impl RepairedMessage {
    /// Reads the message as if it had been sent like this, without a particular tool.
    fn read(&self, context: &Context<'_>) -> Result<Received, Unread> {
        let decoded = decode(&self.message, context.reading, context.pinned);
        self.with_findings(NO_CALL.read(decoded, context))
    }

    /// Repairs the repaired message once more, and reads the result.
    fn read_again(&self, context: &Context<'_>) -> Option<Received> {
        let again = repair(self.message.get(), None, None, context)?;
        let decoded = decode(&again.message, context.reading, context.pinned);
        let mut received = self.with_findings(NO_CALL.read(decoded, context)).ok()?;
        received.findings.extend(again.findings);
        Some(received)
    }

    fn with_findings(&self, read: Result<Received, Unread>) -> Result<Received, Unread> {
        let mut received = read?;
        received
            .findings
            .splice(0..0, self.findings.iter().cloned());
        Ok(received)
    }
}

const NO_CALL: Content<'static> = Content {
    tool: None,
    method: None,
    style: None,
    forgiven: None,
};

/// Looks for the intended message among the types that the receiver takes.
fn repair(
    content: &str,
    tool: Option<&ToolEntry>,
    method: Option<&str>,
    context: &Context<'_>,
) -> Option<RepairedMessage> {
    let mut types = known_types(tool, context.tools);
    types.extend(named_answer(content, method));
    let expected = Expected {
        types: &types,
        method,
        dialect: None,
    };
    let mut notes = Notes::new(Reading::Lenient);
    match lenient::repair(content, &expected, &mut notes)? {
        Repair::Message(message) => Some(RepairedMessage {
            message,
            findings: notes.findings,
        }),
        Repair::Complaint(_) => None,
    }
}

/// Types that answer a question. An answer that comes as a call is read as well as one in a result,
/// so that its sender is told what is wrong with it.
const ANSWERS: [&str; 3] = [
    "GAME_JOIN_ACK",
    "CHOOSE_PARITY_RESPONSE",
    "GAME_MOVE_RESPONSE",
];

/// The type of an answer that content or its method names.
fn named_answer(content: &str, method: Option<&str>) -> Option<&'static str> {
    let members = split(content).unwrap_or_default();
    let said = members.get("message_type").and_then(members::text);
    let mut answers = ANSWERS.into_iter();
    answers.find(|answer| method == Some(answer) || said.as_deref() == Some(answer))
}

/// The types that a receiver takes in all dialects; the types of the named tool come first.
fn known_types(tool: Option<&ToolEntry>, tools: &[ToolEntry]) -> Vec<&'static str> {
    let tools = tool.into_iter().chain(tools);
    tools.flat_map(|tool| types_taken(tool.name)).collect()
}

fn note_holder(holder: Option<&str>) -> Option<Finding> {
    let detail = format!(
        "the message is in `params.{}`; send it as `params`",
        holder?
    );
    note("params", "a message", &detail)
}

fn note(member: &str, expected: &str, detail: &str) -> Option<Finding> {
    let mut notes = Notes::new(Reading::Lenient);
    let code = Code::InvalidMessage;
    forgive(&mut notes, "ruling 2", code, member, expected, detail);
    notes.findings.pop()
}

fn no_message() -> LeagueError {
    let detail = "the tool needs a message, and `message_type` is missing; add it";
    let mut error = LeagueError::new(Code::MissingField, detail);
    error.path = Some("message_type".to_owned());
    error
}

fn unclear() -> LeagueError {
    LeagueError::new(Code::InvalidMessage, "the parameters hold no message")
}

/// Prefixes of tool names that carry news.
const NEWS: [&str; 6] = ["notify", "update", "on_", "announce", "game_over", "round_"];

/// Whether an acknowledgement is enough for a call of this method.
fn brings_news(method: &str) -> bool {
    let method = method.to_ascii_lowercase();
    NEWS.iter().any(|news| method.starts_with(news))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::expects_answer;
    use crate::message::types;

    fn enveloped(given: Option<&str>) -> Option<Value> {
        let given = given.map(|given| RawValue::from_string(given.to_owned()).unwrap());
        let at = Timestamp::from_millis(0);
        let raw = with_envelope(given.as_deref(), "LEAGUE_QUERY", at)?;
        serde_json::from_str(raw.get()).ok()
    }

    #[test]
    fn missing_members_of_an_envelope_are_put_in_however_the_rest_is_written() {
        let bare = json!({
            "protocol": "league.v2", "message_type": "LEAGUE_QUERY",
            "timestamp": "1970-01-01T00:00:00Z", "conversation_id": "conv-mcp-league_query",
        });
        for given in [None, Some("{}"), Some("{ }"), Some(" {\n\t} ")] {
            assert_eq!(enveloped(given), Some(bare.clone()), "{given:?}");
        }
        let mut full = bare;
        full["a\"b"] = json!([",}", 1.50]);
        full["protocol"] = json!("league.v1");
        let given = r#"{ "a\"b" : [",}", 1.50] , "protocol":"league.v1"}"#;
        assert_eq!(enveloped(Some(given)), Some(full));
        assert_eq!(enveloped(Some("[]")), None);
    }

    #[test]
    fn types_that_ask_for_something_expect_an_answer() {
        let asks = ["_REQUEST", "_CALL", "_INVITATION", "_QUERY", "START_MATCH"];
        for kind in Dialect::ALL.into_iter().flat_map(types) {
            let asked = asks.iter().any(|ending| kind.ends_with(ending));
            assert_eq!(expects_answer(kind), asked, "{kind}");
        }
        for question in ["choose_parity", "handle_game_invitation", "play", "ping"] {
            assert!(!brings_news(question), "{question}");
        }
    }

    #[test]
    fn news_is_known_by_its_type_or_by_the_method() {
        for news in ["GAME_OVER", "ROUND_STARTED", "LEAGUE_PAUSED"] {
            assert!(!expects_answer(news), "{news}");
        }
        for call in ["notify_round_started", "on_game_over", "ROUND_STARTED"] {
            assert!(brings_news(call), "{call}");
        }
    }
}
