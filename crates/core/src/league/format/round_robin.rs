//! Round robin by the circle method: all against all, computed and never stored.
//!
//! One player is fixed and the others sit on a circle of `m` places; in round `r` the fixed player
//! meets place `r`, and the places at equal distance from `r` meet each other. With an odd number
//! of players there is no fixed player, and the player at place `r` rests.
//!
//! There are two ways to assign sides, because 000 table 16 is not balanced: it seats P02 at B
//! three times out of three. [`Sides::AsPrinted`] follows the table, for games in which a seat
//! gives no advantage; [`Sides::Balanced`] is for the others.
//!
//! A schedule of several legs repeats the round robin; each leg swaps the seats of the one before.
//! A schedule may end before all have met.
//!
//! A player that leaves stays in the schedule and loses the matches that it does not play, so that
//! all others play as many matches as before.

use super::{FormatError, FormatPlan, FormatRule, NextRound, SoFar};
use crate::league::schedule::Pairing;

/// The format of the course.
pub(crate) struct AllAgainstAll;

impl FormatRule for AllAgainstAll {
    fn name(&self) -> &'static str {
        "round_robin"
    }

    fn title(&self) -> &'static str {
        "round robin"
    }

    fn check(&self, plan: &FormatPlan) -> Result<(), FormatError> {
        let most = schedule(plan).full_rounds();
        match plan.rounds {
            Some(found) if !(1..=most).contains(&found) => Err(FormatError::AllRounds {
                players: plan.players,
                most,
                found,
            }),
            _ => Ok(()),
        }
    }

    fn rounds(&self, plan: &FormatPlan) -> u32 {
        schedule(plan).rounds()
    }

    fn total_matches(&self, plan: &FormatPlan) -> u64 {
        schedule(plan).total_matches()
    }

    fn computed(&self, plan: &FormatPlan) -> Option<RoundRobin> {
        Some(schedule(plan))
    }

    fn next_round(&self, so_far: &SoFar<'_>) -> Option<NextRound> {
        let schedule = schedule(so_far.plan());
        let round = so_far.rounds() + 1;
        let pairings = (0..schedule.matches_a_round())
            .filter_map(|index| schedule.pairing(round, index))
            .map(|pairing| pairing.seats);
        NextRound::of(pairings.collect())
    }
}

fn schedule(plan: &FormatPlan) -> RoundRobin {
    let schedule = RoundRobin::new(plan.players, plan.sides).with_legs(plan.legs);
    schedule.cut_after(plan.rounds.unwrap_or(u32::MAX))
}

/// How seats A and B are given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// As 000 table 16: in the first round the lower number sits at A, afterwards the higher.
    AsPrinted,
    /// For each player the games as A and as B differ by one at most, and mostly alternate.
    Balanced,
}

impl Sides {
    /// The way that suits a game.
    pub const fn for_game(sides_matter: bool) -> Self {
        if sides_matter {
            Self::Balanced
        } else {
            Self::AsPrinted
        }
    }
}

/// A round robin of so many players.
///
/// Every question is answered in constant time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundRobin {
    players: u32,
    sides: Sides,
    legs: u32,
    /// After how many rounds it ends at the latest.
    last: u32,
}

impl RoundRobin {
    /// The most players there can be; with more, match numbers would not fit.
    pub const MAX_PLAYERS: u32 = 1 << 30;
    /// The most times that a pair meets.
    pub const MAX_LEGS: u32 = 1_000;

    /// Makes the schedule of so many players, at most [`Self::MAX_PLAYERS`].
    pub fn new(players: u32, sides: Sides) -> Self {
        Self {
            players: players.min(Self::MAX_PLAYERS),
            sides,
            legs: 1,
            last: u32::MAX,
        }
    }

