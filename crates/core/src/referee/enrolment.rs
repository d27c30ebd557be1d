//! Registration with the manager, tried until the manager admits the referee.

use std::sync::Arc;
use std::time::Duration;

use league_protocol::CURRENT_VERSION;
use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::message::{AgentMeta, Message, RegisterRequest, RegisterResponse};
use league_protocol::sender::CallStyle;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use super::Decision;
use super::RefereeRules;
use super::command::{CorrelationId, Reply};
use super::event::Event;
use super::match_step::patient;
use crate::letter::{CallOutcome, Credential, Letter};

/// How the referee stands with the manager.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManagerContact {
    pub(crate) held: Option<(RefereeId, LeagueId)>,
    /// What the manager's token must hash to.
    pub(crate) manager: Option<TokenHash>,
    tried: u32,
    token: Option<AuthToken>,
    wait: RegistrationWait,
    refused: Option<Arc<str>>,
    /// Whether the manager itself refused.
    rejected: bool,
}

#[derive(Debug, Clone, Copy, Default)]
enum RegistrationWait {
    #[default]
    Nothing,
    Answer(Timestamp),
    Retry(Timestamp),
}

impl ManagerContact {
    pub(crate) fn due(&self, rules: &RefereeRules) -> Option<Timestamp> {
        match self.wait {
            RegistrationWait::Nothing => None,
            RegistrationWait::Answer(sent) => Some(sent + rules.timeouts.register),
            RegistrationWait::Retry(at) => Some(at),
        }
    }

    /// Whether a manager proves itself by another token than the one before, which lasts as long as
    /// a league: a new league may have the id of an old one.
    pub(crate) fn is_other_manager(&self, manager: Option<TokenHash>) -> bool {
        let known = self.manager.zip(manager);
        known.is_some_and(|(before, now)| before != now)
    }

    /// Why the manager has not let the referee in so far.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Why the manager rejected the referee, if it was never a member.
    pub(crate) fn rejection(&self) -> Option<&str> {
        self.refused()
            .filter(|_| self.rejected && self.held.is_none())
    }

    pub(crate) fn begin(&self, at: Timestamp, token: Option<&AuthToken>) -> Event {
        Event::RegistrationTried {
            tried: self.tried.saturating_add(1),
            token: token.cloned(),
            at,
        }
    }

    /// What time alone brings.
    pub(crate) fn tick(&self, at: Timestamp, rules: &RefereeRules) -> Option<Event> {
        self.due(rules).filter(|&due| at >= due)?;
        Some(match self.wait {
            RegistrationWait::Nothing => return None,
            RegistrationWait::Answer(_) => {
                let detail = "the manager did not answer".to_owned();
                let (rejected, retry_at) = (false, self.retry_at(at, rules, Duration::ZERO));
                Event::RegistrationFailed {
                    detail,
                    rejected,
                    retry_at,
                }
            }
            RegistrationWait::Retry(_) => self.begin(at, self.token.as_ref()),
        })
    }

    pub(crate) fn hear(
        &self,
        at: Timestamp,
        rules: &RefereeRules,
        tried: u32,
        outcome: &CallOutcome,
    ) -> Decision {
        if tried != self.tried || matches!(self.wait, RegistrationWait::Nothing) {
            return Decision::reply(Reply::Noted);
        }
        let mut least = Duration::ZERO;
        let mut rejected = false;
        let detail = match outcome.as_ref().map(|answer| &answer.message) {
            Ok(Message::RefereeRegisterResponse(RegisterResponse::Accepted(enrolment))) => {
                let (referee_id, league_id) = (enrolment.id.clone(), enrolment.league_id.clone());
                let manager = enrolment.manager_token.as_ref().map(AuthToken::hash);
                return Decision::accept(
                    vec![Event::Enrolled {
                        referee_id,
                        league_id,
                        manager,
                        at,
                    }],
                    Reply::TokenGranted {
                        token: enrolment.token.clone(),
                        return_token: enrolment.return_token.clone(),
                    },
                );
            }
            Ok(Message::RefereeRegisterResponse(RegisterResponse::Rejected { reason })) => {
                // A referee that lost its token may be let in later, so it goes on asking.
                rejected = true;
                reason.clone()
            }
            Ok(Message::LeagueError(error)) => {
                least = error.retry_after();
                format!("{}: {}", error.code, error.detail)
            }
            Ok(_) => "the manager did not answer the registration".to_owned(),
            Err(failure) => format!("{}: {}", failure.code, failure.detail),
        };
        let failed = Event::RegistrationFailed {
            detail,
            rejected,
            retry_at: self.retry_at(at, rules, least),
        };
        Decision::accept(vec![failed], Reply::Noted)
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::RegistrationTried { tried, token, at } => {
                self.tried = *tried;
                self.token.clone_from(token);
                self.wait = RegistrationWait::Answer(*at);
            }
            Event::RegistrationFailed {
                detail,
                rejected,
                retry_at,
            } => {
                self.wait = RegistrationWait::Retry(*retry_at);
                self.rejected = *rejected;
                self.refused = Some(detail.as_str().into());
            }
            Event::Enrolled {
                referee_id,
                league_id,
                manager,
                ..
            } => {
                let stays = self
                    .held
                    .as_ref()
                    .is_some_and(|(_, held)| held == league_id);
                // The token lasts as long as the league; a later answer need not repeat it.
                self.manager = manager.or(self.manager.filter(|_| stays));
                self.held = Some((referee_id.clone(), league_id.clone()));
                self.token = None;
                self.wait = RegistrationWait::Nothing;
                self.refused = None;
            }
            _ => {}
        }
    }

    /// The registration that is under way.
    pub(crate) fn letter(&self, rules: &RefereeRules) -> Option<Letter<CorrelationId>> {
        let RegistrationWait::Answer(_) = self.wait else {
            return None;
        };
        let known = self.held.as_ref().map(|(referee, _)| referee.to_string());
        let request = RegisterRequest {
            meta: AgentMeta {
                display_name: rules.display_name.clone(),
                version: rules.version.clone(),
                protocol_version: Some(CURRENT_VERSION.to_owned()),
                game_types: rules.games.clone(),
                contact_endpoint: rules.endpoint.clone(),
                max_concurrent_matches: Some(rules.max_concurrent),
                speech: Some(CallStyle::Simple),
                proofs: false,
                human: false,
            },
            wanted_id: known.or_else(|| rules.wanted_id.clone()),
            token: self.token.clone(),
            join_code: None,
            referee_key: rules.key.clone(),
            is_plain: false,
        };
        Some(Letter {
            to: rules.manager.clone(),
            message: Message::RefereeRegisterRequest(Box::new(request)),
            credential: Credential::None,
            retry: rules.timeouts.once(rules.timeouts.register),
            proof: None,
            correlation: Some(CorrelationId::Registration { tried: self.tried }),
        })
    }

    /// When a registration is tried again: after the backoff, and not before `least`.
    fn retry_at(&self, at: Timestamp, rules: &RefereeRules, least: Duration) -> Timestamp {
        let chance = rules.display_name.bytes().fold(0, |sum: u64, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let wait = patient(rules.timeouts.backoff).wait(self.tried, chance);
        at + wait.max(least)
    }
}
