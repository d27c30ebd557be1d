//! Kuhn poker: three cards, one each, one bet. A match has several hands in which the seats move first
//! in turn, and the seat with more chips at the end wins.
//!
//! A card is shown to the other seat only if both stay in to the end of the hand; the cards of a hand
//! that a seat folded stay hidden until the match is over.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    BadSettings, Dice, Game, Illegal, Outcome, Picture, PictureCell, PictureRow, Rules, Seat, Tone,
    Turn,
};

/// The most hands of a match.
const MAX_HANDS: u8 = 50;
/// The most moves in a hand.
const MOVES_PER_HAND: u32 = 3;

/// Every way to deal two of the three cards, to seat A and to seat B.
const DEALS: [[Card; 2]; 6] = {
    use Card::{Jack, King, Queen};
    [
        [Jack, Queen],
        [Jack, King],
        [Queen, Jack],
        [Queen, King],
        [King, Jack],
        [King, Queen],
    ]
};

/// A match of Kuhn poker: all hands that were dealt, the present one last.
#[derive(Debug, Clone)]
pub struct KuhnPoker {
    total: u8,
    hands: Vec<Hand>,
}

/// How many hands are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The hands of a match; 10 unless the league says otherwise. Seat A moves first in every other
    /// one, so an even number is fair.
    pub hands: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self { hands: 10 }
    }
}

/// A card; the king is the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Card {
    /// The lowest.
    Jack,
    /// Between the two others.
    Queen,
    /// The highest.
    King,
}

/// What a seat does when it is its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Put in nothing, before there is a bet.
    Check,
    /// Put in one more chip.
    Bet,
    /// Put in one more chip against a bet.
    Call,
    /// Give up the hand against a bet.
    Fold,
}

/// One hand: the cards in the order of seats, and what was done.
#[derive(Debug, Clone)]
struct Hand {
    cards: [Card; 2],
    first: Seat,
    actions: Vec<Action>,
}

/// What a seat may see: its own cards, and those that were shown to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KuhnPokerView {
    /// How many hands the match has.
    pub hands: u8,
    /// The number of the present hand, from 1.
    pub hand_number: usize,
    /// This seat's card in the present hand.
    pub your_card: Option<Card>,
    /// Whether this seat moves first in the present hand.
    pub you_move_first: bool,
    /// What was done in the present hand, the first mover's action first.
    pub actions: Vec<Action>,
    /// The chips in the pot.
    pub pot: u8,
    /// The chips that this seat has won from the other in the hands before; negative if it lost.
    pub your_chips: i32,
    /// The hands before, the oldest first.
    pub past_hands: Vec<PastHand>,
}

/// A hand that is over, as a seat may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PastHand {
    /// This seat's card.
    pub your_card: Option<Card>,
    /// The other seat's card; `null` if a seat folded and the match is not over.
    pub opponent_card: Option<Card>,
    /// Whether this seat moved first.
    pub you_moved_first: bool,
    /// What was done.
    pub actions: Vec<Action>,
    /// The chips that this seat won from the other.
    pub your_gain: i32,
}

impl Game for KuhnPoker {
    const RULES: Rules = Rules {
        game_type: "kuhn_poker",
        display_name: "Kuhn Poker",
        move_type: "poker_action",
        valid_choices: &["check", "bet", "call", "fold"],
        min_players: 2,
        max_players: 2,
        rules_module: "league_games::kuhn_poker",
        max_round_time_sec: 1800,
        max_moves: MAX_HANDS as u32 * MOVES_PER_HAND,
        sides_matter: true,
        hidden_moves: false,
        simultaneous: false,
        rules_text: "\
A match has several hands. The deck has three cards: jack, queen and king; the king is the highest, \
the jack the lowest. In each hand both players put one chip into the pot and get one card, which the \
other does not see. Seat A moves first in the first hand, then the players take turns at moving first.
A move is one of the words `check`, `bet`, `call`, `fold`. The first mover checks or bets one chip. \
After a check, the other checks, which ends the hand, or bets one chip. After a bet, the other calls \
with one chip or folds; both end the hand. After a fold, the player that bet gets the pot. Otherwise \
both cards are shown and the higher one gets the pot. So a hand is worth 1 chip after two checks or a \
fold, and 2 chips after a call.
The view: `hands` is the number of hands in the match and `hand_number` the present one, from 1; \
`your_card` is your card; `you_move_first` tells whether you move first in this hand; `actions` lists \
what was done in it, the first mover's action first; `pot` counts the chips in the pot; `your_chips` \
is what you have won from your opponent in the hands before, negative if you have lost; `past_hands` \
lists the hands before, the oldest first, each with `your_card`, `opponent_card` (null if a player \
folded), `you_moved_first`, `actions` and `your_gain` (the chips you won in it, negative if you lost).
The match ends after the last hand. The player that has won chips from the other wins; if neither \
has, it is a draw.",
    };
    const PRIVATE_VIEWS: bool = true;
    type Settings = Settings;
    type Move = Action;
    type View = KuhnPokerView;

