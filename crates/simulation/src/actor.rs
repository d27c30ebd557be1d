//! A simulated process: a machine with its journal, its outbox and its token.
//!
//! A record is safe only once it is synced, and nothing leaves the actor before that. A crash loses
//! the rest. How letters and answers travel is in `actor/delivery.rs`.

mod delivery;

use std::time::Duration;

use league_core::letter::Letter;
use league_core::machine::{Decision, Keep, Machine};
use league_protocol::message::Message;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};

use crate::agents::{Promise, Step, Worker};
use crate::behaviour::{Manners, spoil};
use crate::environment::{Answered, Around, Back, Errand, Thought};
use crate::fault::Fault;
use crate::outbox::Post;
use crate::report::Invariant;
use crate::sabotage::Sabotage;
use crate::setting::{Person, who_answers};
use crate::{Checked, Who, breach};

/// A machine with all that its process keeps.
pub(crate) struct Desk<M: Worker> {
    pub(crate) who: Who,
    pub(crate) machine: M,
    /// The machine before the first fact.
    origin: M,
    pub(crate) journal: Vec<M::Event>,
    /// So many facts of the journal are safe.
    synced: usize,
    /// What leaves once the rest of the journal is safe.
    held: Vec<Held<M>>,
    /// Calls that came before what they are about was announced.
    early: Vec<Early<M::Command>>,
    /// Counts the lives of this agent.
    pub(crate) life: u32,
    pub(crate) up: bool,
    post: Post<M::CorrelationId>,
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

/// What one command leads to outside.
struct Held<M: Worker> {
    letters: Vec<Letter<M::CorrelationId>>,
    step: Step<M::Command>,
    back: Option<Back>,
    promise: Option<(Who, Promise)>,
}

impl<M: Worker> Desk<M> {
    /// A desk for an agent that will note about so many facts.
    pub(crate) fn new(who: Who, machine: M, person: Person, facts: usize) -> Self {
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
            post: Post::new(),
            token: None,
            return_token: None,
            hash: None,
            person,
            wake_at: None,
            letters: Vec::new(),
        }
    }

    /// Begins, for the first time or after a fall.
    pub(crate) fn begin(&mut self, around: &mut Around) -> Checked {
        match M::begin(self.token_to_return()) {
            Some(command) => self.attend(around, &command, None),
            None => Ok(()),
        }
    }

    fn token_to_return(&self) -> Option<&AuthToken> {
        self.return_token.as_ref().or(self.token.as_ref())
    }

    /// The token behind a hash that went out with an answer, if it is still the agent's own.
    pub(crate) fn token_behind(&self, shown: TokenHash) -> Option<&AuthToken> {
        self.token.as_ref().filter(|_| self.hash == Some(shown))
    }

    /// The moment has come that the machine wanted to be woken at.
    pub(crate) fn wake(&mut self, around: &mut Around, life: u32) -> Checked {
        if !self.up || self.life != life {
            return Ok(());
        }
        self.wake_at = None;
        let now = around.now();
        if self.machine.wakeup().is_none_or(|due| due > now) {
            self.set_alarm(around);
            return Ok(());
        }
        let before = around.report.facts;
        self.attend(around, &M::tick(), None)?;
        let idle = self.up && around.report.facts == before;
        if idle && self.machine.wakeup().is_some_and(|due| due <= now) {
            return breach(
                Invariant::EveryLeagueEnds,
                format!("agent {} wanted to be woken for nothing", self.who),
            );
        }
        Ok(())
    }

    /// What was written is safe: what waited for that leaves.
    pub(crate) fn sync(&mut self, around: &mut Around, life: u32) -> Checked {
        if !self.up || self.life != life {
            return Ok(());
        }
        self.synced = self.journal.len();
        for held in std::mem::take(&mut self.held) {
            if self.up && self.life == life {
                self.release(around, held)?;
            } else {
                around.cut(held.back);
            }
        }
        Ok(())
    }

    /// Weighs a command, notes the facts, and sends what follows once they are safe.
    pub(crate) fn attend(
        &mut self,
        around: &mut Around,
        command: &M::Command,
        back: Option<Back>,
    ) -> Checked {
        let ruling = self.weigh(around, command);
        self.settle(around, command, ruling, back)
    }

    fn weigh(&self, around: &mut Around, command: &M::Command) -> Ruling<M> {
        around.report.steps += 1;
        let at = around.now();
        let heard_at = around
            .sabotage
            .map_or(at, |sabotage| M::time(sabotage, at, command));
        self.machine.decide(heard_at, command)
    }

