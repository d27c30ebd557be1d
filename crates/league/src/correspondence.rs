//! Letters put into words, and answers understood: the wire of calls that we make.

use std::sync::Arc;

use league_core::letter::{Answer, Credential, Failure, Letter, Outcome, Peer};
use league_protocol::decode::{Decoded, decode};
use league_protocol::dialect::{Hints, SenderName};
use league_protocol::encode::{Stamp, conversation, encode, tool};
use league_protocol::fault::Code;
use league_protocol::finding::{Notes, Path};
use league_protocol::id::PlayerId;
use league_protocol::message::Message;
use league_protocol::rpc::members::split;
use league_protocol::sender::Agent;
use league_protocol::token::AuthToken;
use league_protocol::{lenient, rpc};
use serde_json::value::RawValue;

use crate::clock;
use crate::deviations::Deviations;
use crate::identity::Identity;
use crate::net::client;
use crate::post::match_of;
use crate::transcript::Transcripts;

/// Puts letters into words and understands what comes back.
pub struct Correspondence {
    /// Who writes.
    pub identity: Arc<Identity>,
    /// What was forgiven whom.
    pub deviations: Deviations,
    /// What is said in matches, for those who keep a record of it.
    pub transcripts: Option<Transcripts>,
}

/// A letter in words.
#[derive(Debug)]
pub enum Written {
    /// The body of the call.
    Body(Vec<u8>),
    /// The receiver's dialect has no words for it.
    Nothing,
}

impl Correspondence {
    /// Puts a letter into words.
    pub fn write<T>(&self, letter: &Letter<T>, id: u64) -> Written {
        let token = self.proof(letter);
        let body = self.spoken(letter, token.as_ref(), |outgoing| {
            rpc::request(id, tool(&letter.message), Some(outgoing)).ok()
        });
        if let Some(transcripts) = &self.transcripts
            && let Some(match_id) = match_of(&letter.message)
        {
            // The record keeps the same words without the token.
            let plain = self.spoken(letter, None, |outgoing| serde_json::to_value(outgoing).ok());
            let (from, to) = (self.identity.label(), letter.to.agent.to_string());
            transcripts.add(match_id, clock::now(), from, to, plain);
        }
        body.map_or(Written::Nothing, Written::Body)
    }

    /// Logs that a letter goes out; what it says may still be hidden.
    pub fn log_sent<T>(&self, letter: &Letter<T>) {
        tracing::debug!(
            agent_id = self.identity.log_name(),
            event_type = "MESSAGE_SENT",
            message_type = letter.message.v2_type(),
            to = %letter.to.agent,
            match_id = match_of(&letter.message).map(|id| id.as_str()),
        );
    }

    /// Logs that nothing came back.
    pub fn log_lost<T>(&self, letter: &Letter<T>, error: &client::CallError) {
        if letter.to.agent == Agent::Manager {
            // Without its manager an agent can do nothing but ask again, so people should know.
            return tracing::warn!(
                agent_id = self.identity.log_name(),
                event_type = "MANAGER_SILENT",
                message_type = letter.message.v2_type(),
                "the league manager at {} does not answer, so it is asked again: {error}",
                letter.to.endpoint
            );
        }
        tracing::info!(
            agent_id = self.identity.log_name(),
            event_type = "NO_ANSWER",
            message_type = letter.message.v2_type(),
            to = %letter.to.agent,
            match_id = match_of(&letter.message).map(|id| id.as_str()),
            "{error}"
        );
    }

    fn proof<T>(&self, letter: &Letter<T>) -> Option<AuthToken> {
        match &letter.credential {
            // A referee that comes back brings its proof in the request itself.
            Credential::None => match &letter.message {
                Message::RefereeRegisterRequest(request)
                | Message::PlayerRegisterRequest(request) => request.token.clone(),
                _ => None,
            },
            Credential::Own => self.identity.token(),
            Credential::Return => self
                .identity
                .return_token()
                .or_else(|| self.identity.token()),
            Credential::Match(token) | Credential::Manager(token) => Some(token.clone()),
        }
    }

