//! What is told of agents that could not be called: each kind of trouble once until the agent
//! answers again, and what may be the cause.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use league_core::letter::{CallFailure, CallOutcome, Letter};
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::message::Message;
use league_protocol::sender::Agent;

use super::Outbound;
use crate::http::endpoint::{BadEndpoint, MAX_ENDPOINT};

/// How many agents are told of; of more nothing is said.
const MOST_AGENTS: usize = 10_000;

/// How many characters of a reason are told.
const LONGEST_REASON: usize = 300;

/// It takes no match.
const TURNED_DOWN: &str = "MATCH_TURNED_DOWN";
/// It does not answer.
const SILENT: &str = "AGENT_SILENT";
/// It is not called at all.
const NOT_CALLED: &str = "NOT_CALLED";

/// Which trouble with whom has been told.
#[derive(Debug, Default)]
pub(crate) struct PeerTroubles {
    told: Mutex<BTreeMap<Agent, BTreeSet<&'static str>>>,
    /// Whether nothing is told at all.
    is_kept: bool,
}

impl PeerTroubles {
    /// What is told in a league; if that was over before, nothing, as nobody misses those who are
    /// gone.
    pub(crate) fn of(is_over: bool) -> Self {
        Self {
            is_kept: is_over,
            ..Self::default()
        }
    }

    /// Notes a kind of trouble with an agent; says whether it is to be told.
    pub(crate) fn is_new(&self, agent: &Agent, kind: &'static str) -> bool {
        if self.is_kept {
            return false;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kinds) = told.get_mut(agent) {
            return kinds.insert(kind);
        }
        let room = told.len() < MOST_AGENTS;
        if room {
            told.insert(agent.clone(), BTreeSet::from([kind]));
        }
        room
    }

    /// Forgets trouble with an agent that is over, so that it is told if it comes again.
    fn forget(&self, agent: &Agent, over: impl Fn(&str) -> bool) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kinds) = told.get_mut(agent) {
            kinds.retain(|kind| !over(kind));
            if kinds.is_empty() {
                told.remove(agent);
            }
        }
    }
}

impl Outbound {
    /// Tells that a call of another agent than the manager came to nothing, the first time.
    pub(crate) fn tell_trouble<T>(&self, letter: &Letter<T>, outcome: &CallOutcome) {
        let answer = match outcome {
            Err(failure) => return self.tell_silence(letter, failure),
            Ok(answer) => answer,
        };
        let agent = &letter.to.agent;
        match &answer.message {
            Message::StartMatchAck(ack) if !ack.accepted => {
                self.silent.forget(agent, |kind| kind != TURNED_DOWN);
                if let Some(reason) = &ack.reason {
                    let reason = harmless(reason, LONGEST_REASON);
                    self.tell(letter, TURNED_DOWN, |agent, _| {
                        format!("{agent} does not take {}: {reason}", ack.match_id)
                    });
                }
            }
            Message::StartMatchAck(_) => self.silent.forget(agent, |_| true),
            _ => self.silent.forget(agent, |kind| kind != TURNED_DOWN),
        }
    }

    fn tell_silence<T>(&self, letter: &Letter<T>, failure: &CallFailure) {
        let cause = match failure.code {
            Code::Timeout => "it is slow, or a firewall keeps calls from it",
            Code::Connection => "it has ended, or answers at another address",
            _ => return,
        };
        let error = harmless(&failure.detail, LONGEST_REASON);
        self.tell(letter, SILENT, |agent, endpoint| {
            format!("{agent} does not answer at {endpoint}: {error} ({cause})")
        });
    }

    /// The end of a letter to one who is not called at all where it says it answers, which is told
    /// as well.
    pub(crate) fn barred<T>(&self, letter: &Letter<T>, error: &BadEndpoint) -> CallFailure {
        self.tell(letter, NOT_CALLED, |agent, endpoint| {
            let error = harmless(&error.to_string(), LONGEST_REASON);
            format!("{agent} is not called at {endpoint}: {error}")
        });
        CallFailure {
            code: Code::Connection,
            detail: error.to_string(),
        }
    }

    fn tell<T>(
        &self,
        letter: &Letter<T>,
        event_type: &'static str,
        sentence: impl FnOnce(&Agent, &str) -> String,
    ) {
        let agent = &letter.to.agent;
        // A manager that is silent is told of elsewhere.
        if *agent != Agent::Manager && self.silent.is_new(agent, event_type) {
            let agent_id = self.identity.log_name();
            let endpoint = harmless(&letter.to.endpoint, MAX_ENDPOINT);
            let sentence = sentence(agent, &endpoint);
            tracing::warn!(agent_id = &*agent_id, event_type, "{sentence}");
        }
    }
}

#[cfg(test)]
mod tests {
    use league_protocol::id::PlayerId;

    use super::*;

    #[test]
    fn each_kind_of_trouble_is_told_once_until_it_is_over() {
        let silent = PeerTroubles::default();
        let [one, other] = ["P01", "P02"].map(|id| Agent::Player(PlayerId::new(id).unwrap()));
        assert!(silent.is_new(&one, SILENT));
        assert!(!silent.is_new(&one, SILENT));
        assert!(silent.is_new(&one, TURNED_DOWN), "another kind");
        assert!(silent.is_new(&other, SILENT), "another agent");
        silent.forget(&one, |kind| kind != TURNED_DOWN);
        assert!(silent.is_new(&one, SILENT), "it had answered in between");
        assert!(!silent.is_new(&one, TURNED_DOWN), "nothing was said of it");
        assert!(!silent.is_new(&other, SILENT), "it had not answered");
        assert!(!PeerTroubles::of(true).is_new(&one, SILENT));
    }
}
