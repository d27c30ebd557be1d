//! Nim with several heaps, in normal play: seats take from one heap in turn; the last stick wins.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    BadSettings, Game, Illegal, Outcome, Picture, PictureCell, PictureRow, Rules, Seat, Tone, Turn,
};

/// The most heaps, and the most sticks in a heap: a move is written with one digit for each.
const MAX_HEAPS: usize = 9;
const MAX_STICKS: u8 = 9;

/// A game of Nim: the sticks left in each heap, and the seat that takes next.
#[derive(Debug, Clone)]
pub struct Nim {
    heaps: Vec<u8>,
    next: Seat,
    started_with: Vec<u8>,
}

/// What lies on the table at the start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The sticks in each heap; 3, 4 and 5 unless the league says otherwise.
    pub heaps: Vec<u8>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            heaps: vec![3, 4, 5],
        }
    }
}

/// Some sticks of one heap, written as two digits: the heap, from 1, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Take {
    /// The place of the heap, from 0.
    pub heap: u8,
    /// How many sticks are taken.
    pub sticks: u8,
}

/// A number that names no heap or no stick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` takes nothing; a move is the number of a heap and then the number of sticks")]
pub struct NotATake(pub u8);

/// What either seat may see, which is everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NimView {
    /// The sticks that are left in each heap, the first heap first.
    pub heaps: Vec<u8>,
}

impl Game for Nim {
    const RULES: Rules = Rules {
        game_type: "nim",
        display_name: "Nim",
        move_type: "take_sticks",
        valid_choices: &["11-99"],
        min_players: 2,
        max_players: 2,
        rules_module: "league_games::nim",
        max_round_time_sec: 900,
        max_moves: MAX_HEAPS as u32 * MAX_STICKS as u32,
        sides_matter: true,
        hidden_moves: false,
        simultaneous: false,
        rules_text: "\
Some heaps of sticks lie on the table. The players move in turn, seat A first. Who is to move takes \
one or more sticks from one heap, as many as the heap has at most.
A move is a number of two digits, from `11` to `99`: the first digit is the heap, counted from 1, the \
second is how many sticks are taken. So 23 takes three sticks from the second heap.
The view: `heaps` lists how many sticks are left in each heap, the first heap first.
The game ends when no stick is left. The player that took the last stick wins; there is no draw.",
    };
    type Settings = Settings;
    type Move = Take;
    type View = NimView;

    fn check(settings: &Settings) -> Result<(), BadSettings> {
        let heaps = &settings.heaps;
        let fits = (1..=MAX_HEAPS).contains(&heaps.len())
            && heaps.iter().all(|sticks| (1..=MAX_STICKS).contains(sticks));
        if fits {
            return Ok(());
        }
        let problem = format!(
            "is `{heaps:?}` and must list 1 to {MAX_HEAPS} heaps of 1 to {MAX_STICKS} sticks"
        );
        Err(BadSettings::OutOfRange {
            key: "heaps",
            problem,
        })
    }

    fn new(settings: &Settings) -> Self {
        Self {
            heaps: settings.heaps.clone(),
            next: Seat::A,
            started_with: settings.heaps.clone(),
        }
    }

    fn turn(&self) -> Turn {
        if self.heaps.iter().all(|sticks| *sticks == 0) {
            Turn::Over(Outcome::Win(self.next.other()))
        } else {
            Turn::Seats([self.next].into())
        }
    }

    fn options(&self, seat: Seat) -> Vec<Take> {
        if self.owes(seat).is_err() {
            return Vec::new();
        }
        let heaps = (0..).zip(&self.heaps);
        heaps
            .flat_map(|(heap, left)| (1..=*left).map(move |sticks| Take { heap, sticks }))
            .collect()
    }

    fn view(&self, _seat: Seat) -> NimView {
        NimView {
            heaps: self.heaps.clone(),
        }
    }

    fn play(&mut self, seat: Seat, mv: Take) -> Result<(), Illegal> {
        self.allow(seat, &mv)?;
        if let Some(left) = self.heaps.get_mut(usize::from(mv.heap)) {
            *left = left.saturating_sub(mv.sticks);
        }
        self.next = seat.other();
        Ok(())
    }

    fn details(&self) -> Map<String, Value> {
        match self.turn() {
            Turn::Over(_) => {
                Map::from_iter([("last_seat".to_owned(), json!(self.next.other().to_string()))])
            }
            Turn::Seats(_) | Turn::Dice => Map::new(),
        }
    }

    fn max_moves(&self) -> u32 {
        self.started_with
            .iter()
            .map(|sticks| u32::from(*sticks))
            .sum()
    }

    fn picture(&self) -> Picture {
        let heaps = self.heaps.iter().zip(&self.started_with).zip(1..);
        let row = |((left, before), number): ((&u8, &u8), u8)| {
            let stick = |place| match place {
                place if place < *left => PictureCell::new("|", Tone::Neutral),
                _ => PictureCell::empty(),
            };
            PictureRow::labelled(number.to_string(), (0..*before).map(stick).collect())
        };
        Picture::of(heaps.map(row).collect())
    }

    fn reason(&self, names: &[&str]) -> String {
        match self.turn() {
            Turn::Over(_) => format!("{} took the last stick", self.next.other().name(names)),
            Turn::Seats(_) | Turn::Dice => {
                let left: u32 = self.heaps.iter().map(|sticks| u32::from(*sticks)).sum();
                format!("{left} sticks are left")
            }
        }
    }
}

impl TryFrom<u8> for Take {
    type Error = NotATake;

    fn try_from(number: u8) -> Result<Self, NotATake> {
        match (number / 10, number % 10) {
            (heap @ 1..=9, sticks @ 1..) => Ok(Self {
                heap: heap - 1,
                sticks,
            }),
            _ => Err(NotATake(number)),
        }
    }
}

impl From<Take> for u8 {
    fn from(take: Take) -> Self {
        (take.heap + 1) * 10 + take.sticks
    }
}

#[cfg(test)]
mod tests;
