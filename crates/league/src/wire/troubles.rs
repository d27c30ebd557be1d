//! Troubles with other agents, each reported once: peers that cannot be called, failed
//! registrations, and wrong tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use league_core::letter::{CallFailure, CallOutcome, FailureCause, Letter};
use league_protocol::fault::Code;
use league_protocol::finding::harmless;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::{Message, RegisterResponse};
use league_protocol::peer::McpFault;
use league_protocol::sender::Agent;
use league_protocol::token::TokenHash;

use crate::agents::identity::Identity;
use crate::http::endpoint::MAX_ENDPOINT;

/// The most agents whose troubles are reported.
const MAX_AGENTS: usize = 10_000;

/// The longest reason that is reported, in characters.
const MAX_REASON: usize = 300;

/// The agent declined a match.
const TURNED_DOWN: &str = "MATCH_TURNED_DOWN";
/// The agent does not answer.
const SILENT: &str = "AGENT_SILENT";
/// The agent's address may not be called, or its certificate is not trusted.
const NOT_CALLED: &str = "NOT_CALLED";

/// The troubles with each agent that have been reported.
#[derive(Debug, Default)]
pub(crate) struct PeerTroubles {
    told: Mutex<BTreeMap<Agent, BTreeSet<&'static str>>>,
    /// Whether reporting is turned off.
    is_muted: bool,
}

impl PeerTroubles {
    /// The troubles in a league; if the league is already over, absent agents are not reported.
    pub(crate) fn of(is_over: bool) -> Self {
        Self {
            is_muted: is_over,
            ..Self::default()
        }
    }

    /// Records a kind of trouble with an agent; returns whether to report it.
    pub(crate) fn is_new(&self, agent: &Agent, kind: &'static str) -> bool {
        if self.is_muted {
            return false;
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kinds) = told.get_mut(agent) {
            return kinds.insert(kind);
        }
        let room = told.len() < MAX_AGENTS;
        if room {
            told.insert(agent.clone(), BTreeSet::from([kind]));
        }
        room
    }

    /// Forgets resolved trouble, so that it is reported if it recurs.
    fn forget(&self, agent: &Agent, over: impl Fn(&str) -> bool) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kinds) = told.get_mut(agent) {
            kinds.retain(|kind| !over(kind));
            if kinds.is_empty() {
                told.remove(agent);
            }
        }
    }

    /// Reports the first failed call to an agent other than the manager.
    pub(crate) fn note<T>(&self, own: &Identity, letter: &Letter<T>, outcome: &CallOutcome) {
        let answer = match outcome {
            Err(failure) if failure.is_local() => return,
            Err(failure) => return self.tell_silence(own, letter, failure),
            Ok(answer) => answer,
        };
        let agent = &letter.to.agent;
        match &answer.message {
            Message::StartMatchAck(ack) if !ack.accepted => {
                self.forget(agent, |kind| kind != TURNED_DOWN);
                if let Some(reason) = &ack.reason {
                    let reason = harmless(reason, MAX_REASON);
                    self.tell(own, letter, TURNED_DOWN, |agent, _| {
                        format!("{agent} does not take {}: {reason}", ack.match_id)
                    });
                }
            }
            Message::StartMatchAck(_) => self.forget(agent, |_| true),
            _ => self.forget(agent, |kind| kind != TURNED_DOWN),
        }
    }

    fn tell_silence<T>(&self, own: &Identity, letter: &Letter<T>, failure: &CallFailure) {
        let error = harmless(&failure.detail, MAX_REASON);
        if failure.cause == FailureCause::Refused {
            return self.tell(own, letter, NOT_CALLED, |agent, endpoint| {
                format!("{agent} is not called at {endpoint}: {error}")
            });
        }
        let cause = match failure.code {
            Code::Timeout => "it is slow, or a firewall keeps calls from it",
            Code::Connection => "it has ended, or answers at another address",
            _ => return,
        };
        self.tell(own, letter, SILENT, |agent, endpoint| {
            format!("{agent} does not answer at {endpoint}: {error} ({cause})")
        });
    }

    fn tell<T>(
        &self,
        own: &Identity,
        letter: &Letter<T>,
        event_type: &'static str,
        sentence: impl FnOnce(&Agent, &str) -> String,
    ) {
        let agent = &letter.to.agent;
        // A silent manager is reported elsewhere.
        if *agent != Agent::Manager && self.is_new(agent, event_type) {
            let agent_id = own.log_name();
            let endpoint = harmless(&letter.to.endpoint, MAX_ENDPOINT);
            let sentence = sentence(agent, &endpoint);
            tracing::warn!(agent_id = &*agent_id, event_type, "{sentence}");
        }
    }
}

