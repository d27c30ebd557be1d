//! A simulated process: a machine with its journal, its outbox and its token.
//!
//! A record is safe only once it is synced, and nothing leaves the actor before that. A crash loses
//! the rest. How letters and answers travel is in `actor/delivery.rs`.

mod delivery;

use std::sync::Arc;
use std::time::Duration;

use league_core::letter::Letter;
use league_core::machine::{Decision, Machine, Persistence};
use league_protocol::message::Message;
use league_protocol::secret::Proof;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use crate::agents::{KeptTokens, Promise, Reaction, SimulatedMachine};
use crate::behaviour::{Behaviour, spoil};
use crate::environment::{AnswerInTransit, Environment, Errand, PendingThought, ReturnPath};
use crate::fault::InjectedFault;
use crate::lies::{Lie, tamper_letters};
use crate::outbox::LetterQueues;
use crate::report::Invariant;
use crate::sabotage::Sabotage;
use crate::scenario::{Person, node_at};
use crate::{CheckResult, NodeId, breach};

/// A machine with all that its process keeps.
pub(crate) struct SimulatedActor<M: SimulatedMachine> {
    pub(crate) who: NodeId,
    pub(crate) machine: M,
    /// The machine before the first fact.
    origin: M,
    pub(crate) journal: Vec<M::Event>,
    /// So many facts of the journal are safe.
    synced: usize,
    /// What leaves once the rest of the journal is safe.
    held: Vec<HeldRelease<M>>,
    /// Calls that came before what they are about was announced.
    early: Vec<EarlyCall<M::Command>>,
    /// Counts the lives of this agent.
    pub(crate) life: u32,
    pub(crate) up: bool,
    post: LetterQueues<M::CorrelationId>,
    pub(crate) token: Option<AuthToken>,
    /// What the agent comes back with, if it was given something better than its token.
    return_token: Option<AuthToken>,
    /// The hash of its token.
    hash: Option<TokenHash>,
    person: Person,
    wake_at: Option<Timestamp>,
    /// Room for letters, kept from step to step.
    letters: Vec<Letter<M::CorrelationId>>,
}

/// The output of one command, held until its events are safe.
struct HeldRelease<M: SimulatedMachine> {
    letters: Vec<Letter<M::CorrelationId>>,
    step: Reaction<M::Command>,
    back: Option<ReturnPath>,
    promise: Option<(NodeId, Promise)>,
}

impl<M: SimulatedMachine> SimulatedActor<M> {
    /// A desk for an agent that will note about so many facts.
    pub(crate) fn new(who: NodeId, machine: M, person: Person, facts: usize) -> Self {
        Self {
            who,
            origin: machine.clone(),
            machine,
            journal: Vec::with_capacity(facts),
            synced: 0,
            held: Vec::new(),
            early: Vec::new(),
            life: 0,
            up: true,
            post: LetterQueues::new(),
            token: None,
            return_token: None,
            hash: None,
            person,
            wake_at: None,
            letters: Vec::new(),
        }
    }

    /// Begins, for the first time or after a fall.
    pub(crate) fn begin(&mut self, environment: &mut Environment) -> CheckResult {
        match M::begin(self.kept_tokens()) {
            Some(command) => self.attend(environment, &command, None),
            None => Ok(()),
        }
    }

