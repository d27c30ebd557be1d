//! The standings, computed from results alone (ruling 20).
//!
//! The order is points, wins, draws minus losses, head-to-head, player id. Head-to-head counts,
//! among all players equal in the first three, each player's points from the matches within that
//! group; it is applied once to the whole group and not again inside its parts. Ids are compared by
//! length first, so that P99 stands before P100. The order of results makes no difference. Players
//! that the organiser put out as a penalty come after all others.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use league_games::Outcome;
use league_protocol::id::PlayerId;
use league_protocol::message::{MatchResult, MatchStatus, Score, StandingRow, WinLossDraw};

use super::rules::Tiebreaker;
use super::schedule::{Pairing, RoundRobin};

/// How a match ended, as far as the table is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchEnding {
    /// Seat A (0) or B (1) won by playing.
    Win(usize),
    Draw,
    /// Seat A (0) or B (1) did not play.
    Forfeit(usize),
    BothForfeit,
    /// Both lost by a ruling of the organiser; they may have played.
    BothLose,
}

impl MatchEnding {
    /// The ending of a result; `None` if the result contradicts itself.
    pub fn of(result: &MatchResult) -> Option<Self> {
        let seat = |player: &PlayerId| result.players.iter().position(|seated| seated == player);
        let mut failed = result.failed.keys();
        if failed.len() > result.players.len() {
            return None;
        }
        match (result.status, failed.next(), failed.next()) {
            (MatchStatus::Win, None, None) => Some(Self::Win(seat(result.winner.as_ref()?)?)),
            (MatchStatus::Draw, None, None) => Some(Self::Draw),
            (MatchStatus::TechnicalLoss, Some(one), None) => Some(Self::Forfeit(seat(one)?)),
            (MatchStatus::TechnicalLoss, Some(one), Some(other)) => {
                (seat(one)? != seat(other)?).then_some(Self::BothForfeit)
            }
            _ => None,
        }
    }

    /// Whether a game that ended like this was played to this end.
    pub(crate) fn is(self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Win(seat) => self == Self::Win(seat.index()),
            Outcome::Draw => self == Self::Draw,
        }
    }

    /// The seat that won.
    pub fn winner(self) -> Option<usize> {
        match self {
            Self::Win(seat @ (0 | 1)) => Some(seat),
            Self::Forfeit(0) => Some(1),
            Self::Forfeit(1) => Some(0),
            _ => None,
        }
    }

    /// Whether a seat did not play.
    pub fn forfeited(self, seat: usize) -> bool {
        self == Self::BothForfeit || self == Self::Forfeit(seat)
    }

    /// What a seat gets for it.
    pub fn points(self, seat: usize, score: &Score) -> u32 {
        if self.forfeited(seat) {
            score.technical_loss
        } else if self == Self::Draw {
            score.draw
        } else if self.winner() == Some(seat) {
            score.win
        } else {
            score.loss
        }
    }
}

/// The results of one player so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlayerTally {
    pub wins: u32,
    pub draws: u32,
    /// Matches lost, technical losses among them.
    pub losses: u32,
    /// Matches lost by not playing.
    pub technical_losses: u32,
    pub points: u32,
}

impl PlayerTally {
    pub fn played(&self) -> u32 {
        self.wins + self.draws + self.losses
    }

    /// The record as messages carry it.
    pub fn win_loss_draw(&self) -> WinLossDraw {
        WinLossDraw {
            wins: self.wins,
            losses: self.losses,
            draws: self.draws,
        }
    }

    /// Points, wins and draws minus losses: what decides before players are compared in pairs.
    pub fn standing(&self) -> (u32, u32, i64) {
        let difference = i64::from(self.draws) - i64::from(self.losses);
        (self.points, self.wins, difference)
    }

    fn note(&mut self, ending: MatchEnding, seat: usize, score: &Score) {
        self.points = self.points.saturating_add(ending.points(seat, score));
        if ending == MatchEnding::Draw {
            self.draws += 1;
        } else if ending.winner() == Some(seat) {
            self.wins += 1;
        } else {
            self.losses += 1;
        }
        self.technical_losses += u32::from(ending.forfeited(seat));
    }

