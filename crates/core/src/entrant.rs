//! A player as a program brings it: a trait with state, for any game; and the loop in which two such
//! players play a match in this process. The lab and the local league share the loop.

use std::error::Error;
use std::sync::Arc;

use league_games::{BadSettings, Dice, Listing, Seat, Table, Turn};
use league_protocol::id::{GameType, LeagueId, MatchId, PlayerId};
use league_protocol::message::{Score, WinLossDraw};
use league_protocol::time::Timestamp;
use serde_json::Value;

use crate::judge::{choice_of, roll_all};
use crate::league::standings::MatchEnding;
use crate::player::{MatchOutcome, MatchRecord, Memory, MemoryRule, Think};
use crate::strategy::Strategy;

/// The most steps of a match, so that a game that does not end is a draw.
const MAX_STEPS: u32 = 100_000;

/// Why a player did not choose.
pub type ChoiceError = Box<dyn Error + Send + Sync>;

/// A player of a program's own; it may keep any state.
pub trait Entrant {
    /// Chooses one of `think.options`.
    ///
    /// `history` holds the player's own latest matches, oldest first. A player that takes all its
    /// chance from `dice` plays the same league again for the same seed.
    ///
    /// # Errors
    ///
    /// The player cannot choose. In a local league this loses the match, as an illegal move does; at
    /// a referee another legal move is sent.
    fn choose(
        &mut self,
        think: &Think,
        history: &[Arc<MatchRecord>],
        dice: &mut Dice,
    ) -> Result<Value, ChoiceError>;

    /// Hears how one of its matches ended.
    fn hear(&mut self, _record: &MatchRecord) {}
}

impl Entrant for &'static Strategy {
    fn choose(
        &mut self,
        think: &Think,
        history: &[Arc<MatchRecord>],
        dice: &mut Dice,
    ) -> Result<Value, ChoiceError> {
        Ok(Strategy::choose(self, think, history, dice))
    }
}

/// A player that its program wants back after the league.
impl<E: Entrant + ?Sized> Entrant for &mut E {
    fn choose(
        &mut self,
        think: &Think,
        history: &[Arc<MatchRecord>],
        dice: &mut Dice,
    ) -> Result<Value, ChoiceError> {
        (**self).choose(think, history, dice)
    }

    fn hear(&mut self, record: &MatchRecord) {
        (**self).hear(record);
    }
}

impl<E: Entrant + ?Sized> Entrant for Box<E> {
    fn choose(
        &mut self,
        think: &Think,
        history: &[Arc<MatchRecord>],
        dice: &mut Dice,
    ) -> Result<Value, ChoiceError> {
        (**self).choose(think, history, dice)
    }

    fn hear(&mut self, record: &MatchRecord) {
        (**self).hear(record);
    }
}

/// An entrant with the id, the memory and the dice of a player.
pub(crate) struct LocalPlayer<E> {
    pub(crate) entrant: E,
    pub(crate) id: PlayerId,
    memory: Memory,
    dice: Dice,
}

impl<E> LocalPlayer<E> {
    /// The player of this number, from 1; all its chance follows from the seeds.
    pub(crate) fn new(entrant: E, number: u32, [seed, season]: [u64; 2]) -> Self {
        Self {
            entrant,
            id: PlayerId::numbered(number),
            memory: Memory::new(MemoryRule::default()),
            dice: Dice::seeded(mixed([seed, season, u64::from(number)])),
        }
    }

    fn record(&self) -> WinLossDraw {
        let sums = self.memory.statistics();
        WinLossDraw {
            wins: sums.wins,
            losses: sums.losses,
            draws: sums.draws,
        }
    }
}

/// A game with its settings and its score, ready for any number of matches.
#[derive(Debug)]
pub(crate) struct LocalGame {
    listing: &'static Listing,
    game_type: GameType,
    move_type: Arc<str>,
    league_id: LeagueId,
    opening: Box<dyn Table>,
    score: Score,
}

/// The course of a match that was played here.
pub(crate) struct LocalCourse {
    pub(crate) ending: MatchEnding,
    /// The seat (0 or 1) and the choice of each move, in the order of play.
    pub(crate) moves: Vec<(usize, Value)>,
    /// What each seat did wrong.
    pub(crate) failures: [Option<String>; 2],
    /// The last position.
    pub(crate) table: Box<dyn Table>,
}

impl LocalGame {
    pub(crate) fn new(
        listing: &'static Listing,
        game_type: GameType,
        league_id: LeagueId,
        settings: &Value,
        score: Score,
    ) -> Result<Self, BadSettings> {
        Ok(Self {
            opening: (listing.open)(settings)?,
            move_type: listing.rules.move_type.into(),
            listing,
            game_type,
            league_id,
            score,
        })
    }

