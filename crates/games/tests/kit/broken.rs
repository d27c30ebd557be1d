//! Even/Odd with one fault each, so that every check is known to find something.

use std::sync::atomic::{AtomicU64, Ordering};

use league_games::even_odd::{EvenOdd, NumberParity, Settings};
use league_games::{
    BadSettings, Dice, Game, Illegal, Listing, Picture, PictureCell, Rules, Seat, Tone, Turn,
};
use serde_json::{Map, Value, json};

use crate::check::{self, Check};
use crate::secrecy;

const SOUND: u8 = 0;
const SHOWS_THE_OTHER_CHOICE: u8 = 1;
const SHOWS_IT_BEFORE_THE_ROLL: u8 = 2;
const OFFERS_LESS_AFTER_A_MOVE: u8 = 3;
const BETRAYS_IN_A_REFUSAL: u8 = 4;
const ROLLS_OUT_OF_TURN: u8 = 5;
const NEVER_ENDS: u8 = 6;
const NAMES_NOBODY: u8 = 7;
const TELLS_FACTS_EARLY: u8 = 8;
const ROLLS_DICE_OF_ITS_OWN: u8 = 9;
const PLAYS_WHAT_IT_REFUSES: u8 = 10;
const TAKES_WHAT_IT_DID_NOT_OFFER: u8 = 11;
const SHOWS_NO_OBJECT: u8 = 12;
const BLAMES_NOBODY: u8 = 13;
const DRAWS_THE_OTHER_CHOICE: u8 = 14;
const DRAWS_A_HIDDEN_CHOICE: u8 = 15;

/// The sound game that the broken ones are made from.
pub(crate) fn sound() -> Listing {
    of::<SOUND>()
}

