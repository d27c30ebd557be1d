//! Log lines for calls: what an agent sends and receives, in its own log (000 §9.5.2, ruling 31).
//!
//! A line has the type of a message, its sender and receiver, its conversation and match, its
//! outcome and its duration. The content is left out: it may be hidden, and the transcript of the
//! match has it.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use league_mcp::Origin;
use league_protocol::fault::Code;
use league_protocol::id::{ConversationId, LeagueId, MatchId};
use league_protocol::message::types;
use league_protocol::message::{LeagueError, Message, RegisterResponse};
use league_protocol::sender::Dialect;
use league_protocol::token::hex;
use league_protocol::wire::{ClaimedSender, Received, Unread};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::agents::identity::{Identity, LogNames};

/// Digits of a digest that distinguish one registration from another.
const DIGITS: usize = 8;
/// What the types of all messages of a registration have in their names.
const REGISTRATION: &[u8] = b"REGIST";
/// The longest logged message type, in characters; a peer can send any type.
const MAX_TYPE: usize = 64;

/// A sent or received message that is not an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallLine<'a> {
    /// Its type; a message without a type is logged for debugging only.
    pub(crate) message_type: Option<&'a str>,
    pub(crate) conversation: Option<&'a str>,
    pub(crate) match_id: Option<&'a MatchId>,
    /// The code of the error that the message tells of.
    pub(crate) error: Option<Code>,
}

/// The code of the error that a message tells of.
pub(crate) fn told_error(message: &Message) -> Option<Code> {
    match message {
        Message::GameError(error) => Some(error.code),
        Message::LeagueError(error) => Some(error.code),
        _ => None,
    }
}

/// The end of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallEnd<'a> {
    /// The outcome in one or two words.
    pub(crate) outcome: &'static str,
    /// The error code, if the call failed.
    pub(crate) code: Option<Code>,
    /// The type of the answer; an acknowledgement has none.
    pub(crate) answer: Option<&'a str>,
    /// The duration of the call.
    pub(crate) after: Duration,
}

impl CallEnd<'_> {
    /// The call was answered.
    pub(crate) fn answered(answer: Option<&Message>, after: Duration) -> Self {
        let code = answer.and_then(told_error);
        let is_rejection = matches!(
            answer,
            Some(
                Message::PlayerRegisterResponse(RegisterResponse::Rejected { .. })
                    | Message::RefereeRegisterResponse(RegisterResponse::Rejected { .. }),
            )
        );
        let outcome = if is_rejection || code.is_some() {
            "refused"
        } else {
            "answered"
        };
        Self {
            outcome,
            code,
            answer: answer.and_then(Message::v2_type),
            after,
        }
    }

    /// The answer could not be understood.
    pub(crate) const fn unclear(code: Code, after: Duration) -> Self {
        Self {
            outcome: "not understood",
            code: Some(code),
            answer: None,
            after,
        }
    }

    /// No answer came.
    pub(crate) const fn lost(code: Code, after: Duration) -> Self {
        let outcome = match code {
            Code::Timeout => "timed out",
            Code::Connection => "not reached",
            _ => "not understood",
        };
        Self {
            outcome,
            code: Some(code),
            answer: None,
            after,
        }
    }

    /// The duration as it is logged.
    pub(crate) fn milliseconds(&self) -> f64 {
        // Rounded to hundredths of a millisecond: further digits are noise.
        (self.after.as_secs_f64() * 100_000.0).round() / 100.0
    }
}

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From this agent to the peer.
    Sent,
    /// From the peer to this agent.
    Received,
}

impl Direction {
    const fn event_type(self) -> &'static str {
        match self {
            Self::Sent => "MESSAGE_SENT",
            Self::Received => "MESSAGE_RECEIVED",
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Received => "received",
        }
    }
}

