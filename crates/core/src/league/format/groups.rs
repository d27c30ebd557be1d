//! Groups, then a knockout: players meet all others of their group, and the first two of each group
//! go on to a knockout.
//!
//! The seeds are dealt to the groups in turn, from the first group to the last and back. All groups
//! play their rounds side by side. The order in a group is that of the table, as its matches counted
//! when the knockout began. In the knockout the winners of the groups are the first seeds, and the
//! second of a group is in the other half than the winner, so that they meet in the final at the
//! earliest. A player that leaves stays in its group, and in the knockout if it was among the first
//! two.

use super::bracket::{self, Bracket, BracketSize, PlannedTie, first_places};
use super::view::{FormatView, GroupRow, GroupTable};
use super::{FormatError, FormatPlan, FormatRule, NextRound, RoundRobin, SoFar};
use crate::league::standings::PlayerTally;

/// How many players of a group go on.
const GO_ON: u32 = 2;
/// The fewest players of a group, so that it decides something.
const MIN_SIZE: u32 = GO_ON + 1;

pub(crate) struct Groups;

impl FormatRule for Groups {
    fn name(&self) -> &'static str {
        "groups"
    }

    fn title(&self) -> &'static str {
        "tournament of groups"
    }

    fn min_players(&self) -> u32 {
        2 * MIN_SIZE
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        let (players, most) = (plan.players, plan.players / MIN_SIZE);
        match plan.groups {
            Some(found) if !(2..=most).contains(&found) => Err(FormatError::Groups {
                players,
                most,
                found,
            }),
            _ => plan.must_have_no_rounds(),
        }
    }

    fn has_groups(&self) -> bool {
        true
    }

    fn rounds(&self, plan: &FormatPlan) -> u32 {
        let knockout = knockout_size(plan).rounds(plan);
        group_rounds(plan).saturating_add(knockout)
    }

    fn max_rounds(&self, plan: &FormatPlan) -> u32 {
        let knockout = knockout_size(plan).max_rounds(plan);
        group_rounds(plan).saturating_add(knockout)
    }

    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        let (groups, size) = (number_of_groups(plan), smallest(plan));
        let larger = u64::from(plan.players - groups * size);
        let of_groups = (u64::from(groups) - larger) * group_schedule(plan, size).total_matches()
            + larger * group_schedule(plan, size + 1).total_matches();
        of_groups + knockout_size(plan).matches(plan)
    }

    /// The tables of the groups are settled when the knockout begins.
    fn table_rounds(&self, plan: &FormatPlan) -> u32 {
        group_rounds(plan)
    }

    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound> {
        let plan = so_far.plan();
        let round = so_far.rounds() + 1;
        if round > group_rounds(plan) {
            return knockout(so_far)?.1.next_round();
        }
        let pairings = members(plan).into_iter().flat_map(|members| {
            let schedule = group_schedule(plan, members.len() as u32);
            let places = 0..schedule.matches_a_round();
            let pairings = places.filter_map(move |index| schedule.pairing(round, index));
            pairings.map(move |pairing| pairing.seats.map(|seat| members[seat as usize]))
        });
        NextRound::of(pairings.collect())
    }

    fn progress(&self, so_far: &SoFar<'_>) -> Option<Vec<u32>> {
        Some(knockout(so_far).filter(|_| is_decided(so_far))?.1.progress)
    }

    fn views(&self, so_far: &SoFar<'_>) -> Vec<FormatView> {
        let bracket = knockout(so_far).filter(|_| is_decided(so_far));
        let bracket = bracket.map(|(ties, bracket)| bracket.view(&ties));
        let groups = FormatView::Groups(tables(so_far));
        bracket.into_iter().chain([groups]).collect()
    }
}

/// As many as keep the bracket of the knockout full, with three to six players each.
fn number_of_groups(plan: &FormatPlan) -> u32 {
    let usual = || 1 << (plan.players / MIN_SIZE).max(2).ilog2();
    plan.groups.unwrap_or_else(usual).min(plan.players.max(1))
}

/// How many players the smaller groups have; the others have one more.
fn smallest(plan: &FormatPlan) -> u32 {
    plan.players / number_of_groups(plan)
}

fn group_schedule(plan: &FormatPlan, size: u32) -> RoundRobin {
    RoundRobin::new(size, plan.sides).with_legs(plan.legs)
}

fn group_rounds(plan: &FormatPlan) -> u32 {
    let largest = plan.players.div_ceil(number_of_groups(plan));
    let rounds = [smallest(plan), largest].map(|size| group_schedule(plan, size).rounds());
    rounds[0].max(rounds[1])
}