    fn settle(
        &mut self,
        around: &mut Around,
        command: &M::Command,
        ruling: Ruling<M>,
        back: Option<Back>,
    ) -> Checked {
        let at = around.now();
        let Decision {
            mut events,
            mut answer,
        } = ruling;
        if let Some(sabotage) = around.sabotage {
            let machine = &self.machine;
            machine.tamper(sabotage, at, command, &mut events, &mut answer);
        }
        let announced = events.iter().any(M::announces);
        let mut letters = std::mem::take(&mut self.letters);
        for event in events {
            self.machine.apply(&event);
            self.machine.letters(&event, &mut letters);
            around.report.facts += 1;
            around.log(format_args!("{} {event:?}", self.who));
            self.machine
                .watch(&mut around.oracle, self.who, at, &event)?;
            if M::keep(&event) == Keep::Journal {
                self.journal.push(event);
            }
        }
        self.show(around, &mut letters)?;
        let promise = answer
            .as_ref()
            .ok()
            .and_then(|reply| M::promise(command, reply))
            .map(|promise| (around.oracle.from(), promise));
        let step = M::react(answer, self.token_to_return());
        let held = Held {
            letters,
            step,
            back,
            promise,
        };
        if around.crashes(M::KIND) {
            around.cut(back);
            return self.fall(around);
        }
        self.hold(around, held)?;
        self.set_alarm(around);
        if announced && !self.early.is_empty() {
            return self.call_again(around);
        }
        Ok(())
    }

    /// Shows the letters to the oracle as they are written; they may leave later.
    fn show(&self, around: &mut Around, letters: &mut [Letter<M::CorrelationId>]) -> Checked {
        for letter in letters {
            if let Some(sabotage) = around.sabotage {
                sabotage.tamper_letter(M::KIND, letter);
            }
            if let Some(to) = who_answers(&letter.to.endpoint) {
                around.oracle.letter(self.who, to, letter)?;
            }
        }
        Ok(())
    }

    fn hold(&mut self, around: &mut Around, held: Held<M>) -> Checked {
        let safe = self.synced == self.journal.len();
        let acks = matches!(held.promise, Some((_, Promise::Acked(..))));
        if safe || (acks && around.sabotage == Some(Sabotage::AckBeforeJournal)) {
            return self.release(around, held);
        }
        if around.setting.sync == 0 {
            self.synced = self.journal.len();
            return self.release(around, held);
        }
        if self.held.is_empty() {
            let (who, life) = (self.who, self.life);
            let at = around.now() + Duration::from_millis(around.setting.sync);
            around.clock.note(at, Errand::Sync { who, life });
        }
        self.held.push(held);
        Ok(())
    }

    fn release(&mut self, around: &mut Around, held: Held<M>) -> Checked {
        let mut letters = held.letters;
        for letter in letters.drain(..) {
            let Some(to) = who_answers(&letter.to.endpoint) else {
                continue;
            };
            around.log(format_args!("{} to {to}: {:?}", self.who, letter.message));
            around.oracle.sent(&letter.message);
            if self.post.put(to, letter) {
                self.send_first(around, to);
            }
        }
        self.letters = letters;
        if let Some((to, promise)) = held.promise {
            around.oracle.promised(to, promise)?;
        }
        match held.step {
            Step::Say(message) => {
                around.oracle.answer(self.who, held.back, &message)?;
                self.say(around, message, held.back);
            }
            Step::Keep(token, return_token) => {
                self.hash = Some(token.hash());
                self.token = Some(token);
                self.return_token = return_token.or(self.return_token.take());
            }
            Step::Next(command) => return self.attend(around, &command, None),
            Step::Think(think) => self.think(around, &think, held.back),
            Step::Nothing => around.lose(held.back),
        }
        Ok(())
    }

    /// Thinks for a while; the strategy is chance.
    fn think(
        &mut self,
        around: &mut Around,
        think: &league_core::player::Think,
        back: Option<Back>,
    ) {
        let choice = around.chance.pick(&think.options).cloned();
        let nonce =
            (around.chance.below(2) == 0).then(|| format!("nonce-{:x}", around.chance.next()));
        let command = league_core::player::Command::Chosen {
            match_id: think.match_id.clone(),
            turn: think.turn,
            choice,
            nonce,
            reasoning: None,
        };
        let at = around.now() + Duration::from_millis(around.chance.below(20));
        let (who, life) = (self.who, self.life);
        let thought = Thought {
            who,
            life,
            command,
            back,
        };
        let place = around.thoughts.put(thought);
        around.clock.note(at, Errand::Thought(place));
    }

    /// Answers, unless nobody waits; an ill-behaved player answers in its own way.
    fn say(&mut self, around: &mut Around, message: Message, back: Option<Back>) {
        let Some(back) = back else { return };
        let owed = matches!(message, Message::GameJoinAck(_) | Message::MoveResponse(_));
        let token = self.hash.filter(|_| owed && self.person.shows_token);
        let vice = (owed && around.stormy && self.person.manners != Manners::HONEST)
            .then(|| self.person.manners.shown(&mut around.chance))
            .flatten();
        let Some(vice) = vice else {
            around.oracle.said(self.who, &message);
            return around.give_back(Answered {
                back,
                message,
                token,
            });
        };
        around.report.fault(Fault::BadManners);
        let spoilt = spoil(vice, message, token, &mut around.chance);
        let Some(message) = spoilt.message else {
            return around.lose(Some(back));
        };
        around.oracle.said(self.who, &message);
        let answered = Answered {
            back,
            message,
            token: spoilt.token,
        };
        if spoilt.later.is_zero() {
            return around.give_back(answered);
        }
        let at = around.now() + spoilt.later;
        if at > back.deadline {
            around.lose(Some(back));
        }
        around.bring_back(at, answered);
    }

