//! The pages of a league: from the events of its journal to HTML.
//!
//! Events go into a [`LeagueView`](league_view::LeagueView), which fills in what a page shows
//! ([`model`]); [`page`] draws it once, for the live page and the report alike. A page consists of
//! keyed [`parts`]; the browser applies the [`Patch`](parts::Patch) between two states. A [`replay`]
//! is a list of patches.
//!
//! Nothing here reads a clock, a file or a socket. `league` reads journals and serves viewers.

pub mod assets;
pub mod delta;
pub mod league_view;
pub mod model;
pub mod page;
pub mod parts;
pub mod replay;
pub mod report;
pub mod season;
pub mod tables;