fn knockout_size(plan: &FormatPlan) -> BracketSize {
    BracketSize::of_knockout(GO_ON * number_of_groups(plan))
}

/// The players of each group, the first seed first.
fn members(plan: &FormatPlan) -> Vec<Vec<u32>> {
    let groups = number_of_groups(plan);
    let mut members = vec![Vec::new(); groups as usize];
    for player in 0..plan.players {
        let (turn, place) = (player / groups, player % groups);
        let is_back = !turn.is_multiple_of(2);
        let group = if is_back { groups - 1 - place } else { place };
        members[group as usize].push(player);
    }
    members
}

/// The players of each group in the order of its table, as the matches of groups counted when the
/// knockout began.
fn ordered(so_far: &SoFar<'_>) -> Vec<Vec<u32>> {
    let plan = so_far.plan();
    let mut place = vec![0; plan.players as usize];
    let order = so_far.standings.settled_order(group_rounds(plan));
    for (at, player) in (0_u32..).zip(order) {
        place[player as usize] = at;
    }
    let mut groups = members(plan);
    for group in &mut groups {
        group.sort_by_key(|&player| place[player as usize]);
    }
    groups
}

/// The ties of the knockout, and how far they are played; `None` before the last round of the groups
/// has begun.
fn knockout(so_far: &SoFar<'_>) -> Option<(Vec<PlannedTie>, Bracket)> {
    let plan = so_far.plan();
    let before = group_rounds(plan);
    if so_far.rounds() < before || plan.players < 2 * MIN_SIZE {
        return None;
    }
    let ties = bracket::knockout(&places(&ordered(so_far)));
    let bracket = Bracket::read(&ties, so_far, before + 1..=so_far.rounds());
    Some((ties, bracket))
}

/// Whether all matches of the groups are over.
fn is_decided(so_far: &SoFar<'_>) -> bool {
    let (begun, last) = (so_far.rounds(), group_rounds(so_far.plan()));
    let is_over = |pairing| so_far.settled(pairing).is_some();
    begun > last || begun == last && so_far.pairings(last).all(is_over)
}

/// The table of each group.
fn tables(so_far: &SoFar<'_>) -> Vec<GroupTable> {
    let plan = so_far.plan();
    let mut tallies = vec![PlayerTally::default(); plan.players as usize];
    let rounds = 1..=group_rounds(plan).min(so_far.rounds());
    for pairing in rounds.flat_map(|round| so_far.pairings(round)) {
        let Some(ending) = so_far.settled(pairing) else {
            continue;
        };
        for (seat, player) in pairing.seats.into_iter().enumerate() {
            tallies[player as usize].note(ending, seat, so_far.standings.score());
        }
    }
    let is_decided = is_decided(so_far);
    let row = |(at, player): (u32, u32)| GroupRow {
        player,
        tally: tallies[player as usize],
        goes_on: is_decided.then_some(at < GO_ON),
    };
    let groups = (1_usize..).zip(ordered(so_far));
    let table = |(number, players): (usize, Vec<u32>)| GroupTable {
        name: match b'A'.checked_add(u8::try_from(number - 1).unwrap_or(u8::MAX)) {
            Some(letter @ b'A'..=b'Z') => char::from(letter).to_string(),
            _ => number.to_string(),
        },
        rows: (0..).zip(players).map(row).collect(),
    };
    groups.map(table).collect()
}

/// The places of the first stage. The winners of groups are the first seeds; the others take the
/// places that are left, each in the other half than the winner of its group.
fn places(groups: &[Vec<u32>]) -> Vec<Option<u32>> {
    let seeds = first_places(GO_ON * groups.len() as u32);
    let half = seeds.len() / 2;
    let is_winner = |seed: u32| (seed as usize) < groups.len();
    let is_above = |seed: &Option<u32>| seed.is_some_and(is_winner);
    // The groups whose winners are in the lower half and in the upper.
    let mut waiting = [&seeds[half..], &seeds[..half]].map(|other| {
        let winners = other.iter().copied().filter(is_above).flatten();
        let mut groups: Vec<u32> = winners.collect();
        groups.sort_unstable();
        groups.into_iter()
    });
    let place = |(at, seed): (usize, Option<u32>)| {
        let seed = seed?;
        if is_winner(seed) {
            return groups[seed as usize].first().copied();
        }
        let group = waiting[usize::from(at >= half)].next()?;
        groups[group as usize].get(1).copied()
    };
    seeds.iter().copied().enumerate().map(place).collect()
}