/// The most causes that are distinguished; further causes are not reported.
const MAX_CAUSES: usize = 64;

/// The advice if the address may not be a manager's.
const ADVICE: &str = "give the address that the manager printed, such as http://localhost:8000/mcp";

/// Reported causes of failed registrations.
#[derive(Debug, Default)]
pub(crate) struct RegistrationTroubles(Mutex<BTreeSet<String>>);

impl RegistrationTroubles {
    /// Records a cause; returns whether to report it.
    fn is_new(&self, cause: &str) -> bool {
        let mut causes = self.causes();
        causes.len() < MAX_CAUSES && causes.insert(cause.to_owned())
    }

    fn causes(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs that a registration failed, if the cause is new.
    pub(crate) fn log<T>(&self, own: &Identity, letter: &Letter<T>, outcome: &CallOutcome) {
        if !letter.message.is_registration() {
            return;
        }
        let Some(cause) = self.cause(&letter.message, outcome) else {
            return;
        };
        if self.is_new(&cause.told) {
            let Cause { told, elsewhere } = cause;
            let agent_id = own.log_name();
            let endpoint = &letter.to.endpoint;
            let advice = if elsewhere {
                format!(" (asked at {endpoint}; {ADVICE})")
            } else {
                String::new()
            };
            tracing::warn!(
                %agent_id,
                event_type = "NOT_REGISTERED",
                "not registered: {told}{advice}"
            );
        }
    }

    /// Records that the manager's silence was already reported.
    pub(crate) fn note_silence(&self, failure: &CallFailure) {
        self.is_new(&coded(failure.code, &failure.detail));
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
                // Later failures count as new.
                self.causes().clear();
                None
            }
            // A rejected player stops, and reports the rejection itself.
            Message::PlayerRegisterResponse(RegisterResponse::Rejected { .. }) => None,
            Message::LeagueError(error) if is_player && !error.code.retryable() => None,
            Message::RefereeRegisterResponse(RegisterResponse::Rejected { reason }) => {
                Some(Cause::known(reason.clone()))
            }
            Message::LeagueError(error) => Some(Cause::known(coded(error.code, &error.detail))),
            // A manager may acknowledge first and answer by a call; a second acknowledgement is a
            // failure.
            Message::Acknowledged if self.is_new("a nod") => None,
            _ => Some(Cause {
                told: "the registration was not answered".to_owned(),
                elsewhere: true,
            }),
        }
    }
}

/// Why a registration failed.
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

/// Whether a failure looks like the reply of a program other than a manager.
fn is_elsewhere(failure: &CallFailure) -> bool {
    let missing = [404, 405].map(|status| McpFault::Status(status).to_string());
    failure.code == Code::InvalidMessage || missing.contains(&failure.detail)
}

/// The most players that are remembered; wrong tokens of further players are ignored.
const MAX_PLAYERS: usize = 20_000;

/// The last wrong token of each player, and its match.
///
/// A returning player has a new token before its referee is informed, so a valid token may look
/// wrong in one match. Only the same wrong token in another match is a real error.
#[derive(Debug, Default)]
pub(crate) struct WrongTokens(Mutex<BTreeMap<PlayerId, (TokenHash, MatchId)>>);

impl WrongTokens {
    /// Records a wrong token; returns whether it was already seen in another match.
    pub(crate) fn again(&self, player: &PlayerId, shown: TokenHash, match_id: &MatchId) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, elsewhere)) = seen.get(player)
            && *before == shown
        {
            return elsewhere != match_id;
        }
        if seen.len() < MAX_PLAYERS || seen.contains_key(player) {
            seen.insert(player.clone(), (shown, match_id.clone()));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use league_protocol::token::AuthToken;

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

    #[test]
    fn only_answers_of_nobody_we_know_put_the_address_in_doubt() {
        let failed = |code, detail: &str| CallFailure::of_peer(code, detail);
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
        let told = (0..2 * MAX_CAUSES).filter(|number| unadmitted.is_new(&number.to_string()));
        assert_eq!(told.count(), MAX_CAUSES - 1);
    }

    #[test]
    fn a_wrong_token_is_a_habit_in_the_second_match() {
        let tokens = WrongTokens::default();
        let player = PlayerId::numbered(1);
        let [first, second] = ["R1M1", "R2M1"].map(|id| MatchId::new(id).unwrap());
        let [old, constant] = ["tok-old", "tok-same"].map(|token| AuthToken::new(token).hash());
        assert!(!tokens.again(&player, old, &first));
        assert!(
            !tokens.again(&player, old, &first),
            "the same match says nothing new"
        );
        assert!(
            !tokens.again(&player, constant, &second),
            "another token is another story"
        );
        assert!(tokens.again(&player, constant, &first));
    }
}