/// What a broken game does, the game, and the check that must find it.
type Specimen = (&'static str, Listing, Check);

/// The broken games.
pub(crate) fn games() -> Vec<Specimen> {
    let mut games = talkative();
    games.extend(unruly());
    games.extend(mislabelled());
    games
}

/// Games that let out what they should keep.
fn talkative() -> Vec<Specimen> {
    let sealed: Check = secrecy::a_sealed_move_shows_to_nobody_else;
    let hidden: Check = secrecy::hidden_moves_stay_hidden_to_the_end;
    let facts: Check = check::facts_come_at_the_end;
    let picture: Check = secrecy::a_picture_shows_what_each_seat_knows;
    vec![
        (
            "draws the other's choice",
            of::<DRAWS_THE_OTHER_CHOICE>(),
            sealed,
        ),
        (
            "draws what a seat may not see",
            of::<DRAWS_A_HIDDEN_CHOICE>(),
            picture,
        ),
        (
            "shows the other's choice",
            of::<SHOWS_THE_OTHER_CHOICE>(),
            sealed,
        ),
        (
            "shows choices before the roll",
            of::<SHOWS_IT_BEFORE_THE_ROLL>(),
            hidden,
        ),
        (
            "offers less after a move",
            of::<OFFERS_LESS_AFTER_A_MOVE>(),
            sealed,
        ),
        (
            "betrays a choice in a refusal",
            of::<BETRAYS_IN_A_REFUSAL>(),
            sealed,
        ),
        ("tells its facts early", of::<TELLS_FACTS_EARLY>(), facts),
    ]
}

/// Games that do not play as they say.
fn unruly() -> Vec<Specimen> {
    let ends: Check = check::every_playout_ends;
    let options: Check = check::options_are_open_to_those_who_owe_a_move;
    let refusal: Check = check::a_refusal_changes_nothing;
    let repeats: Check = check::the_same_seed_gives_the_same_game;
    vec![
        ("never ends", of::<NEVER_ENDS>(), ends),
        ("has a turn of nobody", of::<NAMES_NOBODY>(), options),
        ("rolls out of turn", of::<ROLLS_OUT_OF_TURN>(), refusal),
        (
            "plays what it refuses",
            of::<PLAYS_WHAT_IT_REFUSES>(),
            refusal,
        ),
        (
            "takes what it did not offer",
            of::<TAKES_WHAT_IT_DID_NOT_OFFER>(),
            refusal,
        ),
        (
            "rolls dice of its own",
            of::<ROLLS_DICE_OF_ITS_OWN>(),
            repeats,
        ),
    ]
}

/// Games whose words are wrong.
fn mislabelled() -> Vec<Specimen> {
    let facts: Check = check::facts_come_at_the_end;
    let rules: Check = check::the_rules_agree_with_the_play;
    let settings: Check = check::settings_are_read_with_care;
    let mut elsewhere = sound();
    elsewhere.rules.rules_module = "league_games::elsewhere";
    let mut careless = sound();
    let mut in_turn = sound();
    in_turn.rules.simultaneous = false;
    careless.open = |_| (sound().open)(&Value::Null);
    let text: Check = check::the_rules_text_is_complete;
    let rewritten = |from: &str, to: &str| {
        let mut listing = sound();
        let text = listing.rules.rules_text.replace(from, to);
        listing.rules.rules_text = text.leak();
        listing
    };
    vec![
        ("does not say how it ends", rewritten("ends", ""), text),
        ("does not name a choice", rewritten("`odd`", "odd"), text),
        (
            "does not explain its view",
            rewritten("`drawn_number`", "it"),
            text,
        ),
        ("denies that both move at once", in_turn, rules),
        ("does not name the winner", of::<BLAMES_NOBODY>(), facts),
        ("shows no object", of::<SHOWS_NO_OBJECT>(), rules),
        ("names another module", elsewhere, rules),
        ("takes any settings", careless, settings),
    ]
}

fn of<const FAULT: u8>() -> Listing {
    Listing::of::<Broken<FAULT>>()
}

/// Even/Odd in which seat B may only choose even, as far as some faults need a refusal.
#[derive(Debug, Clone)]
struct Broken<const FAULT: u8>(EvenOdd);

impl<const FAULT: u8> Game for Broken<FAULT> {
    const RULES: Rules = EvenOdd::RULES;
    type Settings = Settings;
    type Move = NumberParity;
    type View = Value;

    fn check(settings: &Settings) -> Result<(), BadSettings> {
        EvenOdd::check(settings)
    }

    fn new(settings: &Settings) -> Self {
        Self(EvenOdd::new(settings))
    }

    fn turn(&self) -> Turn {
        match (FAULT, self.0.turn()) {
            (NEVER_ENDS, _) => Turn::Seats([Seat::A].into()),
            (NAMES_NOBODY, Turn::Dice) => Turn::Seats([].into()),
            (_, turn) => turn,
        }
    }

    fn options(&self, seat: Seat) -> Vec<NumberParity> {
        let mut options = self.0.options(seat);
        let less = match FAULT {
            OFFERS_LESS_AFTER_A_MOVE => self.choice(Seat::A) == Some(NumberParity::Odd),
            BETRAYS_IN_A_REFUSAL | PLAYS_WHAT_IT_REFUSES | TAKES_WHAT_IT_DID_NOT_OFFER => true,
            _ => false,
        };
        if less && seat == Seat::B {
            options.truncate(1);
        }
        if FAULT == NEVER_ENDS && seat == Seat::A {
            return vec![NumberParity::Even];
        }
        options
    }

    fn view(&self, seat: Seat) -> Value {
        let view = json!(self.0.view(seat));
        let choices = json!({"a": self.choice(Seat::A), "b": self.choice(Seat::B)});
        match (FAULT, self.0.turn()) {
            (SHOWS_THE_OTHER_CHOICE, _) | (SHOWS_IT_BEFORE_THE_ROLL, Turn::Dice) => choices,
            (SHOWS_NO_OBJECT, _) => Value::Null,
            _ => view,
        }
    }

    fn play(&mut self, seat: Seat, mv: NumberParity) -> Result<(), Illegal> {
        match (FAULT, self.allow(seat, &mv)) {
            (NEVER_ENDS, _) => Ok(()),
            (BETRAYS_IN_A_REFUSAL, Err(_)) => Err(Illegal::NotLegalHere {
                played: json!(self.choice(Seat::A)),
                options: vec![],
            }),
            (PLAYS_WHAT_IT_REFUSES, Err(refusal)) => {
                self.0.play(seat, mv)?;
                Err(refusal)
            }
            (TAKES_WHAT_IT_DID_NOT_OFFER, _) | (_, Ok(())) => self.0.play(seat, mv),
            (_, refused) => refused,
        }
    }

    fn roll(&mut self, dice: &mut Dice) {
        static OWN: AtomicU64 = AtomicU64::new(0);
        match FAULT {
            ROLLS_DICE_OF_ITS_OWN => {
                let own = OWN.fetch_add(1, Ordering::Relaxed);
                self.0.roll(&mut Dice::seeded(own));
            }
            ROLLS_OUT_OF_TURN => {
                for seat in [Seat::A, Seat::B] {
                    if self.0.owes(seat).is_ok() && self.0.play(seat, NumberParity::Even).is_err() {
                        return;
                    }
                }
                self.0.roll(dice);
            }
            _ => self.0.roll(dice),
        }
    }

    fn details(&self) -> Map<String, Value> {
        match FAULT {
            TELLS_FACTS_EARLY => Map::from_iter([("a".to_owned(), json!(self.choice(Seat::A)))]),
            _ => self.0.details(),
        }
    }

    fn picture(&self) -> Picture {
        let drawn = |seat| PictureCell::new(format!("{:?}", self.choice(seat)), Tone::Neutral);
        match (FAULT, self.0.turn()) {
            (DRAWS_THE_OTHER_CHOICE, _) | (DRAWS_A_HIDDEN_CHOICE, Turn::Dice) => {
                Picture::grid([[drawn(Seat::A), drawn(Seat::B)]])
            }
            _ => self.0.picture(),
        }
    }

    fn reason(&self, names: &[&str]) -> String {
        match FAULT {
            BLAMES_NOBODY => "somebody guessed right".to_owned(),
            _ => self.0.reason(names),
        }
    }
}

impl<const FAULT: u8> Broken<FAULT> {
    fn choice(&self, seat: Seat) -> Option<NumberParity> {
        self.0.view(seat).your_choice
    }
}
