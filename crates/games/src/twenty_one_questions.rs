//! Twenty-one questions: the roll hides an animal of a known table; seats ask about attributes in
//! turn, or guess. All answers are public, and the first right guess wins.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    BadSettings, Dice, Game, Illegal, Outcome, Picture, PictureCell, PictureRow, Rules, Seat, Tone,
    Turn,
};

/// The most questions and guesses of both seats together.
const MAX_QUESTIONS: u8 = 21;

/// What can be asked.
const ATTRIBUTES: [&str; 11] = [
    "mammal",
    "bird",
    "flies",
    "swims",
    "eats_meat",
    "lays_eggs",
    "four_legs",
    "large",
    "patterned",
    "domestic",
    "african",
];

/// What can be hidden, with the attributes that it has; no two have the same.
const ITEMS: [(&str, &[&str]); 24] = [
    ("bat", &["mammal", "flies", "eats_meat"]),
    ("bear", &["mammal", "eats_meat", "four_legs", "large"]),
    ("bee", &["flies", "lays_eggs", "patterned"]),
    ("cat", &["mammal", "eats_meat", "four_legs", "domestic"]),
    ("chicken", &["bird", "lays_eggs", "domestic"]),
    (
        "crocodile",
        &[
            "swims",
            "eats_meat",
            "lays_eggs",
            "four_legs",
            "large",
            "african",
        ],
    ),
    ("deer", &["mammal", "four_legs"]),
    ("dolphin", &["mammal", "swims", "eats_meat"]),
    ("eagle", &["bird", "flies", "eats_meat", "lays_eggs"]),
    ("elephant", &["mammal", "four_legs", "large", "african"]),
    ("frog", &["swims", "eats_meat", "lays_eggs", "four_legs"]),
    ("horse", &["mammal", "four_legs", "large", "domestic"]),
    (
        "leopard",
        &["mammal", "eats_meat", "four_legs", "patterned", "african"],
    ),
    (
        "lion",
        &["mammal", "eats_meat", "four_legs", "large", "african"],
    ),
    ("ostrich", &["bird", "lays_eggs", "large", "african"]),
    ("parrot", &["bird", "flies", "lays_eggs"]),
    ("penguin", &["bird", "swims", "eats_meat", "lays_eggs"]),
    ("rabbit", &["mammal", "four_legs", "domestic"]),
    ("shark", &["swims", "eats_meat", "large"]),
    (
        "tiger",
        &["mammal", "eats_meat", "four_legs", "large", "patterned"],
    ),
    ("tortoise", &["lays_eggs", "four_legs"]),
    ("trout", &["swims", "eats_meat", "lays_eggs"]),
    ("whale", &["mammal", "swims", "eats_meat", "large"]),
    (
        "zebra",
        &["mammal", "four_legs", "large", "patterned", "african"],
    ),
];

/// Every word that a move can be: first the attributes, then the items.
const CHOICES: [&str; ATTRIBUTES.len() + ITEMS.len()] = {
    let mut choices = [""; ATTRIBUTES.len() + ITEMS.len()];
    let mut place = 0;
    while place < choices.len() {
        choices[place] = if place < ATTRIBUTES.len() {
            ATTRIBUTES[place]
        } else {
            ITEMS[place - ATTRIBUTES.len()].0
        };
        place += 1;
    }
    choices
};

/// A game of questions: the hidden item once it is rolled, and what was asked.
#[derive(Debug, Clone)]
pub struct TwentyOneQuestions {
    questions: u8,
    /// The place of the hidden item in the table.
    item: Option<usize>,
    asked: Vec<ItemQuestion>,
}

/// How long a game is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The questions and guesses of both seats together; 21 unless the league says otherwise.
    pub questions: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            questions: MAX_QUESTIONS,
        }
    }
}

/// An attribute that is asked about, or an item that is guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ItemQuestion(usize);

/// A word that is neither an attribute nor an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is neither an attribute nor an item of the table")]
pub struct NotAQuestion;

/// What either seat may see: everything but the hidden item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TwentyOneQuestionsView {
    /// Every item with the attributes that it has.
    pub items: BTreeMap<&'static str, &'static [&'static str]>,
    /// What was asked and answered, the oldest first.
    pub answers: Vec<ItemAnswer>,
    /// How many questions and guesses are left to both seats together.
    pub questions_left: usize,
    /// The hidden item, once the game is over.
    pub hidden_item: Option<&'static str>,
}

/// A question or a guess with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemAnswer {
    /// Whether the seat that looks asked it.
    pub by_you: bool,
    /// The attribute or the item.
    pub question: ItemQuestion,
    /// Whether the hidden item has the attribute, or is the item.
    pub answer: bool,
}

impl Game for TwentyOneQuestions {
    const RULES: Rules = Rules {
        game_type: "twenty_one_questions",
        display_name: "21 Questions",
        move_type: "ask_question",
        valid_choices: &CHOICES,
        min_players: 2,
        max_players: 2,
        rules_module: "league_games::twenty_one_questions",
        max_round_time_sec: 900,
        max_moves: MAX_QUESTIONS as u32,
        sides_matter: true,
        hidden_moves: false,
        simultaneous: false,
        rules_text: "\
One item of a table of animals is hidden; each is equally likely. The players move in turn, seat A \
first. A move either asks whether the hidden item has an attribute, or guesses the item. Both players \
see every question and its answer. A wrong guess costs no more than the turn.
A move is one word: an attribute (`mammal`, `bird`, `flies`, `swims`, `eats_meat`, `lays_eggs`, \
`four_legs`, `large`, `patterned`, `domestic`, `african`) to ask about it, or the name of an item \
in `items` to guess it. Nothing can be asked or guessed twice.
The view: `items` names every item with the list of all attributes that it has, so that it lacks the \
others; `answers` lists what was asked so far, the oldest first, each with `question` (the word), \
`answer` (true or false) and `by_you` (whether you asked); `questions_left` is how many moves both \
players have left together; `hidden_item` is null until the game is over.
The game ends with a right guess, and who made it wins. If no moves are left before that, it is a \
draw.",
    };
    type Settings = Settings;
    type Move = ItemQuestion;
    type View = TwentyOneQuestionsView;

