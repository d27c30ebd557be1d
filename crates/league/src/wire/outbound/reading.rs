//! What came back for a letter, understood: exactly if it can be, else by what it must mean.

use std::borrow::Cow;
use std::sync::Arc;

use league_core::letter::{CallFailure, CallOutcome, Letter, PeerAnswer};
use league_protocol::decode::{Decoded, decode};
use league_protocol::dialect::SenderName;
use league_protocol::fault::Code;
use league_protocol::finding::{Notes, Path, Reading};
use league_protocol::id::PlayerId;
use league_protocol::lenient::{self, Expected, Repair};
use league_protocol::message::{EVEN_ODD, Message};
use league_protocol::peer::{self, PeerProfile, ToolResult};
use league_protocol::rpc::members::split;
use league_protocol::sender::{CallStyle, Dialect};
use serde_json::Value;
use serde_json::value::RawValue;

use super::failures::{complaint, failed, faulty, first_of, unusable};
use super::kept::Read;
use super::{Outbound, Understood, is_owed, nod, player};
use crate::http::client;
use crate::wire::deviations::Seen;
use crate::wire::outbox::{is_application, match_of};

/// Whether what came names the type of a message.
fn is_typed(raw: &RawValue) -> bool {
    split(raw.get()).is_ok_and(|members| members.has("message_type"))
}

impl Outbound {
    /// Understands what came back from a receiver that takes calls in this manner.
    pub(crate) fn read<T>(
        &self,
        letter: &Letter<T>,
        id: u64,
        profile: &PeerProfile,
        answer: &client::Answer,
    ) -> Understood {
        let mut read = Read {
            notes: Notes::new(self.identity.reading()),
            said: None,
            mended: None,
        };
        let understood = match profile.style {
            CallStyle::Mcp => self.read_mcp(letter, id, answer, &mut read),
            _ => self.read_simple(letter, id, answer, &mut read),
        };
        self.keep(letter, &read, &understood.outcome, answer);
        self.forgiven(letter, &read.notes);
        understood
    }

    /// Notes what was forgiven the receiver of a letter.
    fn forgiven<T>(&self, letter: &Letter<T>, notes: &Notes) {
        if notes.findings.is_empty() {
            return;
        }
        let seen = Seen {
            by: &self.identity,
            agent: &letter.to.agent.to_string(),
            match_id: match_of(&letter.message),
        };
        self.deviations.note(&seen, &notes.findings);
    }

    /// Notes that an agent wants calls in this form, and refuses the one that the documents have.
    pub(crate) fn note_layout<T>(&self, letter: &Letter<T>, layout: CallStyle) {
        let mut notes = Notes::new(self.identity.reading());
        let detail = format!(
            "calls are understood in the form `{}` only; take the name of a tool as the method, \
             and the message as the parameters",
            layout.as_str()
        );
        let expected = "the name of a tool";
        forgive(
            &mut notes,
            Code::InvalidMessage,
            "method",
            expected,
            &detail,
        );
        self.forgiven(letter, &notes);
    }

    fn read_simple<T>(
        &self,
        letter: &Letter<T>,
        id: u64,
        answer: &client::Answer,
        read: &mut Read,
    ) -> Understood {
        let outcome = match lenient::reply(&answer.body, id, &mut read.notes) {
            Some(raw) => {
                let raw: Cow<'_, RawValue> = raw;
                self.understand(letter, &raw, &mut read.said, &mut read.notes)
            }
            None => Err(unusable(&mut read.notes, answer)),
        };
        let understood = self.settled(letter, outcome, &answer.body, read);
        if understood.outcome.is_ok() && answer.status >= 400 {
            note_status(answer.status, &mut read.notes);
        }
        understood
    }

