//! How a process dies, and how it comes back with nothing but its journal.

use std::time::Duration;

use super::{Desk, Held};
use crate::agents::{Step, Worker};
use crate::around::{Around, Errand};
use crate::fault::Fault;
use crate::report::Invariant;
use crate::sabotage::Sabotage;
use crate::{Checked, breach};

/// The longest that a fallen agent stays away, in seconds.
const LONGEST_ABSENCE: u64 = 180;

impl<M: Worker> Desk<M> {
    /// The process dies, and comes back after a while.
    pub(super) fn fall(&mut self, around: &mut Around) -> Checked {
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