    /// The same schedule, in which each pair meets so many times, as far as rounds can be numbered.
    #[must_use]
    pub fn with_legs(self, legs: u32) -> Self {
        let most = u32::MAX / self.circle().max(1);
        Self {
            legs: legs.clamp(1, most.clamp(1, Self::MAX_LEGS)),
            ..self
        }
    }

    /// The same schedule, which ends after so many rounds if it is not over before.
    #[must_use]
    pub fn cut_after(self, last: u32) -> Self {
        Self { last, ..self }
    }

    /// How many players take part.
    pub fn players(&self) -> u32 {
        self.players
    }

    /// How many rounds there are; none for fewer than two players.
    pub fn rounds(&self) -> u32 {
        self.full_rounds().min(self.last)
    }

    fn full_rounds(&self) -> u32 {
        if self.players < 2 {
            0
        } else {
            self.circle() * self.legs
        }
    }

    /// How many matches each round has.
    pub fn matches_a_round(&self) -> u32 {
        self.players / 2
    }

    /// How many matches there are in all.
    pub fn total_matches(&self) -> u64 {
        u64::from(self.rounds()) * u64::from(self.matches_a_round())
    }

    /// The match at a place of a round; `round` counts from 1, `index` from 0.
    pub fn pairing(&self, round: u32, index: u32) -> Option<Pairing> {
        if round == 0 || round > self.rounds() || index >= self.matches_a_round() {
            return None;
        }
        Some(Pairing {
            round,
            index,
            seats: self.seats(round - 1, index),
        })
    }

    /// All matches in order, worked out one at a time.
    pub fn pairings(&self) -> impl Iterator<Item = Pairing> + use<> {
        let schedule = *self;
        (1..=schedule.rounds()).flat_map(move |round| {
            (0..schedule.matches_a_round()).map(move |index| Pairing {
                round,
                index,
                seats: schedule.seats(round - 1, index),
            })
        })
    }

    /// The match of a player in a round; none if it rests.
    pub fn pairing_of(&self, player: u32, round: u32) -> Option<Pairing> {
        if player >= self.players || round == 0 || round > self.rounds() {
            return None;
        }
        let turned = (round - 1) % self.circle();
        let index = match self.place(player) {
            None => 0,
            Some(place) if place == turned && self.is_even() => 0,
            Some(place) if place == turned => return None,
            Some(place) => self.index_at(self.distance(place, turned)),
        };
        self.pairing(round, index)
    }

    /// The matches in which two players meet, at most one in each leg.
    pub fn meetings(&self, one: u32, other: u32) -> impl DoubleEndedIterator<Item = Pairing> {
        let (schedule, first) = (*self, self.first_meeting(one, other));
        (0..self.legs).filter_map(move |leg| {
            let first = first?;
            schedule.pairing(first.round + leg * schedule.circle(), first.index)
        })
    }

    fn first_meeting(&self, one: u32, other: u32) -> Option<Pairing> {
        if one == other || one >= self.players || other >= self.players {
            return None;
        }
        let turned = match (self.place(one), self.place(other)) {
            (None, Some(place)) | (Some(place), None) => place,
            (Some(one), Some(other)) => self.halfway(one, other),
            (None, None) => return None,
        };
        self.pairing_of(one, turned + 1)
    }

    fn is_even(&self) -> bool {
        self.players.is_multiple_of(2)
    }

    /// How many places the circle has: always odd.
    fn circle(&self) -> u32 {
        if self.is_even() {
            self.players.saturating_sub(1)
        } else {
            self.players
        }
    }

    /// Where a player sits on the circle; `None` for the one who stands still.
    fn place(&self, player: u32) -> Option<u32> {
        if self.is_even() {
            player.checked_sub(1)
        } else {
            Some(player)
        }
    }

    fn player_at(&self, place: u32) -> u32 {
        if self.is_even() { place + 1 } else { place }
    }

    /// The shorter way between two places.
    fn distance(&self, one: u32, other: u32) -> u32 {
        let way = one.abs_diff(other);
        way.min(self.circle() - way)
    }