    fn read_mcp<T>(
        &self,
        letter: &Letter<T>,
        id: u64,
        answer: &client::Answer,
        read: &mut Read,
    ) -> Understood {
        let result = peer::read(&answer.reply(), id);
        let told = result.and_then(|result| match letter.message {
            Message::Ping => Ok(ToolResult::Acknowledged),
            _ => peer::tool_result(&result),
        });
        let (outcome, doubtful) = match told {
            Ok(ToolResult::Message(raw)) => {
                let outcome = self.understand(letter, &raw, &mut read.said, &mut read.notes);
                return self.settled(letter, outcome, raw.get().as_bytes(), read);
            }
            Ok(ToolResult::Acknowledged) => (Ok(nod()), false),
            // A tool that is gone fails like any other.
            Ok(ToolResult::Failed(text)) => (Err(failed(&text)), true),
            Err(fault) => (Err(faulty(&fault)), true),
        };
        Understood { outcome, doubtful }
    }

    /// Looks for what was meant where what came is no answer.
    fn settled<T>(
        &self,
        letter: &Letter<T>,
        outcome: CallOutcome,
        said: &[u8],
        read: &mut Read,
    ) -> Understood {
        let answered = outcome
            .as_ref()
            .is_ok_and(|answer| !is_nod(&answer.message));
        if answered || !is_owed(&letter.message) {
            return Understood {
                outcome,
                doubtful: false,
            };
        }
        let mut mending = Notes::new(read.notes.reading);
        let types = owed_types(&letter.message, letter.to.dialect);
        let expected = Expected {
            types: &types,
            method: None,
            dialect: Some(letter.to.dialect),
        };
        let said = std::str::from_utf8(said).unwrap_or_default();
        let (outcome, doubtful) = match lenient::repair(said, &expected, &mut mending) {
            Some(Repair::Complaint(words)) => (Err(complaint(&words)), true),
            Some(Repair::Message(raw)) => {
                let mut made = None;
                let mended = self.understand(letter, &raw, &mut made, &mut mending);
                match mended {
                    Ok(answer) => {
                        // What stood in the way is told by what was mended.
                        read.notes.findings = mending.findings;
                        read.mended = made;
                        return Understood {
                            outcome: Ok(answer),
                            doubtful: false,
                        };
                    }
                    Err(_) => {
                        let nodded = outcome.is_ok() && is_application(&letter.message);
                        (outcome, !nodded && !named_a_type(said))
                    }
                }
            }
            // A manager may nod at an application, and call back with its answer (ruling 47).
            None => {
                let nodded = outcome.is_ok() && is_application(&letter.message);
                (outcome, !nodded)
            }
        };
        Understood { outcome, doubtful }
    }

    /// Understands a message; one that can be read at all is left in `found`.
    fn understand<T>(
        &self,
        letter: &Letter<T>,
        raw: &RawValue,
        found: &mut Option<Value>,
        notes: &mut Notes,
    ) -> CallOutcome {
        if !is_typed(raw) {
            // A bare nod: enough where nothing else is owed, and known as one where more is.
            return Ok(nod());
        }
        let mut decoded = decode(raw, notes.reading, Some(letter.to.dialect))
            .map_err(|broken| first_of(&broken))?;
        let message = self.hinted(letter, |hints| decoded.message(hints));
        if self.is_kept(letter) && decoded.message_type().is_some() {
            *found = serde_json::from_str(raw.get()).ok();
        }
        let stranger = stranger(&decoded, letter, notes);
        let token = decoded.token().map(|token| token.hash());
        notes.findings.append(&mut decoded.notes.findings);
        if let Some(failure) = stranger {
            return Err(failure);
        }
        let message = message.map_err(|finding| CallFailure {
            code: finding.code,
            detail: format!("{} ({})", finding.detail, finding.clause),
        })?;
        let answer = PeerAnswer { message, token };
        Ok(match notes.reading {
            Reading::Strict => answer,
            Reading::Lenient => self.own_name(letter, answer, notes),
        })
    }

