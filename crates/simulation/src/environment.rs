//! What surrounds the desks: the clock, the network with its faults, chance, and who watches.

use std::fmt::Write as _;
use std::time::Duration;

use league_core::letter::CallFailure;
use league_protocol::fault::Code;
use league_protocol::message::Message;
use league_protocol::sender::Agent;
use league_protocol::time::Timestamp;
use league_protocol::token::{AuthToken, TokenHash};
use slab::Slab;

use crate::NodeId;
use crate::agents::MachineKind;
use crate::chance::Rng;
use crate::clock::Clock;
use crate::fault::InjectedFault;
use crate::lies::Lie;
use crate::oracle::Oracle;
use crate::outbox::Try;
use crate::report::{Digest, SimulationReport};
use crate::sabotage::Sabotage;
use crate::scenario::Scenario;

/// A scheduled step of the simulation.
pub(crate) enum Errand {
    /// A machine wanted to be woken.
    Wake {
        who: NodeId,
        life: u32,
    },
    /// What a desk wrote is safe now.
    Sync {
        who: NodeId,
        life: u32,
    },
    /// A call has waited long enough for an announcement.
    Enough {
        who: NodeId,
        life: u32,
    },
    /// A message arrives, from its place in [`Environment::parcels`].
    Carry(usize),
    /// An answer arrives, from its place in [`Environment::answers`].
    Return(usize),
    Silence(Box<SilenceNotice>),
    /// A letter is tried again.
    Again(Box<RetryTimer>),
    /// A player has thought; the thought lies in [`Environment::thoughts`].
    Thought(usize),
    /// An outcome is delivered a second time.
    Echo(Box<AnswerInTransit>),
    /// A fallen agent comes back.
    Rise {
        who: NodeId,
    },
    /// A hostile call is made.
    Mischief,
    /// The organiser pulls a lever.
    Pull,
}

/// An answer that has not come.
pub(crate) struct SilenceNotice {
    pub(crate) back: ReturnPath,
    pub(crate) failure: CallFailure,
}

/// A letter that is tried again.
pub(crate) struct RetryTimer {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) life: u32,
    pub(crate) trying: Try,
}

/// A message on its way.
pub(crate) struct Parcel {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    /// Who it claims to be from.
    pub(crate) sender: Option<Agent>,
    pub(crate) token: Option<AuthToken>,
    pub(crate) message: Message,
    /// Where the answer goes; nowhere for a second copy or a hostile call.
    pub(crate) back: Option<ReturnPath>,
}

/// Where an answer goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReturnPath {
    pub(crate) to: NodeId,
    /// In which of its lives.
    pub(crate) life: u32,
    pub(crate) asked: NodeId,
    pub(crate) trying: Try,
    pub(crate) deadline: Timestamp,
}

#[derive(Clone)]
pub(crate) struct AnswerInTransit {
    pub(crate) back: ReturnPath,
    pub(crate) message: Message,
    /// The hash of the token that comes with it.
    pub(crate) token: Option<TokenHash>,
}

/// A thought that ends with a choice.
pub(crate) struct PendingThought {
    pub(crate) who: NodeId,
    pub(crate) life: u32,
    pub(crate) command: league_core::player::Command,
    pub(crate) back: Option<ReturnPath>,
}

/// What surrounds the desks.
pub(crate) struct Environment {
    pub(crate) clock: Clock<Errand>,
    pub(crate) parcels: Slab<Parcel>,
    pub(crate) answers: Slab<AnswerInTransit>,
    pub(crate) thoughts: Slab<PendingThought>,
    pub(crate) chance: Rng,
    pub(crate) scenario: Scenario,
    pub(crate) oracle: Oracle,
    pub(crate) report: SimulationReport,
    pub(crate) sabotage: Option<Sabotage>,
    pub(crate) digest: Option<Digest>,
    /// Whether anything fails in this league at all.
    pub(crate) faults: bool,
    /// Whether something may fail now.
    pub(crate) stormy: bool,
}

impl Environment {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether a fault occurs now that occurs so often in a million; it is counted.
    pub(crate) fn fails(&mut self, rate: u32, fault: InjectedFault) -> bool {
        let fails = self.stormy && self.chance.happens(rate);
        if fails {
            self.report.fault(fault);
        }
        fails
    }

    /// How long a message is under way when nothing is wrong.
    pub(crate) fn way(&mut self) -> Duration {
        let (shortest, longest) = self.scenario.way;
        Duration::from_millis(self.chance.between(shortest, longest))
    }