    fn index_at(&self, distance: u32) -> u32 {
        if self.is_even() {
            distance
        } else {
            distance - 1
        }
    }

    /// The place from which two others are equally far: on an odd circle there is exactly one.
    fn halfway(&self, one: u32, other: u32) -> u32 {
        let sum = one + other;
        let even = if sum.is_multiple_of(2) {
            sum
        } else {
            sum + self.circle()
        };
        even / 2 % self.circle()
    }

    fn seats(&self, turned: u32, index: u32) -> [u32; 2] {
        let circle = self.circle();
        let [a, b] = self.seats_of_leg(turned % circle, index);
        match (turned / circle).is_multiple_of(2) {
            true => [a, b],
            false => [b, a],
        }
    }

    fn seats_of_leg(&self, turned: u32, index: u32) -> [u32; 2] {
        let circle = self.circle();
        let distance = if self.is_even() { index } else { index + 1 };
        if distance == 0 {
            return self.seats_of_standing(turned);
        }
        let behind = self.player_at(around(turned + circle - distance, circle));
        let ahead = self.player_at(around(turned + distance, circle));
        match self.sides {
            Sides::AsPrinted => printed(turned, behind, ahead),
            // From one round to the next everyone's distance changes by one: seats alternate.
            Sides::Balanced if distance.is_multiple_of(2) => [ahead, behind],
            Sides::Balanced => [behind, ahead],
        }
    }

    fn seats_of_standing(&self, turned: u32) -> [u32; 2] {
        let other = self.player_at(turned);
        match self.sides {
            Sides::AsPrinted => printed(turned, 0, other),
            Sides::Balanced if turned.is_multiple_of(2) => [0, other],
            Sides::Balanced => [other, 0],
        }
    }
}

/// A place that may lie one turn too far; division would cost more than all the rest.
fn around(place: u32, circle: u32) -> u32 {
    if place < circle {
        place
    } else {
        place - circle
    }
}

