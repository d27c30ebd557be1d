//! Strategies against each other, without a league: no messages, no clock, only tables and memories.
//!
//! A strategy is asked as a player asks it, and remembers as a player remembers. A season is a league
//! in small: every pair meets some times, and all remember all their matches of the season. Seasons
//! do not depend on each other, so any number of threads may play them, and the sum is the same.

use std::sync::Arc;

use league_games::{Dice, Listing, Outcome, Seat, Table, Turn};
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::WinLossDraw;
use league_protocol::time::Timestamp;
use serde_json::Value;

use crate::played::{choice_of, roll_all};
use crate::player::{MatchOutcome, MatchRecord, Memory, MemoryRule, Think};
use crate::rating::PairScore;
use crate::strategy::Strategy;

/// The most steps of a match, so that a game that does not end is a draw.
const MAX_STEPS: u32 = 100_000;

/// Which strategies meet in which game.
#[derive(Debug)]
pub struct Lab {
    game: &'static Listing,
    game_type: GameType,
    move_type: Arc<str>,
    league_id: LeagueId,
    opening: Box<dyn Table>,
    strategies: Vec<&'static Strategy>,
    seed: u64,
}

/// The results of some seasons.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabScores {
    /// The results of each pair; the strategies are numbered as they were given.
    pub pairs: Vec<PairScore>,
    /// The matches that the first seat won, drew and lost.
    pub first_seat: [u64; 3],
}

impl LabScores {
    /// Adds the results of other seasons of the same lab.
    pub fn add(&mut self, more: &Self) {
        if self.pairs.is_empty() {
            self.pairs.clone_from(&more.pairs);
        } else {
            for (sum, part) in self.pairs.iter_mut().zip(&more.pairs) {
                sum.wins += part.wins;
                sum.draws += part.draws;
                sum.losses += part.losses;
            }
        }
        for (sum, part) in self.first_seat.iter_mut().zip(more.first_seat) {
            *sum += part;
        }
    }
}

impl Lab {
    /// A lab for a listed game; `None` for another.
    pub fn new(game: &GameType, strategies: Vec<&'static Strategy>, seed: u64) -> Option<Self> {
        let listing = league_games::find(game.as_str())?;
        Some(Self {
            game: listing,
            game_type: game.clone(),
            move_type: listing.rules.move_type.into(),
            league_id: LeagueId::new("lab").ok()?,
            opening: (listing.open)(&Value::Null).ok()?,
            strategies,
            seed,
        })
    }

    pub fn strategies(&self) -> &[&'static Strategy] {
        &self.strategies
    }

    /// Plays a season: every pair meets so often, with the seats in turn.
    ///
    /// All chance follows from the seed of the lab and the number of the season.
    pub fn season(&self, number: u64, meetings: u32) -> LabScores {
        let mut scores = LabScores::default();
        let size = self.strategies.len();
        for first in 0..size {
            let rest = first + 1..size;
            scores.pairs.extend(rest.map(|second| PairScore {
                first,
                second,
                ..PairScore::default()
            }));
        }
        let mut draw = Dice::seeded(mixed([self.seed, number, 0]));
        let mut players = self.players(number);
        for meeting in 0..meetings {
            // Odd seasons begin with the other seat, so that seats are even over all.
            let is_swapped = (u64::from(meeting) + number) % 2 == 1;
            for (pair, place) in scores.pairs.iter_mut().zip(1..) {
                let (a, b) = (pair.first, pair.second);
                let seats = if is_swapped { [b, a] } else { [a, b] };
                let match_id = MatchId::numbered(meeting + 1, place);
                let outcome = self.play(&mut players, seats, (meeting + 1, match_id), &mut draw);
                let first_seat = match outcome {
                    Outcome::Win(Seat::A) => 0,
                    Outcome::Draw => 1,
                    Outcome::Win(_) => 2,
                };
                scores.first_seat[first_seat] += 1;
                match (first_seat, is_swapped) {
                    (1, _) => pair.draws += 1,
                    (0, false) | (2, true) => pair.wins += 1,
                    _ => pair.losses += 1,
                }
            }
        }
        scores
    }

    fn players(&self, season: u64) -> Vec<LabPlayer> {
        let numbered = self.strategies.iter().zip(1..);
        let player = |(strategy, number): (&&'static Strategy, u32)| LabPlayer {
            strategy,
            id: PlayerId::numbered(number),
            memory: Memory::new(MemoryRule::default()),
            dice: Dice::seeded(mixed([self.seed, season, u64::from(number)])),
        };
        numbered.map(player).collect()
    }

