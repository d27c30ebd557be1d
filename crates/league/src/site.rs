//! The pages of a league, served: from its journal to whoever looks.
//!
//! The site reads the journal as anyone may, while it is written, and only while somebody looks;
//! so a league that nobody watches pays nothing, and the page of a running league and of a copied
//! one are the same. What pages look like is `league-web`'s business.

mod answer;
mod attendance;
mod exhibition;
mod feed;
mod hall;
mod kept;
mod piece;
mod reader;
mod rooms;
mod screening;
mod sheet;
mod site;
mod viewer;

pub(crate) use attendance::resume;
pub(crate) use exhibition::Exhibition;
pub(crate) use site::Site;
