//! Ladder: neighbours meet in turn, and a challenger that wins takes the place of the beaten player.
//!
//! The ids are the first order. In odd rounds the first meets the second, the third the fourth, and
//! so on; in even rounds the second meets the third. Players that are out keep their place, and
//! those around them meet instead. The table is in the order of the ladder. It has no end of its
//! own: it goes on until it has had its rounds or its time, or fewer than two players are left.

use std::time::Duration;

use super::view::{FormatView, LadderPlace};
use super::{FormatError, FormatPlan, FormatRule, NextRound, SoFar};
use crate::league::standings::MatchEnding;

pub(crate) struct Ladder;

impl FormatRule for Ladder {
    fn name(&self) -> &'static str {
        "ladder"
    }

    fn title(&self) -> &'static str {
        "ladder"
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        match plan.rounds {
            Some(0) => Err(FormatError::NoRounds(self.title())),
            _ => plan.must_have_one_leg(),
        }
    }

    fn duration(&self, plan: &FormatPlan) -> Option<Duration> {
        plan.duration
    }

    /// One, until more have begun.
    fn rounds(&self, plan: &FormatPlan) -> u32 {
        plan.rounds.unwrap_or(1)
    }

    fn max_rounds(&self, plan: &FormatPlan) -> u32 {
        plan.rounds.unwrap_or(u32::MAX)
    }

    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        let two_rounds = u64::from(plan.players.saturating_sub(1));
        (two_rounds * u64::from(self.rounds(plan))).div_ceil(2)
    }

    /// They begin at the foot of the ladder.
    fn takes_late_entrants(&self, plan: &FormatPlan, rounds: u32) -> bool {
        rounds < self.max_rounds(plan)
    }

    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound> {
        let is_played = so_far
            .plan()
            .rounds
            .is_some_and(|rounds| so_far.rounds() >= rounds);
        if is_played {
            return None;
        }
        let ladder = Positions::latest(so_far);
        let present: Vec<u32> = ladder
            .order
            .iter()
            .copied()
            .filter(|&player| so_far.is_in(player))
            .collect();
        // Of two players none can rest.
        let is_even = !so_far.rounds().is_multiple_of(2);
        let first = usize::from(is_even && present.len() > 2);
        let pairs = present.get(first..)?.chunks_exact(2);
        NextRound::of(pairs.map(|pair| ladder.seats([pair[0], pair[1]])).collect())
    }

    fn progress(&self, so_far: &SoFar<'_>) -> Option<Vec<u32>> {
        if so_far.rounds() == 0 {
            return None;
        }
        let order = Positions::latest(so_far).order;
        let mut progress = vec![0; order.len()];
        for (above, player) in (1..).zip(order.into_iter().rev()) {
            progress[player as usize] = above;
        }
        Some(progress)
    }

    fn settle(&self, settled: &mut Positions, round: &[SettledMatch], players: u32) {
        settled.admit(players);
        settled.take(round);
    }

    fn views(&self, so_far: &SoFar<'_>) -> Vec<FormatView> {
        let Positions { order, before, .. } = Positions::latest(so_far);
        let mut place = vec![0_i64; before.len()];
        for (at, &player) in (0..).zip(&before) {
            place[player as usize] = at;
        }
        let places = (0..).zip(order).map(|(at, player)| LadderPlace {
            player,
            climbed: place[player as usize] - at,
        });
        vec![FormatView::Ladder(places.collect())]
    }
}

/// The seats of a match, and how it counts for the rounds after it.
pub(crate) type SettledMatch = ([u32; 2], Option<MatchEnding>);

/// The players from first to last, as the results have put them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Positions {
    order: Vec<u32>,
    /// The order before the last round that has a result.
    before: Vec<u32>,
    /// Matches at seat A minus matches at seat B, of each player.
    balance: Vec<i64>,
}

impl Positions {
    /// After all rounds; only the last one is not settled.
    fn latest(so_far: &SoFar<'_>) -> Self {
        let mut positions = so_far.standings.positions().clone();
        positions.admit(so_far.players());
        let last = so_far.pairings(so_far.rounds());
        let last = last.map(|pairing| (pairing.seats, so_far.settled(pairing)));
        positions.take(&last.collect::<Vec<_>>());
        positions
    }

    /// Newcomers begin at the foot.
    fn admit(&mut self, players: u32) {
        let known = u32::try_from(self.order.len()).unwrap_or(u32::MAX);
        self.order.extend(known..players);
        self.before.extend(known..players);
        self.balance.resize(self.order.len(), 0);
    }

    /// Takes in a round.
    fn take(&mut self, round: &[SettledMatch]) {
        if round.iter().any(|(_, ending)| ending.is_some()) {
            self.before.clone_from(&self.order);
        }
        let mut position = vec![0; self.order.len()];
        for (at, &player) in self.order.iter().enumerate() {
            position[player as usize] = at;
        }
        for (seats, ending) in round {
            let [a, b] = seats.map(|seat| seat as usize);
            self.balance[a] += 1;
            self.balance[b] -= 1;
            let Some(winner) = ending.and_then(MatchEnding::winner) else {
                continue;
            };
            let (won, lost) = (seats[winner], seats[1 - winner]);
            let (from, to) = (position[won as usize], position[lost as usize]);
            if from > to {
                self.order[to..=from].rotate_right(1);
                for (at, &player) in self.order.iter().enumerate().take(from + 1).skip(to) {
                    position[player as usize] = at;
                }
            }
        }
    }

    /// The player that had seat A less often has it; of equals the lower one.
    fn seats(&self, [above, below]: [u32; 2]) -> [u32; 2] {
        let balance = [above, below].map(|player| self.balance[player as usize]);
        match balance[0] < balance[1] {
            true => [above, below],
            false => [below, above],
        }
    }
}
