//! Memory: pairs of cards lie face down; seats turn two over in turn and keep the pairs they find.
//!
//! A card's value is rolled when it is turned over for the first time, from the values that are left,
//! which is as fair as shuffling before: not even the referee can know a card earlier.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    BadSettings, Dice, Game, Illegal, Outcome, Picture, PictureCell, PictureRow, Rules, Seat, Tone,
    Turn,
};

/// The most pairs that may be laid out.
const MAX_PAIRS: u8 = 18;
/// How many turns a game has for each pair at most, so that it ends even if neither seat remembers.
const TURNS_PER_PAIR: u32 = 6;

/// A game of memory: what is known of the cards, and who turns them over.
#[derive(Debug, Clone)]
pub struct Memory {
    pairs: u8,
    /// The values of the cards that were turned over.
    values: BTreeMap<Card, u8>,
    /// The seat that found each card's pair.
    found: BTreeMap<Card, Seat>,
    /// The cards in the order in which they were turned over, and by which seat.
    turned: Vec<(Seat, Card)>,
    next: Seat,
    /// The first card of the present turn.
    first: Option<Card>,
    /// The card that was turned over last, until its value is rolled and counted.
    rolling: Option<Card>,
    turns: u32,
}

/// How many cards are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The pairs on the table; 6 unless the league says otherwise.
    pub pairs: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self { pairs: 6 }
    }
}

/// A card on the table, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Card(u8);

/// A number beyond the largest table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a card; cards are 0 to 35 at most")]
pub struct NotACard(pub u8);

/// What either seat may see: all that was ever turned over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryView {
    /// What lies at each place: `down`, `taken`, or the value of a card that is face up.
    pub cards: Vec<Value>,
    /// Every card that was turned over, the oldest first.
    pub turned: Vec<TurnedCard>,
    /// How many pairs this seat has found.
    pub your_pairs: usize,
    /// How many pairs the other seat has found.
    pub opponent_pairs: usize,
    /// How many turns are left.
    pub turns_left: u32,
}

/// A card that was turned over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TurnedCard {
    /// Whether the seat that looks turned it over.
    pub by_you: bool,
    /// Its place.
    pub card: Card,
    /// What it showed.
    pub value: Option<u8>,
}

impl Game for Memory {
    const RULES: Rules = Rules {
        game_type: "memory",
        display_name: "Memory",
        move_type: "turn_card",
        valid_choices: &["0-35"],
        min_players: 2,
        max_players: 2,
        rules_module: "league_games::memory",
        max_round_time_sec: 1800,
        max_moves: 2 * TURNS_PER_PAIR * MAX_PAIRS as u32,
        sides_matter: true,
        hidden_moves: false,
        simultaneous: false,
        rules_text: "\
Pairs of cards lie face down; each value is on exactly two cards. The players have turns, seat A \
first. In a turn a player turns over one card, sees its value, then turns over a second one. If both \
have the same value, the player keeps the pair and has another turn. Otherwise both are turned face \
down again and the other player has the next turn. Both players see every card that is turned over.
A move is the number of a card that is face down: `0` is the first, and there are two for each pair, \
so that with 6 pairs the last one is 11; no table goes beyond `35`.
The view: `cards` lists all cards in order, each as \"down\" (face down), \"taken\" (its pair was found) \
or its value, a number, if it is face up in this turn; `turned` lists every card that was turned over \
so far, the oldest first, each with `card` (its number), `value` and `by_you` (whether you turned it \
over); `your_pairs` and `opponent_pairs` count the pairs found; `turns_left` says how many turns both \
players have left together.
The game ends when all pairs are found or no turns are left. The player with more pairs wins; if both \
have equally many, it is a draw.",
    };
    type Settings = Settings;
    type Move = Card;
    type View = MemoryView;

    fn check(settings: &Settings) -> Result<(), BadSettings> {
        if (1..=MAX_PAIRS).contains(&settings.pairs) {
            return Ok(());
        }
        let problem = format!("is `{}` and must be 1 to {MAX_PAIRS}", settings.pairs);
        Err(BadSettings::OutOfRange {
            key: "pairs",
            problem,
        })
    }

    fn new(settings: &Settings) -> Self {
        Self {
            pairs: settings.pairs,
            values: BTreeMap::new(),
            found: BTreeMap::new(),
            turned: Vec::new(),
            next: Seat::A,
            first: None,
            rolling: None,
            turns: 0,
        }
    }

    fn turn(&self) -> Turn {
        if self.rolling.is_some() {
            return Turn::Dice;
        }
        let all_found = self.found.len() == usize::from(self.pairs) * 2;
        if all_found || self.turns_left() == 0 {
            return Turn::Over(Outcome::of_scores(
                self.pairs_of(Seat::A),
                self.pairs_of(Seat::B),
            ));
        }
        Turn::Seats([self.next].into())
    }

    fn options(&self, seat: Seat) -> Vec<Card> {
        if self.owes(seat).is_err() {
            return Vec::new();
        }
        let is_down = |card: &Card| !self.found.contains_key(card) && self.first != Some(*card);
        self.cards().filter(is_down).collect()
    }