/// Logs a message or, if the end of its call is given, the answer, which has the opposite
/// direction. What is not a message is logged for debugging only.
pub(crate) fn log(
    own: &Identity,
    way: Direction,
    call: &CallLine<'_>,
    peer: impl Display,
    end: Option<&CallEnd<'_>>,
) {
    // Neither a call without a type nor a plain acknowledgement is a message of the documents.
    let is_acknowledgement =
        end.is_some_and(|end| end.answer.is_none() && end.outcome == "answered");
    let is_message = call.message_type.is_some() && !is_acknowledgement;
    if !is_message && !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let latest = own.latest();
    let (LogNames { log, label }, conversation) = (&latest.names, shown(call));
    let kind = call.message_type.map(cut);
    let told = end.map_or(kind, |end| end.answer);
    let error = call.error.filter(|_| end.is_none());
    let sentence = sentence(way, (told, error), &peer, end.map(|end| (kind, end)));
    // The level of a line is fixed where it is written.
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                agent_id = &**log,
                component = &**label,
                event_type = way.event_type(),
                message_type = told,
                conversation_id = conversation.as_deref(),
                direction = way.as_str(),
                peer = %peer,
                league_id = latest.info.league_id.as_ref().map(LeagueId::as_str),
                match_id = call.match_id.map(MatchId::as_str),
                error_code = error.map(Code::as_str),
                in_answer_to = end.and(kind),
                outcome = end.map(|end| end.outcome),
                code = end.and_then(|end| end.code).map(Code::as_str),
                milliseconds = end.map(CallEnd::milliseconds),
                "{sentence}"
            )
        };
    }
    if told == Some("GAME_ERROR") {
        line!(warn);
    } else {
        line!(info);
    }
}

/// `sent GAME_INVITATION to player:P01`, or for an answer
/// `received LEAGUE_ERROR from league_manager, in answer to MATCH_RESULT_REPORT: refused (E012)`.
fn sentence(
    way: Direction,
    (told, error): (Option<&str>, Option<Code>),
    peer: &impl Display,
    asked: Option<(Option<&str>, &CallEnd<'_>)>,
) -> String {
    let message = match (told, asked) {
        (Some(told), _) => told,
        (None, Some((_, end))) if end.outcome == "answered" => "an acknowledgement",
        (None, Some(_)) => "an answer",
        (None, None) => "a message",
    };
    let preposition = match way {
        Direction::Sent => "to",
        Direction::Received => "from",
    };
    let mut sentence = format!("{} {message} {preposition} {peer}", way.as_str());
    if let Some(error) = error {
        sentence.push_str(&format!(": {} ({})", error.as_str(), error.name()));
    }
    if let Some((kind, end)) = asked {
        let kind = kind.unwrap_or("a message");
        sentence.push_str(&format!(", in answer to {kind}"));
        if end.outcome != "answered" {
            sentence.push_str(&format!(": {}", end.outcome));
        }
        if let Some(code) = end.code {
            sentence.push_str(&format!(" ({})", code.as_str()));
        }
    }
    sentence
}

/// The conversation as it is logged. The conversation of a registration proves the manager to the
/// player that registered (ruling 47), so only a short digest of it is logged.
///
/// The answer may have another type or none, so the name of the conversation is checked as well.
pub(crate) fn shown<'c>(call: &CallLine<'c>) -> Option<Cow<'c, str>> {
    let conversation = call.conversation?;
    if !may_register(call.message_type) && !conversation.starts_with("conv-reg") {
        return Some(Cow::Borrowed(conversation));
    }
    let digest = hex(&Sha256::digest(conversation).into());
    Some(Cow::Owned(format!("conv-reg-{}…", &digest[..DIGITS])))
}

/// Whether a message may belong to a registration; a message of an unknown type may.
fn may_register(kind: Option<&str>) -> bool {
    let is_known = |kind: &str| {
        Dialect::ALL
            .into_iter()
            .any(|dialect| types(dialect).contains(&kind))
    };
    let names_it = |kind: &str| {
        let mut parts = kind.as_bytes().windows(REGISTRATION.len());
        parts.any(|part| part.eq_ignore_ascii_case(REGISTRATION))
    };
    kind.is_some_and(|kind| names_it(kind) || !is_known(kind))
}

fn cut(kind: &str) -> &str {
    let end = kind.char_indices().nth(MAX_TYPE);
    end.map_or(kind, |(end, _)| &kind[..end])
}

