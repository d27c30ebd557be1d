//! Tiebreakers: the declared chain by which a table is ordered, and which of them decided.
//!
//! Each tiebreaker is worked out only for players that all before it left equal, so that a table of
//! a large league looks at few matches.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::League;
use super::schedule::Pairing;
use super::standings::{MatchEnding, NamedPlayer, Standings};

/// What a table is ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tiebreaker {
    Points,
    Wins,
    /// Draws minus losses.
    DrawDifference,
    /// The points of matches among those that are equal so far.
    HeadToHead,
    PlayerId,
    /// The points of all opponents.
    Buchholz,
    /// The points of all opponents but the weakest.
    BuchholzCut1,
    /// The points of all opponents but the weakest and the strongest.
    BuchholzMedian,
    /// The points of beaten opponents, and half of those of opponents with whom it drew.
    SonnebornBerger,
    /// The sum of the points after each round, to the last of the schedule.
    Progressive,
    /// Matches won at seat B.
    WinsAtB,
    TechnicalLosses,
}

impl Tiebreaker {
    /// The usual order (ruling 20).
    pub const USUAL: [Self; 5] = [
        Self::Points,
        Self::Wins,
        Self::DrawDifference,
        Self::HeadToHead,
        Self::PlayerId,
    ];

    /// Every tiebreaker.
    pub const ALL: [Self; 12] = [
        Self::Points,
        Self::Wins,
        Self::DrawDifference,
        Self::HeadToHead,
        Self::PlayerId,
        Self::Buchholz,
        Self::BuchholzCut1,
        Self::BuchholzMedian,
        Self::SonnebornBerger,
        Self::Progressive,
        Self::WinsAtB,
        Self::TechnicalLosses,
    ];

    /// The name in sentences.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Wins => "wins",
            Self::DrawDifference => "draws minus losses",
            Self::HeadToHead => "head-to-head",
            Self::PlayerId => "id",
            Self::Buchholz => "Buchholz",
            Self::BuchholzCut1 => "Buchholz cut 1",
            Self::BuchholzMedian => "median Buchholz",
            Self::SonnebornBerger => "Sonneborn–Berger",
            Self::Progressive => "progressive score",
            Self::WinsAtB => "wins at seat B",
            Self::TechnicalLosses => "fewest technical losses",
        }
    }
}

/// What put a row below the one above it.
pub(crate) const PROGRESS: &str = "how far they came";

/// Players in the order of a table.
pub(crate) struct Order {
    /// The first first.
    pub(crate) players: Vec<u32>,
    /// For each of them the first rank of a tie that only ids break.
    pub(crate) ties: Vec<Option<u32>>,
    /// For each of them the first rank of those that are equal before they are compared in pairs:
    /// in the first protocol these share it.
    pub(crate) shared: Vec<u32>,
    /// For each of them what put it below the one above; `None` for the first, for a tie, and for a
    /// penalty.
    pub(crate) decided: Vec<Option<&'static str>>,
}

impl League {
    /// What the tiebreakers of the table say of a player, by its number, in their order. Points, and tiebreakers
    /// that compare players or only order them, are left out.
    pub fn tiebreak_figures(&self, player: u32) -> Vec<(Tiebreaker, f64)> {
        let is_told = |by: &&Tiebreaker| {
            !matches!(
                by,
                Tiebreaker::Points | Tiebreaker::HeadToHead | Tiebreaker::PlayerId
            )
        };
        let told = self.standings.tiebreakers().iter().filter(is_told);
        told.map(|&by| {
            let figure = self.standings.figure(by, player) as f64;
            let figure = match by {
                // Counted in halves, so that it stays a whole number.
                Tiebreaker::SonnebornBerger => figure / 2.0,
                Tiebreaker::TechnicalLosses => figure.abs(),
                _ => figure,
            };
            (by, figure)
        })
        .collect()
    }
}