    /// Sends a message; it may get lost, be late or arrive twice.
    pub(crate) fn carry(&mut self, parcel: Parcel) {
        self.report.messages += 1;
        let rates = self.scenario.rates;
        if parcel.back.is_some() && self.fails(rates.unsent, InjectedFault::Unsent) {
            self.keep_back(parcel.back);
            return;
        }
        if self.fails(rates.lost, InjectedFault::MessageLost) {
            self.lose(parcel.back);
            return;
        }
        if self.fails(rates.doubled, InjectedFault::MessageDoubled) {
            let copy = Parcel {
                message: parcel.message.clone(),
                sender: parcel.sender.clone(),
                token: parcel.token.clone(),
                back: None,
                ..parcel
            };
            let delay = self.delay(rates.late);
            self.bring(self.now() + delay, copy);
        }
        let mut delay = self.way();
        if self.fails(rates.late, InjectedFault::MessageLate) {
            delay += self.lateness();
        }
        let at = self.now() + delay;
        self.bring(at, parcel);
    }

    /// Lets a message arrive at a moment.
    pub(crate) fn bring(&mut self, at: Timestamp, parcel: Parcel) {
        let place = self.parcels.insert(parcel);
        self.clock.note(at, Errand::Carry(place));
    }

    /// Lets an answer arrive at a moment.
    pub(crate) fn bring_back(&mut self, at: Timestamp, answered: AnswerInTransit) {
        let place = self.answers.insert(answered);
        self.clock.note(at, Errand::Return(place));
    }

    /// Sends an answer; it may get lost or be late.
    pub(crate) fn give_back(&mut self, answered: AnswerInTransit) {
        self.report.messages += 1;
        let (rates, back) = (self.scenario.rates, answered.back);
        if self.fails(rates.answer_lost, InjectedFault::AnswerLost) {
            self.lose(Some(back));
            return;
        }
        let mut delay = self.way();
        if self.fails(rates.answer_late, InjectedFault::AnswerLate) {
            delay += self.lateness();
        }
        let at = self.now() + delay;
        if at > back.deadline {
            self.lose(Some(back));
        }
        self.bring_back(at, answered);
    }

    /// No answer will come: the one who waits finds out at its deadline.
    pub(crate) fn lose(&mut self, back: Option<ReturnPath>) {
        let Some(back) = back else { return };
        let failure = CallFailure::of_peer(Code::Timeout, "nothing came back");
        self.notify(back.deadline, back, failure);
    }

    /// The machine of the sender cannot call: the sender learns it soon.
    fn keep_back(&mut self, back: Option<ReturnPath>) {
        let Some(back) = back else { return };
        let at = (self.now() + self.way()).min(back.deadline);
        self.notify(at, back, CallFailure::local("no descriptors"));
    }

    fn notify(&mut self, at: Timestamp, back: ReturnPath, failure: CallFailure) {
        let notice = SilenceNotice { back, failure };
        self.clock.note(at, Errand::Silence(Box::new(notice)));
    }

    /// The connection breaks or the receiver is down: the caller learns it soon, or at its
    /// deadline.
    pub(crate) fn cut(&mut self, back: Option<ReturnPath>) {
        let Some(back) = back else { return };
        if self.chance.below(3) == 0 {
            return self.lose(Some(back));
        }
        let at = (self.now() + self.way()).min(back.deadline);
        let failure = CallFailure::of_peer(Code::Connection, "nothing came back");
        self.notify(at, back, failure);
    }

    /// The lie of an agent that lies now.
    pub(crate) fn lie_of(&self, who: NodeId) -> Option<Lie> {
        let liar = self.scenario.liar.filter(|liar| liar.who == who)?;
        self.stormy.then_some(liar.lie)
    }

    /// Whether an agent falls at this step.
    pub(crate) fn crashes(&mut self, kind: MachineKind) -> bool {
        let rates = self.scenario.rates;
        let (rate, fault) = match kind {
            MachineKind::Manager => (rates.manager_crash, InjectedFault::ManagerCrash),
            MachineKind::Referee => (rates.referee_crash, InjectedFault::RefereeCrash),
            MachineKind::Player => (rates.player_crash, InjectedFault::PlayerCrash),
        };
        self.fails(rate, fault)
    }

    /// Notes in the digest what happens.
    pub(crate) fn log(&mut self, what: std::fmt::Arguments<'_>) {
        if let Some(digest) = &mut self.digest {
            let at = self.clock.now();
            // A digest takes any text.
            let _ = writeln!(digest, "{at} {what}");
        }
    }

    fn delay(&mut self, late: u32) -> Duration {
        let way = self.way();
        if late > 0 && self.chance.below(4) == 0 {
            way + self.lateness()
        } else {
            way
        }
    }

    /// From a second to far beyond every deadline.
    fn lateness(&mut self) -> Duration {
        let longest = 1_000 << self.chance.below(7);
        Duration::from_millis(self.chance.between(1_000, longest.max(1_000)))
    }
}