    fn spoken<T, Out>(
        &self,
        letter: &Letter<T>,
        token: Option<&AuthToken>,
        write: impl FnOnce(&league_protocol::encode::Outgoing<'_>) -> Option<Out>,
    ) -> Option<Out> {
        let agent = self.identity.agent();
        let conversation = conversation(&letter.message, &self.identity.label());
        let stamp = Stamp {
            sender: self.identity.sender(agent.as_ref()),
            at: clock::now(),
            conversation: &conversation,
            token,
        };
        self.hinted(letter, |hints| {
            encode(&letter.message, letter.to.dialect, stamp, hints)
                .and_then(|outgoing| write(&outgoing))
        })
    }

    /// Does something with what is known of a letter and its receiver.
    fn hinted<T, Out>(&self, letter: &Letter<T>, act: impl FnOnce(&Hints<'_>) -> Out) -> Out {
        let opponent = opponent(&letter.to, &letter.message);
        let (league, game) = (self.identity.league(), self.identity.game());
        act(&Hints {
            league_id: league.as_ref(),
            game_type: game.as_ref(),
            reader: player(&letter.to),
            opponent: opponent.as_ref(),
            match_id: match_of(&letter.message),
            placeholders: false,
        })
    }

    /// Understands what came back.
    ///
    /// # Errors
    ///
    /// Says which rule the answer breaks.
    pub fn read<T>(&self, letter: &Letter<T>, id: u64, answer: &client::Answer) -> Outcome {
        let mut notes = Notes::new(self.identity.reading());
        let found = lenient::reply(&answer.body, id, &mut notes);
        let outcome = match found {
            Some(raw) => self.understand(letter, &raw, &mut notes),
            None => Err(unusable(&notes, answer)),
        };
        let peer = letter.to.agent.to_string();
        self.deviations.note(&peer, &notes.findings);
        outcome
    }

    fn understand<T>(&self, letter: &Letter<T>, raw: &RawValue, notes: &mut Notes) -> Outcome {
        if !split(raw.get()).is_ok_and(|members| members.has("message_type")) {
            // A bare nod: enough where nothing else is owed, and known as one where more is.
            return Ok(Answer {
                message: Message::Acknowledged,
                token: None,
            });
        }
        let mut decoded = decode(raw, notes.reading, Some(letter.to.dialect))
            .map_err(|broken| first_of(&broken))?;
        let message = self.hinted(letter, |hints| decoded.message(hints));
        self.keep(letter, &decoded, raw);
        let stranger = stranger(&decoded, &letter.to, notes);
        let token = decoded.token().map(|token| token.hash());
        notes.findings.append(&mut decoded.notes.findings);
        if let Some(failure) = stranger {
            return Err(failure);
        }
        let message = message.map_err(|finding| Failure {
            code: finding.code,
            detail: format!("{} ({})", finding.detail, finding.clause),
        })?;
        Ok(Answer { message, token })
    }

    /// Keeps an answer for the record of its match.
    fn keep<T>(&self, letter: &Letter<T>, decoded: &Decoded<'_>, raw: &RawValue) {
        let Some(transcripts) = &self.transcripts else {
            return;
        };
        let Some(match_id) = match_of(&letter.message) else {
            return;
        };
        let value = serde_json::from_str(raw.get()).ok();
        let (from, to) = (letter.to.agent.to_string(), self.identity.label());
        let named = decoded.message_type().is_some();
        transcripts.add(match_id, clock::now(), from, to, value.filter(|_| named));
    }
}

fn player(peer: &Peer) -> Option<&PlayerId> {
    match &peer.agent {
        Agent::Player(id) => Some(id),
        Agent::Manager | Agent::Referee(_) => None,
    }
}

/// Who sits opposite the receiver, where the message says so.
fn opponent(peer: &Peer, message: &Message) -> Option<PlayerId> {
    match message {
        Message::GameInvitation(invitation) => Some(invitation.opponent_id.clone()),
        Message::MoveCall(call) => Some(call.opponent_id.clone()),
        Message::GameOver(over) => {
            let reader = player(peer)?;
            let both = over.result.players.iter();
            both.into_iter().find(|id| *id != reader).cloned()
        }
        _ => None,
    }
}

/// An answer in another's name; a name that is no id may be the agent's own.
fn stranger(decoded: &Decoded<'_>, peer: &Peer, notes: &mut Notes) -> Option<Failure> {
    let named = match decoded.envelope.sender.value()? {
        SenderName::Player(name) => PlayerId::new(name.as_str()).ok()?,
        SenderName::Manager | SenderName::Referee(_) => return None,
    };
    let own = player(peer)?;
    if named == *own || !looks_like_an_id(named.as_str()) {
        return None;
    }
    let detail = format!("the answer of `{own}` says that it is from `{named}`");
    let at = Path::root("ruling 13");
    let at = at.member("sender", true);
    notes.refuse(Code::TokenInvalid, &at, format!("`player:{own}`"), &*detail);
    Some(Failure {
        code: Code::TokenInvalid,
        detail,
    })
}

/// Ids of players are `P` and a number; anything else may be a name.
fn looks_like_an_id(name: &str) -> bool {
    let digits = name.strip_prefix('P').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn unusable(notes: &Notes, answer: &client::Answer) -> Failure {
    if answer.status >= 500 {
        return Failure {
            code: Code::Connection,
            detail: format!("the agent answered with the HTTP status {}", answer.status),
        };
    }
    let mut failure = first_of(notes);
    if answer.status >= 400 {
        failure.detail = format!("HTTP status {}: {}", answer.status, failure.detail);
    }
    failure
}

fn first_of(notes: &Notes) -> Failure {
    let first = notes.first_error().or(notes.findings.first());
    first.map_or_else(
        || Failure {
            code: Code::InvalidMessage,
            detail: "the answer holds no message".to_owned(),
        },
        |finding| Failure {
            code: finding.code,
            detail: format!("{} ({})", finding.detail, finding.clause),
        },
    )
}