impl Standings {
    /// Puts players in order, who come in that of their ids; progress counts first.
    pub(crate) fn order(&self, mut players: Vec<u32>, progress: &[u32]) -> Order {
        let class = |player: u32| self.class(player, progress);
        let mut deciding = self.tiebreakers().split(|by| *by == Tiebreaker::PlayerId);
        let deciding = match is_strict(&players, class) {
            // A ladder leaves nothing to decide.
            true => &[],
            false => deciding.next().unwrap_or_default(),
        };
        // The group of equals of each player, after each tiebreaker.
        let mut groups = vec![vec![0_u32; players.len()]];
        for by in deciding {
            let next = self.split(*by, &mut players, &groups[groups.len() - 1]);
            groups.push(next);
        }
        players.sort_by_key(|player| class(*player));
        let last = &groups[groups.len() - 1];
        let is_equal =
            |a: u32, b: u32| class(a) == class(b) && last[a as usize] == last[b as usize];
        let mut by = deciding.iter();
        let in_pairs = by.position(|by| *by == Tiebreaker::HeadToHead);
        let before = &groups[in_pairs.unwrap_or(deciding.len())];
        let shares =
            |a: u32, b: u32| class(a) == class(b) && before[a as usize] == before[b as usize];
        let decided = |[above, player]: [u32; 2]| {
            let (one, other) = (class(above), class(player));
            let mut levels = groups.iter().skip(1).zip(deciding);
            let level = levels.find(|(group, _)| group[above as usize] != group[player as usize]);
            match one == other {
                true => level.map(|(_, by)| by.title()),
                false => (one.0 == other.0).then_some(PROGRESS),
            }
        };
        let below = players.windows(2).map(|pair| decided([pair[0], pair[1]]));
        let decided = std::iter::once(None).chain(below).take(players.len());
        Order {
            decided: decided.collect(),
            ties: self.ties(&players, is_equal),
            shared: first_ranks(&players, shares),
            players,
        }
    }

    /// Sorts each group of equals by a tiebreaker; returns the groups that are left.
    fn split(&self, by: Tiebreaker, players: &mut [u32], groups: &[u32]) -> Vec<u32> {
        let mut split = vec![0; groups.len()];
        let mut number = 0;
        let group_of = |player: u32| groups[player as usize];
        for group in players.chunk_by_mut(|&a, &b| group_of(a) == group_of(b)) {
            let figures = match group.len() {
                1 => vec![0],
                _ => self.figures(by, group),
            };
            let mut ranked: Vec<(i64, u32)> =
                figures.into_iter().zip(group.iter().copied()).collect();
            // Stable, so that equals stay in the order of their ids.
            ranked.sort_by_key(|(figure, _)| Reverse(*figure));
            let mut above = None;
            for (place, (figure, player)) in group.iter_mut().zip(ranked) {
                number += u32::from(above != Some(figure));
                above = Some(figure);
                *place = player;
                split[player as usize] = number;
            }
        }
        split
    }

    /// The first rank of each tie that only ids break, for each row of it. Before the first match
    /// nothing is shared.
    fn ties(&self, players: &[u32], is_equal: impl Fn(u32, u32) -> bool) -> Vec<Option<u32>> {
        let mut ties = Vec::with_capacity(players.len());
        for group in players.chunk_by(|&a, &b| is_equal(a, b)) {
            let first = u32::try_from(ties.len() + 1).unwrap_or(u32::MAX);
            let has_played = |player: &u32| {
                let record = self.record(*player);
                record.played() + record.byes > 0
            };
            let is_tie = group.len() > 1 && group.iter().any(has_played);
            ties.resize(ties.len() + group.len(), is_tie.then_some(first));
        }
        ties
    }

    /// What a tiebreaker says of each of some equals; more is better.
    fn figures(&self, by: Tiebreaker, group: &[u32]) -> Vec<i64> {
        if by == Tiebreaker::HeadToHead {
            return self.among(group);
        }
        group
            .iter()
            .map(|&player| self.figure(by, player))
            .collect()
    }

    fn figure(&self, by: Tiebreaker, player: u32) -> i64 {
        let record = self.record(player);
        let (points, wins, difference) = record.standing();
        match by {
            Tiebreaker::Points => points.into(),
            Tiebreaker::Wins => wins.into(),
            Tiebreaker::DrawDifference => difference,
            Tiebreaker::HeadToHead | Tiebreaker::PlayerId => 0,
            Tiebreaker::Buchholz => self.opponents(player, 0, 0),
            Tiebreaker::BuchholzCut1 => self.opponents(player, 1, 0),
            Tiebreaker::BuchholzMedian => self.opponents(player, 1, 1),
            Tiebreaker::SonnebornBerger => self
                .results_of(player)
                .map(|(pairing, seat, ending)| {
                    let other = self.record(pairing.seats[1 - seat]).points;
                    match ending {
                        MatchEnding::Draw => i64::from(other),
                        ending if ending.winner() == Some(seat) => 2 * i64::from(other),
                        _ => 0,
                    }
                })
                .sum(),
            Tiebreaker::Progressive => self.progressive(player),
            Tiebreaker::WinsAtB => {
                let won = |(_, seat, ending): &(Pairing, usize, MatchEnding)| {
                    *seat == 1 && *ending == MatchEnding::Win(1)
                };
                i64::try_from(self.results_of(player).filter(won).count()).unwrap_or(i64::MAX)
            }
            Tiebreaker::TechnicalLosses => -i64::from(record.technical_losses),
        }
    }

