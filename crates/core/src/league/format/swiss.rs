//! Swiss: each round pairs players of about the same points, and no pair meets twice.
//!
//! The order of work is that of the Dutch system of FIDE (C.04.3): score groups from the top, in each
//! group the upper half against the lower half, players that find no opponent there move down to
//! the next group. From the top, each player gets the first opponent in its order of preference that
//! leaves as many others of the group, and all others of the league, an opponent; a matching of the
//! rest is kept as the witness. The Dutch criteria about repeated floats are not applied.
//!
//! A player that is out is not paired, and is again once it is back. With an odd number the last
//! player that has not been without an opponent before rests, and is paid as for a win. If no round
//! without a second meeting is possible, the league is over. A player that comes late is paired from
//! then on, with the points that it has: none.
//!
//! A meeting has as many games as the league has legs, in rounds that follow each other, at seats
//! that change. All of them are played, and each counts in the table.

use std::cmp::Reverse;

use super::matching::Matching;
use super::view::FormatView;
use super::{FormatError, FormatPlan, FormatRule, NextRound, Sides, SoFar};
use crate::league::Tiebreaker;
use crate::league::standings::MatchEnding;

/// The most rounds, however many players there are.
const MAX_ROUNDS: u32 = 64;

pub(crate) struct Swiss;

impl FormatRule for Swiss {
    fn name(&self) -> &'static str {
        "swiss"
    }

    fn title(&self) -> &'static str {
        "Swiss tournament"
    }

    fn min_players(&self) -> u32 {
        4
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        let (players, most) = (plan.players, most_rounds(plan.players));
        match plan.rounds {
            Some(found) if !(1..=MAX_ROUNDS).contains(&found) => Err(FormatError::AnyRounds {
                format: self.title(),
                most: MAX_ROUNDS,
                found,
            }),
            Some(found) if found > most => Err(FormatError::Rounds {
                players,
                most,
                found,
            }),
            _ => Ok(()),
        }
    }

    fn rounds(&self, plan: &FormatPlan) -> u32 {
        let began = plan.players.saturating_sub(plan.late);
        let meetings = plan.rounds.unwrap_or_else(|| usual_rounds(began));
        meetings.saturating_mul(plan.legs)
    }

    fn takes_late_entrants(&self, plan: &FormatPlan, rounds: u32) -> bool {
        // The games of a meeting follow each other.
        rounds.div_ceil(plan.legs) * plan.legs < self.rounds(plan)
    }

    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        u64::from(self.rounds(plan)) * u64::from(plan.players / 2)
    }

    fn tiebreakers(&self) -> &'static [Tiebreaker] {
        &[
            Tiebreaker::Points,
            Tiebreaker::BuchholzCut1,
            Tiebreaker::Buchholz,
            Tiebreaker::SonnebornBerger,
            Tiebreaker::HeadToHead,
            Tiebreaker::Wins,
            Tiebreaker::PlayerId,
        ]
    }

    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound> {
        let (played, legs) = (so_far.rounds(), so_far.plan().legs);
        if played >= self.rounds(so_far.plan()) {
            return None;
        }
        if !played.is_multiple_of(legs) {
            return Some(next_leg(so_far));
        }
        let entrants = Entrant::all(so_far);
        let watches_sides = so_far.plan().sides == Sides::Balanced;
        let pairs = pair_all(&entrants, watches_sides)?;
        Some(pairs.into_round(&entrants, played / legs))
    }

    fn views(&self, _: &SoFar<'_>) -> Vec<FormatView> {
        vec![FormatView::ScoreGroups]
    }
}

/// The pairs of the last round meet again at the other seats, also those of which a player has left.
fn next_leg(so_far: &SoFar<'_>) -> NextRound {
    let last = so_far.rounds();
    let pairings = so_far.pairings(last).map(|pairing| pairing.seats);
    let byes = so_far.byes(last).iter().copied();
    NextRound {
        pairings: pairings.map(|[a, b]| [b, a]).collect(),
        byes: byes.filter(|&player| so_far.is_in(player)).collect(),
    }
}

/// So many rounds can always be played without a second meeting: each player then may still meet at
/// least half of the others, which is enough for all to have an opponent (Dirac 1952).
fn most_rounds(players: u32) -> u32 {
    players.div_ceil(2).min(MAX_ROUNDS)
}

/// As many rounds as leave one player without a loss, and one more.
fn usual_rounds(players: u32) -> u32 {
    let doublings = players.max(1).next_power_of_two().trailing_zeros();
    (doublings + 1).min(most_rounds(players)).max(1)
}

/// A player that takes part in the round; they are sorted by points, then by id.
struct Entrant {
    player: u32,
    points: u32,
    /// In ascending order.
    met: Vec<u32>,
    /// Rounds that were won without an opponent. A player that has just come counts one, so that it
    /// does not come to rest.
    free_wins: u32,
    side: SideHistory,
}

