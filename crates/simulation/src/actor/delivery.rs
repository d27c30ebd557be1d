//! What comes to a desk and what leaves it: calls, answers, and letters that are tried again.

use std::time::Duration;

use league_core::letter::{CallFailure, Credential, Letter, PeerAnswer};
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::Message;
use league_protocol::sender::{Agent, Dialect};
use league_protocol::token::{AuthToken, TokenHash};

use super::Desk;
use crate::agents::{Call, Kind, Worker};
use crate::environment::{Again, Answered, Around, Back, Errand, Parcel};
use crate::fault::Fault;
use crate::hostile::VILLAIN;
use crate::outbox::{Arrived, Failed, Trying};
use crate::sabotage::Sabotage;
use crate::{Checked, Who};

impl<M: Worker> Desk<M> {
    /// A message arrives.
    pub(crate) fn receive(
        &mut self,
        around: &mut Around,
        parcel: Parcel,
        dialect: Dialect,
    ) -> Checked {
        if !self.up {
            if parcel.back.is_some() {
                around.report.fault(Fault::Unreachable);
            }
            around.cut(parcel.back);
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
        if let Some(sabotage) = around.sabotage {
            sabotage.tamper_call(M::KIND, self.life, &mut message);
        }
        if from == VILLAIN && !self.machine.knows_manager() {
            // Whoever was never told how the manager proves itself believes anyone.
            return Ok(());
        }
        let mut token = own_token.as_ref().map(AuthToken::hash);
        let managers = matches!(
            message,
            Message::StartMatch(_) | Message::RoundAnnouncement(_) | Message::LeagueCompleted(_)
        );
        if managers && around.sabotage == Some(Sabotage::AnyoneIsTheManager) {
            token = self.manager_token(around).or(token);
        }
        let returning = around
            .sabotage
            .filter(|sabotage| *sabotage == Sabotage::AnyTokenReturns)
            .and_then(|_| wanted(&message));
        let call = Call {
            message,
            sender,
            own_token: match returning {
                Some(agent) => Some(return_token(around, &agent)),
                None => own_token,
            },
            token,
            dialect,
            chance: match M::KIND {
                Kind::Manager => around.chance.bytes(),
                _ => [0; 32],
            },
        };
        around.oracle.now_from(from);
        match M::understand(call) {
            Ok(command) => self.answer_call(around, command, back),
            Err(message) => {
                self.say(around, *message, back);
                Ok(())
            }
        }
    }

    /// What the manager would show here, if this agent is not the manager.
    fn manager_token(&self, around: &Around) -> Option<TokenHash> {
        let agent = self
            .machine
            .name()
            .filter(|agent| *agent != Agent::Manager)?;
        let (league, secret) = (&around.setting.rules.league_id, around.setting.secret);
        Some(secret.manager_token(league, &agent).hash())
    }

    /// An answer arrives.
    pub(crate) fn hear(&mut self, around: &mut Around, answered: Answered) -> Checked {
        let back = answered.back;
        if !self.up || self.life != back.life {
            return Ok(());
        }
        let correlation = match self.post.answered(back.asked, back.trying) {
            Arrived::InTime(correlation) => {
                self.send_first(around, back.asked);
                correlation
            }
            Arrived::Late(correlation) => Some(correlation),
            Arrived::Stale => None,
        };
        let Some(correlation) = correlation else {
            return Ok(());
        };
        let twice = around.setting.rates.heard_twice;
        if around.fails(twice, Fault::OutcomeDoubled) {
            self.post.keep(back.asked, back.trying, &correlation);
            let at = around.now() + Duration::from_millis(around.chance.below(60_000));
            around
                .clock
                .note(at, Errand::Echo(Box::new(answered.clone())));
        }
        let outcome = Ok(PeerAnswer {
            token: answered.token,
            message: answered.message,
        });
        around.oracle.now_from(back.asked);
        self.attend(around, &M::outcome(correlation, outcome), None)
    }

    /// No answer has come.
    pub(crate) fn miss(&mut self, around: &mut Around, back: Back, code: Code) -> Checked {
        if !self.up || self.life != back.life {
            return Ok(());
        }
        let (to, trying) = (back.asked, back.trying);
        match self.post.failed(to, trying) {
            Failed::Stale => Ok(()),
            Failed::Over(None) => {
                self.send_first(around, to);
                Ok(())
            }
            Failed::Again => {
                let backoff = self.post.front(to).map(|letter| letter.retry.backoff);
                let chance = around.chance.next();
                let wait = backoff.unwrap_or_default().wait(trying.attempt, chance);
                let (from, life) = (self.who, self.life);
                let again = Again {
                    from,
                    to,
                    life,
                    trying,
                };
                let at = around.now() + wait;
                around.clock.note(at, Errand::Again(Box::new(again)));
                Ok(())
            }
            Failed::Over(Some(correlation)) => {
                self.send_first(around, to);
                let detail = "nothing came back".to_owned();
                let failure = CallFailure { code, detail };
                self.attend(around, &M::outcome(correlation, Err(failure)), None)
            }
        }
    }

    /// A letter is tried again.
    pub(crate) fn try_again(&mut self, around: &mut Around, to: Who, life: u32, last: Trying) {
        if self.up && self.life == life {
            let sent = self
                .post
                .again(to, last)
                .map(|(trying, letter)| (trying, letter.retry.timeout, parcel_of(letter, false)));
            self.dispatch(around, to, sent);
        }
    }

    pub(crate) fn send_first(&mut self, around: &mut Around, to: Who) {
        let sent = self.post.begin(to).map(|(trying, letter)| {
            let only = letter.retry.attempts <= 1;
            (trying, letter.retry.timeout, parcel_of(letter, only))
        });
        self.dispatch(around, to, sent);
    }

    fn dispatch(
        &mut self,
        around: &mut Around,
        to: Who,
        sent: Option<(Trying, Duration, (Message, Credential))>,
    ) {
        let Some((trying, timeout, (message, credential))) = sent else {
            return;
        };
        let token = match credential {
            Credential::None => None,
            Credential::Own => self.token.clone(),
            Credential::Return => self.token_to_return().cloned(),
            Credential::Match(token) | Credential::Manager(token) => Some(token),
        };
        around.carry(Parcel {
            from: self.who,
            to,
            sender: self.machine.name(),
            token,
            message,
            back: Some(Back {
                to: self.who,
                life: self.life,
                asked: to,
                trying,
                deadline: around.now() + timeout,
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
fn return_token(around: &Around, agent: &Agent) -> AuthToken {
    let (league, secret) = (&around.setting.rules.league_id, around.setting.secret);
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
