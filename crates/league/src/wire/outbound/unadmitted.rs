//! What is told of an application that came to nothing: each cause once, and what helps.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use league_core::letter::{CallFailure, CallOutcome, Letter};
use league_protocol::fault::Code;
use league_protocol::message::{Message, RegisterResponse};
use league_protocol::peer::McpFault;

use super::Outbound;
use crate::wire::outbox::is_application;

/// How many causes are kept apart; more are not told.
const MOST_CAUSES: usize = 64;

/// What helps where somebody else answers than a manager.
const ADVICE: &str = "give the address that the manager printed, such as http://localhost:8000/mcp";

/// Why an agent was not admitted so far.
#[derive(Debug, Default)]
pub(crate) struct RegistrationTroubles(Mutex<BTreeSet<String>>);

impl RegistrationTroubles {
    /// Notes a cause; says whether it is to be told.
    fn is_new(&self, cause: &str) -> bool {
        let mut causes = self.causes();
        causes.len() < MOST_CAUSES && causes.insert(cause.to_owned())
    }

    fn causes(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outbound {
    /// Logs that an application came to nothing, if the cause is new.
    pub(crate) fn log_application<T>(&self, letter: &Letter<T>, outcome: &CallOutcome) {
        if !is_application(&letter.message) {
            return;
        }
        let Some(cause) = self.cause(&letter.message, outcome) else {
            return;
        };
        if self.unadmitted.is_new(&cause.told) {
            let Cause { told, elsewhere } = cause;
            let agent_id = self.identity.log_name();
            let endpoint = &letter.to.endpoint;
            let advice = match elsewhere {
                true => format!(" (asked at {endpoint}; {ADVICE})"),
                false => String::new(),
            };
            tracing::warn!(
                %agent_id,
                event_type = "NOT_REGISTERED",
                "not registered: {told}{advice}"
            );
        }
    }

    /// Keeps in mind that silence was told already.
    pub(super) fn told_silence(&self, failure: &CallFailure) {
        self.unadmitted
            .is_new(&coded(failure.code, &failure.detail));
    }

    fn cause(&self, asked: &Message, outcome: &CallOutcome) -> Option<Cause> {
        let is_player = matches!(asked, Message::PlayerRegisterRequest(_));
        let answer = match outcome {
            Err(failure) => {
                return Some(Cause {
                    told: coded(failure.code, &failure.detail),
                    elsewhere: is_elsewhere(failure),
                });
            }
            Ok(answer) => &answer.message,
        };
        match answer {
            Message::PlayerRegisterResponse(RegisterResponse::Accepted(_))
            | Message::RefereeRegisterResponse(RegisterResponse::Accepted(_)) => {
                // What goes wrong after this is new.
                self.unadmitted.causes().clear();
                None
            }
            // A player that is rejected ends, and says so itself.
            Message::PlayerRegisterResponse(RegisterResponse::Rejected { .. }) => None,
            Message::LeagueError(error) if is_player && !error.code.retryable() => None,
            Message::RefereeRegisterResponse(RegisterResponse::Rejected { reason }) => {
                Some(Cause::known(reason.clone()))
            }
            Message::LeagueError(error) => Some(Cause::known(coded(error.code, &error.detail))),
            // A manager may nod first and answer by a call; a second nod answers nothing.
            Message::Acknowledged if self.unadmitted.is_new("a nod") => None,
            _ => Some(Cause {
                told: "the registration was not answered".to_owned(),
                elsewhere: true,
            }),
        }
    }
}

/// Why an application came to nothing.
struct Cause {
    told: String,
    /// Whether the address may be wrong.
    elsewhere: bool,
}

impl Cause {
    const fn known(told: String) -> Self {
        Self {
            told,
            elsewhere: false,
        }
    }
}

fn coded(code: Code, detail: &str) -> String {
    format!("{code}: {detail}")
}

/// Whether a failure looks like the answer of somebody else than a manager.
fn is_elsewhere(failure: &CallFailure) -> bool {
    let missing = [404, 405].map(|status| McpFault::Status(status).to_string());
    failure.code == Code::InvalidMessage || missing.contains(&failure.detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_of_nobody_we_know_put_the_address_in_doubt() {
        let failed = |code, detail: &str| CallFailure {
            code,
            detail: detail.to_owned(),
        };
        let status = |status| failed(Code::Connection, &McpFault::Status(status).to_string());
        assert!(is_elsewhere(&status(404)));
        assert!(is_elsewhere(&status(405)));
        assert!(is_elsewhere(&failed(Code::InvalidMessage, "no message")));
        assert!(!is_elsewhere(&status(503)));
        assert!(!is_elsewhere(&failed(Code::Timeout, "no answer")));
    }

    #[test]
    fn a_cause_is_told_once_and_so_many_at_most() {
        let unadmitted = RegistrationTroubles::default();
        assert!(unadmitted.is_new("one"));
        assert!(!unadmitted.is_new("one"));
        let told = (0..2 * MOST_CAUSES).filter(|number| unadmitted.is_new(&number.to_string()));
        assert_eq!(told.count(), MOST_CAUSES - 1);
    }
}