/// The seats that a player had in matches that were played.
#[derive(Default)]
struct SideHistory {
    /// 0 for seat A, the first round first.
    seats: Vec<usize>,
}

/// What seat a player should have next, the strongest wish last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    None,
    /// The other seat than the last time.
    Mild(usize),
    /// To make up for one more match at the other seat.
    Strong(usize),
    /// To avoid a third time in a row, or a difference of three.
    Absolute(usize),
}

impl Wish {
    const fn seat(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Mild(seat) | Self::Strong(seat) | Self::Absolute(seat) => Some(seat),
        }
    }

    const fn strength(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Mild(_) => 1,
            Self::Strong(_) => 2,
            Self::Absolute(_) => 3,
        }
    }
}

impl SideHistory {
    /// Matches at seat A minus matches at seat B.
    fn difference(&self) -> i64 {
        let balance = |seat: &usize| if *seat == 0 { 1 } else { -1 };
        self.seats.iter().map(balance).sum()
    }

    fn wish(&self) -> Wish {
        let difference = self.difference();
        let less_used = usize::from(difference > 0);
        match self.seats.as_slice() {
            [] => Wish::None,
            _ if difference.abs() >= 2 => Wish::Absolute(less_used),
            [.., before, last] if before == last => Wish::Absolute(1 - last),
            _ if difference != 0 => Wish::Strong(less_used),
            [.., last] => Wish::Mild(1 - last),
        }
    }
}

impl Entrant {
    fn all(so_far: &SoFar<'_>) -> Vec<Self> {
        let players = (0..so_far.players()).filter(|&player| so_far.is_in(player));
        let mut entrants: Vec<Self> = players
            .map(|player| {
                let tally = so_far.tally(player);
                Self {
                    player,
                    points: tally.points,
                    met: Vec::new(),
                    free_wins: tally.byes,
                    side: SideHistory::default(),
                }
            })
            .collect();
        for pairing in (1..=so_far.rounds()).flat_map(|round| so_far.pairings(round)) {
            let ending = so_far.ending(pairing);
            for (seat, player) in pairing.seats.into_iter().enumerate() {
                let found = entrants.binary_search_by_key(&player, |entrant| entrant.player);
                if let Ok(found) = found {
                    entrants[found].note(pairing.seats[1 - seat], seat, ending);
                }
            }
        }
        for entrant in &mut entrants {
            let has_just_come = entrant.met.is_empty() && entrant.free_wins == 0;
            entrant.free_wins += u32::from(has_just_come && so_far.rounds() > 0);
            entrant.met.sort_unstable();
        }
        entrants.sort_by_key(|entrant| (Reverse(entrant.points), entrant.player));
        entrants
    }

    /// A pair counts as met once it was paired; sides count if the match was played.
    fn note(&mut self, other: u32, seat: usize, ending: Option<MatchEnding>) {
        self.met.push(other);
        match ending {
            Some(MatchEnding::Forfeit(lost)) if lost != seat => self.free_wins += 1,
            Some(MatchEnding::Forfeit(_) | MatchEnding::BothForfeit) => {}
            _ => self.side.seats.push(seat),
        }
    }

    fn has_met(&self, other: &Self) -> bool {
        self.met.binary_search(&other.player).is_ok()
    }
}

/// Whether two players must both have the same seat.
fn clash(one: &Entrant, other: &Entrant) -> bool {
    let wish = one.side.wish();
    wish == other.side.wish() && matches!(wish, Wish::Absolute(_))
}

/// Whether both players can have the seat that they should have.
fn suits(one: &Entrant, other: &Entrant) -> bool {
    let seats = (one.side.wish().seat(), other.side.wish().seat());
    seats.0.is_none() || seats.0 != seats.1
}

/// Pairs of places among the entrants, the higher place first, and the place that rests.
struct Pairs {
    pairs: Vec<(usize, usize)>,
    resting: Option<usize>,
}

impl Pairs {
    fn into_round(mut self, entrants: &[Entrant], rounds: u32) -> NextRound {
        self.pairs.sort_unstable();
        let seats = (0..).zip(&self.pairs).map(|(board, &(upper, lower))| {
            let (upper, lower) = (&entrants[upper], &entrants[lower]);
            match seat_of_upper(upper, lower, board + rounds) {
                0 => [upper.player, lower.player],
                _ => [lower.player, upper.player],
            }
        });
        NextRound {
            pairings: seats.collect(),
            byes: self
                .resting
                .map(|at| entrants[at].player)
                .into_iter()
                .collect(),
        }
    }
}

