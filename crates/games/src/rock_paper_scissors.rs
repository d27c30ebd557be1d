//! Rock, paper, scissors, thrown several times in a match: both seats throw at once, and see what
//! was thrown before. The seat that wins more throws wins the match.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::repeated::{MAX_TURNS, RepeatedTurns, check_turns};
use crate::{BadSettings, Game, Illegal, Outcome, Picture, Rules, Seat, Turn};

/// A match of rock, paper, scissors: all throws so far.
#[derive(Debug, Clone)]
pub struct RockPaperScissors {
    turns: RepeatedTurns<Throw>,
}

/// How often is thrown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The throws of a match; 15 unless the league says otherwise.
    pub throws: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self { throws: 15 }
    }
}

/// What a hand shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Throw {
    /// Beats scissors.
    Rock,
    /// Beats rock.
    Paper,
    /// Beats paper.
    Scissors,
}

/// What a seat may see: all complete throws, and its own throw of the present turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RockPaperScissorsView {
    /// How many throws the match has.
    pub throws: u8,
    /// How many throws are complete.
    pub thrown: usize,
    /// This seat's throw of the present turn, while it waits for the other.
    pub your_throw: Option<Throw>,
    /// This seat's throws, the oldest first.
    pub your_throws: Vec<Throw>,
    /// The other seat's throws, the oldest first.
    pub opponent_throws: Vec<Throw>,
    /// How many throws this seat has won.
    pub your_wins: u32,
    /// How many throws the other seat has won.
    pub opponent_wins: u32,
}

impl Game for RockPaperScissors {
    const RULES: Rules = Rules {
        game_type: "rock_paper_scissors",
        display_name: "Rock, Paper, Scissors",
        move_type: "throw_hand",
        valid_choices: &["rock", "paper", "scissors"],
        min_players: 2,
        max_players: 2,
        rules_module: "league_games::rock_paper_scissors",
        max_round_time_sec: 900,
        max_moves: 2 * MAX_TURNS as u32,
        sides_matter: false,
        hidden_moves: false,
        simultaneous: true,
        rules_text: "\
Both players throw at the same time, several times in a match. Rock beats scissors, scissors beat \
paper, paper beats rock; two equal throws do not score. As soon as both have thrown, both throws \
are public, so you can study what your opponent tends to do.
A move is one of the words `rock`, `paper`, `scissors`.
The view: `throws` is the number of throws in the match and `thrown` how many are complete; \
`your_throw` is your throw of the present turn if you have made it, else null; `your_throws` and \
`opponent_throws` list the complete throws, the oldest first; `your_wins` and `opponent_wins` count \
the throws that each has won.
The match ends after the last throw. The player that won more throws wins; if both won equally many, \
it is a draw.",
    };
    type Settings = Settings;
    type Move = Throw;
    type View = RockPaperScissorsView;

    fn check(settings: &Settings) -> Result<(), BadSettings> {
        check_turns("throws", settings.throws)
    }

    fn new(settings: &Settings) -> Self {
        Self {
            turns: RepeatedTurns::new(settings.throws),
        }
    }

    fn turn(&self) -> Turn {
        self.turns.turn(self.wins())
    }

    fn options(&self, seat: Seat) -> Vec<Throw> {
        self.turns
            .options(seat, &[Throw::Rock, Throw::Paper, Throw::Scissors])
    }

    fn view(&self, seat: Seat) -> RockPaperScissorsView {
        let [a, b] = self.wins();
        let (own, other) = if seat == Seat::A { (a, b) } else { (b, a) };
        RockPaperScissorsView {
            throws: self.turns.turns,
            thrown: self.turns.made.len(),
            your_throw: self.turns.open_choice(seat),
            your_throws: self.turns.choices(seat),
            opponent_throws: self.turns.choices(seat.other()),
            your_wins: own,
            opponent_wins: other,
        }
    }

    fn play(&mut self, seat: Seat, mv: Throw) -> Result<(), Illegal> {
        self.turns.take(seat, mv)
    }

    fn details(&self) -> Map<String, Value> {
        self.turns.details("won_throws", self.wins())
    }

    fn max_moves(&self) -> u32 {
        2 * u32::from(self.turns.turns)
    }

    fn picture(&self) -> Picture {
        Picture::of(self.turns.rows(self.wins(), |throw| match throw {
            Throw::Rock => "R",
            Throw::Paper => "P",
            Throw::Scissors => "S",
        }))
    }

    fn reason(&self, names: &[&str]) -> String {
        let [a, b] = self.wins();
        match self.turn() {
            Turn::Over(Outcome::Draw) => format!("both won {a} of {} throws", self.turns.turns),
            Turn::Over(Outcome::Win(seat)) => {
                let (won, lost) = (a.max(b), a.min(b));
                format!("{} won {won} throws to {lost}", seat.name(names))
            }
            Turn::Seats(_) | Turn::Dice => format!(
                "{} of {} throws are made",
                self.turns.made.len(),
                self.turns.turns
            ),
        }
    }
}

impl RockPaperScissors {
    /// How many throws each seat has won.
    fn wins(&self) -> [u32; 2] {
        self.turns
            .score(|[a, b]| [u32::from(a.beats(b)), u32::from(b.beats(a))])
    }
}

impl Throw {
    /// Whether this throw wins against another.
    pub const fn beats(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Rock, Self::Scissors)
                | (Self::Paper, Self::Rock)
                | (Self::Scissors, Self::Paper)
        )
    }
}

#[cfg(test)]
mod tests;