    fn forget(&mut self, ending: MatchEnding, seat: usize, score: &Score) {
        self.points = self.points.saturating_sub(ending.points(seat, score));
        let counted = if ending == MatchEnding::Draw {
            &mut self.draws
        } else if ending.winner() == Some(seat) {
            &mut self.wins
        } else {
            &mut self.losses
        };
        *counted = counted.saturating_sub(1);
        let forfeits = u32::from(ending.forfeited(seat));
        self.technical_losses = self.technical_losses.saturating_sub(forfeits);
    }
}

/// The id and name of a player, in the order of registration.
pub type NamedPlayer = (PlayerId, Arc<str>);

/// The table and where each player stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranking {
    /// The rows from first to last.
    pub rows: Arc<[StandingRow]>,
    /// The row of each player, by number.
    pub place: Vec<u32>,
}

impl Ranking {
    /// The row of a player.
    pub fn row(&self, player: u32) -> Option<&StandingRow> {
        let place = self.place.get(player as usize)?;
        self.rows.get(*place as usize)
    }
}

/// All results of a league, as far as the table needs them: one byte a match.
#[derive(Debug, Clone)]
pub struct Standings {
    schedule: RoundRobin,
    score: Score,
    tiebreakers: [Tiebreaker; 5],
    records: Vec<PlayerTally>,
    endings: Vec<u8>,
    /// The players that come after all others.
    last: BTreeSet<u32>,
    table: OnceLock<Arc<Ranking>>,
}

impl PartialEq for Standings {
    /// The table is made from the rest.
    fn eq(&self, other: &Self) -> bool {
        self.schedule == other.schedule
            && self.score == other.score
            && self.tiebreakers == other.tiebreakers
            && self.records == other.records
            && self.endings == other.endings
            && self.last == other.last
    }
}

impl Standings {
    /// An empty table for the players of a schedule.
    pub fn new(schedule: RoundRobin, score: Score) -> Self {
        Self {
            schedule,
            score,
            tiebreakers: Tiebreaker::USUAL,
            records: vec![PlayerTally::default(); schedule.players() as usize],
            endings: Vec::new(),
            last: BTreeSet::new(),
            table: OnceLock::new(),
        }
    }

    /// The same results in a table of this order.
    #[must_use]
    pub fn ordered_by(self, tiebreakers: [Tiebreaker; 5]) -> Self {
        Self {
            tiebreakers,
            table: OnceLock::new(),
            ..self
        }
    }

    /// Takes in the end of a match; a match that has one already keeps it.
    pub fn note(&mut self, pairing: Pairing, ending: MatchEnding) {
        let number = self.number(pairing);
        if self.endings.len() <= number {
            self.endings.resize(number + 1, UNPLAYED);
        }
        if self.endings[number] != UNPLAYED {
            return;
        }
        self.endings[number] = written(ending);
        for (seat, &player) in pairing.seats.iter().enumerate() {
            if let Some(record) = self.records.get_mut(player as usize) {
                record.note(ending, seat, &self.score);
            }
        }
        self.table = OnceLock::new();
    }

    /// How a match counts; `None` if it does not.
    pub(crate) fn ending(&self, pairing: Pairing) -> Option<MatchEnding> {
        self.endings
            .get(self.number(pairing))
            .copied()
            .and_then(read)
    }

    /// Counts a match in another way than before, or not at all.
    pub(crate) fn count(&mut self, pairing: Pairing, ending: Option<MatchEnding>) {
        let number = self.number(pairing);
        if let Some(before) = self.ending(pairing) {
            self.endings[number] = UNPLAYED;
            for (seat, &player) in pairing.seats.iter().enumerate() {
                if let Some(record) = self.records.get_mut(player as usize) {
                    record.forget(before, seat, &self.score);
                }
            }
            self.forget_table();
        }
        if let Some(ending) = ending {
            self.note(pairing, ending);
        }
    }

