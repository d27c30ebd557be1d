//! Replies to our calls: read exactly if possible, otherwise by their probable meaning.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use super::{ClaimedSender, Context, Received, Unread, conversation, forgive};
use crate::decode::SenderName;
use crate::decode::{Decoded, decode};
use crate::fault::Code;
use crate::finding::{Finding, Notes, Path, Reading};
use crate::id::PlayerId;
use crate::lenient::{self, Expected, Repair};
use crate::message::{LeagueError, Message, reply_type, spoken_type};
use crate::peer::{self, HttpReply, McpFault, ToolResult};
use crate::rpc::RpcError;
use crate::rpc::members::split;
use crate::sender::{CallStyle, Dialect};

/// The facts about our call that its reply depends on.
#[derive(Debug, Clone, Copy)]
pub struct SentCall<'s> {
    pub id: u64,
    pub message: &'s Message,
    /// The dialect of the receiver.
    pub dialect: Dialect,
    pub style: CallStyle,
    /// The receiver, if it is a player.
    pub player: Option<&'s PlayerId>,
    /// Whether the reply is kept for the record of its match.
    pub is_kept: bool,
}

/// The outcome of a reply.
#[derive(Debug)]
pub struct ReadReply {
    pub read: Result<Received, Unread>,
    /// Whether the receiver may take calls in another style than assumed.
    pub doubtful: bool,
    /// Whether the receiver knows no method of the name in the call.
    pub is_unknown_method: bool,
    /// The message as it was sent, if there was one and it is kept.
    pub sent: Option<Box<RawValue>>,
    /// The repaired message, if a repair was necessary and it is kept.
    pub repaired: Option<Box<RawValue>>,
}

/// Reads the reply to a call.
pub fn read_reply(call: &SentCall<'_>, reply: &HttpReply<'_>, context: &Context<'_>) -> ReadReply {
    let mut reader = ReplyReader {
        call,
        context,
        notes: Notes::new(context.reading),
        sent: None,
        repaired: None,
    };
    let is_news = !call.message.expects_reply() && *call.message != Message::Ping;
    let (outcome, doubtful) = match call.style {
        CallStyle::Mcp => reader.read_mcp(reply),
        _ if is_news => {
            // An order must arrive, so other names are tried for it.
            let doubtful = call.message.is_order() && is_unknown_method(reply.body);
            (reader.read_news(reply), doubtful)
        }
        _ => reader.read_plain(reply),
    };
    if is_news {
        reader.notes.findings.clear();
    }
    let findings = reader.notes.findings;
    ReadReply {
        read: match outcome {
            Ok(received) => Ok(Received {
                findings,
                ..received
            }),
            Err(error) => Err(Unread {
                findings,
                dialect: call.dialect,
                ..Unread::new(error)
            }),
        },
        doubtful,
        is_unknown_method: doubtful && is_unknown_method(reply.body),
        sent: reader.sent,
        repaired: reader.repaired,
    }
}

/// The types that can answer a message, the likeliest first.
fn reply_types(message: &Message, dialect: Dialect) -> Vec<&'static str> {
    let own = spoken_type(message, dialect).and_then(|kind| reply_type(dialect, kind));
    own.map_or_else(Vec::new, |own| vec![own, "LEAGUE_ERROR", "GAME_ERROR"])
}

/// Reads the reply to a plain call whose answer need not be a message: the content as it came, and
/// the message in it, which is [`Message::Acknowledged`] for any other content.
///
/// # Errors
///
/// There is no content, or it is a message that cannot be read.
pub fn read_content<'r>(
    reply: &HttpReply<'r>,
    id: u64,
    context: &Context<'_>,
) -> Result<(Cow<'r, RawValue>, Message), LeagueError> {
    let call = &SentCall {
        id,
        message: &Message::Ping,
        dialect: Dialect::V2,
        style: CallStyle::Simple,
        player: None,
        is_kept: false,
    };
    let mut notes = Notes::new(context.reading);
    let raw = lenient::reply(reply.body, id, &mut notes);
    let raw = raw.ok_or_else(|| first_of(&notes))?;
    let received = understand(call, context, &raw, &mut None, &mut notes)?;
    Ok((raw, received.message))
}

type Outcome = Result<Received, LeagueError>;

struct ReplyReader<'r> {
    call: &'r SentCall<'r>,
    context: &'r Context<'r>,
    notes: Notes,
    sent: Option<Box<RawValue>>,
    repaired: Option<Box<RawValue>>,
}

