//! Gauntlet: the first player meets each of the others, who do not meet among themselves.
//!
//! Each round is one match, in the order of ids. The first player changes seats, and each leg swaps
//! the seats of the one before. A player that is out is passed over, and plays what it missed if it
//! returns in time.

use super::{FormatError, FormatPlan, FormatRule, NextRound, SoFar};

pub(crate) struct Gauntlet;

impl FormatRule for Gauntlet {
    fn name(&self) -> &'static str {
        "gauntlet"
    }

    fn title(&self) -> &'static str {
        "gauntlet"
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        plan.must_have_no_rounds()
    }

    fn rounds(&self, plan: &FormatPlan) -> u32 {
        plan.players.saturating_sub(1).saturating_mul(plan.legs)
    }

    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        u64::from(self.rounds(plan))
    }

    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound> {
        let mut met = vec![0_u32; so_far.players() as usize];
        let mut last = vec![None; so_far.players() as usize];
        let mut balance = 0_i64;
        for [a, b] in so_far.all_seats() {
            met[a.max(b) as usize] += 1;
            last[a.max(b) as usize] = Some([b, a]);
            balance += if a == 0 { 1 } else { -1 };
        }
        let others = (1..so_far.players()).filter(|&other| so_far.is_in(other));
        let other = others.min_by_key(|&other| met[other as usize])?;
        let is_left = so_far.is_in(0) && met[other as usize] < so_far.plan().legs;
        let first = if balance > 0 { [other, 0] } else { [0, other] };
        let seats = last[other as usize].unwrap_or(first);
        is_left.then(|| NextRound::of(vec![seats]))?
    }
}
