//! Knockout: the loser of a tie is out. Players are seeded by their ids, so that the first two can
//! meet only in the final; if they are not a power of two, the first seeds rest in the first stage.
//! The losers of the semi-finals play for the third place.

use super::bracket::{
    self, Bracket, MAX_FURTHER_GAMES, PlannedTie, first_places, least_games, stages,
};
use super::view::FormatView;
use super::{FormatError, FormatPlan, FormatRule, NextRound, SoFar};

pub(crate) struct Knockout;

impl FormatRule for Knockout {
    fn name(&self) -> &'static str {
        "knockout"
    }

    fn title(&self) -> &'static str {
        "knockout"
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        plan.must_have_no_rounds()
    }

    fn rounds(&self, plan: &FormatPlan) -> u32 {
        stages(plan.players).saturating_mul(least_games(plan.legs))
    }

    fn max_rounds(&self, plan: &FormatPlan) -> u32 {
        stages(plan.players).saturating_mul(plan.legs.saturating_add(MAX_FURTHER_GAMES))
    }

    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        let ties = u64::from(plan.players.saturating_sub(1)) + u64::from(plan.players >= 4);
        ties * u64::from(least_games(plan.legs))
    }

    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound> {
        read(so_far).next_round()
    }

    fn progress(&self, so_far: &SoFar<'_>) -> Option<Vec<u32>> {
        Some(read(so_far).progress)
    }

    fn views(&self, so_far: &SoFar<'_>) -> Vec<FormatView> {
        vec![read(so_far).view(&ties(so_far.players()))]
    }
}

fn ties(players: u32) -> Vec<PlannedTie> {
    bracket::knockout(&first_places(players))
}

fn read(so_far: &SoFar<'_>) -> Bracket {
    Bracket::read(&ties(so_far.players()), so_far, 1..=so_far.rounds())
}