    fn check(settings: &Settings) -> Result<(), BadSettings> {
        if (1..=MAX_HANDS).contains(&settings.hands) {
            return Ok(());
        }
        let problem = format!("is `{}` and must be 1 to {MAX_HANDS}", settings.hands);
        Err(BadSettings::OutOfRange {
            key: "hands",
            problem,
        })
    }

    fn new(settings: &Settings) -> Self {
        Self {
            total: settings.hands,
            hands: Vec::new(),
        }
    }

    fn turn(&self) -> Turn {
        match self.hands.last().and_then(Hand::next) {
            Some(seat) => Turn::Seats([seat].into()),
            None if self.hands.len() < usize::from(self.total) => Turn::Dice,
            None => Turn::Over(Outcome::of_scores(self.chips(Seat::A), 0)),
        }
    }

    fn options(&self, seat: Seat) -> Vec<Action> {
        match self.hands.last() {
            Some(hand) if self.owes(seat).is_ok() => hand.options().to_vec(),
            _ => Vec::new(),
        }
    }

    fn view(&self, seat: Seat) -> KuhnPokerView {
        let present = self.hands.last().filter(|hand| hand.next().is_some());
        let past = self.hands.iter().filter(|hand| hand.next().is_none());
        KuhnPokerView {
            hands: self.total,
            hand_number: self.hands.len(),
            your_card: present.and_then(|hand| hand.card(seat)),
            you_move_first: present.is_some_and(|hand| hand.first == seat),
            actions: present.map(|hand| hand.actions.clone()).unwrap_or_default(),
            pot: present.map_or(0, Hand::pot),
            your_chips: self.chips(seat),
            past_hands: past.map(|hand| self.past(hand, seat)).collect(),
        }
    }

    fn play(&mut self, seat: Seat, mv: Action) -> Result<(), Illegal> {
        self.allow(seat, &mv)?;
        if let Some(hand) = self.hands.last_mut() {
            hand.actions.push(mv);
        }
        Ok(())
    }

    fn roll(&mut self, dice: &mut Dice) {
        if self.turn() != Turn::Dice {
            return;
        }
        let first = if self.hands.len().is_multiple_of(2) {
            Seat::A
        } else {
            Seat::B
        };
        self.hands.extend(dice.pick(&DEALS).map(|cards| Hand {
            cards: *cards,
            first,
            actions: Vec::new(),
        }));
    }

    fn details(&self) -> Map<String, Value> {
        if !self.is_over() {
            return Map::new();
        }
        let cards: Vec<[Card; 2]> = self.hands.iter().map(|hand| hand.cards).collect();
        Map::from_iter([
            (
                "chips".to_owned(),
                json!([self.chips(Seat::A), self.chips(Seat::B)]),
            ),
            ("cards".to_owned(), json!(cards)),
        ])
    }

    fn max_moves(&self) -> u32 {
        u32::from(self.total) * MOVES_PER_HAND
    }

