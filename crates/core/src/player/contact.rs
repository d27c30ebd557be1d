//! A player's dealings with the manager: getting in, staying in, and asking until it answers.

use std::time::Duration;

use league_protocol::CURRENT_VERSION;
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::message::{
    AgentMeta, LeagueError, Message, RegisterRequest, RegisterResponse,
};
use league_protocol::sender::{CallStyle, Dialect};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use sha2::{Digest, Sha256};

use super::Decision;
use super::command::{Refusal, Reply};
use super::event::Event;
use super::{CorrelationId, Player};
use crate::letter::{CallOutcome, Credential, Letter, RetryRule};
use crate::timeouts::Backoff;

/// How much later than a letter's own timeout its outcome may come before it is given up.
pub const OUTCOME_GRACE: Duration = Duration::from_secs(5);
/// The shortest first wait before the manager is asked again.
pub const MIN_WAIT: Duration = Duration::from_millis(100);
/// The longest reason for a rejection that is kept, in characters.
pub const MAX_REASON: usize = 300;

/// Where the talk with the manager stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Contact {
    talk: Talk,
    letters: u32,
    /// Letters in a row without a usable answer.
    failures: u32,
    /// Whether the last letter was answered with a mere nod, so that the answer itself may come
    /// as a call.
    nodded: bool,
}

#[derive(Debug, Clone, PartialEq, Default)]
enum Talk {
    #[default]
    Quiet,
    Asked {
        show_token: bool,
        give_up_at: Timestamp,
    },
    Waiting {
        show_token: bool,
        retry_at: Timestamp,
    },
}

/// A place in a league.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeaguePlace {
    pub(crate) player_id: PlayerId,
    pub(crate) league_id: LeagueId,
    /// What the manager's token must hash to.
    pub(crate) manager: Option<TokenHash>,
}

impl LeaguePlace {
    /// Whether the manager of another place proves itself by another token.
    pub(crate) fn is_renewed(&self, other: &Self) -> bool {
        let known = self.manager.zip(other.manager);
        known.is_some_and(|(before, now)| before != now)
    }
}

impl Contact {
    pub(crate) fn is_quiet(&self) -> bool {
        self.talk == Talk::Quiet
    }

    pub(crate) fn wakeup(&self) -> Option<Timestamp> {
        match self.talk {
            Talk::Quiet => None,
            Talk::Asked { give_up_at, .. } => Some(give_up_at),
            Talk::Waiting { retry_at, .. } => Some(retry_at),
        }
    }

    pub(crate) fn asked(&mut self, show_token: bool, number: u32, give_up_at: Timestamp) {
        self.letters = number;
        self.nodded = false;
        self.talk = Talk::Asked {
            show_token,
            give_up_at,
        };
    }

    pub(crate) fn silent(&mut self, retry_at: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        if let Talk::Asked { show_token, .. } = self.talk {
            self.talk = Talk::Waiting {
                show_token,
                retry_at,
            };
        }
    }

    pub(crate) fn nodded(&mut self, retry_at: Timestamp) {
        self.silent(retry_at);
        self.nodded = true;
    }

    pub(crate) fn settled(&mut self) {
        self.failures = 0;
        self.nodded = false;
        self.talk = Talk::Quiet;
    }
}

impl Player {
    /// Asks to be admitted, unless a letter is under way already.
    ///
    /// A player that is in the league and starts again asks too: only so does the manager learn
    /// that it was away, and say again what it may have missed.
    pub(crate) fn register(&self, at: Timestamp) -> Decision {
        if self.contact.is_quiet() {
            self.ask_now(at, true)
        } else {
            Decision::reply(Reply::Acknowledged)
        }
    }

    /// Starts with the return token of an earlier registration, if the shell keeps one.
    pub(crate) fn begin(&self, at: Timestamp, return_token: Option<&AuthToken>) -> Decision {
        let mut decision = self.register(at);
        decision.events.extend(self.rest(return_token).events);
        decision
    }

