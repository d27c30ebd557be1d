//! A common interface to all games: moves and views are JSON.
//!
//! Every [`Game`] is a [`Table`]; it is never implemented by hand.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::game::written;
use crate::{BadSettings, Dice, Game, Illegal, Picture, Rules, Seat, Turn, settings};

/// A [`Game`] with its types put away.
pub trait Table: Send + Sync {
    /// Gives what the registry says of the game.
    fn rules(&self) -> Rules;
    /// Tells whose turn it is.
    fn turn(&self) -> Turn;
    /// Lists the moves open to a seat; none if it owes no move.
    fn options(&self, seat: Seat) -> Vec<Value>;
    /// Shows the position as this seat may see it.
    fn view(&self, seat: Seat) -> Value;
    /// Makes a move for a seat, or refuses it and changes nothing.
    ///
    /// A move has one spelling, the one in which it is offered.
    fn play(&mut self, seat: Seat, mv: &Value) -> Result<(), Illegal>;
    /// Rolls what the rules owe; does nothing unless it is the dice's turn.
    fn roll(&mut self, dice: &mut Dice);
    /// Gives the public facts once the game is over; none before.
    fn details(&self) -> Map<String, Value>;
    /// Says in one sentence why the game ended as it did; `names` are in the order of seats.
    fn reason(&self, names: &[&str]) -> String;
    /// Gives the most moves of all seats together in a game with these settings.
    fn max_moves(&self) -> u32;
    /// Draws the position for spectators.
    fn picture(&self) -> Picture;
    /// Copies the position to a table of its own.
    fn boxed_clone(&self) -> Box<dyn Table>;
    /// Copies the position to a table that may be shared.
    fn shared_clone(&self) -> Arc<dyn Table>;
    /// Writes out the whole position, hidden moves and all.
    ///
    /// It is meant for comparing positions in tests and never for a log, a file or a feed.
    fn position(&self) -> String;
}

/// A game in the list of games.
#[derive(Debug, Clone, Copy)]
pub struct Listing {
    /// What the registry says of the game.
    pub rules: Rules,
    /// Whether a view shows its seat what others may not see before the end.
    pub private_views: bool,
    /// Sets up a table, with settings as an object; `null` and `{}` mean all defaults.
    pub open: fn(&Value) -> Result<Box<dyn Table>, BadSettings>,
    /// Writes out every setting with its default.
    pub default_settings: fn() -> Value,
}

impl Listing {
    /// Makes the listing of a game.
    pub const fn of<G: Game>() -> Self {
        Self {
            rules: G::RULES,
            private_views: G::PRIVATE_VIEWS,
            open: open::<G>,
            default_settings: default_settings::<G>,
        }
    }
}

impl<G: Game> Table for G {
    fn rules(&self) -> Rules {
        G::RULES
    }

    fn turn(&self) -> Turn {
        Game::turn(self)
    }

    fn options(&self, seat: Seat) -> Vec<Value> {
        Game::options(self, seat).iter().map(written).collect()
    }

    fn view(&self, seat: Seat) -> Value {
        written(&Game::view(self, seat))
    }

    fn play(&mut self, seat: Seat, mv: &Value) -> Result<(), Illegal> {
        self.owes(seat)?;
        Game::play(self, seat, read_move::<G>(mv)?)
    }

    fn roll(&mut self, dice: &mut Dice) {
        Game::roll(self, dice);
    }

    fn details(&self) -> Map<String, Value> {
        Game::details(self)
    }

    fn reason(&self, names: &[&str]) -> String {
        Game::reason(self, names)
    }

    fn max_moves(&self) -> u32 {
        Game::max_moves(self)
    }

    fn picture(&self) -> Picture {
        Game::picture(self)
    }

    fn boxed_clone(&self) -> Box<dyn Table> {
        Box::new(self.clone())
    }

    fn shared_clone(&self) -> Arc<dyn Table> {
        Arc::new(self.clone())
    }

    fn position(&self) -> String {
        format!("{self:?}")
    }
}

/// Names the game and not the position, so that no hidden move gets into a log by way of `{:?}`.
impl fmt::Debug for dyn Table + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Table({})", self.rules().game_type)
    }
}