/// A message that is being answered, for the log.
pub(crate) struct IncomingCall {
    kind: Option<Cow<'static, str>>,
    conversation: Option<ConversationId>,
    sender: ClaimedSender,
    match_id: Option<MatchId>,
    error: Option<Code>,
    began: Instant,
    /// Whether its line is logged together with the answer. A call may arrive before its agent is
    /// admitted; by the time of the answer, the agent has a name and a log.
    is_early: bool,
}

impl IncomingCall {
    /// Logs a decoded message.
    pub(crate) fn log_received(own: &Identity, received: &Received) -> Self {
        let call = Self {
            kind: received.message.v2_type().map(Cow::Borrowed),
            conversation: received.conversation.clone(),
            sender: received.sender.clone(),
            match_id: received.message.match_id().cloned(),
            error: told_error(&received.message),
            began: Instant::now(),
            is_early: own.latest().info.agent.is_none(),
        };
        if !call.is_early {
            call.log(own);
        }
        call
    }

    /// Logs a message that could not be decoded. A failed registration is logged more visibly,
    /// since people may be waiting for that agent.
    pub(crate) fn log_unread(own: &Identity, unread: &Unread) -> Self {
        let kind = unread.error.original_message_type.clone();
        let is_registration = |kind: &str| kind.ends_with("REGISTER_REQUEST");
        if kind.as_deref().is_some_and(is_registration) {
            let LeagueError { code, detail, .. } = &*unread.error;
            tracing::warn!(
                agent_id = %own.log_name(),
                event_type = "REGISTRATION_REFUSED",
                message_type = kind,
                "a registration cannot be read: {code} {detail}"
            );
        }
        let call = Self {
            // A message of an unknown type is still a message.
            kind: Some(kind.map_or(Cow::Borrowed("unknown"), Cow::Owned)),
            conversation: unread.conversation.clone(),
            sender: unread.sender.clone(),
            match_id: None,
            error: None,
            began: Instant::now(),
            is_early: false,
        };
        call.log(own);
        call
    }

    fn line(&self) -> CallLine<'_> {
        CallLine {
            message_type: self.kind.as_deref(),
            conversation: self.conversation.as_ref().map(ConversationId::as_str),
            match_id: self.match_id.as_ref(),
            error: self.error,
        }
    }

    fn log(&self, own: &Identity) {
        log(own, Direction::Received, &self.line(), &self.sender, None);
    }

    /// Logs the answer.
    pub(crate) fn log_answer(&self, own: &Identity, answer: Option<&Message>) {
        if self.is_early {
            self.log(own);
        }
        let end = CallEnd::answered(answer, self.began.elapsed());
        log(own, Direction::Sent, &self.line(), &self.sender, Some(&end));
    }
}

/// Rejections logged individually per minute; after these, only powers of two are logged.
const LOGGED_ONE_BY_ONE: u64 = 16;
const MINUTE: Duration = Duration::from_secs(60);

/// A call that was rejected before it was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RejectedCall {
    pub origin: Origin,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The JSON-RPC error code of the answer.
    pub code: i64,
}

/// The number of calls that one agent rejected in the current minute.
#[derive(Debug, Default)]
pub(crate) struct RejectionTally(Mutex<Option<(Instant, u64)>>);

impl RejectionTally {
    /// Logs a rejected call, unless too many were logged in this minute.
    pub(crate) fn log(&self, own: &Identity, call: &RejectedCall) {
        let Some(times) = self.told(Instant::now()) else {
            return;
        };
        let from = match call.origin {
            Origin::Network { from, .. } => from.to_string(),
            Origin::Pipe => "standard input".to_owned(),
            Origin::Unknown => "unknown".to_owned(),
        };
        let LogNames { log, label } = own.names();
        tracing::info!(
            agent_id = &*log,
            component = &*label,
            event_type = Direction::Received.event_type(),
            message_type = "unknown",
            direction = Direction::Received.as_str(),
            peer = &*from,
            outcome = "refused",
            code = call.code,
            status = call.status,
            times,
            "refused an unreadable call from {from}: status {}, code {}",
            call.status,
            call.code
        );
    }

