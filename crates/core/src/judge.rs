//! From the moves of a match to its result, in one way for all: for the referee before it reports,
//! for the manager when a report comes and when it rules itself, and for all who read a journal.

use std::sync::Arc;

use league_games::{Dice, Seat, Table, Turn};
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, MatchId, PlayerId};
use league_protocol::message::{ByPlayer, Evidence, MatchResult, OpenedDraw, Score, SignedMove};
use league_protocol::secret::{Commitment, DrawMode, Seed};
use serde_json::{Map, Value};

use crate::draw::{MAX_NONCE_LENGTH, dice_of};
use crate::league::standings::MatchEnding;
use crate::league::{MAX_MOVES, ReportPart, ReportProblem};

/// The most rolls in a row that a game may ask for.
const MAX_ROLLS: u32 = 1_000;
const SEATS: [Seat; 2] = [Seat::A, Seat::B];

/// What the chance of a match follows from, besides the nonces of its players.
#[derive(Debug, Clone)]
pub struct Draw<'a> {
    pub league: &'a LeagueId,
    pub match_id: &'a MatchId,
    /// The promise on it.
    pub commitment: Commitment,
    /// Where the chance of the league comes from.
    pub mode: DrawMode,
    /// The attempt whose seeds are used.
    pub attempt: u32,
    /// The secret behind the promise, if it is open.
    pub seed: Option<Seed>,
    /// The seeds of the rolls that are given; the dice wait for the next one.
    pub rolls: Vec<Seed>,
}

impl Draw<'_> {
    pub(crate) fn dice(&self, roll: usize, nonces: [&str; 2]) -> Option<Dice> {
        let seed = self.rolls.get(roll)?;
        let (league, match_id) = (self.league, self.match_id);
        Some(dice_of(league, match_id, seed, self.attempt, nonces))
    }
}

/// How far its moves lead a match.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// It goes on: players owe moves, or dice are due whose seed is not given.
    Going(Turn),
    /// The result. It has no keys and joins of players, and no reason if players failed.
    Over(Box<MatchResult>),
}

/// Judges a match by its moves, in the order of play, and by the players that failed.
///
/// # Errors
///
/// No match can have these moves, or these failures after them.
pub fn judge(
    game: &dyn Table,
    draw: &Draw<'_>,
    players: &[PlayerId; 2],
    moves: &[SignedMove],
    failed: &ByPlayer<Code>,
    score: &Score,
) -> Result<Judged, ReportProblem> {
    check_bounds(moves)?;
    let mut course = Course::new(game.shared_clone());
    course.lay(laid(players, moves), |roll, nonces| draw.dice(roll, nonces))?;
    if course.laid < moves.len() {
        return Err(ReportProblem::Choices);
    }
    let table = &*course.table;
    let ending = match table.turn() {
        turn @ (Turn::Seats(_) | Turn::Dice) if failed.is_empty() => {
            return Ok(Judged::Going(turn));
        }
        Turn::Over(outcome) if failed.is_empty() => MatchEnding::from(outcome),
        Turn::Over(_) => return Err(ReportProblem::Unplayed),
        // A player may fail to join before the first roll; later nobody owes anything there.
        Turn::Dice if !moves.is_empty() => return Err(ReportProblem::NotHandedOver),
        Turn::Seats(_) | Turn::Dice => {
            MatchEnding::lost(players, failed).ok_or(ReportProblem::Failed)?
        }
    };
    let (details, reason) = if failed.is_empty() {
        let names = players.each_ref().map(PlayerId::as_str);
        (table.details(), table.reason(&names))
    } else {
        (Map::new(), String::new())
    };
    Ok(Judged::Over(Box::new(MatchResult {
        players: players.clone(),
        status: ending.status(),
        winner: ending.winner().map(|seat| players[seat].clone()),
        points: [0, 1].map(|seat| ending.points(seat, score)),
        failed: failed.clone(),
        choices: choices_of(players, moves, game.rules().hidden_moves),
        details,
        reason,
        draw: Some(OpenedDraw {
            commitment: draw.commitment,
            seed: draw.seed,
            mode: draw.mode,
            attempt: draw.attempt,
            nonces: course.nonces().map(str::to_owned),
        }),
        evidence: Evidence {
            players: Vec::new(),
            moves: moves.to_vec(),
        },
    })))
}

fn check_bounds(moves: &[SignedMove]) -> Result<(), ReportProblem> {
    if moves.len() > 2 * MAX_MOVES {
        return Err(ReportProblem::TooLong(ReportPart::Choices));
    }
    let mut nonces = moves.iter().filter_map(|made| made.nonce.as_ref());
    if nonces.any(|nonce| nonce.len() > MAX_NONCE_LENGTH) {
        return Err(ReportProblem::TooLong(ReportPart::Nonces));
    }
    Ok(())
}

/// A game as far as its moves and rolls have led it; a copy shares the table.
#[derive(Clone)]
pub(crate) struct Course {
    pub(crate) table: Arc<dyn Table>,
    /// The nonce of each seat's first move, if that came before the first roll.
    shares: [Option<String>; 2],
    /// How many moves are on the table.
    pub(crate) laid: usize,
    /// How many rolls the table has seen.
    pub(crate) rolls: usize,
}

