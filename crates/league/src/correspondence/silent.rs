//! What is told of agents that could not be called: of each once, and what may be the cause.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use league_core::letter::{Failure, Letter, Outcome};
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::message::Message;
use league_protocol::sender::Agent;

use super::Correspondence;
use crate::net::endpoint::BadEndpoint;

/// How many agents are told of; of more nothing is said.
const MOST_AGENTS: usize = 10_000;

/// How many characters of a reason are told.
const LONGEST_REASON: usize = 300;

/// Who could not be called so far.
#[derive(Debug, Default)]
pub struct Silent(Mutex<BTreeSet<Agent>>);

impl Silent {
    /// Notes that an agent could not be called; says whether it is to be told.
    fn is_new(&self, agent: &Agent) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        agents.len() < MOST_AGENTS && agents.insert(agent.clone())
    }
}

impl Correspondence {
    /// Tells that a call of another agent than the manager came to nothing, the first time.
    pub fn tell_trouble<T>(&self, letter: &Letter<T>, outcome: &Outcome) {
        match outcome {
            Err(failure) => self.tell_silence(letter, failure),
            Ok(answer) => {
                if let Message::StartMatchAck(ack) = &answer.message
                    && let Some(reason) = ack.reason.as_ref().filter(|_| !ack.accepted)
                {
                    let reason = harmless(reason, LONGEST_REASON);
                    self.tell(letter, "MATCH_TURNED_DOWN", |agent, _| {
                        format!("{agent} does not take {}: {reason}", ack.match_id)
                    });
                }
            }
        }
    }

    fn tell_silence<T>(&self, letter: &Letter<T>, failure: &Failure) {
        let cause = match failure.code {
            Code::Timeout => "it is slow, or a firewall keeps calls from it",
            Code::Connection => "it has ended, or answers at another address",
            _ => return,
        };
        let error = &failure.detail;
        self.tell(letter, "AGENT_SILENT", |agent, endpoint| {
            format!("{agent} does not answer at {endpoint}: {error} ({cause})")
        });
    }

    /// The end of a letter to one who is not called at all where it says it answers, which is told
    /// as well.
    pub fn barred<T>(&self, letter: &Letter<T>, error: &BadEndpoint) -> Failure {
        self.tell(letter, "NOT_CALLED", |agent, endpoint| {
            format!("{agent} is not called at {endpoint}: {error}")
        });
        Failure {
            code: Code::Connection,
            detail: error.to_string(),
        }
    }

    fn tell<T>(
        &self,
        letter: &Letter<T>,
        event_type: &str,
        sentence: impl FnOnce(&Agent, &str) -> String,
    ) {
        let agent = &letter.to.agent;
        // A manager that is silent is told of elsewhere.
        if *agent != Agent::Manager && self.silent.is_new(agent) {
            let agent_id = self.identity.log_name();
            let sentence = sentence(agent, &letter.to.endpoint);
            tracing::warn!(agent_id = &*agent_id, event_type, "{sentence}");
        }
    }
}
