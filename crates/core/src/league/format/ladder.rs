//! Ladder: neighbours meet in turn, and a challenger that wins takes the place of the beaten player.
//!
//! The ids are the first order. In odd rounds the first meets the second, the third the fourth, and
//! so on; in even rounds the second meets the third. Players that are out keep their place, and
//! those around them meet instead. The table is in the order of the ladder. It has no end of its
//! own: it goes on until it has had its rounds or its time, or fewer than two players are left.

use std::time::Duration;

use super::view::{FormatView, LadderPlace};
use super::{FormatError, FormatPlan, FormatRule, NextRound, SoFar};

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
            Some(0) => Err(FormatError::AnyRounds {
                format: self.title(),
                most: u32::MAX,
                found: 0,
            }),
            _ => plan.must_have_one_leg(),
        }
    }

    fn duration(&self, plan: &FormatPlan) -> Option<Duration> {
        plan.duration
    }

    fn max_meetings(&self, plan: &FormatPlan) -> u32 {
        self.max_rounds(plan)
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
        let ladder = Positions::after(so_far.rounds(), so_far);
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
        let order = Positions::after(so_far.rounds(), so_far).order;
        let mut progress = vec![0; order.len()];
        for (above, player) in (1..).zip(order.into_iter().rev()) {
            progress[player as usize] = above;
        }
        Some(progress)
    }

    fn views(&self, so_far: &SoFar<'_>) -> Vec<FormatView> {
        let rounds = so_far.rounds();
        // While a round has no result, the movement of the one before is shown.
        let has_result = |round: &u32| {
            let mut pairings = so_far.pairings(*round);
            pairings.any(|pairing| so_far.settled(pairing).is_some())
        };
        let last = (1..=rounds).rev().find(has_result).unwrap_or(1);
        let before = Positions::after(last - 1, so_far).order;
        let mut place = vec![0_i64; before.len()];
        for (at, player) in (0..).zip(before) {
            place[player as usize] = at;
        }
        let order = Positions::after(rounds, so_far).order;
        let places = (0..).zip(order).map(|(at, player)| LadderPlace {
            player,
            climbed: place[player as usize] - at,
        });
        vec![FormatView::Ladder(places.collect())]
    }
}

/// The players from first to last, as the results have put them.
struct Positions {
    order: Vec<u32>,
    /// Matches at seat A minus matches at seat B, of each player.
    balance: Vec<i64>,
}

impl Positions {
    /// After so many rounds.
    fn after(rounds: u32, so_far: &SoFar<'_>) -> Self {
        let players = so_far.players();
        let mut order: Vec<u32> = (0..players).collect();
        let mut position: Vec<usize> = (0..players as usize).collect();
        let mut balance = vec![0; players as usize];
        for pairing in (1..=rounds).flat_map(|round| so_far.pairings(round)) {
            let [a, b] = pairing.seats.map(|seat| seat as usize);
            balance[a] += 1;
            balance[b] -= 1;
            let winner = so_far.settled(pairing).and_then(|ending| ending.winner());
            let Some(winner) = winner else { continue };
            let (won, lost) = (pairing.seats[winner], pairing.seats[1 - winner]);
            let (from, to) = (position[won as usize], position[lost as usize]);
            if from > to {
                order[to..=from].rotate_right(1);
                for (at, &player) in order.iter().enumerate().take(from + 1).skip(to) {
                    position[player as usize] = at;
                }
            }
        }
        Self { order, balance }
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
