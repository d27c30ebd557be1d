//! The schedule of a league: which players meet in which round.
//!
//! A round robin is computed and never stored. The rounds of every other format are kept as they
//! were opened, because they follow from results that may be amended later.

use league_protocol::id::MatchId;

use super::format::{FormatPlan, NextRound};
pub use super::format::{RoundRobin, Sides};

/// One match of a schedule; players are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pairing {
    /// The round, from 1.
    pub round: u32,
    /// The place in the round, from 0.
    pub index: u32,
    /// Seat A and seat B.
    pub seats: [u32; 2],
}

impl Pairing {
    /// The id of the match: `R2M1` is the first of round 2.
    pub fn match_id(&self) -> MatchId {
        MatchId::numbered(self.round, self.index + 1)
    }
}

/// The rounds of a league, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    plan: FormatPlan,
    /// How many matches are planned.
    planned: u64,
    rounds: Rounds,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rounds {
    /// All rounds, each answer in constant time and memory.
    Computed(RoundRobin),
    /// The rounds that were opened, and whether no other follows.
    Opened {
        rounds: Vec<OpenedRound>,
        is_complete: bool,
    },
}

/// A round that does not follow from the players alone.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenedRound {
    /// How many matches the rounds before it have.
    before: usize,
    seats: Vec<[u32; 2]>,
    /// The players that rest and are paid for it.
    byes: Vec<u32>,
    /// Players and the places of their matches, in the order of players and places.
    places: Vec<(u32, u32)>,
}

impl From<RoundRobin> for Schedule {
    fn from(computed: RoundRobin) -> Self {
        Self {
            plan: FormatPlan {
                players: computed.players(),
                ..FormatPlan::default()
            },
            planned: computed.total_matches(),
            rounds: Rounds::Computed(computed),
        }
    }
}

impl Schedule {
    /// The schedule of a league that begins.
    pub fn new(plan: FormatPlan) -> Self {
        let rounds = match plan.computed() {
            Some(computed) => Rounds::Computed(computed),
            None => Rounds::Opened {
                rounds: Vec::new(),
                is_complete: false,
            },
        };
        Self {
            plan,
            planned: plan.total_matches(),
            rounds,
        }
    }

    /// The format and its settings.
    pub fn plan(&self) -> &FormatPlan {
        &self.plan
    }

    /// Whether all rounds are known before the first match.
    pub fn is_computed(&self) -> bool {
        matches!(self.rounds, Rounds::Computed(_))
    }

    /// How many players take part.
    pub fn players(&self) -> u32 {
        self.plan.players
    }

    /// How many rounds there are. While they follow from results, it is the number that is planned,
    /// or that of the rounds so far if there are more.
    pub fn rounds(&self) -> u32 {
        match &self.rounds {
            Rounds::Computed(computed) => computed.rounds(),
            Rounds::Opened {
                is_complete: true, ..
            } => self.opened(),
            Rounds::Opened { .. } => self.plan.rounds().max(self.opened()),
        }
    }

    /// How many rounds are known: all of a computed schedule, else those that were opened.
    pub(crate) fn opened(&self) -> u32 {
        match &self.rounds {
            Rounds::Computed(computed) => computed.rounds(),
            Rounds::Opened { rounds, .. } => count(rounds.len()),
        }
    }

    /// How many matches a round has; none if it is not known yet.
    pub fn matches_in(&self, round: u32) -> u32 {
        match &self.rounds {
            Rounds::Computed(computed) if (1..=computed.rounds()).contains(&round) => {
                computed.matches_a_round()
            }
            Rounds::Computed(_) => 0,
            Rounds::Opened { .. } => self
                .round(round)
                .map_or(0, |round| count(round.seats.len())),
        }
    }

    /// How many matches the rounds before this one have.
    pub fn matches_before(&self, round: u32) -> u64 {
        match &self.rounds {
            Rounds::Computed(computed) => {
                let rounds = round.saturating_sub(1).min(computed.rounds());
                u64::from(rounds) * u64::from(computed.matches_a_round())
            }
            Rounds::Opened { rounds, .. } => {
                let end = || {
                    rounds
                        .last()
                        .map_or(0, |last| last.before + last.seats.len())
                };
                let at = rounds.get(round.saturating_sub(1) as usize);
                at.map_or_else(end, |round| round.before) as u64
            }
        }
    }

    /// How many matches a round has at most.
    pub fn matches_a_round(&self) -> u32 {
        self.plan.matches_a_round()
    }

    /// How many matches there are in all, or are planned.
    pub fn total_matches(&self) -> u64 {
        match &self.rounds {
            Rounds::Computed(computed) => computed.total_matches(),
            Rounds::Opened { is_complete, .. } => {
                let opened = self.matches_before(u32::MAX);
                match is_complete {
                    true => opened,
                    false => opened.max(self.planned),
                }
            }
        }
    }

