//! From journals to the documents under `data/`: pure, so that they can be made again by replay.
//!
//! The manager's table and rounds come from [`standings()`] and [`RoundsProjection`], a referee's
//! matches from [`MatchesProjection`], a player's memory from [`history()`]. When a document is
//! written is the business of [`publisher`].

mod history;
mod matches;
pub mod publisher;
mod rounds;
mod standings;

pub use history::history;
pub(crate) use matches::told;
pub use matches::{Change, MatchesProjection};
pub use rounds::{MOST_LISTED_MATCHES, RoundsProjection};
pub use standings::standings;