    /// How many matches count.
    pub(crate) fn counted(&self) -> u64 {
        let played = self.records.iter().map(|record| u64::from(record.played()));
        played.sum::<u64>() / 2
    }

    /// Puts a player after all others, or back to where its results put it.
    pub(crate) fn put_last(&mut self, player: u32, is_last: bool) {
        if is_last {
            self.last.insert(player);
        } else {
            self.last.remove(&player);
        }
        self.forget_table();
    }

    /// The table is made anew, as names or results have changed.
    pub(crate) fn forget_table(&mut self) {
        self.table = OnceLock::new();
    }

    /// What a player has done so far.
    pub fn record(&self, player: u32) -> PlayerTally {
        self.records
            .get(player as usize)
            .copied()
            .unwrap_or_default()
    }

    /// The table as it stands; made when it is first asked for after a result.
    pub fn table(&self, names: impl FnOnce() -> Vec<NamedPlayer>) -> Arc<Ranking> {
        let make = || Arc::new(self.make_table(&names()));
        Arc::clone(self.table.get_or_init(make))
    }

    fn make_table(&self, names: &[NamedPlayer]) -> Ranking {
        let (order, between) = self.order(names);
        let ties = self.ties(&order, &between);
        let mut rows = Vec::with_capacity(order.len());
        let mut place = vec![0; order.len()];
        let mut shared_rank = 0;
        let mut above = None;
        for (rank, &player) in (1_u32..).zip(&order) {
            let record = self.record(player);
            let standing = (self.last.contains(&player), record.standing());
            if above != Some(standing) {
                shared_rank = rank;
                above = Some(standing);
            }
            place[player as usize] = rank - 1;
            let name = &names[player as usize];
            let tie = ties[rank as usize - 1];
            rows.push(row((rank, shared_rank, tie), name, &record));
        }
        Ranking {
            rows: rows.into(),
            place,
        }
    }

    /// The first rank of each tie that only ids break, for each row of it. Before the first match
    /// nothing is shared.
    fn ties(&self, order: &[u32], between: &[u32]) -> Vec<Option<u32>> {
        let mut deciding = self.tiebreakers.split(|by| *by == Tiebreaker::PlayerId);
        let deciding = deciding.next().unwrap_or_default();
        let is_equal = |a: u32, b: u32| {
            let mut deciding = deciding.iter();
            self.last.contains(&a) == self.last.contains(&b)
                && deciding.all(|by| match by {
                    Tiebreaker::HeadToHead => between[a as usize] == between[b as usize],
                    by => self.compare(*by, &[], a, b).is_eq(),
                })
        };
        let mut ties = Vec::with_capacity(order.len());
        for group in order.chunk_by(|&a, &b| is_equal(a, b)) {
            let first = u32::try_from(ties.len() + 1).unwrap_or(u32::MAX);
            let has_played = |player: &u32| self.record(*player).played() > 0;
            let is_tie = group.len() > 1 && group.iter().any(has_played);
            ties.resize(ties.len() + group.len(), is_tie.then_some(first));
        }
        ties
    }