    fn kept_tokens(&self) -> KeptTokens<'_> {
        KeptTokens {
            own: self.token.as_ref(),
            returning: self.return_token.as_ref(),
        }
    }

    /// The token behind a hash that went out with an answer, if it is still the agent's own.
    pub(crate) fn token_behind(&self, shown: TokenHash) -> Option<&AuthToken> {
        self.token.as_ref().filter(|_| self.hash == Some(shown))
    }

    /// The moment has come that the machine wanted to be woken at.
    pub(crate) fn wake(&mut self, environment: &mut Environment, life: u32) -> CheckResult {
        if !self.up || self.life != life {
            return Ok(());
        }
        self.wake_at = None;
        let now = environment.now();
        if self.machine.wakeup().is_none_or(|due| due > now) {
            self.set_alarm(environment);
            return Ok(());
        }
        let before = environment.report.facts;
        self.attend(environment, &M::tick(), None)?;
        let idle = self.up && environment.report.facts == before;
        if idle && self.machine.wakeup().is_some_and(|due| due <= now) {
            return breach(
                Invariant::EveryLeagueEnds,
                format!("agent {} wanted to be woken for nothing", self.who),
            );
        }
        Ok(())
    }

    /// The journal is synced: releases the held output.
    pub(crate) fn sync(&mut self, environment: &mut Environment, life: u32) -> CheckResult {
        if !self.up || self.life != life {
            return Ok(());
        }
        self.synced = self.journal.len();
        for held in std::mem::take(&mut self.held) {
            if self.up && self.life == life {
                self.release(environment, held)?;
            } else {
                environment.cut(held.back);
            }
        }
        Ok(())
    }

    /// Weighs a command, notes the facts, and sends what follows once they are safe.
    pub(crate) fn attend(
        &mut self,
        environment: &mut Environment,
        command: &M::Command,
        back: Option<ReturnPath>,
    ) -> CheckResult {
        let ruling = self.weigh(environment, command);
        self.settle(environment, command, ruling, back)
    }

    fn weigh(&self, environment: &mut Environment, command: &M::Command) -> MachineDecision<M> {
        environment.report.steps += 1;
        let at = environment.now();
        let heard_at = environment
            .sabotage
            .map_or(at, |sabotage| M::time(sabotage, at, command));
        self.machine.decide(heard_at, command)
    }

    fn settle(
        &mut self,
        environment: &mut Environment,
        command: &M::Command,
        ruling: MachineDecision<M>,
        back: Option<ReturnPath>,
    ) -> CheckResult {
        let at = environment.now();
        let Decision {
            mut events,
            mut answer,
        } = ruling;
        if let Some(sabotage) = environment.sabotage {
            let machine = &self.machine;
            machine.tamper(sabotage, at, command, &mut events, &mut answer);
        }
        if let Some(lie) = environment.lie_of(self.who) {
            let world = (&mut environment.chance, &environment.scenario);
            if M::lie(lie, world, at, &mut events, &mut answer) {
                environment.report.fault(InjectedFault::Lie);
            }
        }
        let announced = events.iter().any(M::announces);
        let mut letters = std::mem::take(&mut self.letters);
        for event in events {
            self.machine.apply(&event);
            self.machine.letters(&event, &mut letters);
            environment.report.facts += 1;
            environment.log(format_args!("{} {event:?}", self.who));
            self.machine
                .watch(&mut environment.oracle, self.who, at, &event)?;
            if M::keep(&event) == Persistence::Journal {
                self.journal.push(event);
            }
        }
        self.show(environment, &mut letters)?;
        let promise = answer
            .as_ref()
            .ok()
            .and_then(|reply| M::promise(command, reply))
            .map(|promise| (environment.oracle.from(), promise));
        let step = M::react(answer, self.kept_tokens());
        let held = HeldRelease {
            letters,
            step,
            back,
            promise,
        };
        if environment.crashes(M::KIND) {
            environment.cut(back);
            return self.fall(environment);
        }
        self.hold(environment, held)?;
        self.set_alarm(environment);
        if announced && !self.early.is_empty() {
            return self.call_again(environment);
        }
        Ok(())
    }

    /// Shows the letters to the oracle as they are written; they may leave later.
    fn show(
        &self,
        environment: &mut Environment,
        letters: &mut Vec<Letter<M::CorrelationId>>,
    ) -> CheckResult {
        if let Some(lie) = environment.lie_of(self.who) {
            let favourite = environment.oracle.favourite();
            let lies = tamper_letters(lie, &environment.scenario, favourite.as_ref(), letters);
            (0..lies).for_each(|_| environment.report.fault(InjectedFault::Lie));
        }
        for letter in letters {
            self.speak_for(letter);
            if let Some(sabotage) = environment.sabotage {
                sabotage.tamper_letter(M::KIND, letter);
            }
            if let Some(to) = node_at(&letter.to.endpoint) {
                let reached = self.machine.reached(&letter.message);
                environment.oracle.letter(self.who, to, letter, reached)?;
            }
        }
        Ok(())
    }

    /// A player that does not sign says so when it registers.
    fn speak_for(&self, letter: &mut Letter<M::CorrelationId>) {
        if let Message::PlayerRegisterRequest(request) = &mut letter.message {
            request.meta.proofs &= self.person.signs;
        }
    }

    fn hold(&mut self, environment: &mut Environment, held: HeldRelease<M>) -> CheckResult {
        let safe = self.synced == self.journal.len();
        let acks = matches!(held.promise, Some((_, Promise::Acked(..))));
        let draws = matches!(held.step, Reaction::Say(Message::DrawResponse(_)));
        let hasty = match environment.sabotage {
            Some(Sabotage::AckBeforeJournal) => acks,
            Some(Sabotage::SeedGivenEarly) => draws,
            _ => false,
        };
        if safe || hasty {
            self.release(environment, held)?;
            // Crashes at this very moment are rare, and the planted bug shows in no other.
            let falls = hasty && !safe && acks && environment.chance.below(64) == 0;
            return if falls {
                self.fall(environment)
            } else {
                Ok(())
            };
        }
        if environment.scenario.sync == 0 {
            self.synced = self.journal.len();
            return self.release(environment, held);
        }
        if self.held.is_empty() {
            let (who, life) = (self.who, self.life);
            let at = environment.now() + Duration::from_millis(environment.scenario.sync);
            environment.clock.note(at, Errand::Sync { who, life });
        }
        self.held.push(held);
        Ok(())
    }

    fn release(&mut self, environment: &mut Environment, held: HeldRelease<M>) -> CheckResult {
        let mut letters = held.letters;
        for letter in letters.drain(..) {
            let Some(to) = node_at(&letter.to.endpoint) else {
                continue;
            };
            environment.log(format_args!("{} to {to}: {:?}", self.who, letter.message));
            environment.oracle.sent(to, &letter.message);
            if self.post.put(to, letter) {
                self.send_first(environment, to);
            }
        }
        self.letters = letters;
        if let Some((to, promise)) = held.promise {
            environment.oracle.promised(to, promise)?;
        }
        match held.step {
            Reaction::Say(message) => {
                let backed = M::is_backed(&self.journal[..self.synced], &message);
                let oracle = &mut environment.oracle;
                oracle.answer(self.who, held.back, &message, backed)?;
                self.say(environment, message, held.back);
            }
            Reaction::Keep(token, return_token) => {
                self.hash = Some(token.hash());
                self.token = Some(token);
                self.return_token = return_token.or(self.return_token.take());
            }
            Reaction::Next(command) => return self.attend(environment, &command, None),
            Reaction::Think(think) => self.think(environment, &think, held.back),
            Reaction::Nothing => environment.lose(held.back),
        }
        Ok(())
    }

    /// Thinks for a while; the strategy is chance.
    fn think(
        &mut self,
        environment: &mut Environment,
        think: &league_core::player::Think,
        back: Option<ReturnPath>,
    ) {
        let choice = environment.chance.pick(&think.options).cloned();
        let nonce = (environment.chance.below(2) == 0)
            .then(|| format!("nonce-{:x}", environment.chance.next()));
        let command = league_core::player::Command::Chosen {
            match_id: think.match_id.clone(),
            turn: think.turn,
            choice,
            nonce,
            reasoning: None,
            model: None,
        };
        let at = environment.now() + Duration::from_millis(environment.chance.below(20));
        let (who, life) = (self.who, self.life);
        let thought = PendingThought {
            who,
            life,
            command,
            back,
        };
        let place = environment.thoughts.insert(thought);
        environment.clock.note(at, Errand::Thought(place));
    }

    /// Answers if a caller waits; an ill-behaved player answers in its own way.
    fn say(&mut self, environment: &mut Environment, message: Message, back: Option<ReturnPath>) {
        let Some(back) = back else { return };
        let mut message = message;
        match (environment.lie_of(self.who), &mut message) {
            (Some(Lie::DeniedCall), Message::CallQueryResponse(response)) => {
                environment.report.fault(InjectedFault::Lie);
                response.called = false;
            }
            (Some(Lie::WrongProof), Message::MoveResponse(response)) => {
                environment.report.fault(InjectedFault::Lie);
                let bytes = environment.chance.bytes();
                Arc::make_mut(response).proof = Some(Proof(bytes));
            }
            _ => {}
        }
        let owed = matches!(message, Message::GameJoinAck(_) | Message::MoveResponse(_));
        let token = self.hash.filter(|_| owed && self.person.shows_token);
        let vice = (owed && environment.stormy && self.person.behaviour != Behaviour::HONEST)
            .then(|| self.person.behaviour.shown(&mut environment.chance))
            .flatten();
        // It comes to some matches, and does not move in any: it is silent or says nothing of use.
        let is_absent = owed
            && environment.lie_of(self.who) == Some(Lie::DeniedCall)
            && (matches!(message, Message::MoveResponse(_)) || environment.chance.below(2) == 0);
        if is_absent && environment.chance.below(4) == 0 {
            return environment.lose(Some(back));
        }
        if is_absent {
            let message = Message::Acknowledged;
            return environment.give_back(AnswerInTransit {
                back,
                message,
                token,
            });
        }
        let Some(vice) = vice else {
            environment.oracle.said(self.who, &message);
            return environment.give_back(AnswerInTransit {
                back,
                message,
                token,
            });
        };
        environment.report.fault(InjectedFault::BadManners);
        let spoilt = spoil(vice, message, token, &mut environment.chance);
        let Some(message) = spoilt.message else {
            return environment.lose(Some(back));
        };
        environment.oracle.said(self.who, &message);
        let answered = AnswerInTransit {
            back,
            message,
            token: spoilt.token,
        };
        if spoilt.later.is_zero() {
            return environment.give_back(answered);
        }
        let at = environment.now() + spoilt.later;
        if at > back.deadline {
            environment.lose(Some(back));
        }
        environment.bring_back(at, answered);
    }

    fn set_alarm(&mut self, environment: &mut Environment) {
        let Some(due) = self.machine.wakeup().filter(|_| self.up) else {
            return;
        };
        let due = environment
            .sabotage
            .map_or(due, |sabotage| sabotage.alarm(M::KIND, due));
        let due = due.max(environment.now());
        if self.wake_at.is_none_or(|set| due < set) {
            self.wake_at = Some(due);
            let (who, life) = (self.who, self.life);
            environment.clock.note(due, Errand::Wake { who, life });
        }
    }
}

