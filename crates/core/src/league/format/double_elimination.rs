//! Double elimination: a player is out with its second lost tie.
//!
//! The winners' bracket is a knockout. Its losers enter the losers' bracket one stage later: the
//! losers of the first stage meet each other, those of each later stage meet the players that are
//! left there, in an order that keeps players apart who have met. The winners of both brackets play
//! the grand final. If the player from the winners' bracket loses it, both have lost one tie, and a
//! second tie decides (the reset).

use super::bracket::{
    Bracket, MAX_FURTHER_GAMES, PlannedTie, Source, first_places, least_games, stages,
};
use super::view::{BracketPart, FormatView};
use super::{FormatError, FormatPlan, FormatRule, NextRound, SoFar};

pub(crate) struct DoubleElimination;

impl FormatRule for DoubleElimination {
    fn name(&self) -> &'static str {
        "double_elimination"
    }

    fn title(&self) -> &'static str {
        "double elimination"
    }

    fn min_players(&self) -> u32 {
        3
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        plan.must_have_no_rounds()
    }

    fn rounds(&self, plan: &FormatPlan) -> u32 {
        (2 * stages(plan.players)).saturating_mul(least_games(plan.legs))
    }

    fn max_rounds(&self, plan: &FormatPlan) -> u32 {
        let all = 2 * stages(plan.players) + 1;
        all.saturating_mul(plan.legs.saturating_add(MAX_FURTHER_GAMES))
    }

    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        let ties = (2 * u64::from(plan.players)).saturating_sub(2);
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

fn read(so_far: &SoFar<'_>) -> Bracket {
    Bracket::read(&ties(so_far.players()), so_far, 1..=so_far.rounds())
}

/// All ties in the order of their stages. Stage 0 is the first of the winners' bracket. From there
/// on the losers' bracket has a tie stage each time, and the winners' bracket every other time.
fn ties(players: u32) -> Vec<PlannedTie> {
    // Before a league begins it has no players.
    if players < 2 {
        return Vec::new();
    }
    let last = 2 * stages(players);
    // Players without a lost tie have come further than all others.
    let above = 2 * last;
    let places = first_places(players).into_iter().map(Source::Player);
    let mut ties = Vec::new();
    let mut unbeaten = add(&mut ties, BracketPart::Main, 0, above, places.collect());
    let mut dropped = losers(&unbeaten);
    let mut beaten = Vec::new();
    for stage in 1..last - 1 {
        if stage.is_multiple_of(2) {
            // Those that came down meet those that are left.
            let order = apart(std::mem::take(&mut dropped), stage);
            let pairs = beaten.into_iter().map(Source::Winner).zip(order);
            let pairs = pairs.flat_map(|(left, came)| [left, came]).collect();
            beaten = add(&mut ties, BracketPart::Losers, stage, 2 * stage, pairs);
            continue;
        }
        let entering = match stage {
            1 => std::mem::take(&mut dropped),
            _ => beaten.into_iter().map(Source::Winner).collect(),
        };
        let pairs = unbeaten.into_iter().map(Source::Winner).collect();
        unbeaten = add(
            &mut ties,
            BracketPart::Main,
            stage,
            above + 2 * stage,
            pairs,
        );
        dropped = losers(&unbeaten);
        beaten = add(&mut ties, BracketPart::Losers, stage, 2 * stage, entering);
    }
    let stage = last - 1;
    let finalists = unbeaten.into_iter().chain(beaten).map(Source::Winner);
    let finalists = finalists.collect();
    let grand = add(
        &mut ties,
        BracketPart::GrandFinal,
        stage,
        above + 2 * stage,
        finalists,
    );
    let again = grand
        .iter()
        .flat_map(|&tie| [Source::WinnerAfterUpset(tie), Source::LoserAfterUpset(tie)]);
    add(
        &mut ties,
        BracketPart::Reset,
        last,
        above + 2 * last,
        again.collect(),
    );
    ties
}

/// Adds the ties of a stage, two sources each; returns their numbers.
fn add(
    ties: &mut Vec<PlannedTie>,
    part: BracketPart,
    stage: u32,
    height: u32,
    sources: Vec<Source>,
) -> Vec<usize> {
    let first = ties.len();
    let pairs = sources.chunks_exact(2).map(|pair| PlannedTie {
        stage,
        part,
        from: [pair[0], pair[1]],
        height,
    });
    ties.extend(pairs);
    (first..ties.len()).collect()
}

fn losers(ties: &[usize]) -> Vec<Source> {
    ties.iter().map(|&tie| Source::Loser(tie)).collect()
}

/// The order in which losers come down: reversed at first, then with both halves exchanged, and so
/// on in turn, so that they do not meet at once the players that they met before.
fn apart(mut losers: Vec<Source>, stage: u32) -> Vec<Source> {
    let half = losers.len() / 2;
    match stage % 4 {
        2 => losers.reverse(),
        _ => losers.rotate_left(half),
    }
    losers
}