    /// The match at a place of a round; `round` counts from 1, `index` from 0.
    pub fn pairing(&self, round: u32, index: u32) -> Option<Pairing> {
        match &self.rounds {
            Rounds::Computed(computed) => computed.pairing(round, index),
            Rounds::Opened { .. } => {
                let seats = *self.round(round)?.seats.get(index as usize)?;
                Some(Pairing {
                    round,
                    index,
                    seats,
                })
            }
        }
    }

    /// All known matches in order, worked out one at a time.
    pub fn pairings(&self) -> impl Iterator<Item = Pairing> {
        (1..=self.opened()).flat_map(|round| self.pairings_in(round))
    }

    /// The matches of a round.
    pub fn pairings_in(&self, round: u32) -> impl Iterator<Item = Pairing> {
        (0..self.matches_in(round)).filter_map(move |index| self.pairing(round, index))
    }

    /// The match of a player in a round, the last one if it has several; none if it rests.
    pub fn pairing_of(&self, player: u32, round: u32) -> Option<Pairing> {
        self.pairings_of(player, round).next_back()
    }

    /// The matches of a player in a round: one, but in a round that grows.
    pub fn pairings_of(&self, player: u32, round: u32) -> impl DoubleEndedIterator<Item = Pairing> {
        let computed = match &self.rounds {
            Rounds::Computed(computed) => computed.pairing_of(player, round),
            Rounds::Opened { .. } => None,
        };
        let places = self.round(round).map_or(&[][..], |round| &round.places);
        let first = places.partition_point(|place| place.0 < player);
        let own = places[first..].iter();
        let own = &places[first..first + own.take_while(|place| place.0 == player).count()];
        let opened = own
            .iter()
            .filter_map(move |place| self.pairing(round, place.1));
        computed.into_iter().chain(opened)
    }

    /// The known matches in which two players meet.
    pub fn meetings(&self, one: u32, other: u32) -> impl DoubleEndedIterator<Item = Pairing> {
        let computed = match &self.rounds {
            Rounds::Computed(computed) => Some(computed.meetings(one, other)),
            Rounds::Opened { .. } => None,
        };
        let opened = match &self.rounds {
            Rounds::Computed(_) => 0,
            Rounds::Opened { .. } => self.opened(),
        };
        let met = (1..=opened)
            .flat_map(move |round| self.pairings_of(one, round))
            .filter(move |pairing| one != other && pairing.seats.contains(&other));
        computed.into_iter().flatten().chain(met)
    }

    /// The players that rest in a round and are paid for it.
    pub fn byes(&self, round: u32) -> &[u32] {
        self.round(round).map_or(&[], |round| &round.byes)
    }

    /// The number of a match in the whole league, from 0.
    pub(crate) fn number(&self, pairing: Pairing) -> usize {
        let before = match &self.rounds {
            Rounds::Computed(computed) => {
                let rounds = pairing.round.saturating_sub(1) as usize;
                rounds * computed.matches_a_round() as usize
            }
            Rounds::Opened { .. } => self.round(pairing.round).map_or(0, |round| round.before),
        };
        before + pairing.index as usize
    }

    /// Whether a player that comes now can still play.
    pub(crate) fn takes_late_entrants(&self) -> bool {
        let rule = self.plan.format.rule();
        rule.takes_late_entrants(&self.plan, self.opened())
    }

    /// Takes in a player that comes after the start, with the next number.
    pub(crate) fn admit(&mut self) {
        self.planned += self.plan.admit(self.opened());
    }

    /// Opens the next round; a computed schedule has it already.
    pub(crate) fn open(&mut self, next: &NextRound) {
        let Rounds::Opened { rounds, .. } = &mut self.rounds else {
            return;
        };
        let last = rounds.last();
        rounds.push(OpenedRound {
            before: last.map_or(0, |last| last.before + last.seats.len()),
            seats: Vec::new(),
            byes: next.byes.clone(),
            places: Vec::new(),
        });
        self.add(&next.pairings);
    }

    /// Adds matches to the last round.
    pub(crate) fn add(&mut self, pairings: &[[u32; 2]]) {
        let Rounds::Opened { rounds, .. } = &mut self.rounds else {
            return;
        };
        let Some(round) = rounds.last_mut() else {
            return;
        };
        let places = (count(round.seats.len())..)
            .zip(pairings)
            .flat_map(|(index, seats)| seats.map(|seat| (seat, index)));
        round.places.extend(places);
        round.places.sort_unstable();
        round.seats.extend_from_slice(pairings);
    }

    /// No other round follows.
    pub(crate) fn complete(&mut self) {
        if let Rounds::Opened { is_complete, .. } = &mut self.rounds {
            *is_complete = true;
        }
    }

    fn round(&self, round: u32) -> Option<&OpenedRound> {
        match &self.rounds {
            Rounds::Computed(_) => None,
            Rounds::Opened { rounds, .. } => rounds.get(round.checked_sub(1)? as usize),
        }
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
