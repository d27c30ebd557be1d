//! The standings, computed from results alone (ruling 20).
//!
//! The order is points, wins, draws minus losses, head-to-head, player id. Head-to-head counts,
//! among all players equal in the first three, each player's points from the matches within that
//! group; it is applied once to the whole group and not again inside its parts. Ids are compared by
//! length first, so that P99 stands before P100. The order of results makes no difference. Players
//! that the organiser put out as a penalty come after all others. In a format that says how far each
//! player has come, that counts before points.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use league_games::Outcome;
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::{
    ByPlayer, MatchResult, MatchStatus, Score, StandingRow, WinLossDraw,
};

use super::Derived;
use super::format::{FormatView, Joining, NextRound, Positions, SettledMatch, SoFar};
use super::schedule::{Pairing, Schedule};
use super::tiebreak::{Tiebreaker, by_id};

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
        let (players, winner) = (&result.players, result.winner.as_ref());
        match result.status {
            MatchStatus::TechnicalLoss => Self::lost(players, &result.failed),
            _ if !result.failed.is_empty() => None,
            MatchStatus::Win => {
                let seat = players.iter().position(|seated| Some(seated) == winner);
                seat.map(Self::Win)
            }
            MatchStatus::Draw => Some(Self::Draw),
        }
    }

    /// The ending of a match that these did not play; `None` unless they are one or both of its
    /// players.
    pub(crate) fn lost(players: &[PlayerId; 2], failed: &ByPlayer<Code>) -> Option<Self> {
        let lost = players.each_ref().map(|player| failed.contains_key(player));
        match (lost, failed.len()) {
            ([true, true], 2) => Some(Self::BothForfeit),
            ([true, false], 1) => Some(Self::Forfeit(0)),
            ([false, true], 1) => Some(Self::Forfeit(1)),
            _ => None,
        }
    }

    /// How a result says it; who loses by a ruling lost by not playing.
    pub(crate) fn status(self) -> MatchStatus {
        match self {
            Self::Win(_) => MatchStatus::Win,
            Self::Draw => MatchStatus::Draw,
            Self::Forfeit(_) | Self::BothForfeit | Self::BothLose => MatchStatus::TechnicalLoss,
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

impl From<Outcome> for MatchEnding {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Win(seat) => Self::Win(seat.index()),
            Outcome::Draw => Self::Draw,
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
    /// Rounds without a match that were paid as a win.
    pub byes: u32,
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

    pub(crate) fn note(&mut self, ending: MatchEnding, seat: usize, score: &Score) {
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
    /// For each row what put it below the one above, in words.
    pub decided: Vec<Option<&'static str>>,
}

impl Ranking {
    /// The row of a player.
    pub fn row(&self, player: u32) -> Option<&StandingRow> {
        let place = self.place.get(player as usize)?;
        self.rows.get(*place as usize)
    }
}

/// All pairings and results of a league, as far as the table and the next round need them: one byte
/// a match.
#[derive(Debug, Clone, PartialEq)]
pub struct Standings {
    schedule: Schedule,
    score: Score,
    tiebreakers: Arc<[Tiebreaker]>,
    records: Vec<PlayerTally>,
    endings: Vec<u8>,
    /// How the matches counted when the round after theirs began; empty for a computed schedule.
    settled: Vec<u8>,
    /// What a ladder keeps of settled rounds; empty in other formats.
    positions: Positions,
    /// The players that come after all others.
    last: BTreeSet<u32>,
    table: Derived<Arc<Ranking>>,
}

impl Standings {
    /// An empty table for the players of a schedule.
    pub fn new(schedule: impl Into<Schedule>, score: Score) -> Self {
        let schedule = schedule.into();
        Self {
            score,
            tiebreakers: Tiebreaker::USUAL.into(),
            records: vec![PlayerTally::default(); schedule.players() as usize],
            schedule,
            endings: Vec::new(),
            settled: Vec::new(),
            positions: Positions::default(),
            last: BTreeSet::new(),
            table: Derived::default(),
        }
    }

    /// The same results in a table of this order.
    #[must_use]
    pub fn ordered_by(self, tiebreakers: impl Into<Arc<[Tiebreaker]>>) -> Self {
        Self {
            tiebreakers: tiebreakers.into(),
            table: Derived::default(),
            ..self
        }
    }

    pub(crate) fn tiebreakers(&self) -> &[Tiebreaker] {
        &self.tiebreakers
    }

    pub(crate) fn score(&self) -> &Score {
        &self.score
    }

    /// The rounds, as far as they are known.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The round that follows, by the results as they count now; `None` if the league is over.
    /// `is_in` tells whether a player plays on.
    pub fn next_round(&self, is_in: &dyn Fn(u32) -> bool) -> Option<NextRound> {
        let so_far = SoFar {
            standings: self,
            is_in,
            is_free: is_in,
        };
        self.schedule.plan().format.rule().next_round(&so_far)
    }

    /// What shows the league beside its table.
    pub fn views(&self) -> Vec<FormatView> {
        let so_far = SoFar {
            standings: self,
            is_in: &|_| true,
            is_free: &|_| true,
        };
        self.schedule.plan().format.rule().views(&so_far)
    }

    /// The matches that join the last round, by the results as they count now. `is_free` tells
    /// whether a player that plays on has no match to play.
    pub fn joining(
        &self,
        is_in: &dyn Fn(u32) -> bool,
        is_free: &dyn Fn(u32) -> bool,
    ) -> Option<Joining> {
        let so_far = SoFar {
            standings: self,
            is_in,
            is_free,
        };
        self.schedule.plan().format.rule().joining(&so_far)
    }

    /// Adds matches to the last round.
    pub fn add(&mut self, pairings: &[[u32; 2]]) {
        self.schedule.add(pairings);
        self.forget_table();
    }

    /// Begins a round that follows from results; byes count at once.
    pub fn open(&mut self, next: &NextRound) {
        let (round, plan) = (self.schedule.opened(), self.schedule.plan());
        if round >= plan.format.rule().table_rounds(plan) {
            let first = if self.settled.is_empty() { 1 } else { round };
            (first..=round).for_each(|round| self.settle(round));
        }
        self.schedule.open(next);
        self.forget_table();
        for &player in &next.byes {
            self.pay_byes(player, 1);
        }
    }

    /// The results of a round count for later rounds as they count now.
    fn settle(&mut self, round: u32) {
        let pairings = self.schedule.pairings_in(round);
        let settled = pairings.map(|pairing| (pairing.seats, self.settled(pairing)));
        let settled: Vec<SettledMatch> = settled.collect();
        let endings = settled
            .iter()
            .map(|(_, ending)| ending.map_or(UNPLAYED, written));
        self.settled.extend(endings);
        let plan = self.schedule.plan();
        let rule = plan.format.rule();
        rule.settle(&mut self.positions, &settled, plan.players);
    }

    pub(crate) fn positions(&self) -> &Positions {
        &self.positions
    }

    /// Takes in a player that comes after the start, with the next number.
    pub fn admit(&mut self) {
        self.schedule.admit();
        self.records.push(PlayerTally::default());
        self.forget_table();
    }

    /// No other round follows.
    pub(crate) fn complete(&mut self) {
        self.schedule.complete();
        self.forget_table();
    }

    /// Counts the byes of a player, or none of them.
    pub(crate) fn count_byes(&mut self, player: u32, counts: bool) {
        let rounds = match self.schedule.is_computed() {
            true => 0,
            false => self.schedule.opened(),
        };
        let had = (1..=rounds).filter(|&round| self.schedule.byes(round).contains(&player));
        let had = u32::try_from(had.count()).unwrap_or(u32::MAX);
        let record = self.records.get_mut(player as usize);
        if let Some(record) = record {
            let paid = record.byes.saturating_mul(self.score.win);
            record.points = record.points.saturating_sub(paid);
            record.byes = 0;
        }
        self.pay_byes(player, if counts { had } else { 0 });
    }

    fn pay_byes(&mut self, player: u32, byes: u32) {
        if let Some(record) = self.records.get_mut(player as usize) {
            record.byes = record.byes.saturating_add(byes);
            let paid = byes.saturating_mul(self.score.win);
            record.points = record.points.saturating_add(paid);
        }
        self.forget_table();
    }

    /// How a match counted for the rounds that follow when it was settled, or counts now. A match that
    /// does not count is lost by a player that was put out as a penalty, unless it is for a table.
    pub(crate) fn settled(&self, pairing: Pairing) -> Option<MatchEnding> {
        if let Some(settled) = self.settled.get(self.number(pairing)) {
            return read(*settled);
        }
        let plan = self.schedule.plan();
        let is_for_table = pairing.round <= plan.format.rule().table_rounds(plan);
        self.ending(pairing).or_else(
            || match pairing.seats.map(|seat| self.last.contains(&seat)) {
                _ if is_for_table => None,
                [true, true] => Some(MatchEnding::BothForfeit),
                [true, false] => Some(MatchEnding::Forfeit(0)),
                [false, true] => Some(MatchEnding::Forfeit(1)),
                [false, false] => None,
            },
        )
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
        self.forget_table();
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
        self.table.forget();
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
        Arc::clone(self.table.get(make))
    }

    fn make_table(&self, names: &[NamedPlayer]) -> Ranking {
        let progress = self.progress();
        let order = self.order(by_id(names, self.schedule.players()), &progress);
        let mut rows = Vec::with_capacity(order.players.len());
        let mut place = vec![0; order.players.len()];
        let ties = order.shared.iter().zip(&order.ties);
        for ((rank, &player), (&shared_rank, &tie)) in (1_u32..).zip(&order.players).zip(ties) {
            place[player as usize] = rank - 1;
            let (name, record) = (&names[player as usize], self.record(player));
            rows.push(row((rank, shared_rank, tie), name, &record));
        }
        Ranking {
            rows: rows.into(),
            place,
            decided: order.decided,
        }
    }

    /// How far each player has come, if the format says so before points.
    pub(crate) fn progress(&self) -> Vec<u32> {
        let so_far = SoFar {
            standings: self,
            is_in: &|_| true,
            is_free: &|_| true,
        };
        let progress = self.schedule.plan().format.rule().progress(&so_far);
        progress.unwrap_or_default()
    }

    /// The order of the players after so many rounds, as these counted when the next one began.
    pub(crate) fn settled_order(&self, rounds: u32) -> Vec<u32> {
        let schedule = Schedule::new(*self.schedule.plan());
        let mut standings = Self::new(schedule, self.score).ordered_by(self.tiebreakers.clone());
        for round in 1..=rounds.min(self.schedule.opened()) {
            let pairings: Vec<Pairing> = self.schedule.pairings_in(round).collect();
            standings.schedule.open(&NextRound {
                pairings: pairings.iter().map(|pairing| pairing.seats).collect(),
                byes: Vec::new(),
            });
            for pairing in pairings {
                if let Some(ending) = self.settled(pairing) {
                    standings.note(pairing, ending);
                }
            }
        }
        let players = (0..self.schedule.players()).collect();
        standings.order(players, &[]).players
    }

    /// What orders players before all tiebreakers: the last come last, then progress counts.
    pub(crate) fn class(&self, player: u32, progress: &[u32]) -> (bool, Reverse<u32>) {
        let came = progress.get(player as usize).copied().unwrap_or_default();
        (self.last.contains(&player), Reverse(came))
    }

    /// How many rounds have begun, as far as results tell.
    pub(crate) fn rounds_begun(&self) -> u32 {
        if !self.schedule.is_computed() {
            return self.schedule.opened();
        }
        let a_round = self.schedule.matches_a_round().max(1) as usize;
        u32::try_from(self.endings.len().div_ceil(a_round)).unwrap_or(u32::MAX)
    }

    pub(crate) fn points_in(&self, pairing: Pairing, player: u32) -> u32 {
        let seat = usize::from(pairing.seats[1] == player);
        let ending = self.endings.get(self.number(pairing)).copied();
        ending
            .and_then(read)
            .map_or(0, |ending| ending.points(seat, &self.score))
    }

    fn number(&self, pairing: Pairing) -> usize {
        self.schedule.number(pairing)
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
        byes: record.byes,
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
