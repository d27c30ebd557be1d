//! The games that a league plays: rules, and nothing else.
//!
//! A [`Game`] is a position. It knows neither players nor leagues, messages nor clock: it takes
//! moves and [`Dice`], and answers four questions.
//!
//! - **Whose turn is it?** [`Game::turn`]: some seats, the dice, or over.
//! - **What may this seat do?** [`Game::options`].
//! - **What may this seat see?** [`Game::view`].
//! - **How did it end?** [`Turn::Over`], with [`Game::details`] and [`Game::reason`] for people.
//!
//! Silence and repeated nonsense do not concern a game: the referee decides on a technical loss.
//!
//! Games differ in their types for moves, views and settings. A referee holds any of them as a
//! [`Table`], which says the same in JSON; every `Game` is one without further work. [`all`]
//! lists the games there are, and each [`Listing`] opens tables.
//!
//! ```
//! use league_games::{Dice, Outcome, Seat, Turn};
//! use serde_json::json;
//!
//! let listing = league_games::find("even_odd").ok_or("no such game")?;
//! let mut table = (listing.open)(&json!({"lowest": 0, "highest": 99}))?;
//! assert_eq!(table.turn(), Turn::Seats([Seat::A, Seat::B].into()));
//!
//! table.play(Seat::A, &json!("even"))?;
//! table.play(Seat::B, &json!("odd"))?;
//! assert_eq!(table.turn(), Turn::Dice);
//!
//! table.roll(&mut Dice::lowest());
//! assert_eq!(table.turn(), Turn::Over(Outcome::Win(Seat::A)));
//! assert_eq!(table.reason(&["P01", "P02"]), "P01 chose even, number was 0 (even)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod connect_four;
mod dice;
pub mod even_odd;
mod game;
pub mod iterated_prisoners_dilemma;
pub mod kuhn_poker;
pub mod memory;
pub mod nim;
mod picture;
mod repeated;
pub mod rock_paper_scissors;
mod rules;
mod seat_picture;
mod settings;
mod table;
pub mod tic_tac_toe;
pub mod twenty_one_questions;

pub use dice::{Dice, MAX_WORDS_PER_ROLL};
pub use game::{Game, Illegal, MAX_SEATS, Outcome, Seat, SeatSet, Turn};
pub use picture::{Picture, PictureCell, PictureRow, Tone};
pub use rules::{RegistryEntry, Rules, registry};
pub use seat_picture::SeatPicture;
pub use settings::{BadSettings, NoSettings};
pub use table::{Listing, Table};

/// The list of games; the test kit plays every game that stands here.
static GAMES: &[Listing] = &[
    Listing::of::<even_odd::EvenOdd>(),
    Listing::of::<tic_tac_toe::TicTacToe>(),
    Listing::of::<rock_paper_scissors::RockPaperScissors>(),
    Listing::of::<connect_four::ConnectFour>(),
    Listing::of::<nim::Nim>(),
    Listing::of::<memory::Memory>(),
    Listing::of::<twenty_one_questions::TwentyOneQuestions>(),
    Listing::of::<kuhn_poker::KuhnPoker>(),
    Listing::of::<iterated_prisoners_dilemma::IteratedPrisonersDilemma>(),
];

/// Lists every game that a league can be made of.
pub fn all() -> &'static [Listing] {
    GAMES
}

/// Finds a game by its type, which is spelled exactly as in the registry.
pub fn find(game_type: &str) -> Option<&'static Listing> {
    GAMES
        .iter()
        .find(|listing| listing.rules.game_type == game_type)
}

/// Keeps the guide for authors true: its example is compiled and played with the other tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/add-a-game.md")]
struct AuthorGuide;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_returns_exactly_the_listed_games() {
        for listing in all() {
            let found = find(listing.rules.game_type).unwrap();
            assert_eq!(found.rules, listing.rules);
        }
        for stranger in ["", "EVEN_ODD", "even_odd ", "chess"] {
            assert!(find(stranger).is_none(), "{stranger:?}");
        }
    }
}
