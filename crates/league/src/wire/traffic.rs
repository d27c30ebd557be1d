//! What an agent says and hears, line by line in its own log (000 §9.5.2, ruling 31).
//!
//! A line tells of which type a message is, between whom, in which conversation and match, what
//! came of it and after how long. What is in a message stays out: it may be hidden, and is kept in
//! the record of its match.

mod turned_away;

use std::borrow::Cow;
use std::fmt::Display;
use std::time::Duration;

use league_protocol::dialect::types;
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, MatchId};
use league_protocol::message::{Message, RegisterResponse};
use league_protocol::sender::Dialect;
use league_protocol::token::hex;
use sha2::{Digest, Sha256};

use crate::agents::identity::{Identity, LogNames};
pub use turned_away::RejectedCall;
pub(crate) use turned_away::RejectionTally;

/// How many digits tell one registration from another.
const DIGITS: usize = 8;
/// The longest type that is written out, in characters; a peer may name what it likes.
const LONGEST_TYPE: usize = 64;

/// A message that was sent or received and is no answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    /// Its type; one without is of no interest but to those who look into the program.
    pub(crate) message_type: Option<&'a str>,
    /// In which conversation.
    pub(crate) conversation: Option<&'a str>,
    /// In which match.
    pub(crate) match_id: Option<&'a MatchId>,
}

/// What came of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Came<'a> {
    /// In a word or two.
    pub(crate) outcome: &'static str,
    /// What went wrong.
    pub(crate) code: Option<Code>,
    /// The type of the answer; a nod has none.
    pub(crate) answer: Option<&'a str>,
    /// How long it took.
    pub(crate) after: Duration,
}

impl Came<'_> {
    /// With an answer.
    pub(crate) fn with(answer: Option<&Message>, after: Duration) -> Self {
        let (outcome, code) = match answer {
            Some(Message::LeagueError(error)) => ("refused", Some(error.code)),
            Some(Message::GameError(error)) => ("refused", Some(error.code)),
            Some(
                Message::PlayerRegisterResponse(RegisterResponse::Rejected { .. })
                | Message::RefereeRegisterResponse(RegisterResponse::Rejected { .. }),
            ) => ("refused", None),
            _ => ("answered", None),
        };
        Self {
            outcome,
            code,
            answer: answer.and_then(Message::v2_type),
            after,
        }
    }

    /// With an answer that says nothing.
    pub(crate) const fn unclear(code: Code, after: Duration) -> Self {
        Self {
            outcome: "not understood",
            code: Some(code),
            answer: None,
            after,
        }
    }

    /// Without an answer.
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

    /// How long it took, as it is written.
    pub(crate) fn milliseconds(&self) -> f64 {
        // To a hundredth: more is noise.
        (self.after.as_secs_f64() * 100_000.0).round() / 100.0
    }
}

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From this agent to the peer.
    Sent,
    /// From the peer to this agent.
    Received,
}

impl Way {
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

/// Logs a message or, with what came of it, the answer, which goes the other way.
pub(crate) fn log(
    own: &Identity,
    way: Way,
    call: &Call<'_>,
    peer: impl Display,
    came: Option<&Came<'_>>,
) {
    if call.message_type.is_none() && !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let (LogNames { log, label }, conversation) = (own.names(), shown(call));
    let (kind, league) = (call.message_type.map(cut), own.league());
    tracing::info!(
        agent_id = &*log,
        component = &*label,
        event_type = way.event_type(),
        message_type = came.map_or(kind, |came| came.answer),
        conversation_id = conversation.as_deref(),
        direction = way.as_str(),
        peer = %peer,
        league_id = league.as_ref().map(LeagueId::as_str),
        match_id = call.match_id.map(MatchId::as_str),
        in_answer_to = came.and(kind),
        outcome = came.map(|came| came.outcome),
        code = came.and_then(|came| came.code).map(Code::as_str),
        milliseconds = came.map(Came::milliseconds),
    );
}

/// The conversation as it is written. That of a registration proves to a player whom it has asked
/// (ruling 47), so no more of it is told than tells it from others.
///
/// What answers it need not be a message of that type, nor any: the conversation tells too.
pub(crate) fn shown<'c>(call: &Call<'c>) -> Option<Cow<'c, str>> {
    let conversation = call.conversation?;
    if !may_register(call.message_type) && !conversation.starts_with("conv-reg") {
        return Some(Cow::Borrowed(conversation));
    }
    let digest = hex(&Sha256::digest(conversation).into());
    Some(Cow::Owned(format!("conv-reg-{}…", &digest[..DIGITS])))
}

/// Whether a message may belong to a registration; one of a type that nobody knows may.
fn may_register(kind: Option<&str>) -> bool {
    let is_known = |kind: &str| {
        Dialect::ALL
            .into_iter()
            .any(|dialect| types(dialect).contains(&kind))
    };
    kind.is_some_and(|kind| kind.to_ascii_uppercase().contains("REGIST") || !is_known(kind))
}

fn cut(kind: &str) -> &str {
    let end = kind.char_indices().nth(LONGEST_TYPE);
    end.map_or(kind, |(end, _)| &kind[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conversation_of_a_registration_is_told_from_others_and_not_told() {
        let call = |message_type, conversation| Call {
            message_type: Some(message_type),
            conversation: Some(conversation),
            match_id: None,
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
        // What somebody else's agent calls it is as much of a proof.
        let foreign = "my-way-in-0123456789abcdef";
        for kind in ["LEAGUE_REGISTER_REQUEST", "register_response", "unknown"] {
            let told = shown(&call(kind, foreign)).unwrap();
            assert!(!told.contains("0123456789abcdef"), "{kind}: {told}");
        }
        let of_match = shown(&call("GAME_OVER", "conv-r1m1-001")).unwrap();
        assert_eq!(of_match, "conv-r1m1-001");
    }

    #[test]
    fn what_came_of_a_message_is_told_in_a_word_and_to_a_hundredth() {
        let after = Duration::from_micros(1_234_567);
        let came = Came::lost(Code::Timeout, after);
        assert_eq!((came.outcome, came.milliseconds()), ("timed out", 1_234.57));
        assert_eq!(Came::lost(Code::Connection, after).outcome, "not reached");
        assert_eq!(Came::with(None, after).outcome, "answered");
    }
}
