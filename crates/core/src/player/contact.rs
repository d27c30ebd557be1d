//! A player's dealings with the manager: getting in, staying in, and asking until it answers.

use std::time::Duration;

use league_protocol::CURRENT_VERSION;
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::message::{
    AgentMeta, Enrolment, LeagueError, LeagueQuery, Message, Query, RegisterRequest,
    RegisterResponse,
};
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use sha2::{Digest, Sha256};

use super::event::{Errand, Event};
use super::reply::Reply;
use super::{Player, Ticket};
use crate::letter::{Credential, Effort, Letter, Outcome};
use crate::machine::Decision;
use crate::patience::Backoff;

/// How much later than a letter's own timeout its outcome may come before it is given up.
pub const OUTCOME_GRACE: Duration = Duration::from_secs(5);
/// The shortest first wait before the manager is asked again.
pub const SHORTEST_WAIT: Duration = Duration::from_millis(100);
/// The longest reason for a rejection that is kept, in characters.
pub const LONGEST_REASON: usize = 300;

/// Where the talk with the manager stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Contact {
    talk: Talk,
    /// Letters so far.
    letters: u32,
    /// Letters in a row without a usable answer.
    failures: u32,
}

#[derive(Debug, Clone, PartialEq, Default)]
enum Talk {
    #[default]
    Quiet,
    Asked {
        errand: Errand,
        give_up_at: Timestamp,
    },
    Waiting {
        errand: Errand,
        retry_at: Timestamp,
    },
}

/// A place in a league.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place {
    pub(super) player_id: PlayerId,
    pub(super) league_id: LeagueId,
    pub(super) endpoint: String,
    /// What the manager's token must hash to.
    pub(super) manager: Option<TokenHash>,
}

impl Contact {
    pub(super) fn is_quiet(&self) -> bool {
        self.talk == Talk::Quiet
    }

    pub(super) fn is_registering(&self) -> bool {
        matches!(
            self.talk,
            Talk::Asked {
                errand: Errand::Register { .. },
                ..
            } | Talk::Waiting {
                errand: Errand::Register { .. },
                ..
            }
        )
    }

    pub(super) fn wakeup(&self) -> Option<Timestamp> {
        match self.talk {
            Talk::Quiet => None,
            Talk::Asked { give_up_at, .. } => Some(give_up_at),
            Talk::Waiting { retry_at, .. } => Some(retry_at),
        }
    }

    pub(super) fn asked(&mut self, errand: Errand, number: u32, give_up_at: Timestamp) {
        self.letters = number;
        self.talk = Talk::Asked { errand, give_up_at };
    }

    pub(super) fn silent(&mut self, retry_at: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        if let Talk::Asked { errand, .. } = self.talk {
            self.talk = Talk::Waiting { errand, retry_at };
        }
    }

    pub(super) fn settled(&mut self) {
        self.failures = 0;
        self.talk = Talk::Quiet;
    }
}

impl Player {
    pub(super) fn begin(&self, at: Timestamp, token_held: bool) -> Decision<Event, Reply> {
        let same_address = |place: &Place| place.endpoint == self.rules.endpoint;
        let may_be_in = token_held && !self.is_completed();
        let errand = if may_be_in && self.place.as_ref().is_some_and(same_address) {
            Errand::Confirm
        } else {
            Errand::Register { show_token: true }
        };
        self.ask_manager(at, errand)
    }

    /// Sends a letter to the manager, unless one is under way already.
    pub(super) fn ask_manager(&self, at: Timestamp, errand: Errand) -> Decision<Event, Reply> {
        if self.contact.is_quiet() {
            self.ask_now(at, errand)
        } else {
            Decision::reply(Reply::Acknowledged)
        }
    }

    pub(super) fn tick(&self, at: Timestamp) -> Decision<Event, Reply> {
        match self.contact.talk {
            Talk::Asked { give_up_at, .. } if at >= give_up_at => self.ask_later(at, Code::Timeout),
            Talk::Waiting { errand, retry_at } if at >= retry_at => self.ask_now(at, errand),
            Talk::Quiet | Talk::Asked { .. } | Talk::Waiting { .. } => {
                Decision::reply(Reply::Acknowledged)
            }
        }
    }

    pub(super) fn heard(
        &self,
        at: Timestamp,
        ticket: &Ticket,
        outcome: &Outcome,
    ) -> Decision<Event, Reply> {
        let Talk::Asked { errand, .. } = self.contact.talk else {
            return Decision::reply(Reply::Acknowledged);
        };
        if *ticket != self.ticket(errand) {
            return Decision::reply(Reply::Acknowledged);
        }
        match (errand, outcome.as_ref().map(|answer| &answer.message)) {
            (_, Err(failure)) => self.ask_later(at, failure.code),
            (_, Ok(Message::LeagueError(error))) => self.refused(at, errand, error),
            (Errand::Register { .. }, Ok(Message::PlayerRegisterResponse(response))) => {
                self.answered(at, response)
            }
            (Errand::Confirm, Ok(Message::LeagueQueryResponse(_))) => Decision {
                events: vec![Event::Confirmed],
                reply: Reply::Acknowledged,
            },
            (_, Ok(_)) => self.ask_later(at, Code::InvalidMessage),
        }
    }