    fn check(settings: &Settings) -> Result<(), BadSettings> {
        if (1..=MAX_QUESTIONS).contains(&settings.questions) {
            return Ok(());
        }
        let problem = format!(
            "is `{}` and must be 1 to {MAX_QUESTIONS}",
            settings.questions
        );
        Err(BadSettings::OutOfRange {
            key: "questions",
            problem,
        })
    }

    fn new(settings: &Settings) -> Self {
        Self {
            questions: settings.questions,
            item: None,
            asked: Vec::new(),
        }
    }

    fn turn(&self) -> Turn {
        let Some(item) = self.item else {
            return Turn::Dice;
        };
        if self
            .asked
            .last()
            .is_some_and(|last| last.guess() == Some(item))
        {
            return Turn::Over(Outcome::Win(asker(self.asked.len() - 1)));
        }
        match self.questions_left() {
            0 => Turn::Over(Outcome::Draw),
            _ => Turn::Seats([asker(self.asked.len())].into()),
        }
    }

    fn options(&self, seat: Seat) -> Vec<ItemQuestion> {
        if self.owes(seat).is_err() {
            return Vec::new();
        }
        let all = (0..CHOICES.len()).map(ItemQuestion);
        all.filter(|question| !self.asked.contains(question))
            .collect()
    }

    fn view(&self, seat: Seat) -> TwentyOneQuestionsView {
        let answers = self.asked.iter().enumerate();
        TwentyOneQuestionsView {
            items: ITEMS.into_iter().collect(),
            answers: answers
                .map(|(place, question)| ItemAnswer {
                    by_you: asker(place) == seat,
                    question: *question,
                    answer: self.answer(*question),
                })
                .collect(),
            questions_left: self.questions_left(),
            hidden_item: self.shown_item(),
        }
    }

    fn play(&mut self, seat: Seat, mv: ItemQuestion) -> Result<(), Illegal> {
        self.allow(seat, &mv)?;
        self.asked.push(mv);
        Ok(())
    }

    fn roll(&mut self, dice: &mut Dice) {
        if self.item.is_none() {
            self.item = usize::try_from(dice.roll(0..=ITEMS.len() as u64 - 1)).ok();
        }
    }

    fn details(&self) -> Map<String, Value> {
        match self.shown_item() {
            Some(item) => Map::from_iter([("hidden_item".to_owned(), json!(item))]),
            None => Map::new(),
        }
    }

    fn max_moves(&self) -> u32 {
        self.questions.into()
    }

    fn picture(&self) -> Picture {
        let answer = |(place, question): (usize, &ItemQuestion)| {
            let answer = if self.answer(*question) { "yes" } else { "no" };
            let cell = PictureCell::of_seat(asker(place), answer);
            PictureRow::labelled(question.word(), vec![cell])
        };
        let hidden = match self.shown_item() {
            Some(item) => PictureCell::new(item, Tone::Neutral),
            None => PictureCell::hidden(),
        };
        let mut rows = vec![PictureRow::labelled("hidden item", vec![hidden])];
        rows.extend(self.asked.iter().enumerate().map(answer));
        Picture::of(rows)
    }

    fn reason(&self, names: &[&str]) -> String {
        match (self.turn(), self.shown_item()) {
            (Turn::Over(Outcome::Win(seat)), Some(item)) => {
                format!("{} guessed the {item}", seat.name(names))
            }
            (Turn::Over(_), Some(item)) => format!("neither guessed the {item}"),
            _ => format!("{} questions are left", self.questions_left()),
        }
    }
}

impl TwentyOneQuestions {
    fn questions_left(&self) -> usize {
        usize::from(self.questions).saturating_sub(self.asked.len())
    }

    /// Whether the hidden item has an attribute, or is the item that was guessed.
    fn answer(&self, question: ItemQuestion) -> bool {
        let Some(item) = self.item else {
            return false;
        };
        match question.guess() {
            Some(guess) => guess == item,
            None => ITEMS
                .get(item)
                .is_some_and(|(_, has)| has.contains(&question.word())),
        }
    }

    /// The hidden item, once the game is over.
    fn shown_item(&self) -> Option<&'static str> {
        match self.turn() {
            Turn::Over(_) => ITEMS.get(self.item?).map(|(item, _)| *item),
            Turn::Seats(_) | Turn::Dice => None,
        }
    }
}

/// The seat that asks the question at this place.
const fn asker(place: usize) -> Seat {
    if place.is_multiple_of(2) {
        Seat::A
    } else {
        Seat::B
    }
}

impl ItemQuestion {
    fn word(self) -> &'static str {
        CHOICES.get(self.0).copied().unwrap_or_default()
    }

    /// The place of the item that is guessed, if it is a guess.
    const fn guess(self) -> Option<usize> {
        self.0.checked_sub(ATTRIBUTES.len())
    }
}

impl TryFrom<String> for ItemQuestion {
    type Error = NotAQuestion;

    fn try_from(word: String) -> Result<Self, NotAQuestion> {
        let place = CHOICES.iter().position(|choice| *choice == word);
        place.map(Self).ok_or(NotAQuestion)
    }
}

impl From<ItemQuestion> for String {
    fn from(question: ItemQuestion) -> Self {
        question.word().to_owned()
    }
}

#[cfg(test)]
mod tests;