/// How many characters of an invalid move a refusal quotes.
const MAX_EXCERPT: usize = 80;

fn open<G: Game>(given: &Value) -> Result<Box<dyn Table>, BadSettings> {
    Ok(Box::new(G::new(&settings::read::<G>(given)?)))
}

fn default_settings<G: Game>() -> Value {
    written(&G::Settings::default())
}

/// Reads a move and compares it as written again: serde would also accept spellings that were not
/// offered.
fn read_move<G: Game>(given: &Value) -> Result<G::Move, Illegal> {
    match G::Move::deserialize(given) {
        Ok(mv) if written(&mv) == *given => Ok(mv),
        _ => Err(Illegal::NotAMove {
            found: excerpt(given),
            expected: G::RULES
                .valid_choices
                .iter()
                .map(|choice| (*choice).to_owned())
                .collect(),
        }),
    }
}

fn excerpt(given: &Value) -> String {
    let text = given.to_string();
    match text.char_indices().nth(MAX_EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn even_odd(settings: &Value) -> Result<Box<dyn Table>, BadSettings> {
        (crate::find("even_odd").unwrap().open)(settings)
    }

    #[test]
    fn move_has_one_spelling() {
        let mut table = even_odd(&json!(null)).unwrap();
        for spelling in [
            json!({"even": null}),
            json!("Even"),
            json!(" even"),
            json!(["even"]),
        ] {
            let refusal = table.play(Seat::A, &spelling).unwrap_err();
            assert!(
                matches!(refusal, Illegal::NotAMove { .. }),
                "{spelling}: {refusal}"
            );
        }
        table.play(Seat::A, &json!("even")).unwrap();
    }

    #[test]
    fn refusal_quotes_only_the_start_of_a_long_answer() {
        let mut table = even_odd(&json!(null)).unwrap();
        let refusal = table
            .play(Seat::A, &json!("ä".repeat(100_000)))
            .unwrap_err();
        let Illegal::NotAMove { found, expected } = refusal else {
            panic!("{refusal}")
        };
        assert_eq!(found.chars().count(), MAX_EXCERPT + 1);
        assert_eq!(expected, ["even", "odd"]);
    }

    #[test]
    fn debug_output_of_a_table_shows_no_move() {
        let mut table = even_odd(&json!(null)).unwrap();
        table.play(Seat::A, &json!("odd")).unwrap();
        assert_eq!(format!("{table:?}"), "Table(even_odd)");
    }

    #[test]
    fn omitted_settings_keep_their_defaults() {
        let whole = even_odd(&json!({"lowest": 1, "highest": 10})).unwrap();
        for part in [
            json!(null),
            json!({}),
            json!({"lowest": 1}),
            json!({"highest": 10}),
        ] {
            assert_eq!(
                even_odd(&part).unwrap().position(),
                whole.position(),
                "{part}"
            );
        }
    }

    #[test]
    fn refused_settings_name_the_key() {
        let refused = [
            (
                json!([]),
                "settings are an object of keys and values, not a list",
            ),
            (
                json!({"low": 1}),
                "unknown setting `low`; this game has `highest`, `lowest`",
            ),
            (
                json!({"lowest": "1"}),
                "setting `lowest` cannot be read: invalid type: string \"1\", expected u64",
            ),
            (
                json!({"highest": -1}),
                "setting `highest` cannot be read: invalid value: integer `-1`, expected u64",
            ),
            (
                json!({"lowest": 11}),
                "setting `lowest` is `11` and must be below `highest`, `10`",
            ),
            (
                json!({"lowest": 10}),
                "setting `lowest` is `10` and must be below `highest`, `10`",
            ),
            (
                json!({"highest": 1_000_001}),
                "setting `highest` is `1000001` and may be at most `1000000`",
            ),
        ];
        for (settings, message) in refused {
            assert_eq!(even_odd(&settings).unwrap_err().to_string(), message);
        }
        let open = crate::find("tic_tac_toe").unwrap().open;
        let refusal = open(&json!({"size": 4})).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "unknown setting `size`; this game has none"
        );
    }
}