    /// The letter that is under way, to be sent again by a shell that lost it.
    pub(super) fn letter_under_way(&self) -> Option<Letter<Ticket>> {
        match self.contact.talk {
            Talk::Asked { errand, .. } => Some(self.letter(errand)),
            Talk::Quiet | Talk::Waiting { .. } => None,
        }
    }

    pub(super) fn letter(&self, errand: Errand) -> Letter<Ticket> {
        let message = match (errand, &self.place) {
            (Errand::Confirm, Some(place)) => Message::LeagueQuery(LeagueQuery {
                league_id: Some(place.league_id.clone()),
                query: Query::PlayerStats(place.player_id.clone()),
                by_api_page: false,
            }),
            (Errand::Confirm | Errand::Register { .. }, _) => {
                Message::PlayerRegisterRequest(Box::new(self.request()))
            }
        };
        let credential = match errand {
            Errand::Register { show_token: false } => Credential::None,
            Errand::Register { show_token: true } => Credential::Return,
            Errand::Confirm => Credential::Own,
        };
        Letter {
            to: self.rules.manager.clone(),
            message,
            credential,
            effort: self.effort(errand),
            ticket: Some(self.ticket(errand)),
        }
    }

    /// When an outcome that has not come counts as silence.
    pub(super) fn give_up_at(&self, errand: Errand, at: Timestamp) -> Timestamp {
        at + self.effort(errand).timeout + OUTCOME_GRACE
    }

    fn ask_now(&self, at: Timestamp, errand: Errand) -> Decision<Event, Reply> {
        let number = self.contact.letters.wrapping_add(1);
        Decision {
            events: vec![Event::ManagerAsked { errand, number, at }],
            reply: Reply::Acknowledged,
        }
    }

    fn ask_later(&self, at: Timestamp, code: Code) -> Decision<Event, Reply> {
        let retry_at = at + self.wait();
        Decision {
            events: vec![Event::ManagerSilent { code, retry_at }],
            reply: Reply::Acknowledged,
        }
    }

    fn answered(
        &self,
        at: Timestamp,
        response: &RegisterResponse<PlayerId>,
    ) -> Decision<Event, Reply> {
        match response {
            RegisterResponse::Accepted(Enrolment {
                id,
                token,
                league_id,
                manager_token,
                return_token,
            }) => Decision {
                events: vec![Event::Enrolled {
                    player_id: id.clone(),
                    league_id: league_id.clone(),
                    endpoint: self.rules.endpoint.clone(),
                    manager: manager_token.as_ref().map(AuthToken::hash),
                    at,
                }],
                reply: Reply::TokenGranted {
                    token: token.clone(),
                    return_token: return_token.clone(),
                },
            },
            RegisterResponse::Rejected { reason } => rejected(at, reason),
        }
    }

    /// What a refusal means depends on what was asked: one that concerns the token is an order to
    /// register afresh, one that may pass is waited out, any other is final.
    fn refused(
        &self,
        at: Timestamp,
        errand: Errand,
        error: &LeagueError,
    ) -> Decision<Event, Reply> {
        match errand {
            _ if error.code.retryable() => self.ask_later(at, error.code),
            Errand::Confirm => self.ask_now(at, Errand::Register { show_token: true }),
            Errand::Register { show_token: true } if error.code == Code::TokenInvalid => {
                self.ask_now(at, Errand::Register { show_token: false })
            }
            Errand::Register { .. } => rejected(at, &format!("{} {}", error.code, error.detail)),
        }
    }

    fn ticket(&self, errand: Errand) -> Ticket {
        match errand {
            Errand::Register { .. } => Ticket::Registration(self.contact.letters),
            Errand::Confirm => Ticket::Confirmation(self.contact.letters),
        }
    }

    fn effort(&self, errand: Errand) -> Effort {
        let patience = &self.rules.patience;
        patience.once(match errand {
            Errand::Register { .. } => patience.register,
            Errand::Confirm => patience.query,
        })
    }

    /// The wait doubles with each failure, whatever the strategy for matches is: a manager that
    /// is down for an hour must not find a thousand players at its door every two seconds.
    fn wait(&self) -> Duration {
        let (Backoff::Fixed(first) | Backoff::Exponential(first)) = self.rules.patience.backoff;
        Backoff::Exponential(first.max(SHORTEST_WAIT))
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
            },
            wanted_id: self.rules.wanted_id.clone(),
            token: None,
        }
    }
}

fn rejected(at: Timestamp, reason: &str) -> Decision<Event, Reply> {
    let reason: String = reason.chars().take(LONGEST_REASON).collect();
    Decision {
        events: vec![Event::Rejected {
            reason: reason.clone(),
            at,
        }],
        reply: Reply::Rejected { reason },
    }
}