    fn picture(&self) -> Picture {
        let card = |hand: &Hand, seat: Seat| match hand.card(seat) {
            Some(card) if self.is_over() || hand.is_shown() => {
                PictureCell::of_seat(seat, card.letter())
            }
            _ => PictureCell::hidden(),
        };
        let gain = |hand: &Hand| match hand.gain(Seat::A) {
            0 => PictureCell::empty(),
            gain @ 1.. => PictureCell::of_seat(Seat::A, gain),
            gain => PictureCell::of_seat(Seat::B, -gain),
        };
        let actions = |hand: &Hand| {
            let letters = hand.actions.iter().map(|action| action.letter());
            PictureCell::new(letters.collect::<String>(), Tone::Neutral)
        };
        let row = |label: &str, cell: &dyn Fn(&Hand) -> PictureCell| {
            PictureRow::labelled(label, self.hands.iter().map(cell).collect())
        };
        Picture::of(vec![
            row("A", &|hand| card(hand, Seat::A)),
            row("B", &|hand| card(hand, Seat::B)),
            row("play", &actions),
            row("won", &gain),
        ])
    }

    fn reason(&self, names: &[&str]) -> String {
        let won = self.chips(Seat::A);
        match self.turn() {
            Turn::Over(Outcome::Win(seat)) => {
                let (name, won) = (seat.name(names), won.abs());
                format!("{name} won {won} chips in {} hands", self.total)
            }
            Turn::Over(Outcome::Draw) => {
                format!("neither seat has won chips after {} hands", self.total)
            }
            Turn::Seats(_) | Turn::Dice => {
                format!("hand {} of {} is played", self.hands.len(), self.total)
            }
        }
    }
}

impl KuhnPoker {
    fn is_over(&self) -> bool {
        matches!(self.turn(), Turn::Over(_))
    }

    /// The chips that a seat has won from the other in the hands that are over.
    fn chips(&self, seat: Seat) -> i32 {
        self.hands.iter().map(|hand| hand.gain(seat)).sum()
    }

    fn past(&self, hand: &Hand, seat: Seat) -> PastHand {
        let other = hand.card(seat.other());
        PastHand {
            your_card: hand.card(seat),
            opponent_card: other.filter(|_| hand.is_shown() || self.is_over()),
            you_moved_first: hand.first == seat,
            actions: hand.actions.clone(),
            your_gain: hand.gain(seat),
        }
    }
}

impl Hand {
    fn card(&self, seat: Seat) -> Option<Card> {
        self.cards.get(seat.index()).copied()
    }

    /// The seat that acts next; none once the hand is over.
    fn next(&self) -> Option<Seat> {
        match self.actions[..] {
            [] | [Action::Check, Action::Bet] => Some(self.first),
            [_] => Some(self.first.other()),
            _ => None,
        }
    }

    fn options(&self) -> &'static [Action] {
        match self.actions.last() {
            Some(Action::Bet) => &[Action::Call, Action::Fold],
            _ => &[Action::Check, Action::Bet],
        }
    }

    fn pot(&self) -> u8 {
        let put = |action: &&Action| matches!(action, Action::Bet | Action::Call);
        2 + u8::try_from(self.actions.iter().filter(put).count()).unwrap_or_default()
    }

    /// Whether the cards were shown: the hand is over and neither seat folded.
    fn is_shown(&self) -> bool {
        self.next().is_none() && !self.actions.contains(&Action::Fold)
    }

    /// The chips that a seat won from the other, none while the hand is on.
    fn gain(&self, seat: Seat) -> i32 {
        let folder = match self.actions[..] {
            _ if self.next().is_some() => return 0,
            [Action::Bet, Action::Fold] => Some(self.first.other()),
            [Action::Check, Action::Bet, Action::Fold] => Some(self.first),
            _ => None,
        };
        let wins = match folder {
            Some(folder) => folder != seat,
            None => self.card(seat) > self.card(seat.other()),
        };
        let stake = if self.actions.contains(&Action::Call) {
            2
        } else {
            1
        };
        if wins { stake } else { -stake }
    }
}

impl Card {
    const fn letter(self) -> char {
        match self {
            Self::Jack => 'J',
            Self::Queen => 'Q',
            Self::King => 'K',
        }
    }
}

impl Action {
    const fn letter(self) -> char {
        match self {
            Self::Check => 'x',
            Self::Bet => 'b',
            Self::Call => 'c',
            Self::Fold => 'f',
        }
    }
}

#[cfg(test)]
mod tests;