    fn view(&self, seat: Seat) -> MemoryView {
        let shown = |card: Card| match self.values.get(&card) {
            _ if self.found.contains_key(&card) => json!("taken"),
            Some(value) if self.first == Some(card) => json!(value),
            _ => json!("down"),
        };
        let turned = |(by, card): &(Seat, Card)| TurnedCard {
            by_you: *by == seat,
            card: *card,
            value: self.values.get(card).copied(),
        };
        MemoryView {
            cards: self.cards().map(shown).collect(),
            turned: self.turned.iter().map(turned).collect(),
            your_pairs: self.pairs_of(seat),
            opponent_pairs: self.pairs_of(seat.other()),
            turns_left: self.turns_left(),
        }
    }

    fn play(&mut self, seat: Seat, mv: Card) -> Result<(), Illegal> {
        self.allow(seat, &mv)?;
        self.turned.push((seat, mv));
        if self.values.contains_key(&mv) {
            self.count(seat, mv);
        } else {
            self.rolling = Some(mv);
        }
        Ok(())
    }

    fn roll(&mut self, dice: &mut Dice) {
        let Some(card) = self.rolling.take() else {
            return;
        };
        let left = self.values_left();
        let value = dice.pick(&left).copied().unwrap_or_default();
        self.values.insert(card, value);
        self.count(self.next, card);
    }

    fn details(&self) -> Map<String, Value> {
        match self.turn() {
            Turn::Over(_) => Map::from_iter([(
                "pairs".to_owned(),
                json!([self.pairs_of(Seat::A), self.pairs_of(Seat::B)]),
            )]),
            Turn::Seats(_) | Turn::Dice => Map::new(),
        }
    }

    fn max_moves(&self) -> u32 {
        2 * TURNS_PER_PAIR * u32::from(self.pairs)
    }

    fn picture(&self) -> Picture {
        let cell = |card: Card| match (self.values.get(&card), self.found.get(&card)) {
            (Some(value), Some(seat)) => PictureCell::of_seat(*seat, value),
            (Some(value), None) if self.is_face_up(card) => PictureCell::new(value, Tone::Neutral),
            _ => PictureCell::hidden(),
        };
        let cards: Vec<Card> = self.cards().collect();
        let rows = cards.chunks(row_length(cards.len()));
        let row = |cards: &[Card]| PictureRow {
            label: None,
            cells: cards.iter().copied().map(cell).collect(),
        };
        Picture::of(rows.map(row).collect())
    }

    fn reason(&self, names: &[&str]) -> String {
        let (a, b) = (self.pairs_of(Seat::A), self.pairs_of(Seat::B));
        match self.turn() {
            Turn::Over(Outcome::Draw) => format!("both found {a} pairs"),
            Turn::Over(Outcome::Win(seat)) => {
                let (more, less) = (a.max(b), a.min(b));
                format!("{} found {more} pairs to {less}", seat.name(names))
            }
            Turn::Seats(_) | Turn::Dice => {
                format!("{} of {} pairs are found", a + b, self.pairs)
            }
        }
    }
}

impl Memory {
    fn cards(&self) -> impl Iterator<Item = Card> {
        (0..self.pairs.saturating_mul(2)).map(Card)
    }

    fn pairs_of(&self, seat: Seat) -> usize {
        self.found.values().filter(|by| **by == seat).count() / 2
    }

    fn turns_left(&self) -> u32 {
        (u32::from(self.pairs) * TURNS_PER_PAIR).saturating_sub(self.turns)
    }

    /// The values of the cards that are not turned over yet, each as often as it is left.
    fn values_left(&self) -> Vec<u8> {
        let mut left: Vec<u8> = (1..=self.pairs).flat_map(|value| [value; 2]).collect();
        for value in self.values.values() {
            if let Some(place) = left.iter().position(|one| one == value) {
                left.remove(place);
            }
        }
        left
    }

    /// Goes on after a card's value is known: it is the first or the second one of a turn.
    fn count(&mut self, seat: Seat, card: Card) {
        let Some(first) = self.first.take() else {
            self.first = Some(card);
            return;
        };
        self.turns += 1;
        if self.values.get(&first) == self.values.get(&card) {
            self.found.insert(first, seat);
            self.found.insert(card, seat);
        } else {
            self.next = seat.other();
        }
    }

    /// Whether spectators see a card: in this turn, or in the one before while this has not begun.
    fn is_face_up(&self, card: Card) -> bool {
        let shown = match (self.first, self.rolling) {
            (Some(_), None) => 1,
            _ => 2,
        };
        self.turned
            .iter()
            .rev()
            .take(shown)
            .any(|(_, up)| *up == card)
    }
}

/// How many cards lie side by side: the rows make about a square, and are equally long.
fn row_length(cards: usize) -> usize {
    let wide =
        (1..=cards).find(|columns| columns * columns >= cards && cards.is_multiple_of(*columns));
    wide.unwrap_or(1)
}

impl TryFrom<u8> for Card {
    type Error = NotACard;

    fn try_from(number: u8) -> Result<Self, NotACard> {
        if number < 2 * MAX_PAIRS {
            Ok(Self(number))
        } else {
            Err(NotACard(number))
        }
    }
}

impl From<Card> for u8 {
    fn from(card: Card) -> Self {
        card.0
    }
}

#[cfg(test)]
mod tests;
