//! From the bytes of a message to what it says: as it is, or as it must be meant.

use std::fmt::{self, Display};

use league_protocol::decode::{Decoded, decode};
use league_protocol::dialect::SenderName;
use league_protocol::finding::{Finding, Reading};
use league_protocol::id::{ConversationId, PlayerId, RefereeId};
use league_protocol::lenient;
use league_protocol::message::{LeagueError, Message};
use league_protocol::sender::{Agent, CallStyle, Dialect};
use league_protocol::token::AuthToken;
use serde_json::value::RawValue;

use super::dispatcher::{Dispatcher, unclear};
use super::kindness;
use super::registry::ToolEntry;
use super::role::{AgentService, Caller, Heard};

/// A message as it came to the dispatcher.
pub(super) struct ToldOf<'t> {
    pub(super) raw: &'t RawValue,
    /// Who says it.
    pub(super) caller: Caller<'t>,
    /// The tool that was called by its name.
    pub(super) entry: Option<&'static ToolEntry>,
    /// What the call was named.
    pub(super) method: Option<&'t str>,
    /// How the caller calls, which tells how it may want to be called.
    pub(super) speech: Option<CallStyle>,
    /// What had to be forgiven before the message was read.
    pub(super) forgiven: Vec<Finding>,
}

/// A message that was understood.
pub(super) struct Understood {
    pub(super) heard: Heard,
    pub(super) sender: Named,
    pub(super) findings: Vec<Finding>,
    pub(super) conversation: Option<ConversationId>,
}

/// A message that was not.
pub(super) struct Refused {
    pub(super) error: Box<LeagueError>,
    pub(super) sender: Named,
    pub(super) dialect: Dialect,
    pub(super) conversation: Option<ConversationId>,
}

impl Refused {
    /// Something of which no more is known than that it is wrong.
    pub(super) fn unread(error: LeagueError) -> Self {
        Self {
            error: Box::new(error),
            sender: Named::Nobody,
            dialect: Dialect::V2,
            conversation: None,
        }
    }
}

/// Whom a message names as its sender; no token says more, as that of a match is its referee's,
/// whoever that is.
#[derive(Debug, Clone)]
pub(super) enum Named {
    Agent(Agent),
    /// A referee without an id, as in `league.v1`.
    SomeReferee,
    /// Nobody, or by no id that could be held.
    Nobody,
}

impl Named {
    fn in_envelope(decoded: &Decoded<'_>) -> Self {
        let agent = match decoded.envelope.sender.as_ref() {
            Some(SenderName::Manager) => Some(Agent::Manager),
            Some(SenderName::Referee(None)) => return Self::SomeReferee,
            Some(SenderName::Referee(Some(id))) => RefereeId::new(id).ok().map(Agent::Referee),
            Some(SenderName::Player(id)) => PlayerId::new(id.as_str()).ok().map(Agent::Player),
            None => None,
        };
        agent.map_or(Self::Nobody, Self::Agent)
    }

    fn agent(&self) -> Option<&Agent> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::SomeReferee | Self::Nobody => None,
        }
    }
}

/// As the logs name it.
impl Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(agent) => agent.fmt(f),
            Self::SomeReferee => f.write_str("referee:unknown"),
            Self::Nobody => f.write_str("unknown"),
        }
    }
}

impl<R: AgentService> Dispatcher<R> {
    /// What a message must mean that cannot be understood as it is.
    pub(super) fn made_out(&self, told: &ToldOf<'_>) -> Option<Understood> {
        if self.identity.reading() == Reading::Strict {
            return None;
        }
        let card = self.role.manifest();
        let made = kindness::make_out(card, told.entry, told.method, told.raw.get())?;
        let mut understood = self.understood(&made.message, told).ok()?;
        understood.findings.extend(made.findings);
        Some(understood)
    }

    /// Understands a message as it is.
    ///
    /// One that came by the name of a tool must be one of those that the tool takes.
    pub(super) fn understood(
        &self,
        raw: &RawValue,
        told: &ToldOf<'_>,
    ) -> Result<Understood, Refused> {
        let mut decoded = match decode(raw, self.identity.reading(), self.identity.pinned()) {
            Ok(decoded) => decoded,
            Err(notes) => {
                let error = notes.first_error().map(LeagueError::from);
                return Err(Refused::unread(error.unwrap_or_else(unclear)));
            }
        };
        let conversation = decoded.envelope.conversation_id.as_deref();
        let conversation = conversation.map(ConversationId::new);
        let sender = Named::in_envelope(&decoded);
        match self.heard(&mut decoded, &sender, told) {
            Ok(heard) => {
                let mut findings = told.forgiven.clone();
                findings.append(&mut decoded.notes.findings);
                Ok(Understood {
                    heard,
                    sender,
                    findings,
                    conversation,
                })
            }
            Err(mut error) => {
                error.original_message_type = decoded.message_type().map(str::to_owned);
                let dialect = decoded.dialect;
                Err(Refused {
                    error: Box::new(error),
                    sender,
                    dialect,
                    conversation,
                })
            }
        }
    }

    fn heard(
        &self,
        decoded: &mut Decoded<'_>,
        sender: &Named,
        told: &ToldOf<'_>,
    ) -> Result<Heard, LeagueError> {
        let understood = self.hinted(|hints| decoded.message(hints));
        let mut message = understood.map_err(|finding| LeagueError::from(&finding))?;
        if let Some(entry) = told.entry {
            entry.admit(&message)?;
        }
        let token = decoded
            .token()
            .or_else(|| told.caller.bearer.map(AuthToken::new));
        if let Message::PlayerRegisterRequest(request) | Message::RefereeRegisterRequest(request) =
            &mut message
        {
            request.token.clone_from(&token);
            // Whoever registers in some manner is taken to answer in it, unless it says otherwise.
            request.meta.speech = request.meta.speech.or(told.speech);
            let game = self.identity.game();
            lenient::application(&mut request.meta, game.as_ref(), &mut decoded.notes);
        }
        Ok(Heard {
            message,
            sender: sender.agent().cloned(),
            token,
            origin: told.caller.origin,
            dialect: decoded.dialect,
            conversation: decoded
                .envelope
                .conversation_id
                .as_deref()
                .map(ConversationId::new),
        })
    }
}