    /// Plays one match and lets both players remember it.
    pub(crate) fn play<E: Entrant>(
        &self,
        players: &mut [LocalPlayer<E>],
        seats: [usize; 2],
        (round_id, match_id): (u32, MatchId),
        draw: &mut Dice,
    ) -> LocalCourse {
        let mut game = RunningMatch {
            game: self,
            match_id: &match_id,
            moves: Vec::new(),
            histories: seats.map(|player| players[player].memory.history().cloned().collect()),
            failures: [None, None],
            table: self.opening.boxed_clone(),
        };
        let ending = game.finish(players, seats, draw);
        let RunningMatch {
            moves,
            failures,
            table,
            ..
        } = game;
        let choices = [0, 1].map(|seat| {
            let own = moves.iter().filter(|(by, _)| *by == seat);
            let own = own.map(|(_, choice)| choice.clone()).collect();
            choice_of(own, self.listing.rules.hidden_moves)
        });
        for (seat, other) in [(0, 1), (1, 0)] {
            let record = Arc::new(MatchRecord {
                league_id: self.league_id.clone(),
                round_id,
                match_id: match_id.clone(),
                game_type: self.game_type.clone(),
                opponent_id: players[seats[other]].id.clone(),
                result: outcome_for(ending, seat),
                points: ending.points(seat, &self.score),
                my_choice: choices[seat].clone(),
                opponent_choice: choices[other].clone(),
                reason: None,
                failure: None,
                at: Timestamp::default(),
            });
            let player = &mut players[seats[seat]];
            player.memory.add(&record);
            player.entrant.hear(&record);
        }
        LocalCourse {
            ending,
            moves,
            failures,
            table,
        }
    }
}

/// A match that runs.
struct RunningMatch<'g> {
    game: &'g LocalGame,
    match_id: &'g MatchId,
    moves: Vec<(usize, Value)>,
    /// What each seat remembers of earlier matches.
    histories: [Vec<Arc<MatchRecord>>; 2],
    failures: [Option<String>; 2],
    table: Box<dyn Table>,
}

impl RunningMatch<'_> {
    /// Plays to the end; a seat without a legal move forfeits.
    fn finish<E: Entrant>(
        &mut self,
        players: &mut [LocalPlayer<E>],
        seats: [usize; 2],
        draw: &mut Dice,
    ) -> MatchEnding {
        for _ in 0..MAX_STEPS {
            match self.table.turn() {
                Turn::Over(outcome) => return outcome.into(),
                Turn::Dice => roll_all(&mut *self.table, draw),
                Turn::Seats(owing) => self.ask_all(owing.into_iter(), players, seats),
            }
            match self.failures.each_ref().map(Option::is_some) {
                [false, false] => {}
                [true, true] => return MatchEnding::BothForfeit,
                [first, _] => return MatchEnding::Forfeit(usize::from(!first)),
            }
        }
        MatchEnding::Draw
    }

    /// Asks all seats that owe a move, before any of them is played: none may see another's choice.
    fn ask_all<E: Entrant>(
        &mut self,
        owing: impl Iterator<Item = Seat>,
        players: &mut [LocalPlayer<E>],
        seats: [usize; 2],
    ) {
        let mut chosen = Vec::with_capacity(2);
        for seat in owing {
            let own = seat.index().min(1);
            let opponent = &players[seats[1 - own]].id;
            let think = self.question(seat, own, &players[seats[own]], opponent);
            let player = &mut players[seats[own]];
            let history = &self.histories[own];
            let choice = player.entrant.choose(&think, history, &mut player.dice);
            chosen.push((seat, own, choice));
        }
        for (seat, own, choice) in chosen {
            let played = choice
                .map_err(|error| error.to_string())
                .and_then(|choice| {
                    let played = self.table.play(seat, &choice);
                    played.map(|()| choice).map_err(|error| error.to_string())
                });
            match played {
                Ok(choice) => self.moves.push((own, choice)),
                Err(problem) => self.failures[own] = Some(problem),
            }
        }
    }

    /// What a referee would ask a seat.
    fn question<E>(
        &self,
        seat: Seat,
        own: usize,
        player: &LocalPlayer<E>,
        opponent: &PlayerId,
    ) -> Think {
        let made = self.moves.iter().filter(|(by, _)| *by == own).count();
        Think {
            attempt: 1,
            match_id: self.match_id.clone(),
            turn: made as u32 + 1,
            game_type: self.game.game_type.clone(),
            move_type: self.game.move_type.clone(),
            view: Arc::new(self.table.view(seat)),
            options: self.table.options(seat).into(),
            until: Timestamp::LAST,
            opponent_id: opponent.clone(),
            opponent: player.memory.opponent(opponent).cloned(),
            record: player.record(),
            moves: [].into(),
        }
    }
}

fn outcome_for(ending: MatchEnding, seat: usize) -> MatchOutcome {
    if ending.forfeited(seat) {
        MatchOutcome::TechnicalLoss
    } else if ending == MatchEnding::Draw {
        MatchOutcome::Draw
    } else if ending.winner() == Some(seat) {
        MatchOutcome::Win
    } else {
        MatchOutcome::Loss
    }
}

/// One seed of several numbers (the finaliser of SplitMix64 after each).
pub(crate) fn mixed(parts: [u64; 3]) -> u64 {
    parts.into_iter().fold(0, |seed, part| {
        let mut word = seed ^ part.wrapping_add(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    })
}
