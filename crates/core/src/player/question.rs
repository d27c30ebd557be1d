//! Requests for moves, read by the rules. A player that signs chooses by the rules and the moves so
//! far, and not by the options and the view that a referee writes: else the referee could choose for
//! it.

use std::sync::Arc;

use league_games::{Listing, Seat, Table, Turn};
use league_protocol::id::{GameType, PlayerId};
use league_protocol::message::MoveCall;
use serde_json::Value;

/// What the rules say of a request.
#[derive(Debug, PartialEq)]
pub(crate) enum RulesReading {
    /// The legal moves, and the view where it follows from the moves alone.
    Position {
        options: Arc<[Value]>,
        view: Option<Arc<Value>>,
    },
    /// The rules are not known here, or not all that they depend on.
    Unknown,
    /// No game by these rules comes to such a request.
    Impossible,
}

impl RulesReading {
    pub(crate) fn of(game: &GameType, own: &PlayerId, call: &MoveCall) -> Self {
        let listing = league_games::find(game.as_str());
        let opening = listing.and_then(|listing| Some((listing, open(listing)?)));
        let Some((listing, opening)) = opening else {
            return Self::Unknown;
        };
        let is_hidden = listing.rules.hidden_moves;
        if is_hidden && call.turn_number > 1 {
            return Self::Unknown;
        }
        let mut readings = [Seat::A, Seat::B].map(|seat| replay(&*opening, seat, own, call));
        let found = readings.iter().position(|it| *it != Self::Impossible);
        let reading = std::mem::replace(&mut readings[found.unwrap_or(0)], Self::Unknown);
        if has_settings(listing) {
            reading.whatever_the_settings(listing)
        } else {
            reading
        }
    }

    /// What holds in a game with settings, which players are not told: if every choice that the
    /// registry lists is open, the options do not depend on them.
    fn whatever_the_settings(self, listing: &Listing) -> Self {
        let Self::Position { options, .. } = self else {
            return Self::Unknown;
        };
        let choices = listing.rules.valid_choices;
        let listed = |option: &Value| option.as_str().is_some_and(|it| choices.contains(&it));
        if options.len() == choices.len() && options.iter().all(listed) {
            let view = None;
            Self::Position { options, view }
        } else {
            Self::Unknown
        }
    }

    /// Whether a referee offers and shows what the rules do; the order of options does not matter.
    pub(crate) fn agrees(&self, call: &MoveCall) -> bool {
        match self {
            Self::Position { options, view } => {
                let offered = options.iter().all(|option| call.options.contains(option));
                let shown = view.as_ref().is_none_or(|view| *view == call.view);
                offered && options.len() == call.options.len() && shown
            }
            Self::Unknown => true,
            Self::Impossible => false,
        }
    }
}

fn open(listing: &Listing) -> Option<Box<dyn Table>> {
    (listing.open)(&Value::Null).ok()
}

/// Whether a league may set something about a game; its players are not told what.
fn has_settings(listing: &Listing) -> bool {
    let settings = (listing.default_settings)();
    settings.as_object().is_none_or(|keys| !keys.is_empty())
}

/// Plays the moves of a request, with the player at this seat.
fn replay(opening: &dyn Table, seat: Seat, own: &PlayerId, call: &MoveCall) -> RulesReading {
    let other = if seat == Seat::A { Seat::B } else { Seat::A };
    let mut table = opening.boxed_clone();
    let mut turn = 1;
    for made in call.moves.iter() {
        let by = if made.player_id == *own { seat } else { other };
        if table.turn() == Turn::Dice {
            return RulesReading::Unknown;
        }
        if table.play(by, &made.choice).is_err() {
            return RulesReading::Impossible;
        }
        turn += u32::from(by == seat);
    }
    match table.turn() {
        Turn::Dice => RulesReading::Unknown,
        Turn::Seats(seats) if seats.contains(&seat) && turn == call.turn_number.max(1) => {
            RulesReading::Position {
                options: table.options(seat).into(),
                view: Some(Arc::new(table.view(seat))),
            }
        }
        Turn::Seats(_) | Turn::Over(_) => RulesReading::Impossible,
    }
}
