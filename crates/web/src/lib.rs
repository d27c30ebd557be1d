//! The pages of a league: from the facts of its journal to HTML.
//!
//! Facts go into a [`Gallery`](gallery::Gallery), which fills in what a page shows
//! ([`model`]); [`page`] draws it, once, for the live page and for the report alike. A page is
//! made of keyed [`parts`]: what changed between two moments is a small [`Patch`](parts::Patch),
//! which the browser puts in place. A [`film`] is a list of patches: a league played back.
//!
//! Nothing here reads a clock, a file or a socket. Reading journals and serving viewers is left
//! to `league`.

pub mod assets;
pub mod film;
pub mod gallery;
pub mod model;
pub mod page;
pub mod parts;
pub mod report;
pub mod tables;
