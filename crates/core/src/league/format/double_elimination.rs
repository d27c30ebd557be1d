//! Double elimination: a player is out with its second lost tie.
//!
//! The winners' bracket is a knockout. Its losers enter the losers' bracket one stage later: the
//! losers of the first stage meet each other, those of each later stage meet the players that are
//! left there, in an order that keeps players apart who have met. The winners of both brackets play
//! the grand final. If the player from the winners' bracket loses it, both have lost one tie, and a
//! second tie decides (the reset).

use super::bracket::{
    BracketSize, Elimination, PlannedTie, Source, add_ties, first_places, stages,
};
use super::view::BracketPart;

pub(crate) static DOUBLE_ELIMINATION: Elimination = Elimination {
    name: "double_elimination",
    title: "double elimination",
    min_players: 3,
    size: |players| BracketSize {
        stages: 2 * stages(players),
        more_stages: 1,
        ties: (2 * players).saturating_sub(2),
    },
    ties,
};

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
    let mut unbeaten = add_ties(
        &mut ties,
        (BracketPart::Main, 0, above),
        &places.collect::<Vec<_>>(),
    );
    let mut dropped = losers(&unbeaten);
    let mut beaten = Vec::new();
    for stage in 1..last - 1 {
        if stage.is_multiple_of(2) {
            // Those that came down meet those that are left.
            let order = apart(std::mem::take(&mut dropped), stage);
            let pairs = beaten.into_iter().map(Source::Winner).zip(order);
            let pairs: Vec<_> = pairs.flat_map(|(left, came)| [left, came]).collect();
            beaten = add_ties(&mut ties, (BracketPart::Losers, stage, 2 * stage), &pairs);
            continue;
        }
        let entering = match stage {
            1 => std::mem::take(&mut dropped),
            _ => beaten.into_iter().map(Source::Winner).collect(),
        };
        let pairs: Vec<_> = unbeaten.into_iter().map(Source::Winner).collect();
        unbeaten = add_ties(
            &mut ties,
            (BracketPart::Main, stage, above + 2 * stage),
            &pairs,
        );
        dropped = losers(&unbeaten);
        beaten = add_ties(
            &mut ties,
            (BracketPart::Losers, stage, 2 * stage),
            &entering,
        );
    }
    let stage = last - 1;
    let finalists = unbeaten.into_iter().chain(beaten).map(Source::Winner);
    let finalists: Vec<_> = finalists.collect();
    let grand = add_ties(
        &mut ties,
        (BracketPart::GrandFinal, stage, above + 2 * stage),
        &finalists,
    );
    let again = grand
        .iter()
        .flat_map(|&tie| [1, 0].map(|place| Source::AfterUpset(tie, place)));
    let again: Vec<_> = again.collect();
    add_ties(
        &mut ties,
        (BracketPart::Reset, last, above + 2 * last),
        &again,
    );
    ties
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
