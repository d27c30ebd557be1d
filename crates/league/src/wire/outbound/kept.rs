//! What of letters and their answers is kept for the record of a match.
//!
//! The record holds each answer as it was read. Where it had to be made out, or could not be read,
//! it also holds what was really said.

use league_core::letter::{CallOutcome, Letter};
use league_protocol::finding::Notes;
use league_protocol::message::Message;
use serde_json::Value;

use super::{Outbound, is_owed};
use crate::clock;
use crate::http::client;
use crate::wire::outbox::match_of;
use crate::wire::transcript::verbatim;

/// An answer as it was read.
pub(super) struct Read {
    /// What was found out of place.
    pub(super) notes: Notes,
    /// The message as it was said, if there was one.
    pub(super) said: Option<Value>,
    /// The message that was made out of what was said.
    pub(super) mended: Option<Value>,
}

impl Outbound {
    /// Keeps a letter that goes out for the record of its match, without the token.
    pub(crate) fn record<T>(&self, letter: &Letter<T>) {
        if let Some(transcripts) = &self.transcripts
            && let Some(match_id) = match_of(&letter.message)
            && let Some(plain) =
                self.spoken(letter, None, |outgoing| serde_json::to_value(outgoing).ok())
        {
            let between = (self.identity.label(), letter.to.agent.to_string());
            transcripts.add(match_id, clock::now(), between, plain, None);
        }
    }

    /// Whether answers to a letter are kept.
    pub(super) fn is_kept<T>(&self, letter: &Letter<T>) -> bool {
        self.transcripts.is_some() && match_of(&letter.message).is_some()
    }

    /// Keeps what came back; where no answer is owed, only a message says anything.
    pub(super) fn keep<T>(
        &self,
        letter: &Letter<T>,
        read: &Read,
        outcome: &CallOutcome,
        answer: &client::Answer,
    ) {
        let (Some(transcripts), Some(match_id)) = (&self.transcripts, match_of(&letter.message))
        else {
            return;
        };
        if read.said.is_none() && !is_owed(&letter.message) {
            return;
        }
        let problem = match outcome {
            Err(failure) => Some(failure.detail.as_str()),
            Ok(answer) if answer.message == Message::Acknowledged => match letter.message {
                Message::GameInvitation(_) | Message::MoveCall(_) => {
                    Some("the answer holds no message")
                }
                _ => return,
            },
            Ok(_) => None,
        };
        let exact = problem.is_none() && read.mended.is_none();
        let message = read.mended.as_ref().or(read.said.as_ref());
        let said = (!exact).then(|| verbatim(&answer.body, answer.status, problem));
        let between = (letter.to.agent.to_string(), self.identity.label());
        let message = message.cloned().unwrap_or_default();
        transcripts.add(match_id, clock::now(), between, message, said);
    }
}