    /// The same without asking the manager.
    pub(crate) fn rest(&self, return_token: Option<&AuthToken>) -> Decision {
        let kept = keep(return_token.filter(|token| self.return_token.as_ref() != Some(token)));
        Decision::accept(kept.into_iter().collect(), Reply::Acknowledged)
    }

    pub(crate) fn wake(&self, at: Timestamp) -> Decision {
        match self.contact.talk {
            Talk::Asked { give_up_at, .. } if at >= give_up_at => {
                self.ask_later(at, Code::Timeout, Duration::ZERO)
            }
            Talk::Waiting {
                show_token,
                retry_at,
            } if at >= retry_at => self.ask_now(at, show_token),
            Talk::Quiet | Talk::Asked { .. } | Talk::Waiting { .. } => {
                Decision::reply(Reply::Acknowledged)
            }
        }
    }

    pub(crate) fn hear(
        &self,
        at: Timestamp,
        correlation: &CorrelationId,
        outcome: &CallOutcome,
    ) -> Decision {
        let Talk::Asked { show_token, .. } = self.contact.talk else {
            return Decision::reply(Reply::Acknowledged);
        };
        if *correlation != self.correlation() {
            return Decision::reply(Reply::Acknowledged);
        }
        match outcome.as_ref().map(|answer| &answer.message) {
            Err(failure) => self.ask_later(at, failure.code, Duration::ZERO),
            Ok(Message::LeagueError(error)) => self.refused(at, show_token, error),
            Ok(Message::PlayerRegisterResponse(response)) => self.answered(at, response),
            Ok(Message::Acknowledged) if !self.rules.strict => self.nodded(at),
            Ok(_) => self.ask_later(at, Code::InvalidMessage, Duration::ZERO),
        }
    }

    /// Takes the answer to a registration that comes as a call, which only a manager may bring that
    /// did no more than nod when it was asked, and in the conversation in which it was asked.
    ///
    /// A rejection is never taken so: its caller has proved nothing, and it would end everything.
    pub(crate) fn admitted(
        &self,
        at: Timestamp,
        response: &RegisterResponse<PlayerId>,
        answers_us: bool,
    ) -> Result<Decision, Refusal> {
        let accepted = matches!(response, RegisterResponse::Accepted(_));
        if self.contact.nodded && answers_us && accepted {
            Ok(self.answered(at, response))
        } else if self.place.is_some() && !self.is_guarded() {
            // It repeats the known admission.
            Ok(Decision::reply(Reply::Acknowledged))
        } else {
            Err(Refusal::NoRegistration)
        }
    }

    /// The letter that is under way, to be sent again by a shell that lost it.
    pub(crate) fn letter_under_way(&self) -> Option<Letter<CorrelationId>> {
        match self.contact.talk {
            Talk::Asked { show_token, .. } => Some(self.letter(show_token)),
            Talk::Quiet | Talk::Waiting { .. } => None,
        }
    }

    pub(crate) fn letter(&self, show_token: bool) -> Letter<CorrelationId> {
        Letter {
            to: self.rules.manager.clone(),
            message: Message::PlayerRegisterRequest(Box::new(self.request())),
            credential: if show_token {
                Credential::Return
            } else {
                Credential::None
            },
            retry: self.retry(),
            proof: None,
            correlation: Some(self.correlation()),
        }
    }

    /// When an outcome that has not come counts as silence.
    pub(crate) fn give_up_at(&self, at: Timestamp) -> Timestamp {
        at + self.retry().timeout + OUTCOME_GRACE
    }

    fn ask_now(&self, at: Timestamp, show_token: bool) -> Decision {
        let number = self.contact.letters.wrapping_add(1);
        Decision::accept(
            vec![Event::ManagerAsked {
                show_token,
                number,
                at,
            }],
            Reply::Acknowledged,
        )
    }

    fn nodded(&self, at: Timestamp) -> Decision {
        let retry_at = at + self.wait().max(self.retry().timeout);
        Decision::accept(vec![Event::ManagerNodded { retry_at }], Reply::Acknowledged)
    }

