//! Arena: a player that is free is paired at once with a free player of about the same points.
//!
//! A round grows while it is played: matches join it as players become free, so that no player waits
//! for a slow one. Two players that met last wait a little for others before they meet again, unless
//! no other is left. A round takes a limited number of matches, as all of them are kept in memory;
//! then all wait once until it is played, and the next begins. The arena is over when its time is,
//! or when fewer than two players are left.

use std::cmp::Reverse;
use std::time::Duration;

use super::matching::Matching;
use super::{FormatError, FormatPlan, FormatRule, Joining, NextRound, SoFar};

/// How long it goes on if the settings do not say.
const USUAL_DURATION: Duration = Duration::from_secs(10 * 60);
/// How long two players that met last wait for others.
const REMATCH_WAIT: Duration = Duration::from_secs(5);
/// The most matches of a round, unless there are so many players that each has fewer than two.
const MAX_ROUND_MATCHES: u32 = 1_000;

pub(crate) struct Arena;

impl FormatRule for Arena {
    fn name(&self) -> &'static str {
        "arena"
    }

    fn title(&self) -> &'static str {
        "timed arena"
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        match plan.rounds {
            None => plan.must_have_one_leg(),
            Some(_) => Err(FormatError::NotTaken(self.title(), "rounds")),
        }
    }

    fn duration(&self, plan: &FormatPlan) -> Option<Duration> {
        Some(plan.duration.unwrap_or(USUAL_DURATION))
    }

    /// One, until more have begun.
    fn rounds(&self, _: &FormatPlan) -> u32 {
        1
    }

    fn max_rounds(&self, _: &FormatPlan) -> u32 {
        u32::MAX
    }

    /// Those that begin at once.
    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        u64::from(plan.players / 2)
    }

    fn matches_a_round(&self, plan: &FormatPlan) -> u32 {
        plan.players.max(MAX_ROUND_MATCHES)
    }

    /// They are paired at once, without points.
    fn takes_late_entrants(&self, _: &FormatPlan, _: u32) -> bool {
        true
    }

    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound> {
        let players = (0..so_far.players()).filter(|&player| so_far.is_in(player));
        NextRound::of(pair(so_far, players.collect())?.pairings)
    }

    fn joining(&self, so_far: &SoFar<'_>) -> Option<Joining> {
        let begun = so_far.standings.schedule().matches_in(so_far.rounds());
        let left = self.matches_a_round(so_far.plan()).saturating_sub(begun) as usize;
        if left == 0 {
            return None;
        }
        let players = (0..so_far.players()).filter(|&player| (so_far.is_free)(player));
        let mut joining = pair(so_far, players.collect())?;
        joining.pairings.truncate(left);
        Some(joining)
    }
}

/// Pairs as many of these players as possible with others than they met last, from the top; if there
/// are none, the two of a pair that met last.
fn pair(so_far: &SoFar<'_>, mut players: Vec<u32>) -> Option<Joining> {
    players.sort_by_key(|&player| (Reverse(so_far.tally(player).points), player));
    let last_met = players.iter().map(|&player| {
        let last = so_far.matches_of(player).next()?;
        last.seats.into_iter().find(|seat| *seat != player)
    });
    let last_met: Vec<Option<u32>> = last_met.collect();
    let may_meet = |one: usize, other: usize| {
        last_met[one] != Some(players[other]) && last_met[other] != Some(players[one])
    };
    let mut all = Matching::largest((0..players.len()).collect(), &may_meet);
    let mut is_paired = vec![false; players.len()];
    let mut pairings = Vec::new();
    for upper in 0..players.len() {
        let others = (upper + 1..players.len()).filter(|_| !is_paired[upper]);
        let free = others.filter(|&other| !is_paired[other]);
        let lower = free.into_iter().find(|&other| all.take(upper, other));
        if let Some(lower) = lower {
            (is_paired[upper], is_paired[lower]) = (true, true);
            pairings.push(seats(so_far, [players[upper], players[lower]]));
        }
    }
    if !pairings.is_empty() {
        let wait = Duration::ZERO;
        return Some(Joining { pairings, wait });
    }
    let met = [*players.first()?, *players.get(1)?];
    let is_busy = |player: &u32| so_far.is_in(*player) && !(so_far.is_free)(*player);
    let others_may_come = (0..so_far.players()).any(|player| is_busy(&player));
    Some(Joining {
        pairings: vec![seats(so_far, met)],
        wait: if others_may_come {
            REMATCH_WAIT
        } else {
            Duration::ZERO
        },
    })
}

/// The player that had seat A less often has it; of equals the player that did not have it last.
fn seats(so_far: &SoFar<'_>, [upper, lower]: [u32; 2]) -> [u32; 2] {
    let sides = |player: u32| {
        let side = |seats: [u32; 2]| if seats[0] == player { 1 } else { -1 };
        let own = so_far.matches_of(player).map(|pairing| side(pairing.seats));
        let own: Vec<i64> = own.collect();
        (own.iter().sum::<i64>(), own.first().copied().unwrap_or(0))
    };
    match sides(upper) <= sides(lower) {
        true => [upper, lower],
        false => [lower, upper],
    }
}