    /// Counts a rejected call; returns the count of this minute if the call is to be logged.
    fn told(&self, now: Instant) -> Option<u64> {
        let mut minute = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let present = minute.filter(|(began, _)| now.duration_since(*began) < MINUTE);
        let (began, before) = present.unwrap_or((now, 0));
        let times = before + 1;
        *minute = Some((began, times));
        (times <= LOGGED_ONE_BY_ONE || times.is_power_of_two()).then_some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conversation_of_a_registration_is_told_from_others_and_not_told() {
        let call = |message_type, conversation| CallLine {
            message_type: Some(message_type),
            conversation: Some(conversation),
            match_id: None,
            error: None,
        };
        let own = "conv-reg-0123456789abcdef-player:P01";
        let told = shown(&call("LEAGUE_REGISTER_REQUEST", own)).unwrap();
        assert!(!told.contains("0123456789abcdef"), "{told}");
        let answered = shown(&call("LEAGUE_REGISTER_REQUEST", own)).unwrap();
        assert_eq!(told, answered);
        let other = "conv-reg-fedcba9876543210-player:P02";
        let other = shown(&call("LEAGUE_REGISTER_REQUEST", other)).unwrap();
        assert_ne!(told, other);
        for kind in ["LEAGUE_ERROR", "league_register_response", "unknown"] {
            assert_eq!(told, shown(&call(kind, own)).unwrap(), "{kind}");
        }
        // A foreign agent's own conversation name is just as much a proof.
        let foreign = "my-way-in-0123456789abcdef";
        for kind in ["LEAGUE_REGISTER_REQUEST", "register_response", "unknown"] {
            let told = shown(&call(kind, foreign)).unwrap();
            assert!(!told.contains("0123456789abcdef"), "{kind}: {told}");
        }
        let of_match = shown(&call("GAME_OVER", "conv-r1m1-001")).unwrap();
        assert_eq!(of_match, "conv-r1m1-001");
    }

    #[test]
    fn sentence_says_what_went_where_and_what_came_of_it() {
        let after = Duration::ZERO;
        let refusal = CallEnd {
            answer: Some("LEAGUE_ERROR"),
            ..CallEnd::unclear(Code::TokenInvalid, after)
        };
        let (asked, peer) = (Some("GAME_OVER"), "player:P01");
        let of = |way, told, end| sentence(way, (told, None), &peer, end);
        for (said, expected) in [
            (
                of(Direction::Sent, asked, None),
                "sent GAME_OVER to player:P01",
            ),
            (
                of(
                    Direction::Received,
                    None,
                    Some((asked, &CallEnd::answered(None, after))),
                ),
                "received an acknowledgement from player:P01, in answer to GAME_OVER",
            ),
            (
                of(
                    Direction::Sent,
                    Some("LEAGUE_ERROR"),
                    Some((asked, &refusal)),
                ),
                "sent LEAGUE_ERROR to player:P01, in answer to GAME_OVER: not understood (E012)",
            ),
        ] {
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn what_came_of_a_message_is_told_in_a_word_and_to_a_hundredth() {
        let after = Duration::from_micros(1_234_567);
        let end = CallEnd::lost(Code::Timeout, after);
        assert_eq!((end.outcome, end.milliseconds()), ("timed out", 1_234.57));
        assert_eq!(
            CallEnd::lost(Code::Connection, after).outcome,
            "not reached"
        );
        assert_eq!(CallEnd::answered(None, after).outcome, "answered");
    }

    #[test]
    fn of_a_flood_only_its_growth_is_told_and_after_a_minute_each_one_again() {
        let (tally, now) = (RejectionTally::default(), Instant::now());
        let told: Vec<u64> = (0..1_000).filter_map(|_| tally.told(now)).collect();
        let mut expected: Vec<u64> = (1..=16).collect();
        expected.extend([32, 64, 128, 256, 512]);
        assert_eq!(told, expected);
        assert_eq!(tally.told(now + MINUTE), Some(1));
    }
}