impl Course {
    pub(crate) const fn new(table: Arc<dyn Table>) -> Self {
        Self {
            table,
            shares: [None, None],
            laid: 0,
            rolls: 0,
        }
    }

    /// Lays the next moves, each with its seat and nonce, and rolls the dice that are due between
    /// them and after them, up to a roll that has no dice.
    pub(crate) fn lay<'m>(
        &mut self,
        moves: impl IntoIterator<Item = (Option<usize>, &'m Value, Option<&'m str>)>,
        dice: impl Fn(usize, [&str; 2]) -> Option<Dice>,
    ) -> Result<(), ReportProblem> {
        let mut moves = moves.into_iter();
        loop {
            if self.table.turn() == Turn::Dice {
                let Some(mut dice) = dice(self.rolls, self.nonces()) else {
                    return Ok(());
                };
                self.change(|table| roll_all(table, &mut dice));
                self.rolls += 1;
                continue;
            }
            let Some((seat, choice, nonce)) = moves.next() else {
                return Ok(());
            };
            let seat = seat.ok_or(ReportProblem::Choosers)?;
            if self.rolls == 0 {
                self.shares[seat].get_or_insert_with(|| nonce.unwrap_or_default().to_owned());
            }
            let played = self.change(|table| table.play(SEATS[seat], choice));
            played.and_then(Result::ok).ok_or(ReportProblem::Choices)?;
            self.laid += 1;
        }
    }

    /// Which seats have a share in the draw.
    pub(crate) fn have_shares(&self) -> [bool; 2] {
        self.shares.each_ref().map(Option::is_some)
    }

    /// What the players put into the draw.
    fn nonces(&self) -> [&str; 2] {
        let shares = self.shares.each_ref();
        shares.map(|share| share.as_deref().unwrap_or_default())
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut dyn Table) -> T) -> Option<T> {
        if Arc::get_mut(&mut self.table).is_none() {
            self.table = self.table.shared_clone();
        }
        // It is not shared now.
        Some(change(Arc::get_mut(&mut self.table)?))
    }
}

/// Moves as a course takes them.
pub(crate) fn laid<'m>(
    players: &[PlayerId; 2],
    moves: &'m [SignedMove],
) -> impl Iterator<Item = (Option<usize>, &'m Value, Option<&'m str>)> {
    moves.iter().map(|made| {
        let seat = players.iter().position(|seated| *seated == made.player_id);
        (seat, &made.choice, made.nonce.as_deref())
    })
}

/// Rolls all dice that are due now.
pub(crate) fn roll_all(table: &mut dyn Table, dice: &mut Dice) {
    for _ in 0..MAX_ROLLS {
        if table.turn() != Turn::Dice {
            break;
        }
        table.roll(dice);
    }
}

/// Plays what the players of a result chose, in the order of turns, to the end of the game.
///
/// `roll` rolls the dice that are due, or says that it cannot. `seen` is shown the position after
/// each turn and each roll, with the seats that moved.
///
/// # Errors
///
/// The choices are not those of a whole game, or a roll is missing.
pub fn follow(
    table: &mut dyn Table,
    result: &MatchResult,
    mut roll: impl FnMut(&mut dyn Table) -> bool,
    mut seen: impl FnMut(&dyn Table, &[usize]),
) -> Result<(), ReportProblem> {
    let mut left = [0, 1].map(|seat| moves_of(result, seat));
    loop {
        match table.turn() {
            Turn::Over(_) if left.iter().all(|moves| moves.is_empty()) => return Ok(()),
            Turn::Over(_) => return Err(ReportProblem::Choices),
            Turn::Dice if roll(table) => seen(table, &[]),
            Turn::Dice => return Err(ReportProblem::DrawMissing),
            Turn::Seats(seats) => {
                for seat in seats.iter() {
                    let left = left.get_mut(seat.index()).ok_or(ReportProblem::Choices)?;
                    let (mv, rest) = left.split_first().ok_or(ReportProblem::Choices)?;
                    let played = table.play(*seat, mv);
                    played.map_err(|_| ReportProblem::Choices)?;
                    *left = rest;
                }
                let moved: Vec<usize> = seats.iter().map(|seat| seat.index()).collect();
                seen(table, &moved);
            }
        }
    }
}

/// The moves of a seat: a list in the order of play, or the one move of a game that has one.
fn moves_of(result: &MatchResult, seat: usize) -> &[Value] {
    match result.choices.get(&result.players[seat]) {
        Some(Value::Array(moves)) => moves,
        Some(mv) => std::slice::from_ref(mv),
        None => &[],
    }
}

/// What each player chose: its one move in a game of hidden moves, else the list of its moves.
fn choices_of(
    players: &[PlayerId; 2],
    moves: &[SignedMove],
    hidden_moves: bool,
) -> ByPlayer<Value> {
    let chosen = players.iter().filter_map(|player| {
        let mine = moves.iter().filter(|made| made.player_id == *player);
        let mine = mine.map(|made| made.choice.clone()).collect();
        Some((player.clone(), choice_of(mine, hidden_moves)?))
    });
    chosen.collect()
}

/// A player's moves as results and memories hold them.
pub(crate) fn choice_of(mut moves: Vec<Value>, hidden_moves: bool) -> Option<Value> {
    match moves.len() {
        0 => None,
        1 if hidden_moves => moves.pop(),
        _ => Some(Value::Array(moves)),
    }
}
