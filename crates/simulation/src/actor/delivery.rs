//! Delivery to and from an actor: calls, answers, and retried letters.

use std::time::Duration;

use league_core::letter::{CallFailure, Credential, Letter, PeerAnswer};
use league_protocol::id::PlayerId;
use league_protocol::message::Message;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::{AuthToken, TokenHash};

use super::SimulatedActor;
use crate::agents::{MachineKind, SimulatedCall, SimulatedMachine};
use crate::environment::{AnswerInTransit, Environment, Errand, Parcel, RetryTimer, ReturnPath};
use crate::fault::InjectedFault;
use crate::hostile::VILLAIN;
use crate::outbox::{AnswerMatch, Try, TryFailure};
use crate::sabotage::Sabotage;
use crate::{CheckResult, NodeId};

impl<M: SimulatedMachine> SimulatedActor<M> {
    pub(crate) fn receive(
        &mut self,
        environment: &mut Environment,
        parcel: Parcel,
        dialect: Dialect,
    ) -> CheckResult {
        if !self.up {
            if parcel.back.is_some() {
                environment.report.fault(InjectedFault::Unreachable);
            }
            environment.cut(parcel.back);
            return Ok(());
        }
        let Parcel {
            from,
            sender,
            token: own_token,
            mut message,
            back,
            ..
        } = parcel;
        environment.oracle.delivered(self.who, &message)?;
        if let Some(sabotage) = environment.sabotage {
            sabotage.tamper_call(M::KIND, &mut message);
            let order_token = message
                .match_id()
                .and_then(|id| environment.oracle.order_token(id));
            sabotage.overlook(&environment.scenario, order_token, &mut message);
        }
        if from == VILLAIN && !self.machine.knows_manager() {
            // An agent without a manager token accepts any caller as the manager.
            return Ok(());
        }
        let mut token = own_token.as_ref().map(AuthToken::hash);
        let managers = matches!(
            message,
            Message::StartMatch(_) | Message::RoundAnnouncement(_) | Message::LeagueCompleted(_)
        );
        if managers && environment.sabotage == Some(Sabotage::AnyoneIsTheManager) {
            token = self.manager_token(environment).or(token);
        }
        let returning = environment
            .sabotage
            .filter(|sabotage| *sabotage == Sabotage::AnyTokenReturns)
            .and_then(|_| wanted(&message));
        let call = SimulatedCall {
            message,
            sender,
            own_token: match returning {
                Some(agent) => Some(return_token(environment, &agent)),
                None => own_token,
            },
            token,
            dialect,
            chance: match M::KIND {
                MachineKind::Manager => environment.chance.bytes(),
                _ => [0; 32],
            },
        };
        environment.oracle.now_from(from);
        match M::understand(call) {
            Ok(command) => self.answer_call(environment, command, back),
            Err(message) => {
                self.say(environment, *message, back);
                Ok(())
            }
        }
    }

    /// What the manager would show here, if this agent is not the manager.
    fn manager_token(&self, environment: &Environment) -> Option<TokenHash> {
        let agent = self
            .machine
            .name()
            .filter(|agent| *agent != Agent::Manager)?;
        let (league, secret) = (
            &environment.scenario.rules.league_id,
            environment.scenario.secrets.tokens,
        );
        Some(secret.manager_token(league, &agent).hash())
    }

    pub(crate) fn hear(
        &mut self,
        environment: &mut Environment,
        answered: AnswerInTransit,
    ) -> CheckResult {
        let back = answered.back;
        if !self.up || self.life != back.life {
            return Ok(());
        }
        let correlation = match self.post.answered(back.asked, back.trying) {
            AnswerMatch::InTime(correlation) => {
                self.send_first(environment, back.asked);
                correlation
            }
            AnswerMatch::Late(correlation) => Some(correlation),
            AnswerMatch::Stale => None,
        };
        let Some(correlation) = correlation else {
            return Ok(());
        };
        let twice = environment.scenario.rates.heard_twice;
        if environment.fails(twice, InjectedFault::OutcomeDoubled) {
            self.post.keep(back.asked, back.trying, &correlation);
            let at = environment.now() + Duration::from_millis(environment.chance.below(60_000));
            environment
                .clock
                .note(at, Errand::Echo(Box::new(answered.clone())));
        }
        let mut message = answered.message;
        if let Some(sabotage) = environment.sabotage {
            sabotage.tamper_call(M::KIND, &mut message);
        }
        let outcome = Ok(PeerAnswer {
            token: answered.token,
            message,
        });
        environment.oracle.now_from(back.asked);
        self.attend(environment, &M::outcome(correlation, outcome), None)
    }

