//! What is logged of letters: that they go out, and what comes of them.

use std::borrow::Cow;
use std::time::Duration;

use league_core::letter::{CallFailure, CallOutcome, Letter};
use league_protocol::dialect;
use league_protocol::id::ConversationId;
use league_protocol::sender::{Agent, Dialect};

use super::Outbound;
use crate::agents::identity::LogNames;
use crate::wire::outbox::match_of;
use crate::wire::traffic::{Call, Came, Way, log, shown};

impl Outbound {
    /// Logs that a letter goes out.
    pub(crate) fn log_sent<T>(&self, letter: &Letter<T>) {
        self.called(letter, |call| {
            log(&self.identity, Way::Sent, call, &letter.to.agent, None);
        });
    }

    /// Logs what came back.
    pub(crate) fn log_heard<T>(&self, letter: &Letter<T>, outcome: &CallOutcome, after: Duration) {
        let came = match outcome {
            Ok(answer) => Came::with(Some(&answer.message), after),
            Err(failure) => Came::unclear(failure.code, after),
        };
        self.called(letter, |call| {
            let peer = &letter.to.agent;
            log(&self.identity, Way::Received, call, peer, Some(&came));
        });
    }

    /// Logs that nothing came back.
    pub(crate) fn log_lost<T>(&self, letter: &Letter<T>, failure: &CallFailure, after: Duration) {
        let came = Came::lost(failure.code, after);
        let LogNames { log, label } = self.identity.names();
        if letter.to.agent == Agent::Manager {
            self.told_silence(failure);
            // Without its manager an agent can do nothing but ask again, so people should know.
            return self.called(letter, |call| {
                tracing::warn!(
                    agent_id = &*log,
                    component = &*label,
                    event_type = "MANAGER_SILENT",
                    message_type = call.message_type,
                    conversation_id = shown(call).as_deref(),
                    outcome = came.outcome,
                    code = failure.code.as_str(),
                    class = failure.code.class().as_str(),
                    milliseconds = came.milliseconds(),
                    "the league manager at {} does not answer, so it is asked again: {}",
                    letter.to.endpoint,
                    failure.detail
                );
            });
        }
        self.called(letter, |call| {
            tracing::info!(
                agent_id = &*log,
                component = &*label,
                event_type = "NO_ANSWER",
                message_type = call.message_type,
                conversation_id = shown(call).as_deref(),
                peer = %letter.to.agent,
                match_id = call.match_id.map(|id| id.as_str()),
                outcome = came.outcome,
                code = failure.code.as_str(),
                class = failure.code.class().as_str(),
                milliseconds = came.milliseconds(),
                "{}",
                failure.detail
            );
        });
    }

    /// Does something with what is told of a letter, its conversation as it is on the wire.
    fn called<T>(&self, letter: &Letter<T>, act: impl FnOnce(&Call<'_>)) {
        let own: ConversationId = self.conversation(letter);
        let conversation = match letter.to.dialect {
            Dialect::V1 => dialect::conversation(own.as_str()),
            Dialect::V2 | Dialect::V2Api => Cow::Borrowed(own.as_str()),
        };
        act(&Call {
            message_type: letter.message.v2_type(),
            conversation: Some(&conversation),
            match_id: match_of(&letter.message),
        });
    }
}
