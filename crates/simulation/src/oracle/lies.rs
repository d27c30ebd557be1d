//! Watches leagues with a liar: nothing else goes wrong in them, so that whatever an honest agent loses
//! it loses by the lie.

use league_core::league::{AgentState, Event, League};
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::MatchResult;

use super::Oracle;
use super::league::who_is_called;
use crate::lies::Lie;
use crate::report::Invariant;
use crate::{CheckResult, NodeId, breach};

impl Oracle {
    /// Whether an agent is a referee that was admitted and lies.
    pub(crate) fn is_lying_referee(&self, who: NodeId) -> bool {
        let liar = self.facts.liar.filter(|liar| liar.is_admitted_referee());
        liar.is_some_and(|liar| liar.who == who)
    }

    /// The player that a lying referee plays together with.
    pub(crate) fn favourite(&self) -> Option<PlayerId> {
        let favourite = self.facts.liar?.favourite;
        let mut known = self.league.ids();
        known.find(|id| self.holder(id) == Some(favourite)).cloned()
    }

    /// In a league with a liar nothing else goes wrong: only the liar loses without playing.
    pub(crate) fn check_loss(&self, match_id: &MatchId, result: &MatchResult) -> CheckResult {
        let Some(liar) = self.facts.liar else {
            return Ok(());
        };
        for player in result.failed.keys() {
            if self.holder(player) != Some(liar.who) {
                let what = format!("`{player}` loses `{match_id}` by a lie ({:?})", liar.lie);
                return breach(Invariant::LiesChangeNothing, what);
            }
        }
        Ok(())
    }

    /// In a league with a liar: only admitted referees serve, and no honest one is set aside.
    pub(crate) fn check_lies(&self, league: &League, event: &Event) -> CheckResult {
        let Some(liar) = self.facts.liar else {
            return Ok(());
        };
        let invariant = Invariant::LiesChangeNothing;
        if let Event::RefereeRegistered { meta, .. } = event
            && liar.lie == Lie::Stranger
            && who_is_called(&meta.display_name) == liar.who
        {
            return breach(invariant, "a stranger is admitted as a referee");
        }
        let honest = league.referees().iter().filter(|referee| {
            let who = self.league.referee(referee.id());
            who.is_some_and(|who| who != liar.who)
        });
        for referee in honest {
            if league.referee_state(referee) == AgentState::Suspended {
                let what = format!("`{}` is set aside by a lie ({:?})", referee.id(), liar.lie);
                return breach(invariant, what);
            }
        }
        Ok(())
    }
}
