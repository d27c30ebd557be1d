//! What is logged of a message that comes to the dispatcher, and of its answer.

use std::borrow::Cow;

use league_protocol::id::{ConversationId, MatchId};
use league_protocol::message::{LeagueError, Message};
use tokio::time::Instant;

use super::dispatcher::Dispatcher;
use super::role::{AgentService, Heard};
use super::understanding::{Named, Refused};
use crate::agents::identity::Identity;
use crate::wire::outbox::match_of;
use crate::wire::traffic::{Call, Came, Way, log};

/// A message that is being answered, as the log tells of it.
pub(super) struct Attended {
    kind: Option<Cow<'static, str>>,
    conversation: Option<ConversationId>,
    sender: Named,
    match_id: Option<MatchId>,
    began: Instant,
    /// Whether its line waits for the answer. A call may overtake the admission of whom it is for;
    /// when it is answered, its agent has a name and a log.
    is_early: bool,
}

impl<R: AgentService> Dispatcher<R> {
    /// Logs a message that was understood.
    pub(super) fn attended(
        &self,
        heard: &Heard,
        sender: Named,
        conversation: Option<&ConversationId>,
    ) -> Attended {
        let attended = Attended {
            kind: heard.message.v2_type().map(Cow::Borrowed),
            conversation: conversation.cloned(),
            sender,
            match_id: match_of(&heard.message).cloned(),
            began: Instant::now(),
            is_early: self.identity.agent().is_none(),
        };
        if !attended.is_early {
            attended.log(&self.identity);
        }
        attended
    }

    /// Logs a message that was not understood; whoever waits for an agent wants to know if it was
    /// the registration of that.
    pub(super) fn puzzled(&self, refused: &Refused) -> Attended {
        let kind = refused.error.original_message_type.clone();
        let is_registration = |kind: &str| kind.ends_with("REGISTER_REQUEST");
        if kind.as_deref().is_some_and(is_registration) {
            let LeagueError { code, detail, .. } = &*refused.error;
            tracing::warn!(
                agent_id = %self.identity.log_name(),
                event_type = "REGISTRATION_REFUSED",
                message_type = kind,
                "a registration cannot be read: {code} {detail}"
            );
        }
        let attended = Attended {
            // What nobody knows the type of is a message all the same.
            kind: Some(kind.map_or(Cow::Borrowed("unknown"), Cow::Owned)),
            conversation: refused.conversation.clone(),
            sender: refused.sender.clone(),
            match_id: None,
            began: Instant::now(),
            is_early: false,
        };
        attended.log(&self.identity);
        attended
    }
}

impl Attended {
    fn call(&self) -> Call<'_> {
        Call {
            message_type: self.kind.as_deref(),
            conversation: self.conversation.as_ref().map(ConversationId::as_str),
            match_id: self.match_id.as_ref(),
        }
    }

    fn log(&self, own: &Identity) {
        log(own, Way::Received, &self.call(), &self.sender, None);
    }

    /// Logs the answer.
    pub(super) fn log_answer(&self, own: &Identity, answer: Option<&Message>) {
        if self.is_early {
            self.log(own);
        }
        let came = Came::with(answer, self.began.elapsed());
        log(own, Way::Sent, &self.call(), &self.sender, Some(&came));
    }
}
