//! Outgoing calls: encodes letters, decodes replies, and keeps both for the transcript of a match.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use league_core::letter::{CallFailure, CallOutcome, Credential, Letter, Peer, PeerAnswer};
use league_protocol::dialect::{self, Hints};
use league_protocol::encode::{Stamp, conversation, documented, encode};
use league_protocol::fault::Code;
use league_protocol::finding::{Finding, Notes, Path, Reading, excerpt};
use league_protocol::id::{ConversationId, PlayerId};
use league_protocol::message::Message;
use league_protocol::peer::{self, Inputs, PeerProfile, PeerRequest};
use league_protocol::rpc::{self, members::Members};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::AuthToken;
use league_protocol::wire::{Context, ReadReply, Received, SentCall, Unread, read_reply};
use serde_json::value::{RawValue, to_raw_value};

use crate::agents::identity::{AgentInfo, Identity, LogNames, Snapshot};
use crate::clock;
use crate::http::client;
use crate::wire::observed::{DeviationSource, Deviations};
use crate::wire::record::{CallEnd, CallLine, Direction, log, shown, told_error};
use crate::wire::transcript::{Secrecy, Transcripts, verbatim};
use crate::wire::troubles::{PeerTroubles, RegistrationTroubles, WrongTokens};

/// Encodes the letters of one agent and decodes their replies.
pub(crate) struct Outbound {
    pub(crate) identity: Arc<Identity>,
    deviations: Deviations,
    /// The transcripts of matches, for agents that keep them.
    transcripts: Option<Transcripts>,
    wrong_tokens: WrongTokens,
    /// Reported causes of failed registrations.
    pub(crate) registration: RegistrationTroubles,
    /// Reported troubles with peers.
    pub(crate) troubles: PeerTroubles,
}

/// A message in the receiver's dialect; `None` for a ping, which has no message.
#[derive(Debug)]
pub(crate) struct EncodedLetter(Option<Box<RawValue>>);

/// The outcome of a letter, and whether the reply fits the receiver's call style.
#[derive(Debug)]
pub(crate) struct LetterReply {
    pub(crate) outcome: CallOutcome,
    /// Whether the receiver may expect another call style than the assumed one.
    pub(crate) doubtful: bool,
    /// Whether the receiver knows no method of this name.
    pub(crate) is_unknown_method: bool,
    /// Whether the reply shows that the receiver understood the call.
    pub(crate) is_proof: bool,
}

impl Outbound {
    pub(crate) fn new(
        identity: Arc<Identity>,
        deviations: Deviations,
        transcripts: Option<Transcripts>,
        troubles: PeerTroubles,
    ) -> Self {
        Self {
            identity,
            deviations,
            transcripts,
            wrong_tokens: WrongTokens::default(),
            registration: RegistrationTroubles::default(),
            troubles,
        }
    }

    /// Encodes a letter; `None` if the receiver's dialect has no form for it, or the receiver has
    /// no use for it.
    ///
    /// # Errors
    ///
    /// The receiver must answer, but has no tool for the message.
    pub(crate) fn encode<T>(
        &self,
        letter: &Letter<T>,
        profile: &PeerProfile,
    ) -> Result<Option<EncodedLetter>, CallFailure> {
        if letter.message == Message::Ping {
            return Ok(Some(EncodedLetter(None)));
        }
        let is_strict = self.identity.latest().info.strict;
        if offered(&letter.message, profile, is_strict).is_none() {
            if !letter.message.expects_reply() {
                return Ok(None);
            }
            let tool = letter.message.tool();
            let lack = profile.tools.as_ref().map(|tools| tools.lack(tool));
            let detail = lack.unwrap_or_else(|| format!("offers no tool `{tool}`"));
            return Err(CallFailure::of_peer(Code::InvalidMessage, detail));
        }
        let latest = self.identity.latest();
        let conversation = self.conversation(letter);
        let stamp = Stamp {
            sender: self.identity.sender(latest.info.agent.as_ref()),
            at: clock::now(),
            conversation: &conversation,
            token: proof(letter, &latest.info),
        };
        let opponent = opponent(&letter.to, &letter.message);
        let hints = self.hints(letter, &latest, opponent.as_ref());
        let outgoing = encode(&letter.message, letter.to.dialect, stamp, &hints);
        let json = match outgoing {
            Some(outgoing) if is_strict && letter.to.is_foreign => {
                let whole = serde_json::to_value(&outgoing).ok();
                let members = whole.and_then(|whole| whole.as_object().cloned());
                members.and_then(|members| to_raw_value(&documented(members)).ok())
            }
            outgoing => outgoing.and_then(|outgoing| to_raw_value(&outgoing).ok()),
        };
        Ok(json.map(|json| EncodedLetter(Some(json))))
    }