    /// No answer has come.
    pub(crate) fn miss(
        &mut self,
        environment: &mut Environment,
        back: ReturnPath,
        failure: CallFailure,
    ) -> CheckResult {
        if !self.up || self.life != back.life {
            return Ok(());
        }
        let (to, trying) = (back.asked, back.trying);
        match self.post.failed(to, trying) {
            TryFailure::Stale => Ok(()),
            TryFailure::Over(None) => {
                self.send_first(environment, to);
                Ok(())
            }
            TryFailure::Again => {
                let backoff = self.post.front(to).map(|letter| letter.retry.backoff);
                let chance = environment.chance.next();
                let wait = backoff.unwrap_or_default().wait(trying.attempt, chance);
                let (from, life) = (self.who, self.life);
                let again = RetryTimer {
                    from,
                    to,
                    life,
                    trying,
                };
                let at = environment.now() + wait;
                environment.clock.note(at, Errand::Again(Box::new(again)));
                Ok(())
            }
            TryFailure::Over(Some(correlation)) => {
                self.send_first(environment, to);
                self.attend(environment, &M::outcome(correlation, Err(failure)), None)
            }
        }
    }

    /// A letter is tried again.
    pub(crate) fn try_again(
        &mut self,
        environment: &mut Environment,
        to: NodeId,
        life: u32,
        last: Try,
    ) {
        if self.up && self.life == life {
            let sent = self
                .post
                .again(to, last)
                .map(|(trying, letter)| (trying, letter.retry.timeout, parcel_of(letter, false)));
            self.dispatch(environment, to, sent);
        }
    }

    pub(crate) fn send_first(&mut self, environment: &mut Environment, to: NodeId) {
        let sent = self.post.begin(to).map(|(trying, letter)| {
            let only = letter.retry.attempts <= 1;
            (trying, letter.retry.timeout, parcel_of(letter, only))
        });
        self.dispatch(environment, to, sent);
    }

    fn dispatch(
        &mut self,
        environment: &mut Environment,
        to: NodeId,
        sent: Option<(Try, Duration, (Message, Credential))>,
    ) {
        let Some((trying, timeout, (message, credential))) = sent else {
            return;
        };
        let token = match credential {
            Credential::None => None,
            Credential::Own => self.token.clone(),
            Credential::Return => self.kept_tokens().best().cloned(),
            Credential::Match(token) | Credential::Manager(token) => Some(token),
        };
        environment.carry(Parcel {
            from: self.who,
            to,
            sender: self.machine.name(),
            token,
            message,
            back: Some(ReturnPath {
                to: self.who,
                life: self.life,
                asked: to,
                trying,
                deadline: environment.now() + timeout,
            }),
        });
    }
}

/// Who a player that registers would like to be.
fn wanted(message: &Message) -> Option<Agent> {
    let Message::PlayerRegisterRequest(request) = message else {
        return None;
    };
    let id = PlayerId::new(request.wanted_id.as_ref()?).ok()?;
    Some(Agent::Player(id))
}

/// What an agent alone can come back with.
fn return_token(environment: &Environment, agent: &Agent) -> AuthToken {
    let (league, secret) = (
        &environment.scenario.rules.league_id,
        environment.scenario.secrets.tokens,
    );
    secret.return_token(league, agent)
}

/// What goes on its way; the last try takes the message itself.
fn parcel_of<T>(letter: &mut Letter<T>, only: bool) -> (Message, Credential) {
    if only {
        let message = std::mem::replace(&mut letter.message, Message::Acknowledged);
        let credential = std::mem::replace(&mut letter.credential, Credential::None);
        (message, credential)
    } else {
        (letter.message.clone(), letter.credential.clone())
    }
}