/// The stronger wish is granted, then the one of the player who sat there less often, then the
/// seats of the last round in which they differed are swapped, then the upper player has its wish.
fn seat_of_upper(upper: &Entrant, lower: &Entrant, turn: u32) -> usize {
    let wishes = (upper.side.wish(), lower.side.wish());
    let (own, others) = match (wishes.0.seat(), wishes.1.seat()) {
        (None, None) => return usize::from(!turn.is_multiple_of(2)),
        (Some(own), None) => return own,
        (None, Some(others)) => return 1 - others,
        (Some(own), Some(others)) => (own, others),
    };
    let strength =
        |wish: Wish, entrant: &Entrant| (wish.strength(), entrant.side.difference().abs());
    let strengths = (strength(wishes.0, upper), strength(wishes.1, lower));
    if own != others || strengths.0 > strengths.1 {
        return own;
    }
    if strengths.0 < strengths.1 {
        return 1 - others;
    }
    let seats = (upper.side.seats.iter().rev(), lower.side.seats.iter().rev());
    let differed = seats.0.zip(seats.1).find(|(one, other)| one != other);
    differed.map_or(own, |(last, _)| 1 - last)
}

/// Pairs all players, or says that it cannot be done.
fn pair_all(entrants: &[Entrant], watches_sides: bool) -> Option<Pairs> {
    if entrants.len() < 2 {
        return None;
    }
    // Those that won without an opponent least often, of them those with the fewest points.
    let free = |entrant: &Entrant| Some((entrant.free_wins, entrant.points));
    let mut resting: Vec<Option<(u32, u32)>> = match entrants.len().is_multiple_of(2) {
        true => vec![None],
        false => entrants.iter().map(free).collect(),
    };
    resting.sort_unstable();
    resting.dedup();
    let wins = |class: &Option<(u32, u32)>| class.map(|(free_wins, _)| free_wins);
    let mut resting = resting.chunk_by(|one, other| wins(one) == wins(other));
    // Sides give way before a player rests that won without an opponent more often, and before one is
    // left without an opponent.
    resting.find_map(|classes| {
        let mut tries = [true, false].into_iter().skip(usize::from(!watches_sides));
        tries.find_map(|is_strict| {
            let mut classes = classes.iter();
            classes.find_map(|class| pair_with_rest(entrants, is_strict, *class))
        })
    })
}

/// Pairs all players but one of those with so many wins without an opponent and so many points, if
/// one has to rest.
fn pair_with_rest(
    entrants: &[Entrant],
    is_strict: bool,
    resting: Option<(u32, u32)>,
) -> Option<Pairs> {
    // Stands for the opponent of the player that rests.
    let bye = entrants.len();
    let may_meet = |one: usize, other: usize| {
        let (one, other) = (one.min(other), one.max(other));
        let upper = &entrants[one];
        if other == bye {
            return resting == Some((upper.free_wins, upper.points));
        }
        let lower = &entrants[other];
        !(upper.has_met(lower) || is_strict && clash(upper, lower))
    };
    let last = bye + usize::from(resting.is_some());
    let all = Matching::largest((0..last).collect(), &may_meet);
    if !all.is_perfect() {
        return None;
    }
    let mut pairing = GroupPairing {
        entrants,
        may_meet: &may_meet,
        is_strict,
        all,
        is_paired: vec![false; last],
        pairs: Vec::new(),
    };
    let mut floaters = Vec::new();
    let places: Vec<usize> = (0..bye).collect();
    for group in places.chunk_by(|&one, &other| entrants[one].points == entrants[other].points) {
        floaters = pairing.pair_group(&floaters, group);
    }
    floaters.extend(bye..last);
    pairing.pair_leftovers(&floaters);
    let (rested, pairs): (Vec<_>, Vec<_>) = pairing
        .pairs
        .into_iter()
        .partition(|(_, other)| *other == bye);
    let resting = rested.first().map(|(one, _)| *one);
    Some(Pairs { pairs, resting })
}

/// The players of a score group, with those that moved down to it, that have no opponent yet.
#[derive(Clone)]
struct Bracket<'g> {
    matching: Matching<'g>,
    /// How many should have seat A, how many seat B, and how many either.
    wishes: [usize; 3],
}

impl Bracket<'_> {
    fn leave(&mut self, one: &Entrant, other: &Entrant) {
        self.wishes = without(self.wishes, one, other);
    }

    /// Lets a player move down if all others can be paired and seated as well without it.
    fn spares(&mut self, place: usize, own: &Entrant) -> bool {
        let mut rest = self.wishes;
        let own = &mut rest[wish_of(own)];
        *own = own.saturating_sub(1);
        let is_as_good = unseated(rest) <= unseated(self.wishes);
        let is_spared = is_as_good && self.matching.spare(place);
        if is_spared {
            self.wishes = rest;
        }
        is_spared
    }

    /// Whether a pair leaves as many others their seats as any pair could.
    fn suits(&self, one: &Entrant, other: &Entrant) -> bool {
        let rest = unseated(without(self.wishes, one, other));
        rest + usize::from(!suits(one, other)) == unseated(self.wishes)
    }
}

