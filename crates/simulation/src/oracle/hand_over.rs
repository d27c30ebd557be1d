//! Watches the hand-over of moves: whole, by the right referee, once for each roll, and told as it was.

use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{MatchResult, MatchStatus, SignedMove};

use super::league::LeagueWatch;
use super::{GroundTruth, Oracle, number};
use crate::report::Invariant;
use crate::{CheckResult, breach};

/// Moves that the manager holds.
pub(crate) struct HandedMoves {
    /// Who handed them over.
    pub(crate) referee: RefereeId,
    pub(crate) moves: Vec<SignedMove>,
    /// The attempt whose seeds are used: the first that handed moves over.
    pub(crate) drawn_in: u32,
    /// How many rolls they were handed over for.
    pub(crate) rolls: usize,
    /// Whether they decide the match.
    pub(crate) is_last: bool,
}

impl LeagueWatch {
    pub(crate) fn handed(&self, match_id: &MatchId) -> Option<&HandedMoves> {
        self.handed.get(&number(match_id, self.a_round)?)
    }

    /// Moves are handed over up to a roll, and once for each roll.
    pub(crate) fn hand_over(
        &mut self,
        facts: &GroundTruth,
        match_id: &MatchId,
        (referee, attempt): (&RefereeId, u32),
        moves: &[SignedMove],
    ) -> CheckResult {
        let invariant = Invariant::TheDrawKeepsItsPromise;
        let before = self.handed(match_id);
        let goes_on = before.is_none_or(|before| {
            !before.is_last && moves.len() > before.moves.len() && moves.starts_with(&before.moves)
        });
        if !goes_on {
            let what = format!("`{match_id}` is handed over again with other moves");
            return breach(invariant, what);
        }
        let (drawn_in, rolls) =
            before.map_or((attempt, 1), |before| (before.drawn_in, before.rolls + 1));
        let mut players: Vec<&PlayerId> = moves.iter().map(|made| &made.player_id).collect();
        players.sort_unstable();
        players.dedup();
        let [a, b] = [0, 1].map(|place| players.get(place).copied());
        // Who sits where shows in the result; a game of two ends either way.
        let replay = |players| facts.replay(match_id, drawn_in, players, moves);
        let Some((true, is_last)) = replay([a, b]).or_else(|| replay([b, a])) else {
            let what = format!("`{match_id}` is handed over where no dice are due");
            return breach(invariant, what);
        };
        let Some(number) = number(match_id, self.a_round) else {
            return breach(invariant, format!("`{match_id}` does not exist"));
        };
        let moves = moves.to_vec();
        self.handed.insert(
            number,
            HandedMoves {
                referee: referee.clone(),
                moves,
                drawn_in,
                rolls,
                is_last,
            },
        );
        Ok(())
    }
}

impl Oracle {
    /// Whether moves come from the referee that has the match.
    pub(crate) fn check_hand(
        &self,
        match_id: &MatchId,
        referee: &RefereeId,
        attempt: u32,
    ) -> CheckResult {
        let hand = self.league.hand(match_id);
        if hand != Some(&(Some(referee.clone()), attempt)) {
            let what = format!("`{match_id}` is handed over by `{referee}` in attempt {attempt}");
            return breach(Invariant::OnlyTheAssignedRefereeCounts, what);
        }
        self.check_sender(match_id, Some(referee))
    }

    /// A result tells the moves that were handed over; where they decide, nothing else counts.
    pub(crate) fn check_handed(&self, match_id: &MatchId, result: &MatchResult) -> CheckResult {
        let invariant = Invariant::TheDrawKeepsItsPromise;
        let told = &result.evidence.moves;
        let played = result.status != MatchStatus::TechnicalLoss;
        match self.league.handed(match_id) {
            Some(held) if held.is_last && (!played || held.moves != *told) => {
                let what = format!("`{match_id}` ends otherwise than was handed over");
                breach(invariant, what)
            }
            Some(held) if !told.starts_with(&held.moves) => breach(
                invariant,
                format!("`{match_id}` leaves out what was handed over"),
            ),
            None if played && self.has_dice(match_id, result) => breach(
                invariant,
                format!("`{match_id}` was drawn without a hand-over"),
            ),
            _ => Ok(()),
        }
    }

    /// Whether dice are due after the moves of a result.
    fn has_dice(&self, match_id: &MatchId, result: &MatchResult) -> bool {
        let (players, moves) = (result.players.each_ref().map(Some), &result.evidence.moves);
        let replayed = self.facts.replay(match_id, 1, players, moves);
        replayed.is_some_and(|(due, _)| due)
    }
}
