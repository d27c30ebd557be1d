//! What every game must answer, and the few words it answers with.
//!
//! JSON, and the picking of a game by name, are left to `table.rs`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{BadSettings, Dice, Picture, Rules};

/// The rules of one game; a value of the type is a position in it.
///
/// A game does not know who sits at the table, what the league's score is, or what time it is.
///
/// # Promises
///
/// - From any position, playing offered [`options`](Self::options) reaches [`Turn::Over`] in a
///   bounded number of steps.
/// - [`view`](Self::view) shows a seat nothing that the rules keep from it.
/// - A refused move, and an unrequested roll, leave the position as it was.
/// - Moves and dice decide everything: the same ones lead to the same position.
/// - Nothing panics, whatever seat or move it is asked about.
///
/// The test kit checks these for every game in the list. It compares positions by their `Debug`
/// text, which therefore must show all of the position.
pub trait Game: Clone + fmt::Debug + Send + Sync + 'static {
    /// What the games registry says of this game.
    const RULES: Rules;
    /// Whether a view shows its seat what others may not see before the end, such as cards.
    const PRIVATE_VIEWS: bool = false;
    /// What a league may choose about this game; every key has a default.
    type Settings: Default + Serialize + DeserializeOwned + Clone + Send;
    /// One move, with exactly one spelling in JSON.
    type Move: Serialize + DeserializeOwned + Clone + PartialEq;
    /// A seat's view of the position.
    type View: Serialize;

    /// Refuses settings under which the game would make no sense.
    fn check(_settings: &Self::Settings) -> Result<(), BadSettings> {
        Ok(())
    }
    /// Sets up the first position, for settings that [`check`](Self::check) let pass.
    fn new(settings: &Self::Settings) -> Self;
    /// Tells whose turn it is.
    fn turn(&self) -> Turn;
    /// Lists the moves open to a seat: at least one if it owes a move, none otherwise.
    fn options(&self, seat: Seat) -> Vec<Self::Move>;
    /// Shows the position as this seat may see it.
    fn view(&self, seat: Seat) -> Self::View;
    /// Makes a move for a seat; [`allow`](Self::allow) is the check to begin with.
    fn play(&mut self, seat: Seat, mv: Self::Move) -> Result<(), Illegal>;
    /// Rolls what the rules owe; does nothing unless [`turn`](Self::turn) is [`Turn::Dice`].
    fn roll(&mut self, _dice: &mut Dice) {}
    /// Gives the public facts once the game is over; none before.
    fn details(&self) -> Map<String, Value>;
    /// Says in one sentence why the game ended as it did; `names` are in the order of seats.
    fn reason(&self, names: &[&str]) -> String;

    /// Gives the most moves of all seats together in a game with these settings.
    fn max_moves(&self) -> u32 {
        Self::RULES.max_moves
    }
    /// Draws the position for spectators: while the game is on nothing that any seat may not see.
    fn picture(&self) -> Picture {
        Picture::default()
    }

    /// Refuses a seat that owes no move now.
    fn owes(&self, seat: Seat) -> Result<(), Illegal> {
        match self.turn() {
            Turn::Seats(seats) if seats.contains(&seat) => Ok(()),
            Turn::Seats(_) | Turn::Dice => Err(Illegal::NotYourTurn { seat }),
            Turn::Over(_) => Err(Illegal::Over),
        }
    }
    /// Refuses a move that is not offered to this seat now.
    fn allow(&self, seat: Seat, mv: &Self::Move) -> Result<(), Illegal> {
        self.owes(seat)?;
        let options = self.options(seat);
        if options.contains(mv) {
            return Ok(());
        }
        Err(Illegal::NotLegalHere {
            played: written(mv),
            options: options.iter().map(written).collect(),
        })
    }
}

/// Whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// Each of these seats owes a move, and none may see another's first.
    ///
    /// Two seats make a simultaneous game, one seat a game of turns; there is always one at least.
    Seats(SeatSet),
    /// The rules owe a roll.
    Dice,
    /// The game has ended.
    Over(Outcome),
}

/// How a game ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// This seat won; all others lost.
    Win(Seat),
    Draw,
}

impl Outcome {
    /// The seat with the higher score wins; equal scores are a draw.
    pub(crate) fn of_scores<T: Ord>(a: T, b: T) -> Self {
        match a.cmp(&b) {
            Ordering::Greater => Self::Win(Seat::A),
            Ordering::Less => Self::Win(Seat::B),
            Ordering::Equal => Self::Draw,
        }
    }
}

/// A place at the table, counted from 0; who sits there is for others to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seat(u8);

impl Seat {
    /// The first seat.
    pub const A: Self = Self(0);
    /// The second seat.
    pub const B: Self = Self(1);

    /// Names a seat by its number; no game need have so many.
    pub const fn new(index: u8) -> Self {
        Self(index)
    }

