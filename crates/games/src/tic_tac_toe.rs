//! Tic-tac-toe: seats move in turn and see everything; three in a row win.
//!
//! It is the pattern for a new game of turns: `docs/add-a-game.md` begins by copying it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Game, Illegal, NoSettings, Outcome, Picture, PictureCell, Rules, Seat, Turn};

/// How many cells the board has.
const CELLS: usize = 9;

/// The rows, columns and diagonals.
const LINES: [[usize; 3]; 8] = [
    [0, 1, 2],
    [3, 4, 5],
    [6, 7, 8],
    [0, 3, 6],
    [1, 4, 7],
    [2, 5, 8],
    [0, 4, 8],
    [2, 4, 6],
];

/// A game of tic-tac-toe: the board, from which all else follows.
#[derive(Debug, Clone)]
pub struct TicTacToe {
    board: [Option<Mark>; CELLS],
}

/// What a seat puts on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Mark {
    /// Seat A's mark, which begins.
    X,
    /// Seat B's mark.
    O,
}

/// A cell of the board, 0 to 8, counted along the rows from the top left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Cell(u8);

/// A number beyond the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cell; cells are 0 to 8")]
pub struct NotACell(pub u8);

/// What either seat may see, which is everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TicTacToeView {
    /// The cells from the top left, `null` where one is free.
    pub board: [Option<Mark>; CELLS],
    /// The mark of the seat that looks.
    pub your_mark: Option<Mark>,
    /// The mark that is to be placed next; `null` when the game is over.
    pub next_mark: Option<Mark>,
}

impl Game for TicTacToe {
    const RULES: Rules = Rules {
        game_type: "tic_tac_toe",
        display_name: "Tic-Tac-Toe",
        move_type: "place_mark",
        valid_choices: &["0-8"],
        min_players: 2,
        max_players: 2,
        rules_module: "league_games::tic_tac_toe",
        max_round_time_sec: 300,
        max_moves: 9,
        sides_matter: true,
        hidden_moves: false,
        simultaneous: false,
        rules_text: "\
Two players put marks on a board of three rows and three columns, in turn. Seat A plays X and \
begins, seat B plays O.
A move is the number of a free cell, `0` to `8`: 0, 1, 2 are the top row from left to right, 3, 4, 5 \
the middle row, 6, 7, 8 the bottom row.
The view: `board` lists the nine cells in that order, each \"X\", \"O\" or null for a free one; \
`your_mark` is your mark; `next_mark` is the mark that is placed next, null when the game is over.
The game ends when a player has three marks in a row, column or diagonal, and that player wins. If \
all nine cells are taken without that, it is a draw.",
    };
    type Settings = NoSettings;
    type Move = Cell;
    type View = TicTacToeView;

    fn new(_settings: &NoSettings) -> Self {
        Self {
            board: [None; CELLS],
        }
    }

    fn turn(&self) -> Turn {
        if let Some((mark, _)) = self.row() {
            return Turn::Over(Outcome::Win(mark.seat()));
        }
        match self.mark_for_free_cell() {
            Some(mark) => Turn::Seats([mark.seat()].into()),
            None => Turn::Over(Outcome::Draw),
        }
    }

    fn options(&self, seat: Seat) -> Vec<Cell> {
        if self.owes(seat).is_err() {
            return Vec::new();
        }
        let cells = (0..).zip(&self.board);
        cells
            .filter(|(_, mark)| mark.is_none())
            .map(|(cell, _)| Cell(cell))
            .collect()
    }

    fn view(&self, seat: Seat) -> TicTacToeView {
        TicTacToeView {
            board: self.board,
            your_mark: Mark::of(seat),
            next_mark: self.next_mark(),
        }
    }

    fn play(&mut self, seat: Seat, mv: Cell) -> Result<(), Illegal> {
        self.allow(seat, &mv)?;
        if let Some(cell) = self.board.get_mut(mv.index()) {
            *cell = Mark::of(seat);
        }
        Ok(())
    }

    fn details(&self) -> Map<String, Value> {
        match self.turn() {
            Turn::Over(_) => Map::from_iter([("board".to_owned(), json!(self.board))]),
            Turn::Seats(_) | Turn::Dice => Map::new(),
        }
    }

    fn picture(&self) -> Picture {
        let cell = |mark: &Option<Mark>| match mark {
            Some(mark) => PictureCell::of_seat(mark.seat(), format_args!("{mark:?}")),
            None => PictureCell::empty(),
        };
        Picture::grid(self.board.chunks(3).map(|row| row.iter().map(cell)))
    }

    fn reason(&self, names: &[&str]) -> String {
        match (self.row(), self.next_mark()) {
            (Some((mark, [a, b, c])), _) => {
                format!(
                    "{} has three in a row at {a}, {b}, {c}",
                    mark.seat().name(names)
                )
            }
            (None, Some(_)) => "the game is not over yet".to_owned(),
            (None, None) => "the board is full and nobody has three in a row".to_owned(),
        }
    }
}

impl TicTacToe {
    /// Finds three equal marks in a line.
    fn row(&self) -> Option<(Mark, [usize; 3])> {
        LINES
            .into_iter()
            .find_map(|line| match line.map(|cell| self.board[cell]) {
                [Some(a), Some(b), Some(c)] if a == b && b == c => Some((a, line)),
                _ => None,
            })
    }

    /// Tells which mark is to be placed next; none once the game is over.
    fn next_mark(&self) -> Option<Mark> {
        match self.row() {
            Some(_) => None,
            None => self.mark_for_free_cell(),
        }
    }

    /// Tells which mark a free cell would get, whether or not a seat has won; none if all are taken.
    fn mark_for_free_cell(&self) -> Option<Mark> {
        match self.board.iter().flatten().count() {
            CELLS.. => None,
            placed if placed.is_multiple_of(2) => Some(Mark::X),
            _ => Some(Mark::O),
        }
    }
}

impl Mark {
    const fn of(seat: Seat) -> Option<Self> {
        match seat {
            Seat::A => Some(Self::X),
            Seat::B => Some(Self::O),
            _ => None,
        }
    }

    const fn seat(self) -> Seat {
        match self {
            Self::X => Seat::A,
            Self::O => Seat::B,
        }
    }
}

impl Cell {
    /// Gives the cell's place in the board.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl TryFrom<u8> for Cell {
    type Error = NotACell;

    fn try_from(number: u8) -> Result<Self, NotACell> {
        if usize::from(number) < CELLS {
            Ok(Self(number))
        } else {
            Err(NotACell(number))
        }
    }
}

impl From<Cell> for u8 {
    fn from(cell: Cell) -> Self {
        cell.0
    }
}

#[cfg(test)]
mod tests;
