//! The prisoner's dilemma, several rounds in a match: both seats cooperate or defect at once, and see
//! what was chosen before. The seat with more points wins the match.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::repeated::{MAX_TURNS, RepeatedTurns, check_turns};
use crate::{BadSettings, Game, Illegal, Outcome, Picture, Rules, Seat, Turn};

/// A match of the dilemma: all choices so far.
#[derive(Debug, Clone)]
pub struct IteratedPrisonersDilemma {
    turns: RepeatedTurns<DilemmaChoice>,
}

/// How often is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The rounds of a match; 20 unless the league says otherwise.
    pub rounds: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rounds: 20 }
    }
}

/// What a seat chooses in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DilemmaChoice {
    /// Keep faith with the other seat.
    Cooperate,
    /// Betray it.
    Defect,
}

/// What a seat may see: all complete rounds, and its own choice of the present one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IteratedPrisonersDilemmaView {
    /// How many rounds the match has.
    pub rounds: u8,
    /// How many rounds are complete.
    pub completed: usize,
    /// This seat's choice of the present round, while it waits for the other.
    pub your_choice: Option<DilemmaChoice>,
    /// This seat's choices, the oldest first.
    pub your_choices: Vec<DilemmaChoice>,
    /// The other seat's choices, the oldest first.
    pub opponent_choices: Vec<DilemmaChoice>,
    /// This seat's points.
    pub your_points: u32,
    /// The other seat's points.
    pub opponent_points: u32,
}

impl Game for IteratedPrisonersDilemma {
    const RULES: Rules = Rules {
        game_type: "iterated_prisoners_dilemma",
        display_name: "Iterated Prisoner's Dilemma",
        move_type: "choose_decision",
        valid_choices: &["cooperate", "defect"],
        min_players: 2,
        max_players: 2,
        rules_module: "league_games::iterated_prisoners_dilemma",
        max_round_time_sec: 900,
        max_moves: 2 * MAX_TURNS as u32,
        sides_matter: false,
        hidden_moves: false,
        simultaneous: true,
        rules_text: "\
In each round both players choose at the same time whether to cooperate or to defect. If both \
cooperate, each gets 3 points. If both defect, each gets 1 point. If one defects and the other \
cooperates, the one that defects gets 5 points and the other gets none. As soon as both have chosen, \
both choices are public.
A move is one of the words `cooperate`, `defect`.
The view: `rounds` is the number of rounds in the match and `completed` how many are complete; \
`your_choice` is your choice of the present round if you have made it, else null; `your_choices` and \
`opponent_choices` list the choices of the complete rounds, the oldest first; `your_points` and \
`opponent_points` are the points so far.
The match ends after the last round. The player with more points wins; if both have equally many, it \
is a draw.",
    };
    type Settings = Settings;
    type Move = DilemmaChoice;
    type View = IteratedPrisonersDilemmaView;

    fn check(settings: &Settings) -> Result<(), BadSettings> {
        check_turns("rounds", settings.rounds)
    }

    fn new(settings: &Settings) -> Self {
        Self {
            turns: RepeatedTurns::new(settings.rounds),
        }
    }

    fn turn(&self) -> Turn {
        self.turns.turn(self.points())
    }

    fn options(&self, seat: Seat) -> Vec<DilemmaChoice> {
        self.turns
            .options(seat, &[DilemmaChoice::Cooperate, DilemmaChoice::Defect])
    }

    fn view(&self, seat: Seat) -> IteratedPrisonersDilemmaView {
        let [a, b] = self.points();
        let (own, other) = if seat == Seat::A { (a, b) } else { (b, a) };
        IteratedPrisonersDilemmaView {
            rounds: self.turns.turns,
            completed: self.turns.made.len(),
            your_choice: self.turns.open_choice(seat),
            your_choices: self.turns.choices(seat),
            opponent_choices: self.turns.choices(seat.other()),
            your_points: own,
            opponent_points: other,
        }
    }

    fn play(&mut self, seat: Seat, mv: DilemmaChoice) -> Result<(), Illegal> {
        self.turns.take(seat, mv)
    }

    fn details(&self) -> Map<String, Value> {
        self.turns.details("points", self.points())
    }

    fn max_moves(&self) -> u32 {
        2 * u32::from(self.turns.turns)
    }

    fn picture(&self) -> Picture {
        Picture::of(self.turns.rows(self.points(), |choice| match choice {
            DilemmaChoice::Cooperate => "C",
            DilemmaChoice::Defect => "D",
        }))
    }

    fn reason(&self, names: &[&str]) -> String {
        let [a, b] = self.points();
        match self.turn() {
            Turn::Over(Outcome::Draw) => format!("both have {a} points"),
            Turn::Over(Outcome::Win(seat)) => {
                let (more, less) = (a.max(b), a.min(b));
                format!("{} has {more} points to {less}", seat.name(names))
            }
            Turn::Seats(_) | Turn::Dice => format!(
                "{} of {} rounds are complete",
                self.turns.made.len(),
                self.turns.turns
            ),
        }
    }
}

impl IteratedPrisonersDilemma {
    fn points(&self) -> [u32; 2] {
        use DilemmaChoice::{Cooperate, Defect};
        self.turns.score(|decisions| match decisions {
            [Cooperate, Cooperate] => [3, 3],
            [Cooperate, Defect] => [0, 5],
            [Defect, Cooperate] => [5, 0],
            [Defect, Defect] => [1, 1],
        })
    }
}

#[cfg(test)]
mod tests;