    /// Gives the seat's number, fit to index a list in the order of seats.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Gives the other seat of a game of two.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            _ => Self::A,
        }
    }

    /// Gives the name of who sits here, or `seat A` where the list is too short.
    pub fn name<'a>(self, names: &[&'a str]) -> Cow<'a, str> {
        match names.get(self.index()) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("seat {self}")),
        }
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            letter @ 0..26 => write!(f, "{}", char::from(b'A' + letter)),
            beyond => write!(f, "{beyond}"),
        }
    }
}

/// Why a move was refused; the position is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Illegal {
    /// The seat has moved already, it is another's turn, or the seat does not exist.
    #[error("it is not the turn of seat {seat}")]
    NotYourTurn {
        /// The seat that tried to move.
        seat: Seat,
    },
    /// Not a move in any position of this game.
    #[error(
        "`{found}` is not a move of this game, which takes {}",
        in_backticks(expected)
    )]
    NotAMove {
        /// The start of the sent value, as JSON.
        found: String,
        /// The choices that the registry names.
        expected: Vec<String>,
    },
    /// A move of this game, but not one offered in this position.
    #[error(
        "`{played}` is not legal here; the options are {}",
        in_backticks(options)
    )]
    NotLegalHere {
        /// The move that was tried.
        played: Value,
        /// The moves that would have been accepted.
        options: Vec<Value>,
    },
    /// The game has ended and takes no more moves.
    #[error("the game is over")]
    Over,
}

/// Writes a move, view or setting as JSON.
///
/// A type that JSON cannot hold comes out as `null`; the test kit refuses such a game.
pub(crate) fn written<T: Serialize>(thing: &T) -> Value {
    serde_json::to_value(thing).unwrap_or(Value::Null)
}

/// Lists words for a person: `` `a`, `b` ``.
pub(crate) fn in_backticks<T: fmt::Display>(words: &[T]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// The most seats that may owe a move at once.
pub const MAX_SEATS: usize = 8;

/// Seats in the order in which they were named; those beyond [`MAX_SEATS`] are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeatSet {
    places: [Seat; MAX_SEATS],
    count: usize,
}

impl FromIterator<Seat> for SeatSet {
    fn from_iter<I: IntoIterator<Item = Seat>>(seats: I) -> Self {
        let mut list = Self {
            places: [Seat::A; MAX_SEATS],
            count: 0,
        };
        for (place, seat) in list.places.iter_mut().zip(seats) {
            *place = seat;
            list.count += 1;
        }
        list
    }
}

impl<const N: usize> From<[Seat; N]> for SeatSet {
    fn from(seats: [Seat; N]) -> Self {
        seats.into_iter().collect()
    }
}

impl Deref for SeatSet {
    type Target = [Seat];

    fn deref(&self) -> &[Seat] {
        self.places.get(..self.count).unwrap_or_default()
    }
}

impl IntoIterator for SeatSet {
    type Item = Seat;
    type IntoIter = std::iter::Take<std::array::IntoIter<Seat, MAX_SEATS>>;

    fn into_iter(self) -> Self::IntoIter {
        self.places.into_iter().take(self.count)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn seats_print_as_letters_while_letters_last() {
        let printed = [0, 1, 25, 26, 255].map(|index| Seat::new(index).to_string());
        assert_eq!(printed, ["A", "B", "Z", "26", "255"]);
    }

    #[test]
    fn unnamed_seat_goes_by_its_letter() {
        assert_eq!(Seat::A.name(&["P01"]), "P01");
        assert_eq!(Seat::B.name(&["P01"]), "seat B");
    }

    #[test]
    fn refusals_read_as_sentences() {
        let refusals = [
            Illegal::NotYourTurn { seat: Seat::B },
            Illegal::NotAMove {
                found: "7".to_owned(),
                expected: vec!["even".to_owned(), "odd".to_owned()],
            },
            Illegal::NotLegalHere {
                played: json!(4),
                options: vec![json!(0), json!(8)],
            },
            Illegal::Over,
        ];
        assert_eq!(
            refusals.map(|refusal| refusal.to_string()),
            [
                "it is not the turn of seat B",
                "`7` is not a move of this game, which takes `even`, `odd`",
                "`4` is not legal here; the options are `0`, `8`",
                "the game is over",
            ]
        );
    }

    #[test]
    fn seat_set_keeps_order_and_drops_excess_seats() {
        let two = SeatSet::from([Seat::B, Seat::A]);
        assert_eq!(&*two, [Seat::B, Seat::A]);
        assert!(two.into_iter().eq([Seat::B, Seat::A]));
        assert!(SeatSet::from([]).is_empty());
        let many: SeatSet = (0..20).map(Seat::new).collect();
        assert_eq!(many.len(), MAX_SEATS);
    }
}
