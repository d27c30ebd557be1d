//! Even/Odd, the game of 000 chapter 3: both guess in secret whether a number will be even.
//!
//! One right guess against a wrong one wins; two right or two wrong ones are a draw.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::game::written;
use crate::{BadSettings, Dice, Game, Illegal, Outcome, Rules, Seat, SeatSet, Turn};

/// The largest number that may be drawn; it also bounds how many numbers there are.
pub const MAX_NUMBER: u64 = 1_000_000;

/// A game of Even/Odd: the guesses that are in, and the number once it is drawn.
#[derive(Debug, Clone)]
pub struct EvenOdd {
    settings: Settings,
    choices: [Option<NumberParity>; 2],
    drawn: Option<u64>,
}

/// Between which numbers the draw is made, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The lowest number that may be drawn; 1 unless the league says otherwise.
    pub lowest: u64,
    /// The highest number that may be drawn; 10 unless the league says otherwise.
    pub highest: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lowest: 1,
            highest: 10,
        }
    }
}

/// A guess, or what a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NumberParity {
    /// Divisible by two.
    Even,
    /// Not divisible by two.
    Odd,
}

/// What a seat may see: its own guess, and everything once the number is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvenOddView {
    /// The lowest number that may be drawn.
    pub lowest: u64,
    /// The highest number that may be drawn.
    pub highest: u64,
    /// This seat's guess, once made.
    pub your_choice: Option<NumberParity>,
    /// The other seat's guess; kept back until the number is drawn.
    pub opponent_choice: Option<NumberParity>,
    /// The number, once drawn.
    pub drawn_number: Option<u64>,
    /// Whether that number is even or odd.
    pub number_parity: Option<NumberParity>,
}

impl Game for EvenOdd {
    const RULES: Rules = Rules {
        game_type: "even_odd",
        display_name: "Even/Odd",
        move_type: "choose_parity",
        valid_choices: &["even", "odd"],
        min_players: 2,
        max_players: 2,
        rules_module: "league_games::even_odd",
        max_round_time_sec: 60,
        max_moves: 2,
        sides_matter: false,
        hidden_moves: true,
        simultaneous: true,
        rules_text: "\
Both players guess, at the same time and in secret, whether a number will be even or odd. Then the \
number is drawn: every whole number from `lowest` to `highest` is equally likely, both included.
A move is the word `even` or the word `odd`. Each player makes one move.
The view: `lowest` and `highest` are the bounds of the draw; `your_choice` is your guess once made; \
`opponent_choice` is null until the number is drawn; `drawn_number` is the number and \
`number_parity` says whether it is even or odd, both null before the draw.
The game ends with the draw. If one guess is right and the other wrong, the right one wins; if both \
are right or both are wrong, it is a draw.",
    };
    type Settings = Settings;
    type Move = NumberParity;
    type View = EvenOddView;

    /// Asks for at least one even and one odd number, which is two numbers or more.
    fn check(settings: &Settings) -> Result<(), BadSettings> {
        let Settings { lowest, highest } = *settings;
        if highest > MAX_NUMBER {
            let problem = format!("is `{highest}` and may be at most `{MAX_NUMBER}`");
            return Err(BadSettings::OutOfRange {
                key: "highest",
                problem,
            });
        }
        if lowest >= highest {
            let problem = format!("is `{lowest}` and must be below `highest`, `{highest}`");
            return Err(BadSettings::OutOfRange {
                key: "lowest",
                problem,
            });
        }
        Ok(())
    }

    fn new(settings: &Settings) -> Self {
        Self {
            settings: *settings,
            choices: [None, None],
            drawn: None,
        }
    }

    fn turn(&self) -> Turn {
        if let Some(number) = self.drawn {
            return Turn::Over(self.outcome(number));
        }
        let owing: SeatSet = [Seat::A, Seat::B]
            .into_iter()
            .filter(|&seat| self.waits_for(seat))
            .collect();
        if owing.is_empty() {
            Turn::Dice
        } else {
            Turn::Seats(owing)
        }
    }

    fn options(&self, seat: Seat) -> Vec<NumberParity> {
        if self.waits_for(seat) {
            vec![NumberParity::Even, NumberParity::Odd]
        } else {
            Vec::new()
        }
    }

    fn view(&self, seat: Seat) -> EvenOddView {
        EvenOddView {
            lowest: self.settings.lowest,
            highest: self.settings.highest,
            your_choice: self.choice(seat),
            opponent_choice: self.drawn.and_then(|_| self.choice(seat.other())),
            drawn_number: self.drawn,
            number_parity: self.drawn.map(NumberParity::of),
        }
    }

    fn play(&mut self, seat: Seat, mv: NumberParity) -> Result<(), Illegal> {
        // A seat that owes a move may choose either.
        self.owes(seat)?;
        if let Some(choice) = self.choices.get_mut(seat.index()) {
            *choice = Some(mv);
        }
        Ok(())
    }

    fn roll(&mut self, dice: &mut Dice) {
        if self.turn() == Turn::Dice {
            self.drawn = Some(dice.roll(self.settings.lowest..=self.settings.highest));
        }
    }

    fn details(&self) -> Map<String, Value> {
        let Some(number) = self.drawn else {
            return Map::new();
        };
        let mut details = Map::new();
        details.insert("drawn_number".to_owned(), Value::from(number));
        details.insert(
            "number_parity".to_owned(),
            written(&NumberParity::of(number)),
        );
        details
    }

    fn reason(&self, names: &[&str]) -> String {
        let (Some(number), [Some(a), Some(b)]) = (self.drawn, self.choices) else {
            return "the number is not drawn yet".to_owned();
        };
        let parity = NumberParity::of(number);
        let drawn = format_args!("number was {number} ({parity})");
        match self.outcome(number) {
            Outcome::Win(Seat::A) => format!("{} chose {a}, {drawn}", Seat::A.name(names)),
            Outcome::Win(_) => format!("{} chose {b}, {drawn}", Seat::B.name(names)),
            Outcome::Draw => {
                format!(
                    "{} and {} both chose {a}, {drawn}",
                    Seat::A.name(names),
                    Seat::B.name(names)
                )
            }
        }
    }
}

impl EvenOdd {
    fn choice(&self, seat: Seat) -> Option<NumberParity> {
        self.choices.get(seat.index()).copied().flatten()
    }

    fn waits_for(&self, seat: Seat) -> bool {
        matches!(self.choices.get(seat.index()), Some(None))
    }

    fn outcome(&self, number: u64) -> Outcome {
        let right = self
            .choices
            .map(|choice| choice == Some(NumberParity::of(number)));
        match right {
            [true, false] => Outcome::Win(Seat::A),
            [false, true] => Outcome::Win(Seat::B),
            _ => Outcome::Draw,
        }
    }
}

impl NumberParity {
    /// Tells whether a number is even or odd; 0 is even.
    pub const fn of(number: u64) -> Self {
        if number.is_multiple_of(2) {
            Self::Even
        } else {
            Self::Odd
        }
    }
}

impl fmt::Display for NumberParity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Even => "even",
            Self::Odd => "odd",
        })
    }
}

#[cfg(test)]
mod tests;