    /// The request that delivers a letter; `None` if the receiver has no tool for it.
    pub(crate) fn request<T>(
        &self,
        letter: &Letter<T>,
        encoded: &EncodedLetter,
        id: u64,
        profile: &PeerProfile,
    ) -> Option<PeerRequest> {
        let Some(json) = &encoded.0 else {
            return peer::ping(profile, id);
        };
        let is_strict = self.identity.latest().info.strict;
        let (tool, inputs) = offered(&letter.message, profile, is_strict)?;
        self.note_tool(letter, tool);
        peer::call(profile, id, tool, json, inputs)
    }

    fn conversation<T>(&self, letter: &Letter<T>) -> ConversationId {
        match letter.message {
            Message::PlayerRegisterRequest(_) => self.identity.own_registration(),
            ref message => conversation(message, &self.identity.names().label),
        }
    }

    /// The values that are known about a letter and its receiver.
    fn hints<'h, T>(
        &'h self,
        letter: &'h Letter<T>,
        latest: &'h Snapshot,
        opponent: Option<&'h PlayerId>,
    ) -> Hints<'h> {
        Hints {
            reader: player(&letter.to),
            opponent,
            match_id: letter.message.match_id(),
            synonyms: false,
            ..self.identity.hints(latest)
        }
    }

    /// Decodes the reply of a receiver with this call style.
    pub(crate) fn read<T>(
        &self,
        letter: &Letter<T>,
        id: u64,
        style: CallStyle,
        answer: &client::Answer,
    ) -> LetterReply {
        let sent = SentCall {
            id,
            message: &letter.message,
            dialect: letter.to.dialect,
            style,
            player: player(&letter.to),
            is_kept: self.transcripts.is_some() && letter.message.match_id().is_some(),
        };
        let latest = self.identity.latest();
        let reading = latest.reading();
        let opponent = opponent(&letter.to, &letter.message);
        let context = Context {
            reading,
            pinned: Some(letter.to.dialect),
            hints: self.hints(letter, &latest, opponent.as_ref()),
            ..Context::default()
        };
        let reply = read_reply(&sent, &answer.reply(), &context);
        if letter.message.is_registration() && reply.read.is_ok() {
            self.identity.note_host(is_bare(&answer.body));
        }
        self.keep_reply(letter, &reply, answer);
        let (doubtful, is_unknown_method) = (reply.doubtful, reply.is_unknown_method);
        let is_proof = is_proof(&reply, answer);
        let outcome = match reply.read {
            Ok(received) => Ok(self.take(letter, received, reading)),
            Err(Unread {
                error, findings, ..
            }) => {
                self.note(letter, &findings);
                Err(CallFailure::of_peer(error.code, error.detail))
            }
        };
        LetterReply {
            outcome,
            doubtful,
            is_unknown_method,
            is_proof,
        }
    }

    fn take<T>(&self, letter: &Letter<T>, received: Received, reading: Reading) -> PeerAnswer {
        let token = received.token.map(|token| token.hash());
        let mut findings = received.findings;
        if let (Some(player), Some(owed), Some(shown), Some(match_id)) = (
            player(&letter.to),
            letter.proof,
            token,
            letter.message.match_id(),
        ) && owed != shown
            && reading == Reading::Lenient
            && self.wrong_tokens.again(player, shown, match_id)
        {
            let detail = "the token is not the one that registration gave; send that one";
            let at = ("auth_token", "the agent's own token");
            findings.extend(deviation(Code::TokenInvalid, at, detail));
        }
        self.note(letter, &findings);
        PeerAnswer {
            message: received.message,
            token,
        }
    }

    /// Counts the tolerated deviations of a letter's receiver.
    fn note<T>(&self, letter: &Letter<T>, findings: &[Finding]) {
        if findings.is_empty() {
            return;
        }
        let seen = DeviationSource {
            by: &self.identity,
            agent: &letter.to.agent.to_string(),
            match_id: letter.message.match_id(),
        };
        self.deviations.note(&seen, findings);
    }

    /// Counts a receiver that accepts this call layout but refuses the documented one.
    pub(crate) fn note_layout<T>(&self, letter: &Letter<T>, layout: CallStyle) {
        if self.identity.latest().info.strict {
            return;
        }
        let detail = format!(
            "calls are understood in the form `{}` only; take the name of a tool as the method, \
             and the message as the parameters",
            layout.as_str()
        );
        let at = ("method", "the name of a tool");
        self.note(letter, &deviation(Code::InvalidMessage, at, &detail));
    }

    /// Counts a receiver whose tool was found by the words of its name.
    fn note_tool<T>(&self, letter: &Letter<T>, tool: &str) {
        let own = letter.message.tool();
        if is_usual(own, tool) {
            return;
        }
        let detail = format!(
            "its tool `{}` is taken for `{own}`; name it so",
            excerpt(tool)
        );
        let at = ("tools", "the name of a tool of the documents");
        self.note(letter, &deviation(Code::InvalidMessage, at, &detail));
    }

    /// Adds an outgoing letter to the transcript of its match, without its token.
    pub(crate) fn keep_sent<T>(&self, letter: &Letter<T>, encoded: &EncodedLetter) {
        if let Some(transcripts) = &self.transcripts
            && let Some(match_id) = letter.message.match_id()
            && let Some(json) = &encoded.0
        {
            let between = (self.identity.label(), letter.to.agent.to_string());
            let at = (clock::now(), Secrecy::of_sent(&letter.message));
            transcripts.add(match_id, at, between, Some(json), None);
        }
    }

    /// Adds a reply to the transcript. If the reply was repaired or could not be decoded, its
    /// original text is added as well. If no answer is required, only messages are kept.
    fn keep_reply<T>(&self, letter: &Letter<T>, reply: &ReadReply, answer: &client::Answer) {
        let (Some(transcripts), Some(match_id)) = (&self.transcripts, letter.message.match_id())
        else {
            return;
        };
        if reply.sent.is_none() && !letter.message.expects_reply() {
            return;
        }
        let problem = match &reply.read {
            Err(unread) => Some(unread.error.detail.as_str()),
            Ok(received) if received.message == Message::Acknowledged => match letter.message {
                Message::GameInvitation(_) | Message::MoveCall(_) => {
                    Some("the answer holds no message")
                }
                _ => return,
            },
            Ok(_) => None,
        };
        let is_exact = problem.is_none() && reply.repaired.is_none();
        let came = (!is_exact).then(|| verbatim(&answer.body, answer.status, problem));
        let message = reply.repaired.as_ref().or(reply.sent.as_ref());
        let between = (letter.to.agent.to_string(), self.identity.label());
        let at = (clock::now(), Secrecy::of_reply(&letter.message));
        transcripts.add(match_id, at, between, message.map(|json| &**json), came);
    }

    /// Logs an outgoing letter.
    pub(crate) fn log_sent<T>(&self, letter: &Letter<T>) {
        self.line(letter, |line| {
            log(
                &self.identity,
                Direction::Sent,
                line,
                &letter.to.agent,
                None,
            );
        });
    }

    /// Logs a reply.
    pub(crate) fn log_reply<T>(&self, letter: &Letter<T>, outcome: &CallOutcome, after: Duration) {
        let end = match outcome {
            Ok(answer) => CallEnd::answered(Some(&answer.message), after),
            Err(failure) => CallEnd::unclear(failure.code, after),
        };
        self.line(letter, |line| {
            let peer = &letter.to.agent;
            log(&self.identity, Direction::Received, line, peer, Some(&end));
        });
    }

    /// Logs a missing reply.
    pub(crate) fn log_lost<T>(&self, letter: &Letter<T>, failure: &CallFailure, after: Duration) {
        let end = CallEnd::lost(failure.code, after);
        let LogNames { log, label } = self.identity.names();
        if letter.to.agent == Agent::Manager && !failure.is_local() {
            self.registration.note_silence(failure);
            // Without its manager an agent can only retry, so people should know.
            return self.line(letter, |line| {
                tracing::warn!(
                    agent_id = &*log,
                    component = &*label,
                    event_type = "MANAGER_SILENT",
                    message_type = line.message_type,
                    conversation_id = shown(line).as_deref(),
                    outcome = end.outcome,
                    code = failure.code.as_str(),
                    class = failure.code.class().as_str(),
                    milliseconds = end.milliseconds(),
                    "the league manager at {} does not answer, so it is asked again: {}",
                    letter.to.endpoint,
                    failure.detail
                );
            });
        }
        self.line(letter, |line| {
            tracing::info!(
                agent_id = &*log,
                component = &*label,
                event_type = "NO_ANSWER",
                message_type = line.message_type,
                conversation_id = shown(line).as_deref(),
                peer = %letter.to.agent,
                match_id = line.match_id.map(|id| id.as_str()),
                outcome = end.outcome,
                code = failure.code.as_str(),
                class = failure.code.class().as_str(),
                milliseconds = end.milliseconds(),
                "{}",
                failure.detail
            );
        });
    }

    /// Calls `act` with the log line of a letter, with the conversation id as sent.
    fn line<T>(&self, letter: &Letter<T>, act: impl FnOnce(&CallLine<'_>)) {
        let own: ConversationId = self.conversation(letter);
        let conversation = match letter.to.dialect {
            Dialect::V1 => dialect::conversation(own.as_str()),
            Dialect::V2 | Dialect::V2Api => Cow::Borrowed(own.as_str()),
        };
        act(&CallLine {
            message_type: letter.message.v2_type(),
            conversation: Some(&conversation),
            match_id: letter.message.match_id(),
            error: told_error(&letter.message),
        });
    }
}