impl ReplyReader<'_> {
    fn read_plain(&mut self, reply: &HttpReply<'_>) -> (Outcome, bool) {
        let outcome = match lenient::reply(reply.body, self.call.id, &mut self.notes) {
            Some(raw) => {
                let mut sent = None;
                let outcome = understand(self.call, self.context, &raw, &mut sent, &mut self.notes);
                self.sent = sent;
                outcome
            }
            None => Err(self.unusable(reply.status)),
        };
        let (outcome, doubtful) = self.settle(outcome, reply.body);
        if outcome.is_ok() && reply.status >= 400 {
            let status = reply.status;
            let detail = format!("a good answer came with the HTTP status {status}; send 200");
            forgive_reply(
                &mut self.notes,
                Code::InvalidMessage,
                "status",
                "200",
                &detail,
            );
        }
        (outcome, doubtful)
    }

    /// Reads the reply to news. News needs no answer, so what comes is not judged; only a refusal
    /// is passed on.
    fn read_news(&mut self, reply: &HttpReply<'_>) -> Outcome {
        let mut unjudged = Notes::new(Reading::Lenient);
        let Some(raw) = lenient::reply(reply.body, self.call.id, &mut unjudged) else {
            return match reply.status {
                status @ 400.. => Err(failure(&McpFault::Status(status))),
                _ if is_refusal(reply.body) => Err(first_of(&unjudged)),
                _ => Ok(acknowledged(self.call)),
            };
        };
        let read = understand(self.call, self.context, &raw, &mut self.sent, &mut unjudged);
        let refused = read
            .ok()
            .filter(|said| matches!(said.message, Message::LeagueError(_)));
        Ok(refused.unwrap_or_else(|| acknowledged(self.call)))
    }

    fn read_mcp(&mut self, reply: &HttpReply<'_>) -> (Outcome, bool) {
        let result = peer::read(reply, self.call.id);
        let result = result.and_then(|result| match self.call.message {
            Message::Ping => Ok(ToolResult::Acknowledged),
            _ => peer::tool_result(&result),
        });
        match result {
            Ok(ToolResult::Message(raw)) => {
                let mut sent = None;
                let outcome = understand(self.call, self.context, &raw, &mut sent, &mut self.notes);
                self.sent = sent;
                if !self.call.message.expects_reply() && outcome.is_err() {
                    return (Ok(acknowledged(self.call)), false);
                }
                self.settle(outcome, raw.get().as_bytes())
            }
            Ok(ToolResult::Acknowledged) => (Ok(acknowledged(self.call)), false),
            // A tool that no longer exists fails like any other.
            Ok(ToolResult::Failed(text)) => {
                let detail = format!("the agent's tool failed: {text}");
                (Err(LeagueError::new(Code::InvalidMessage, detail)), true)
            }
            Err(fault) => (Err(failure(&fault)), true),
        }
    }

    /// An HTTP error without a message is a transport fault: the agent did not break the protocol.
    fn unusable(&mut self, status: u16) -> LeagueError {
        if status >= 400 {
            self.notes.findings.clear();
            return failure(&McpFault::Status(status));
        }
        first_of(&self.notes)
    }

    /// Looks for the intended answer in an invalid reply. Also returns whether the receiver may
    /// want calls in another style.
    fn settle(&mut self, outcome: Outcome, body: &[u8]) -> (Outcome, bool) {
        let is_answer = |received: &Received| {
            !matches!(received.message, Message::Acknowledged | Message::Ping)
        };
        let call = self.call;
        if outcome.as_ref().is_ok_and(is_answer) || !call.message.expects_reply() {
            return (outcome, false);
        }
        let mut notes = Notes::new(self.notes.reading);
        let types = reply_types(call.message, call.dialect);
        let expected = Expected {
            types: &types,
            method: None,
            dialect: Some(call.dialect),
        };
        let body = std::str::from_utf8(body).unwrap_or_default();
        // A manager may acknowledge a registration, and call back with its answer (ruling 47).
        let acknowledges = outcome.is_ok() && call.message.is_registration();
        match lenient::repair(body, &expected, &mut notes) {
            Some(Repair::Complaint(words)) => {
                let detail = format!("the agent returned an error instead of an answer: {words}");
                (Err(LeagueError::new(Code::InvalidMessage, detail)), true)
            }
            Some(Repair::Message(raw)) => {
                let mut repaired = None;
                match understand(call, self.context, &raw, &mut repaired, &mut notes) {
                    Ok(received) => {
                        // The notes of the repair describe the fault.
                        self.notes.findings = notes.findings;
                        self.repaired = repaired;
                        (Ok(received), false)
                    }
                    // A peer that named a type was understood: another style would not help.
                    Err(_) => (outcome, !acknowledges && !body.contains("message_type")),
                }
            }
            None => (outcome, !acknowledges),
        }
    }
}