/// How many pairs cannot be seated as both players wish, at least.
fn unseated([a, b, either]: [usize; 3]) -> usize {
    a.abs_diff(b).saturating_sub(either) / 2
}

fn without(mut wishes: [usize; 3], one: &Entrant, other: &Entrant) -> [usize; 3] {
    for entrant in [one, other] {
        let wishes = &mut wishes[wish_of(entrant)];
        *wishes = wishes.saturating_sub(1);
    }
    wishes
}

fn wish_of(entrant: &Entrant) -> usize {
    entrant.side.wish().seat().unwrap_or(2)
}

/// Pairing in progress.
struct GroupPairing<'p> {
    entrants: &'p [Entrant],
    may_meet: &'p dyn Fn(usize, usize) -> bool,
    is_strict: bool,
    /// A matching of all players without an opponent: the witness that all can get one.
    all: Matching<'p>,
    is_paired: Vec<bool>,
    pairs: Vec<(usize, usize)>,
}

impl GroupPairing<'_> {
    /// Pairs a score group with the players that moved down to it; returns those that move on.
    fn pair_group(&mut self, floaters: &[usize], group: &[usize]) -> Vec<usize> {
        let mut bracket: Vec<usize> = floaters.iter().chain(group).copied().collect();
        bracket.retain(|&place| !self.is_paired[place]);
        bracket.sort_unstable();
        let mut within = Bracket {
            matching: Matching::largest(bracket.clone(), self.may_meet),
            wishes: [0; 3],
        };
        for &place in &bracket {
            within.wishes[wish_of(&self.entrants[place])] += 1;
        }
        for &floater in floaters {
            self.find_opponent(&mut within, floater, group, false);
        }
        let residents = group
            .iter()
            .copied()
            .filter(|&place| !self.is_paired[place]);
        let residents: Vec<usize> = residents.collect();
        let (upper, lower) = residents.split_at(residents.len() / 2);
        for (at, &place) in upper.iter().enumerate() {
            // The nearest of the upper half may have to change sides.
            let exchanged = upper[at + 1..].iter().rev();
            let order: Vec<usize> = lower.iter().chain(exchanged).copied().collect();
            self.find_opponent(&mut within, place, &order, true);
        }
        for (at, &place) in lower.iter().enumerate() {
            self.find_opponent(&mut within, place, &lower[at + 1..], true);
        }
        bracket.retain(|&place| !self.is_paired[place]);
        bracket
    }

    /// Pairs those that found no opponent on their way down.
    fn pair_leftovers(&mut self, left: &[usize]) {
        for (at, &place) in left.iter().enumerate() {
            for &other in &left[at + 1..] {
                let is_free = !self.is_paired[place] && !self.is_paired[other];
                if is_free && self.all.take(place, other) {
                    self.join(place, other);
                }
            }
        }
    }

    /// Gives a player the first opponent of a list that leaves the others theirs: an opponent that
    /// suits its side if there is one, and if possible without a further player moving down.
    fn find_opponent(
        &mut self,
        within: &mut Bracket<'_>,
        place: usize,
        order: &[usize],
        may_move: bool,
    ) {
        if self.is_paired[place] {
            return;
        }
        let own = &self.entrants[place];
        for (needs_side, keeps_group) in [(true, true), (false, true), (false, false)] {
            if needs_side && !self.is_strict {
                continue;
            }
            // Rather than spoil a seat, a player moves down that the group can spare.
            let is_spared = self.is_strict && may_move && !needs_side && keeps_group;
            if is_spared && within.spares(place, own) {
                return;
            }
            for &other in order {
                let suits = !needs_side || within.suits(own, &self.entrants[other]);
                if self.is_paired[other] || !suits || !(self.may_meet)(place, other) {
                    continue;
                }
                if self.try_pair(within, place, other, keeps_group) {
                    return;
                }
            }
        }
    }

    fn try_pair(
        &mut self,
        within: &mut Bracket<'_>,
        place: usize,
        other: usize,
        keeps_group: bool,
    ) -> bool {
        let before = within.clone();
        if keeps_group && !within.matching.take(place, other) {
            return false;
        }
        if !self.all.take(place, other) {
            *within = before;
            return false;
        }
        if !keeps_group {
            within.matching.drop_pair(place, other);
        }
        within.leave(&self.entrants[place], &self.entrants[other]);
        self.join(place, other);
        true
    }

    fn join(&mut self, one: usize, other: usize) {
        (self.is_paired[one], self.is_paired[other]) = (true, true);
        self.pairs.push((one.min(other), one.max(other)));
    }
}