/// Whether a reply shows that the call was understood. A bare acknowledgement is taken for a yes to
/// an invitation, but it may answer any call.
fn is_proof(reply: &ReadReply, answer: &client::Answer) -> bool {
    let named = b"message_type";
    let is_typed = || answer.body.windows(named.len()).any(|part| part == named);
    match &reply.read {
        Ok(received) => !matches!(received.message, Message::GameJoinAck(_)) || is_typed(),
        Err(_) => false,
    }
}

/// Whether a reply is a message without a JSON-RPC frame.
fn is_bare(body: &[u8]) -> bool {
    let opened = rpc::open(body);
    let is_bare = |members: &Members<'_>| !members.has("result") && !members.has("error");
    opened.is_ok_and(|opened| opened.elements().iter().flatten().any(is_bare))
}

/// The token that proves the sender of a letter.
fn proof<'l, T>(letter: &'l Letter<T>, own: &'l AgentInfo) -> Option<&'l AuthToken> {
    match &letter.credential {
        // A returning agent proves itself by the token in its registration.
        Credential::None => match &letter.message {
            Message::RefereeRegisterRequest(request) | Message::PlayerRegisterRequest(request) => {
                request.token.as_ref()
            }
            _ => None,
        },
        Credential::Own => own.token.as_ref(),
        Credential::Return => own.return_token.as_ref().or(own.token.as_ref()),
        Credential::Match(token) | Credential::Manager(token) => Some(token),
    }
}