    fn ask_later(&self, at: Timestamp, code: Code, least: Duration) -> Decision {
        let retry_at = at + self.wait().max(least);
        Decision::accept(
            vec![Event::ManagerSilent { code, retry_at }],
            Reply::Acknowledged,
        )
    }

    fn answered(&self, at: Timestamp, response: &RegisterResponse<PlayerId>) -> Decision {
        match response {
            RegisterResponse::Accepted(enrolment) => {
                let enrolled = Event::Enrolled {
                    player_id: enrolment.id.clone(),
                    league_id: enrolment.league_id.clone(),
                    endpoint: self.rules.endpoint.clone(),
                    manager: enrolment.manager_token.as_ref().map(AuthToken::hash),
                    at,
                };
                let kept = keep(enrolment.return_token.as_ref());
                Decision::accept(
                    [enrolled].into_iter().chain(kept).collect(),
                    Reply::TokenGranted {
                        token: enrolment.token.clone(),
                        return_token: enrolment.return_token.clone(),
                        note: enrolment.note.clone(),
                    },
                )
            }
            RegisterResponse::Rejected { reason } => rejected(at, reason),
        }
    }

    /// A temporary refusal is retried, a refused token leads to a registration without it, any
    /// other refusal is final.
    fn refused(&self, at: Timestamp, show_token: bool, error: &LeagueError) -> Decision {
        if error.code.retryable() {
            self.ask_later(at, error.code, error.retry_after())
        } else if show_token && error.code == Code::TokenInvalid {
            self.ask_now(at, false)
        } else {
            rejected(at, &format!("{} {}", error.code, error.detail))
        }
    }

    fn correlation(&self) -> CorrelationId {
        CorrelationId::Registration(self.contact.letters)
    }

    fn retry(&self) -> RetryRule {
        let timeouts = &self.rules.timeouts;
        timeouts.once(timeouts.register)
    }

    /// The wait doubles with each failure, whatever the strategy for matches is: a manager that
    /// is down for an hour must not find a thousand players at its door every two seconds.
    fn wait(&self) -> Duration {
        let (Backoff::Fixed(first) | Backoff::Exponential(first)) = self.rules.timeouts.backoff;
        Backoff::Exponential(first.max(MIN_WAIT))
            .wait(self.contact.failures.saturating_add(1), self.chance())
    }

    /// Differs from player to player and from try to try, and is the same in every replay.
    fn chance(&self) -> u64 {
        let mut hash = Sha256::new();
        hash.update(&self.rules.display_name);
        hash.update(&self.rules.endpoint);
        hash.update(self.contact.failures.to_be_bytes());
        let bytes: [u8; 32] = hash.finalize().into();
        bytes[..8]
            .iter()
            .fold(0, |chance, &byte| chance << 8 | u64::from(byte))
    }

    fn request(&self) -> RegisterRequest {
        RegisterRequest {
            meta: AgentMeta {
                display_name: self.rules.display_name.clone(),
                version: self.rules.version.clone(),
                protocol_version: Some(CURRENT_VERSION.to_owned()),
                game_types: self.rules.games.clone(),
                contact_endpoint: self.rules.endpoint.clone(),
                max_concurrent_matches: None,
                speech: Some(CallStyle::Simple),
                proofs: self.rules.manager.dialect != Dialect::V1,
                human: self.rules.human && self.rules.manager.dialect != Dialect::V1,
            },
            wanted_id: self.rules.wanted_id.clone(),
            token: None,
            join_code: self.rules.join_code.clone(),
            referee_key: None,
            is_plain: false,
        }
    }
}

fn keep(return_token: Option<&AuthToken>) -> Option<Event> {
    let token = return_token?.clone();
    Some(Event::ReturnTokenKept { token })
}

fn rejected(at: Timestamp, reason: &str) -> Decision {
    let reason: String = reason.chars().take(MAX_REASON).collect();
    Decision::accept(
        vec![Event::Rejected {
            reason: reason.clone(),
            at,
        }],
        Reply::Rejected { reason },
    )
}
