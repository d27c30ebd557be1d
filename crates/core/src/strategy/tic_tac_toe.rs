//! The strategy for tic-tac-toe: it searches all continuations of the game.

use std::sync::{Arc, LazyLock};

use league_games::Dice;
use serde_json::Value;

use crate::player::{MatchRecord, Think};

/// Never loses; wins as soon as it can, and delays a loss as long as it can.
pub(crate) fn minimax(think: &Think, _: &[Arc<MatchRecord>], dice: &mut Dice) -> Option<Value> {
    let position = Position::read(&think.view)?;
    let options = think.options.iter();
    let weighed = options.filter_map(|option| {
        let after = position.after(option.as_u64()?)?;
        Some((-after.known_worth(), option))
    });
    super::best_of(weighed.collect(), dice)
}

const CELLS: u64 = 9;
const FULL: u16 = 0o777;

/// The rows, columns and diagonals; an octal digit is a row of the board.
const LINES: [u16; 8] = [0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];

/// A board from the view of the side to move: one bit per cell.
#[derive(Debug, Clone, Copy)]
struct Position {
    own: u16,
    other: u16,
}

impl Position {
    /// Decodes the view of a seat; `None` if it is not a board.
    fn read(view: &Value) -> Option<Self> {
        let board = view.get("board")?.as_array()?;
        let mark = view.get("your_mark").filter(|mark| mark.is_string())?;
        if board.len() as u64 != CELLS {
            return None;
        }
        let mut position = Self { own: 0, other: 0 };
        for (cell, held) in board.iter().enumerate() {
            match held {
                Value::Null => {}
                held if held == mark => position.own |= 1 << cell,
                _ => position.other |= 1 << cell,
            }
        }
        Some(position)
    }

    /// The position after a move, from the other side's view; `None` if the cell is not free.
    fn after(self, cell: u64) -> Option<Self> {
        let bit = if cell < CELLS { 1 << cell } else { return None };
        let free = (self.own | self.other) & bit == 0;
        free.then_some(Self {
            own: self.other,
            other: self.own | bit,
        })
    }

    /// The value of the position; a board that no game leads to is searched for itself.
    fn known_worth(self) -> i8 {
        let known = WORTHS.get(self);
        known.unwrap_or_else(|| self.worth(&mut Worths::new()))
    }

    /// The value of the position for the side to move: positive if it wins, negative if it loses,
    /// and larger in magnitude the sooner.
    fn worth(self, known: &mut Worths) -> i8 {
        if let Some(worth) = known.get(self) {
            return worth;
        }
        let worth = if self.is_lost() {
            -1 - self.free_cells()
        } else {
            let moves = (0..CELLS).filter_map(|cell| self.after(cell));
            let worths = moves.map(|after| -after.worth(known));
            worths.max().unwrap_or(0)
        };
        known.set(self, worth);
        worth
    }

    fn is_lost(self) -> bool {
        LINES.iter().any(|line| self.other & line == *line)
    }

    fn free_cells(self) -> i8 {
        (FULL & !(self.own | self.other))
            .count_ones()
            .try_into()
            .unwrap_or(0)
    }
}

/// The values of all positions that a game leads to.
static WORTHS: LazyLock<Worths> = LazyLock::new(|| {
    let mut known = Worths::new();
    Position { own: 0, other: 0 }.worth(&mut known);
    known
});

/// The values of positions already searched; many move orders lead to each.
struct Worths(Vec<Option<i8>>);

impl Worths {
    fn new() -> Self {
        Self(vec![None; 1 << (2 * CELLS)])
    }

    fn get(&self, position: Position) -> Option<i8> {
        self.0.get(Self::place(position)).copied().flatten()
    }

    fn set(&mut self, position: Position, worth: i8) {
        if let Some(known) = self.0.get_mut(Self::place(position)) {
            *known = Some(worth);
        }
    }

    fn place(position: Position) -> usize {
        usize::from(position.own) << CELLS | usize::from(position.other)
    }
}