/// The receiver's tool for a message, and its parameters. A strict league knows tools by the names
/// of the documents only.
fn offered<'p>(
    message: &Message,
    profile: &'p PeerProfile,
    is_strict: bool,
) -> Option<(&'p str, Option<&'p Inputs>)> {
    let own = message.tool();
    match &profile.tools {
        Some(tools) => tools
            .offered(own)
            .filter(|(name, _)| !is_strict || is_usual(own, name))
            .map(|(name, inputs)| (name, Some(inputs))),
        None => Some((own, None)),
    }
}

/// Whether a tool has the name of the documents; the two that ask for a move stand in for each other.
fn is_usual(own: &str, tool: &str) -> bool {
    let moves = ["choose_parity", "choose_move"];
    tool == own || moves.contains(&own) && moves.contains(&tool)
}

fn deviation(code: Code, (member, expected): (&str, &str), detail: &str) -> Vec<Finding> {
    let mut notes = Notes::new(Reading::Lenient);
    let root = Path::root("ruling 13");
    notes.forgive(code, &root.member(member, false), expected, detail);
    notes.findings
}

fn player(peer: &Peer) -> Option<&PlayerId> {
    match &peer.agent {
        Agent::Player(id) => Some(id),
        Agent::Manager | Agent::Referee(_) => None,
    }
}

/// The opponent of the receiver, if the message names it.
fn opponent(peer: &Peer, message: &Message) -> Option<PlayerId> {
    match message {
        Message::GameInvitation(invitation) => Some(invitation.opponent_id.clone()),
        Message::MoveCall(call) => Some(call.opponent_id.clone()),
        Message::GameOver(over) => {
            let reader = player(peer)?;
            let mut both = over.result.players.iter();
            both.find(|id| *id != reader).cloned()
        }
        _ => None,
    }
}

/// An answer that only acknowledges the message.
pub(crate) fn acknowledged() -> PeerAnswer {
    PeerAnswer {
        message: Message::Acknowledged,
        token: None,
    }
}