    /// The players in order, and the points of each among its equals.
    fn order(&self, names: &[NamedPlayer]) -> (Vec<u32>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.schedule.players()).take(names.len()).collect();
        let mut parts = self.tiebreakers.split(|by| *by == Tiebreaker::HeadToHead);
        let (before, after) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let compare = |by: &[Tiebreaker], a: u32, b: u32| {
            let mut orders = by.iter().map(|by| self.compare(*by, names, a, b));
            orders
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        };
        let by_id = |a, b| self.compare(Tiebreaker::PlayerId, names, a, b);
        order.sort_unstable_by(|&a, &b| compare(before, a, b).then_with(|| by_id(a, b)));
        let mut between = vec![0; order.len()];
        for group in order.chunk_by_mut(|&a, &b| compare(before, a, b).is_eq()) {
            if group.len() > 1 {
                self.compare_in_pairs(group, &mut between);
                // Stable, so that equals stay in the order of their ids.
                group.sort_by(|&a, &b| {
                    let pairs = between[b as usize].cmp(&between[a as usize]);
                    pairs.then_with(|| compare(after, a, b))
                });
            }
        }
        order.sort_by_key(|player| self.last.contains(player));
        (order, between)
    }

    /// Which of two players comes first by one tiebreaker, unless that compares whole groups.
    fn compare(&self, by: Tiebreaker, names: &[NamedPlayer], a: u32, b: u32) -> Ordering {
        let id = |player: u32| {
            let id = names
                .get(player as usize)
                .map_or("", |name| name.0.as_str());
            (id.len(), id)
        };
        let (points, wins, difference) = self.records[a as usize].standing();
        let other = self.records[b as usize].standing();
        match by {
            Tiebreaker::Points => other.0.cmp(&points),
            Tiebreaker::Wins => other.1.cmp(&wins),
            Tiebreaker::DrawDifference => other.2.cmp(&difference),
            Tiebreaker::HeadToHead => Ordering::Equal,
            Tiebreaker::PlayerId => id(a).cmp(&id(b)),
        }
    }

    /// Adds up for each of a group the points of its matches inside the group.
    fn compare_in_pairs(&self, group: &[u32], between: &mut [u32]) {
        let rounds = self.rounds_begun();
        let members: Vec<u32> = {
            let mut members = group.to_vec();
            members.sort_unstable();
            members
        };
        for &player in group {
            let points = |pairing: Pairing| self.points_in(pairing, player);
            between[player as usize] = if group.len() <= rounds as usize {
                let others = members.iter();
                others
                    .flat_map(|&other| self.schedule.meetings(player, other))
                    .map(points)
                    .sum()
            } else {
                (1..=rounds)
                    .filter_map(|round| self.schedule.pairing_of(player, round))
                    .filter(|pairing| {
                        let mut seats = pairing.seats.iter();
                        seats.all(|seat| members.binary_search(seat).is_ok())
                    })
                    .map(points)
                    .sum()
            };
        }
    }

    fn rounds_begun(&self) -> u32 {
        let a_round = self.schedule.matches_a_round().max(1) as usize;
        u32::try_from(self.endings.len().div_ceil(a_round)).unwrap_or(u32::MAX)
    }

    fn points_in(&self, pairing: Pairing, player: u32) -> u32 {
        let seat = usize::from(pairing.seats[1] == player);
        let ending = self.endings.get(self.number(pairing)).copied();
        ending
            .and_then(read)
            .map_or(0, |ending| ending.points(seat, &self.score))
    }

    fn number(&self, pairing: Pairing) -> usize {
        let rounds_before = pairing.round.saturating_sub(1) as usize;
        rounds_before * self.schedule.matches_a_round() as usize + pairing.index as usize
    }
}

fn row(
    (rank, shared_rank, tie): (u32, u32, Option<u32>),
    (player_id, name): &NamedPlayer,
    record: &PlayerTally,
) -> StandingRow {
    StandingRow {
        rank,
        shared_rank,
        player_id: player_id.clone(),
        display_name: Arc::clone(name),
        played: record.played(),
        wins: record.wins,
        draws: record.draws,
        losses: record.losses,
        technical_losses: record.technical_losses,
        points: record.points,
        tie,
    }
}

const UNPLAYED: u8 = 0;

const fn written(ending: MatchEnding) -> u8 {
    match ending {
        MatchEnding::Win(0) => 1,
        MatchEnding::Win(_) => 2,
        MatchEnding::Draw => 3,
        MatchEnding::Forfeit(0) => 4,
        MatchEnding::Forfeit(_) => 5,
        MatchEnding::BothForfeit => 6,
        MatchEnding::BothLose => 7,
    }
}

const fn read(byte: u8) -> Option<MatchEnding> {
    match byte {
        1 => Some(MatchEnding::Win(0)),
        2 => Some(MatchEnding::Win(1)),
        3 => Some(MatchEnding::Draw),
        4 => Some(MatchEnding::Forfeit(0)),
        5 => Some(MatchEnding::Forfeit(1)),
        6 => Some(MatchEnding::BothForfeit),
        7 => Some(MatchEnding::BothLose),
        _ => None,
    }
}