    /// Answers travel on a connection that was opened to the receiver, so that whoever lets them go
    /// is known: a wrong name or token in them is forgiven where the league is lenient (ruling 51).
    fn own_name<T>(
        &self,
        letter: &Letter<T>,
        mut answer: PeerAnswer,
        notes: &mut Notes,
    ) -> PeerAnswer {
        let Some(own) = player(&letter.to) else {
            return answer;
        };
        if let (Some(owed), Some(shown), Some(match_id)) =
            (letter.proof, answer.token, match_of(&letter.message))
            && owed != shown
            && self.wrong_tokens.again(own, shown, match_id)
        {
            let detail = "the token is not the one that registration gave; send that one";
            let expected = "the agent's own token";
            forgive(notes, Code::TokenInvalid, "auth_token", expected, detail);
        }
        let other = |named: &mut Option<PlayerId>| named.take_if(|named| named != own);
        let named = match &mut answer.message {
            Message::GameJoinAck(ack) => other(&mut ack.player_id),
            Message::MoveResponse(response) => other(&mut Arc::make_mut(response).player_id),
            _ => None,
        };
        if let Some(named) = named {
            let detail = format!("found `{named}`; send the id that registration gave, `{own}`");
            forgive(
                notes,
                Code::InvalidMessage,
                "player_id",
                &format!("`{own}`"),
                &detail,
            );
        }
        answer
    }
}

/// The types that can answer a message, the likeliest first.
pub(crate) fn owed_types(message: &Message, dialect: Dialect) -> Vec<&'static str> {
    let own = match (message, dialect) {
        (Message::GameInvitation(_), Dialect::V1) => "GAME_INVITATION_RESPONSE",
        (Message::GameInvitation(_), _) => "GAME_JOIN_ACK",
        (Message::MoveCall(_), Dialect::V1) => "PLAY_RESPONSE",
        (Message::MoveCall(call), _) if call.game_type.as_str() == EVEN_ODD => {
            "CHOOSE_PARITY_RESPONSE"
        }
        (Message::MoveCall(_), _) => "GAME_MOVE_RESPONSE",
        (Message::PlayerRegisterRequest(_), _) => "LEAGUE_REGISTER_RESPONSE",
        (Message::RefereeRegisterRequest(_), _) => "REFEREE_REGISTER_RESPONSE",
        (Message::StartMatch(_), _) => "START_MATCH_ACK",
        (Message::LeagueQuery(_), _) => "LEAGUE_QUERY_RESPONSE",
        _ => return Vec::new(),
    };
    vec![own, "LEAGUE_ERROR", "GAME_ERROR"]
}

fn forgive(notes: &mut Notes, code: Code, place: &str, expected: &str, detail: &str) {
    let root = Path::root("ruling 13");
    notes.forgive(code, &root.member(place, false), expected, detail);
}

fn note_status(status: u16, notes: &mut Notes) {
    let detail = format!("a good answer came with the HTTP status {status}; send 200");
    forgive(notes, Code::InvalidMessage, "status", "200", &detail);
}

/// An answer in another's name; a name that is no id may be the agent's own.
fn stranger<T>(
    decoded: &Decoded<'_>,
    letter: &Letter<T>,
    notes: &mut Notes,
) -> Option<CallFailure> {
    let named = match decoded.envelope.sender.as_ref()? {
        SenderName::Player(name) => PlayerId::new(name.as_str()).ok()?,
        SenderName::Manager | SenderName::Referee(_) => return None,
    };
    let own = player(&letter.to)?;
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
    Some(CallFailure {
        code: Code::TokenInvalid,
        detail,
    })
}

/// Ids of players are `P` and a number; anything else may be a name.
fn looks_like_an_id(name: &str) -> bool {
    let digits = name.strip_prefix('P').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

const fn is_nod(message: &Message) -> bool {
    matches!(message, Message::Acknowledged | Message::Ping)
}

/// Whether the peer at least said what it wanted to say, so that another form would not help.
fn named_a_type(said: &str) -> bool {
    said.contains("message_type")
}