    fn set_alarm(&mut self, around: &mut Around) {
        let Some(due) = self.machine.wakeup().filter(|_| self.up) else {
            return;
        };
        let due = around
            .sabotage
            .map_or(due, |sabotage| sabotage.alarm(M::KIND, due));
        let due = due.max(around.now());
        if self.wake_at.is_none_or(|set| due < set) {
            self.wake_at = Some(due);
            let (who, life) = (self.who, self.life);
            around.clock.note(due, Errand::Wake { who, life });
        }
    }
}

/// What a machine makes of a command.
type Ruling<M> = Decision<<M as Machine>::Event, <M as Machine>::Reply, <M as Machine>::Refusal>;

/// A call that waits.
pub(crate) struct Early<Command> {
    command: Command,
    from: Who,
    back: Option<Back>,
    until: Timestamp,
}

impl<M: Worker> Desk<M> {
    /// Weighs a call and answers it, at once or when it is no longer early.
    pub(crate) fn answer_call(
        &mut self,
        around: &mut Around,
        command: M::Command,
        back: Option<Back>,
    ) -> Checked {
        let ruling = self.weigh(around, &command);
        if !is_early::<M>(&ruling) {
            return self.settle(around, &command, ruling, back);
        }
        let (who, life) = (self.who, self.life);
        let until = around.now() + around.setting.rules.timeouts.join / 2;
        around.clock.note(until, Errand::Enough { who, life });
        let from = around.oracle.from();
        self.early.push(Early {
            command,
            from,
            back,
            until,
        });
        Ok(())
    }

    /// Calls have waited long enough: they are answered as matters stand.
    pub(crate) fn end_waiting(&mut self, around: &mut Around, life: u32) -> Checked {
        if self.up && self.life == life {
            self.call_again(around)
        } else {
            Ok(())
        }
    }

    /// Brings the calls that wait once more.
    pub(crate) fn call_again(&mut self, around: &mut Around) -> Checked {
        let life = self.life;
        for early in std::mem::take(&mut self.early) {
            if !self.up || self.life != life {
                around.cut(early.back);
                continue;
            }
            around.oracle.now_from(early.from);
            let ruling = self.weigh(around, &early.command);
            if is_early::<M>(&ruling) && around.now() < early.until {
                self.early.push(early);
            } else {
                self.settle(around, &early.command, ruling, early.back)?;
            }
        }
        Ok(())
    }

    /// The process dies, and whoever waited for it is cut off.
    pub(crate) fn drop_calls(&mut self, around: &mut Around) {
        for early in std::mem::take(&mut self.early) {
            around.cut(early.back);
        }
    }
}

fn is_early<M: Worker>(ruling: &Ruling<M>) -> bool {
    ruling.answer.as_ref().is_err_and(M::is_early)
}

/// The longest that a fallen agent stays away, in seconds.
const LONGEST_ABSENCE: u64 = 180;

impl<M: Worker> Desk<M> {
    /// The process dies, and comes back after a while.
    pub(crate) fn fall(&mut self, around: &mut Around) -> Checked {
        self.go_down(around)?;
        let absence = Duration::from_millis(around.chance.between(10, LONGEST_ABSENCE * 1_000));
        let rise = Errand::Rise { who: self.who };
        around.clock.note(around.now() + absence, rise);
        Ok(())
    }

    /// The process dies: what was not safe is lost, but for what had reached the disk by chance.
    pub(crate) fn go_down(&mut self, around: &mut Around) -> Checked {
        around.report.crashes += 1;
        let unsafe_facts = (self.journal.len() - self.synced) as u64;
        let kept = around.chance.below(unsafe_facts + 1);
        if kept < unsafe_facts {
            around.report.fault(Fault::TornTail);
        }
        self.journal
            .truncate(self.synced + usize::try_from(kept).unwrap_or(0));
        self.synced = self.journal.len();
        for held in std::mem::take(&mut self.held) {
            around.cut(held.back);
        }
        self.drop_calls(around);
        self.post.burn();
        self.up = false;
        self.life += 1;
        self.wake_at = None;
        if self.token.is_some() && around.fails(around.setting.rates.token_lost, Fault::TokenLost) {
            (self.token, self.return_token, self.hash) = (None, None, None);
        }
        around.log(format_args!("{} falls", self.who));
        M::recall(&mut around.oracle, self.who, &self.journal)
    }

    /// The process comes back with nothing but its journal.
    pub(crate) fn rise(&mut self, around: &mut Around) -> Checked {
        around.log(format_args!("{} rises", self.who));
        self.machine = self.replayed(around.sabotage);
        self.up = true;
        let mut letters = self.machine.pending();
        self.show(around, &mut letters)?;
        let held = Held {
            letters,
            step: Step::Nothing,
            back: None,
            promise: None,
        };
        self.release(around, held)?;
        self.set_alarm(around);
        self.begin(around)
    }

    /// A fresh machine that has been told the whole journal.
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
    pub(crate) fn check_replay(&self, text_too: bool) -> Checked {
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