    /// The matches of a player that count, its seat and how they ended.
    fn results_of(&self, player: u32) -> impl Iterator<Item = (Pairing, usize, MatchEnding)> {
        let pairings = (1..=self.rounds_begun())
            .flat_map(move |round| self.schedule().pairings_of(player, round));
        pairings.filter_map(move |pairing| {
            let seat = usize::from(pairing.seats[1] == player);
            Some((pairing, seat, self.ending(pairing)?))
        })
    }

    /// The points of opponents without so many of the weakest and the strongest; a bye is an opponent
    /// with the points of the player itself.
    fn opponents(&self, player: u32, weakest: usize, strongest: usize) -> i64 {
        let own = self.record(player);
        let byes = (0..own.byes).map(|_| own.points);
        let met = self.results_of(player);
        let met = met.map(|(pairing, seat, _)| self.record(pairing.seats[1 - seat]).points);
        let mut points: Vec<u32> = met.chain(byes).collect();
        points.sort_unstable();
        let until = points.len().saturating_sub(strongest);
        let counted = points[..until].iter().skip(weakest);
        counted.map(|points| i64::from(*points)).sum()
    }

    fn progressive(&self, player: u32) -> i64 {
        let rounds = self.schedule().rounds();
        let score = self.score();
        // What is won in a round counts in each round from there on.
        let weight = |round: u32| i64::from((rounds + 1).saturating_sub(round));
        let matches = self.results_of(player).map(|(pairing, seat, ending)| {
            weight(pairing.round) * i64::from(ending.points(seat, score))
        });
        let paid = self.record(player).byes > 0;
        let byes =
            (1..=rounds).filter(|round| paid && self.schedule().byes(*round).contains(&player));
        let byes = byes.map(|round| weight(round) * i64::from(score.win));
        matches.sum::<i64>() + byes.sum::<i64>()
    }

    /// The points of each of a group from matches inside the group.
    fn among(&self, group: &[u32]) -> Vec<i64> {
        let rounds = self.rounds_begun();
        let mut members = group.to_vec();
        members.sort_unstable();
        let own = |player: u32| {
            let points = |pairing: Pairing| i64::from(self.points_in(pairing, player));
            if self.schedule().is_computed() && group.len() <= rounds as usize {
                let others = members.iter();
                return others
                    .flat_map(|&other| self.schedule().meetings(player, other))
                    .map(points)
                    .sum();
            }
            (1..=rounds)
                .flat_map(|round| self.schedule().pairings_of(player, round))
                .filter(|pairing| {
                    let mut seats = pairing.seats.iter();
                    seats.all(|seat| members.binary_search(seat).is_ok())
                })
                .map(points)
                .sum()
        };
        group.iter().map(|&player| own(player)).collect()
    }
}

/// Whether no two players are of one class.
fn is_strict<C: Ord>(players: &[u32], class: impl Fn(u32) -> C) -> bool {
    let mut classes: Vec<C> = players.iter().map(|&player| class(player)).collect();
    classes.sort_unstable();
    classes.windows(2).all(|pair| pair[0] != pair[1])
}

/// For each row the first rank of the rows that are equal to it.
fn first_ranks(players: &[u32], is_equal: impl Fn(u32, u32) -> bool) -> Vec<u32> {
    let mut ranks = Vec::with_capacity(players.len());
    for group in players.chunk_by(|&a, &b| is_equal(a, b)) {
        let first = u32::try_from(ranks.len() + 1).unwrap_or(u32::MAX);
        ranks.resize(ranks.len() + group.len(), first);
    }
    ranks
}

/// The numbers of players in the order of their ids, shorter ids first.
pub(crate) fn by_id(names: &[NamedPlayer], players: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..players).take(names.len()).collect();
    order.sort_by_key(|player| {
        let id = names[*player as usize].0.as_str();
        (id.len(), id)
    });
    order
}