/// What a machine makes of a command.
type MachineDecision<M> =
    Decision<<M as Machine>::Event, <M as Machine>::Reply, <M as Machine>::Refusal>;

/// A call that waits.
pub(crate) struct EarlyCall<Command> {
    command: Command,
    from: NodeId,
    back: Option<ReturnPath>,
    until: Timestamp,
}

impl<M: SimulatedMachine> SimulatedActor<M> {
    /// Decides a call and answers it, at once or after the announcement it needs.
    pub(crate) fn answer_call(
        &mut self,
        environment: &mut Environment,
        command: M::Command,
        back: Option<ReturnPath>,
    ) -> CheckResult {
        let ruling = self.weigh(environment, &command);
        if !is_early::<M>(&ruling) {
            return self.settle(environment, &command, ruling, back);
        }
        let (who, life) = (self.who, self.life);
        let until = environment.now() + environment.scenario.rules.timeouts.join / 2;
        environment.clock.note(until, Errand::Enough { who, life });
        let from = environment.oracle.from();
        self.early.push(EarlyCall {
            command,
            from,
            back,
            until,
        });
        Ok(())
    }

    /// Calls have waited long enough: they are answered as matters stand.
    pub(crate) fn end_waiting(&mut self, environment: &mut Environment, life: u32) -> CheckResult {
        if self.up && self.life == life {
            self.call_again(environment)
        } else {
            Ok(())
        }
    }