    /// Plays one match and lets both players remember it.
    fn play(
        &self,
        players: &mut [LabPlayer],
        seats: [usize; 2],
        (round_id, match_id): (u32, MatchId),
        draw: &mut Dice,
    ) -> Outcome {
        let mut game = LabMatch {
            lab: self,
            table: self.opening.boxed_clone(),
            match_id,
            moves: [Vec::new(), Vec::new()],
            histories: seats.map(|player| players[player].memory.history().cloned().collect()),
        };
        let outcome = game.finish(players, seats, draw);
        let LabMatch {
            match_id, moves, ..
        } = game;
        let hidden = self.game.rules.hidden_moves;
        let choices = moves.map(|moves| choice_of(moves, hidden));
        for (seat, other) in [(0, 1), (1, 0)] {
            let record = MatchRecord {
                league_id: self.league_id.clone(),
                round_id,
                match_id: match_id.clone(),
                game_type: self.game_type.clone(),
                opponent_id: players[seats[other]].id.clone(),
                result: outcome_for(outcome, seat),
                points: 0,
                my_choice: choices[seat].clone(),
                opponent_choice: choices[other].clone(),
                at: Timestamp::default(),
            };
            players[seats[seat]].memory.add(&Arc::new(record));
        }
        outcome
    }
}

/// A strategy with the memory and the dice of a player.
struct LabPlayer {
    strategy: &'static Strategy,
    id: PlayerId,
    memory: Memory,
    dice: Dice,
}

/// A match that runs.
struct LabMatch<'l> {
    lab: &'l Lab,
    table: Box<dyn Table>,
    match_id: MatchId,
    /// The moves of each seat.
    moves: [Vec<Value>; 2],
    /// What each seat remembers of earlier matches.
    histories: [Vec<Arc<MatchRecord>>; 2],
}

impl LabMatch<'_> {
    /// Plays to the end; an illegal move loses.
    fn finish(&mut self, players: &mut [LabPlayer], seats: [usize; 2], draw: &mut Dice) -> Outcome {
        for _ in 0..MAX_STEPS {
            let owing = match self.table.turn() {
                Turn::Over(outcome) => return outcome,
                Turn::Dice => {
                    roll_all(&mut *self.table, draw);
                    continue;
                }
                Turn::Seats(owing) => owing,
            };
            // None of them may see another's choice first.
            let asked = owing.into_iter().map(|seat| {
                let own = seat.index().min(1);
                let opponent = &players[seats[1 - own]].id;
                (
                    seat,
                    own,
                    self.question(seat, own, &players[seats[own]], opponent),
                )
            });
            for (seat, own, think) in asked.collect::<Vec<_>>() {
                let player = &mut players[seats[own]];
                let history = &self.histories[own];
                let choice = player.strategy.choose(&think, history, &mut player.dice);
                if self.table.play(seat, &choice).is_err() {
                    return Outcome::Win(if own == 0 { Seat::B } else { Seat::A });
                }
                self.moves[own].push(choice);
            }
        }
        Outcome::Draw
    }

    /// What a referee would ask a seat.
    fn question(&self, seat: Seat, own: usize, player: &LabPlayer, opponent: &PlayerId) -> Think {
        Think {
            attempt: 1,
            match_id: self.match_id.clone(),
            turn: self.moves[own].len() as u32 + 1,
            game_type: self.lab.game_type.clone(),
            move_type: self.lab.move_type.clone(),
            view: Arc::new(self.table.view(seat)),
            options: self.table.options(seat).into(),
            until: Timestamp::default(),
            opponent_id: opponent.clone(),
            opponent: player.memory.opponent(opponent).cloned(),
            record: WinLossDraw::default(),
            moves: [].into(),
        }
    }
}

fn outcome_for(outcome: Outcome, seat: usize) -> MatchOutcome {
    match outcome {
        Outcome::Draw => MatchOutcome::Draw,
        Outcome::Win(winner) if winner.index() == seat => MatchOutcome::Win,
        Outcome::Win(_) => MatchOutcome::Loss,
    }
}

/// One seed of several numbers (the finaliser of SplitMix64 after each).
fn mixed(parts: [u64; 3]) -> u64 {
    parts.into_iter().fold(0, |seed, part| {
        let mut word = seed ^ part.wrapping_add(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    })
}