/// Reads a message; every readable message is left in `kept`.
fn understand(
    call: &SentCall<'_>,
    context: &Context<'_>,
    raw: &RawValue,
    kept: &mut Option<Box<RawValue>>,
    notes: &mut Notes,
) -> Outcome {
    if !split(raw.get()).is_ok_and(|members| members.has("message_type")) {
        // Enough where no other answer is due, and recognisable as an acknowledgement elsewhere.
        return Ok(acknowledged(call));
    }
    let decoded = decode(raw, context.reading, context.pinned);
    let mut decoded = decoded.map_err(|broken| first_of(&broken))?;
    let message = decoded.message(&context.hints);
    if call.is_kept && decoded.message_type().is_some() {
        *kept = Some(raw.to_owned());
    }
    let impostor = wrong_sender(&decoded, call, notes);
    notes.findings.append(&mut decoded.notes.findings);
    if let Some(failure) = impostor {
        return Err(failure);
    }
    let mut message = message.map_err(|finding| told(&finding))?;
    if context.reading == Reading::Lenient {
        forgive_name(&mut message, call, notes);
    }
    Ok(Received {
        message,
        sender: ClaimedSender::of(&decoded),
        dialect: decoded.dialect,
        conversation: conversation(&decoded),
        token: decoded.token(),
        sent: decoded.envelope.timestamp,
        reply_type: None,
        style: None,
        findings: Vec::new(),
    })
}

fn is_unknown_method(body: &[u8]) -> bool {
    let body: Option<Value> = serde_json::from_slice(body).ok();
    body.is_some_and(|body| body["error"]["code"] == RpcError::METHOD_NOT_FOUND)
}

/// Whether a body is a JSON-RPC error, or another object with an `error`.
fn is_refusal(body: &[u8]) -> bool {
    let body: Option<Value> = serde_json::from_slice(body).ok();
    body.is_some_and(|body| !body["error"].is_null())
}

fn acknowledged(call: &SentCall<'_>) -> Received {
    Received {
        message: Message::Acknowledged,
        sender: ClaimedSender::Unknown,
        dialect: call.dialect,
        conversation: None,
        token: None,
        sent: None,
        reply_type: None,
        style: None,
        findings: Vec::new(),
    }
}

/// A reply under another player's id; a sender that is not an id may be the agent's own name.
fn wrong_sender(
    decoded: &Decoded<'_>,
    call: &SentCall<'_>,
    notes: &mut Notes,
) -> Option<LeagueError> {
    let named = match decoded.envelope.sender.as_ref()? {
        SenderName::Player(name) => PlayerId::new(name.as_str()).ok()?,
        SenderName::Manager | SenderName::Referee(_) => return None,
    };
    let own = call.player?;
    if named == *own || !looks_like_an_id(named.as_str()) {
        return None;
    }
    let detail = format!("the answer of `{own}` says that it is from `{named}`");
    let at = Path::root("ruling 13");
    let at = at.member("sender", true);
    let expected = format!("`player:{own}`");
    if notes.reading == Reading::Lenient {
        notes.forgive(Code::TokenInvalid, &at, expected, &*detail);
        return None;
    }
    notes.refuse(Code::TokenInvalid, &at, expected, &*detail);
    Some(LeagueError::new(Code::TokenInvalid, detail))
}

/// Player ids are `P` and a number; anything else may be a name.
fn looks_like_an_id(name: &str) -> bool {
    let digits = name.strip_prefix('P').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes a wrong id from a reply. Replies arrive on the connection that we opened to the
/// receiver, so the sender is certain and a wrong name is forgiven (ruling 51).
fn forgive_name(message: &mut Message, call: &SentCall<'_>, notes: &mut Notes) {
    let Some(own) = call.player else { return };
    let wrong = |named: &mut Option<PlayerId>| named.take_if(|named| named != own);
    let named = match message {
        Message::GameJoinAck(ack) => wrong(&mut ack.player_id),
        Message::MoveResponse(response) => wrong(&mut Arc::make_mut(response).player_id),
        _ => None,
    };
    if let Some(named) = named {
        let detail = format!("found `{named}`; send the id that registration gave, `{own}`");
        let expected = format!("`{own}`");
        forgive_reply(notes, Code::InvalidMessage, "player_id", &expected, &detail);
    }
}

fn forgive_reply(notes: &mut Notes, code: Code, member: &str, expected: &str, detail: &str) {
    forgive(notes, "ruling 13", code, member, expected, detail);
}

fn failure(fault: &McpFault) -> LeagueError {
    let code = match fault {
        McpFault::Status(_) => Code::Connection,
        _ => Code::InvalidMessage,
    };
    LeagueError::new(code, fault.to_string())
}

fn first_of(notes: &Notes) -> LeagueError {
    let first = notes.first_error().or(notes.findings.first());
    first.map_or_else(
        || LeagueError::new(Code::InvalidMessage, "the answer holds no message"),
        told,
    )
}

fn told(finding: &Finding) -> LeagueError {
    let detail = format!("{} ({})", finding.detail, finding.clause);
    LeagueError::new(finding.code, detail)
}