    /// Brings the calls that wait once more.
    pub(crate) fn call_again(&mut self, environment: &mut Environment) -> CheckResult {
        let life = self.life;
        for early in std::mem::take(&mut self.early) {
            if !self.up || self.life != life {
                environment.cut(early.back);
                continue;
            }
            environment.oracle.now_from(early.from);
            let ruling = self.weigh(environment, &early.command);
            if is_early::<M>(&ruling) && environment.now() < early.until {
                self.early.push(early);
            } else {
                self.settle(environment, &early.command, ruling, early.back)?;
            }
        }
        Ok(())
    }

    /// The process dies, and its callers are cut off.
    pub(crate) fn drop_calls(&mut self, environment: &mut Environment) {
        for early in std::mem::take(&mut self.early) {
            environment.cut(early.back);
        }
    }
}

fn is_early<M: SimulatedMachine>(ruling: &MachineDecision<M>) -> bool {
    ruling.answer.as_ref().is_err_and(M::is_early)
}

/// The longest that a fallen agent stays away, in seconds.
const MAX_ABSENCE: u64 = 180;

impl<M: SimulatedMachine> SimulatedActor<M> {
    /// The process dies, and comes back after a while.
    pub(crate) fn fall(&mut self, environment: &mut Environment) -> CheckResult {
        self.go_down(environment)?;
        let absence = Duration::from_millis(environment.chance.between(10, MAX_ABSENCE * 1_000));
        let rise = Errand::Rise { who: self.who };
        environment.clock.note(environment.now() + absence, rise);
        Ok(())
    }

