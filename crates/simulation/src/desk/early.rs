//! Calls that come before the announcement of their match: as at a player's door, they wait a
//! while and are brought again.

use league_core::machine::Decision;
use league_protocol::time::Timestamp;

use super::Desk;
use crate::agents::Worker;
use crate::around::{Around, Back, Errand};
use crate::{Checked, Who};

/// What a machine makes of a command.
pub(super) type Ruling<M> = Result<
    Decision<
        <M as league_core::machine::Machine>::Event,
        <M as league_core::machine::Machine>::Reply,
    >,
    <M as league_core::machine::Machine>::Refusal,
>;

/// A call that waits.
pub(super) struct Early<Command> {
    command: Command,
    from: Who,
    back: Option<Back>,
    until: Timestamp,
}

impl<M: Worker> Desk<M> {
    /// Weighs a call and answers it, at once or when it is no longer early.
    pub(super) fn answer_call(
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
        let until = around.now() + around.setting.rules.patience.join / 2;
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
    pub(super) fn call_again(&mut self, around: &mut Around) -> Checked {
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
    pub(super) fn drop_calls(&mut self, around: &mut Around) {
        for early in std::mem::take(&mut self.early) {
            around.cut(early.back);
        }
    }
}

fn is_early<M: Worker>(ruling: &Ruling<M>) -> bool {
    ruling.as_ref().is_err_and(M::is_early)
}
