//! Connect four: seats drop discs into columns in turn; four in a line win.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{Game, Illegal, NoSettings, Outcome, Picture, PictureCell, Rules, Seat, Turn};

/// How many columns the board has.
pub const COLUMNS: usize = 7;
/// How many rows the board has.
pub const ROWS: usize = 6;
/// How many discs in a line win.
const FOUR: usize = 4;
/// The ways in which a line can run, as steps in columns and rows.
const DIRECTIONS: [(isize, isize); 4] = [(1, 0), (0, 1), (1, 1), (1, -1)];

/// A game of connect four: the columns, each from the bottom up.
#[derive(Debug, Clone)]
pub struct ConnectFour {
    columns: [Vec<Disc>; COLUMNS],
}

/// What a seat drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Disc {
    /// Seat A's disc, which begins.
    Red,
    /// Seat B's disc.
    Yellow,
}

/// A column of the board, 0 to 6, counted from the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Column(u8);

/// A number beyond the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a column; columns are 0 to 6")]
pub struct NotAColumn(pub u8);

/// What either seat may see, which is everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConnectFourView {
    /// The rows from the top, the cells from the left, `null` where one is free.
    pub board: [[Option<Disc>; COLUMNS]; ROWS],
    /// The disc of the seat that looks.
    pub your_disc: Option<Disc>,
    /// The disc that is dropped next; `null` when the game is over.
    pub next_disc: Option<Disc>,
}

impl Game for ConnectFour {
    const RULES: Rules = Rules {
        game_type: "connect_four",
        display_name: "Connect Four",
        move_type: "drop_disc",
        valid_choices: &["0-6"],
        min_players: 2,
        max_players: 2,
        rules_module: "league_games::connect_four",
        max_round_time_sec: 900,
        max_moves: (COLUMNS * ROWS) as u32,
        sides_matter: true,
        hidden_moves: false,
        simultaneous: false,
        rules_text: "\
Two players drop discs into an upright board of seven columns and six rows, in turn. A disc falls to \
the lowest free cell of its column. Seat A plays red and begins, seat B plays yellow.
A move is the number of a column that is not full, `0` to `6` from left to right.
The view: `board` lists the six rows from top to bottom, each as seven cells from left to right: \
\"red\", \"yellow\" or null for a free cell; `your_disc` is your colour; `next_disc` is the colour that \
is dropped next, null when the game is over.
The game ends when a player has four discs in an unbroken line, across, upright or diagonal, and that \
player wins. If the board is full without that, it is a draw.",
    };
    type Settings = NoSettings;
    type Move = Column;
    type View = ConnectFourView;

    fn new(_settings: &NoSettings) -> Self {
        Self {
            columns: [const { Vec::new() }; COLUMNS],
        }
    }

    fn turn(&self) -> Turn {
        if let Some(disc) = self.line() {
            return Turn::Over(Outcome::Win(disc.seat()));
        }
        match self.disc_for_free_cell() {
            Some(disc) => Turn::Seats([disc.seat()].into()),
            None => Turn::Over(Outcome::Draw),
        }
    }

    fn options(&self, seat: Seat) -> Vec<Column> {
        if self.owes(seat).is_err() {
            return Vec::new();
        }
        let columns = (0..).zip(&self.columns);
        columns
            .filter(|(_, discs)| discs.len() < ROWS)
            .map(|(column, _)| Column(column))
            .collect()
    }

    fn view(&self, seat: Seat) -> ConnectFourView {
        ConnectFourView {
            board: self.board(),
            your_disc: Disc::of(seat),
            next_disc: match self.line() {
                Some(_) => None,
                None => self.disc_for_free_cell(),
            },
        }
    }

    fn play(&mut self, seat: Seat, mv: Column) -> Result<(), Illegal> {
        self.allow(seat, &mv)?;
        if let Some(discs) = self.columns.get_mut(mv.index()) {
            discs.extend(Disc::of(seat));
        }
        Ok(())
    }

    fn details(&self) -> Map<String, Value> {
        match self.turn() {
            Turn::Over(_) => Map::from_iter([("board".to_owned(), json!(self.board()))]),
            Turn::Seats(_) | Turn::Dice => Map::new(),
        }
    }

    fn picture(&self) -> Picture {
        let cell = |disc: Option<Disc>| match disc {
            Some(disc) => PictureCell::of_seat(disc.seat(), "●"),
            None => PictureCell::empty(),
        };
        Picture::grid(self.board().map(|row| row.map(cell)))
    }

    fn reason(&self, names: &[&str]) -> String {
        match self.turn() {
            Turn::Over(Outcome::Win(seat)) => format!("{} has four in a line", seat.name(names)),
            Turn::Over(Outcome::Draw) => "the board is full without four in a line".to_owned(),
            Turn::Seats(_) | Turn::Dice => "the game is not over yet".to_owned(),
        }
    }
}

impl ConnectFour {
    fn disc_at(&self, column: usize, row: usize) -> Option<Disc> {
        self.columns.get(column)?.get(row).copied()
    }

    /// The rows from the top.
    fn board(&self) -> [[Option<Disc>; COLUMNS]; ROWS] {
        std::array::from_fn(|row| {
            std::array::from_fn(|column| self.disc_at(column, ROWS - 1 - row))
        })
    }

    /// Finds four equal discs in a line.
    fn line(&self) -> Option<Disc> {
        let starts = (0..COLUMNS).flat_map(|column| (0..ROWS).map(move |row| (column, row)));
        starts
            .filter_map(|(column, row)| {
                let disc = self.disc_at(column, row)?;
                let wins = |&(right, up): &(isize, isize)| {
                    (1..FOUR).all(|step| {
                        let column = column.checked_add_signed(right * step as isize);
                        let row = row.checked_add_signed(up * step as isize);
                        let place = column.zip(row);
                        place.and_then(|(column, row)| self.disc_at(column, row)) == Some(disc)
                    })
                };
                DIRECTIONS.iter().any(wins).then_some(disc)
            })
            .next()
    }

    /// Tells which disc a free cell would get, whether or not a seat has won; none if all are taken.
    fn disc_for_free_cell(&self) -> Option<Disc> {
        let dropped: usize = self.columns.iter().map(Vec::len).sum();
        match dropped {
            dropped if dropped >= COLUMNS * ROWS => None,
            dropped if dropped.is_multiple_of(2) => Some(Disc::Red),
            _ => Some(Disc::Yellow),
        }
    }
}

impl Disc {
    const fn of(seat: Seat) -> Option<Self> {
        match seat {
            Seat::A => Some(Self::Red),
            Seat::B => Some(Self::Yellow),
            _ => None,
        }
    }

    const fn seat(self) -> Seat {
        match self {
            Self::Red => Seat::A,
            Self::Yellow => Seat::B,
        }
    }
}

impl Column {
    /// Gives the column's place in the board.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl TryFrom<u8> for Column {
    type Error = NotAColumn;

    fn try_from(number: u8) -> Result<Self, NotAColumn> {
        if usize::from(number) < COLUMNS {
            Ok(Self(number))
        } else {
            Err(NotAColumn(number))
        }
    }
}

impl From<Column> for u8 {
    fn from(column: Column) -> Self {
        column.0
    }
}

#[cfg(test)]
mod tests;