    /// The process dies: unsynced events are lost, except those that reached the disk by chance.
    pub(crate) fn go_down(&mut self, environment: &mut Environment) -> CheckResult {
        environment.report.crashes += 1;
        environment.oracle.expect_faults();
        let unsafe_facts = (self.journal.len() - self.synced) as u64;
        let kept = environment.chance.below(unsafe_facts + 1);
        if kept < unsafe_facts {
            environment.report.fault(InjectedFault::TornTail);
        }
        self.journal
            .truncate(self.synced + usize::try_from(kept).unwrap_or(0));
        self.synced = self.journal.len();
        for held in std::mem::take(&mut self.held) {
            environment.cut(held.back);
        }
        self.drop_calls(environment);
        self.post.burn();
        self.up = false;
        self.life += 1;
        self.wake_at = None;
        if self.token.is_some()
            && environment.fails(
                environment.scenario.rates.token_lost,
                InjectedFault::TokenLost,
            )
        {
            (self.token, self.return_token, self.hash) = (None, None, None);
        }
        environment.log(format_args!("{} falls", self.who));
        M::recall(&mut environment.oracle, self.who, &self.journal)
    }

    /// The process comes back with nothing but its journal.
    pub(crate) fn rise(&mut self, environment: &mut Environment) -> CheckResult {
        environment.log(format_args!("{} rises", self.who));
        // A process that was stopped in order has forgotten what it had in memory, too.
        M::recall(&mut environment.oracle, self.who, &self.journal)?;
        self.machine = self.replayed(environment.sabotage);
        self.up = true;
        let mut letters = self.machine.pending();
        self.show(environment, &mut letters)?;
        let held = HeldRelease {
            letters,
            step: Reaction::Nothing,
            back: None,
            promise: None,
        };
        self.release(environment, held)?;
        self.set_alarm(environment);
        self.begin(environment)
    }

    /// A fresh machine with the whole journal applied.
    pub(crate) fn replayed(&self, sabotage: Option<Sabotage>) -> M {
        let mut machine = self.origin.clone();
        let forgetful = sabotage == Some(Sabotage::ResultDroppedAtReplay);
        let is_result = |event: &&M::Event| format!("{event:?}").starts_with("ResultRecorded");
        let results = self.journal.iter().filter(|_| forgetful).filter(is_result);
        let dropped = results.last();
        for event in &self.journal {
            if !dropped.is_some_and(|dropped| std::ptr::eq(dropped, event)) {
                machine.apply(event);
            }
        }
        machine
    }

    /// Whether the journal says all that the machine knows, however often it is replayed.
    pub(crate) fn check_replay(&self, text_too: bool) -> CheckResult {
        let (once, twice) = (self.replayed(None), self.replayed(None));
        if let Some(what) = once.differs(&twice) {
            return breach(Invariant::TheJournalSaysAll, what);
        }
        if let Some(what) = self.machine.differs(&once).filter(|_| self.up) {
            return breach(Invariant::TheJournalSaysAll, what);
        }
        let events = self.journal.iter().filter(|_| text_too);
        for event in events {
            let text = serde_json::to_string(event).unwrap_or_default();
            let read = serde_json::from_str::<M::Event>(&text).ok();
            // Asides to one player are left out of the text by design, so texts are compared.
            if read
                .and_then(|read| serde_json::to_string(&read).ok())
                .as_ref()
                != Some(&text)
            {
                return breach(
                    Invariant::TheJournalSaysAll,
                    format!("a fact is not read back as it was written: {text}"),
                );
            }
        }
        Ok(())
    }
}