fn printed(turned: u32, one: u32, other: u32) -> [u32; 2] {
    let (low, high) = (one.min(other), one.max(other));
    if turned == 0 {
        [low, high]
    } else {
        [high, low]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn seats(players: u32, sides: Sides) -> Vec<[u32; 2]> {
        RoundRobin::new(players, sides)
            .pairings()
            .map(|pairing| pairing.seats)
            .collect()
    }

    #[test]
    fn four_players_give_the_printed_schedule() {
        assert_eq!(
            seats(4, Sides::AsPrinted),
            [[0, 1], [2, 3], [2, 0], [3, 1], [3, 0], [2, 1]]
        );
    }

    fn check(players: u32, sides: Sides) {
        let schedule = RoundRobin::new(players, sides);
        let mut met = BTreeSet::new();
        let mut as_a = vec![0_u32; players as usize];
        let mut as_b = vec![0_u32; players as usize];
        let mut busy = BTreeSet::new();
        for pairing in schedule.pairings() {
            let [a, b] = pairing.seats;
            assert!(a != b && a < players && b < players);
            assert!(met.insert((a.min(b), a.max(b))), "{a} and {b} meet twice");
            for player in [a, b] {
                assert!(
                    busy.insert((pairing.round, player)),
                    "{player} plays twice in a round"
                );
                assert_eq!(schedule.pairing_of(player, pairing.round), Some(pairing));
            }
            assert_eq!(schedule.first_meeting(a, b), Some(pairing));
            assert_eq!(schedule.first_meeting(b, a), Some(pairing));
            as_a[a as usize] += 1;
            as_b[b as usize] += 1;
        }
        let pairs = u64::from(players) * u64::from(players.saturating_sub(1)) / 2;
        assert_eq!(met.len() as u64, pairs);
        assert_eq!(schedule.total_matches(), pairs);
        if sides == Sides::Balanced {
            for (a, b) in as_a.iter().zip(&as_b) {
                assert!(a.abs_diff(*b) <= 1, "{a} games at A and {b} at B");
            }
        }
        let rests = (1..=schedule.rounds()).flat_map(|round| {
            (0..players).filter(move |&player| schedule.pairing_of(player, round).is_none())
        });
        let expected = if players % 2 == 1 {
            schedule.rounds()
        } else {
            0
        };
        assert_eq!(rests.count(), expected as usize, "one rest a round if odd");
    }

    #[test]
    fn each_pair_meets_once_and_each_player_plays_once_a_round() {
        for players in (2..=60).chain([101, 257]) {
            check(players, Sides::AsPrinted);
            check(players, Sides::Balanced);
        }
    }

    #[test]
    fn each_leg_repeats_the_rounds_with_seats_swapped() {
        for (players, legs) in [(2, 5), (3, 2), (4, 3), (7, 4)] {
            let once = RoundRobin::new(players, Sides::Balanced);
            let all = once.with_legs(legs);
            assert_eq!(all.rounds(), once.rounds() * legs);
            let pairings = once.pairings().collect::<Vec<_>>();
            for (number, pairing) in all.pairings().enumerate() {
                let first = pairings[number % pairings.len()];
                let mut seats = first.seats;
                if (number / pairings.len()) % 2 == 1 {
                    seats.reverse();
                }
                assert_eq!(pairing.seats, seats);
                let [a, b] = seats;
                assert_eq!(all.pairing_of(a, pairing.round), Some(pairing));
                assert_eq!(all.meetings(b, a).count(), legs as usize);
                assert!(all.meetings(a, b).any(|meeting| meeting == pairing));
            }
        }
        let many = RoundRobin::new(RoundRobin::MAX_PLAYERS, Sides::Balanced).with_legs(u32::MAX);
        assert!(many.rounds() >= RoundRobin::MAX_PLAYERS - 1);
    }

    #[test]
    fn balanced_sides_mostly_alternate() {
        for players in [9, 10, 33, 64] {
            let schedule = RoundRobin::new(players, Sides::Balanced);
            for player in 0..players {
                let seats: Vec<bool> = (1..=schedule.rounds())
                    .filter_map(|round| schedule.pairing_of(player, round))
                    .map(|pairing| pairing.seats[0] == player)
                    .collect();
                let repeats = seats.windows(2).filter(|pair| pair[0] == pair[1]).count();
                assert!(
                    repeats <= 3,
                    "{player} of {players} keeps its seat {repeats} times"
                );
            }
        }
    }

    #[test]
    fn two_thousand_players_are_counted_one_at_a_time() {
        let schedule = RoundRobin::new(2_000, Sides::Balanced);
        assert_eq!(schedule.pairings().count(), 1_999_000);
        assert_eq!(
            RoundRobin::new(10_000, Sides::AsPrinted).total_matches(),
            49_995_000
        );
    }

    #[test]
    fn questions_beyond_the_schedule_have_no_answer() {
        for players in [0, 1] {
            let schedule = RoundRobin::new(players, Sides::Balanced);
            assert_eq!(schedule.rounds(), 0);
            assert_eq!(schedule.pairings().count(), 0);
        }
        let schedule = RoundRobin::new(4, Sides::AsPrinted);
        for (round, index) in [(0, 0), (4, 0), (1, 2), (u32::MAX, u32::MAX)] {
            assert_eq!(schedule.pairing(round, index), None);
        }
        assert_eq!(schedule.pairing_of(4, 1), None);
        assert_eq!(schedule.pairing_of(0, 0), None);
        assert_eq!(schedule.first_meeting(1, 1), None);
        assert_eq!(schedule.first_meeting(1, 9), None);
        let vast = RoundRobin::new(u32::MAX, Sides::Balanced);
        assert!(
            vast.pairing(vast.rounds(), vast.matches_a_round() - 1)
                .is_some()
        );
    }
}
