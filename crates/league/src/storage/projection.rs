//! From journals to the documents under `data/`: pure, so that they can be made again by replay.
//!
//! The manager's table and rounds come from [`standings()`] and [`RoundsProjection`], a referee's
//! matches from [`MatchesProjection`], a player's memory from [`history()`]. When a document is
//! written is the business of [`publisher`].

mod history;
mod matches;
pub(crate) mod publisher;
mod rounds;
mod standings;

pub(crate) use history::history;
pub(crate) use matches::told;
pub(crate) use matches::{Change, MatchesProjection};
pub(crate) use rounds::RoundsProjection;
pub(crate) use standings::standings;
