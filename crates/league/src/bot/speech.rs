//! What a bot is told, and what its answers say.

use std::sync::Arc;

use league_protocol::decode::decode;
use league_protocol::dialect::Hints;
use league_protocol::encode::{Sender, Stamp, conversation, encode, tool};
use league_protocol::fault::Code;
use league_protocol::finding::{Notes, Reading};
use league_protocol::lenient;
use league_protocol::message::{LeagueError, Message};
use league_protocol::peer::{self, Found, Manner, Request, Told};
use league_protocol::rpc::members::split;
use league_protocol::sender::{Agent, Dialect};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::clock;
use crate::net::client::Answer;
use crate::post::match_of;

/// What the bot may know of a message: all of it but the token that proves a referee.
pub(super) fn without_token(mut message: Message) -> Message {
    if let Message::RoundAnnouncement(announcement) = &mut message {
        Arc::make_mut(announcement).own = None;
    }
    message
}

/// A message as the bot takes it; `None` if it has no tool for it.
pub(super) fn written(message: &Message, from: &Agent, found: &Found, id: u64) -> Option<Request> {
    let own = tool(message);
    let (name, inputs) = match &found.tools {
        Some(tools) => tools
            .offered(own)
            .map(|(name, inputs)| (name, Some(inputs)))?,
        None => (own, None),
    };
    let conversation = conversation(message, &from.to_string());
    let stamp = Stamp {
        sender: Sender::Agent(from),
        at: clock::now(),
        conversation: &conversation,
        token: None,
    };
    let outgoing = encode(message, Dialect::V2, stamp, &hints(message))?;
    peer::call(&found.manner, id, name, &outgoing, inputs)
}

/// What a message says that its answer may leave out.
fn hints(message: &Message) -> Hints<'_> {
    let (game_type, reader) = match message {
        Message::MoveCall(call) => (Some(&call.game_type), Some(&call.player_id)),
        Message::GameInvitation(invitation) => (Some(&invitation.game_type), None),
        _ => (None, None),
    };
    Hints {
        game_type,
        reader,
        match_id: match_of(message),
        ..Hints::default()
    }
}

/// An answer with the kind of message that it is; a move may leave it out, as only a move is due.
fn named(message: &Message, said: Box<RawValue>) -> Option<Box<RawValue>> {
    let members = split(said.get()).ok()?;
    if members.has("message_type") {
        return Some(said);
    }
    let kind = match message {
        Message::MoveCall(_) if members.has("parity_choice") => "CHOOSE_PARITY_RESPONSE",
        Message::MoveCall(_) if members.has("move") => "GAME_MOVE_RESPONSE",
        _ => return None,
    };
    let mut named: Map<String, Value> = serde_json::from_str(said.get()).ok()?;
    named.insert("message_type".to_owned(), kind.into());
    serde_json::value::to_raw_value(&named).ok()
}

/// What the bot says to a message.
pub(super) fn understood(
    message: &Message,
    answer: &Answer,
    id: u64,
    manner: &Manner,
) -> Result<Message, LeagueError> {
    let wrong =
        |detail: String| LeagueError::new(Code::InvalidMessage, format!("the bot: {detail}"));
    let said: Box<RawValue> = if manner.form().is_some() {
        let mut notes = Notes::new(Reading::Lenient);
        let said = lenient::reply(&answer.body, id, &mut notes);
        let said = said.ok_or_else(|| {
            let first = notes.first_error().or(notes.findings.first());
            let unclear = || "its answer holds no message".to_owned();
            wrong(first.map_or_else(unclear, |finding| finding.detail.clone()))
        })?;
        said.into_owned()
    } else {
        let result = peer::read(&answer.reply(), id).map_err(|fault| wrong(fault.to_string()))?;
        match peer::told(&result).map_err(|fault| wrong(fault.to_string()))? {
            Told::Message(said) => said,
            Told::Nod => return Ok(Message::Acknowledged),
            Told::Failed(words) => return Err(wrong(format!("its tool failed: {words}"))),
        }
    };
    let Some(said) = named(message, said) else {
        return Ok(Message::Acknowledged);
    };
    let unclear = |notes: Notes| {
        let first = notes.first_error().map(|finding| finding.detail.clone());
        wrong(first.unwrap_or_else(|| "its answer holds no message".to_owned()))
    };
    let mut decoded = decode(&said, Reading::Lenient, None).map_err(unclear)?;
    let answer = decoded.message(&hints(message));
    answer.map_err(|finding| LeagueError::new(finding.code, format!("the bot: {}", finding.detail)))
}
