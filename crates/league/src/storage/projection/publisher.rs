//! When documents are written: soon after they change, but not at every change.
//!
//! A publisher takes in the entries of one journal and says which documents are due. It does no
//! IO: what is due is handed to an [`Archive`], wherever that may block. A document is written at
//! most twice a second, a large one less often, and always at the end of a round and of a league.
//! After a restart a publisher is fed the whole journal and finds out by the versions in the files
//! which of them are behind.

mod archive;
mod league;
mod pace;
mod player;
mod referee;

pub(crate) use archive::{Archive, Publication};
pub(crate) use league::LeaguePublisher;
pub(crate) use league::changes_table;
#[cfg(test)]
pub(crate) use pace::SHORTEST_GAP;
pub(crate) use player::PlayerPublisher;
#[cfg(test)]
pub(crate) use referee::MOST_MATCH_FILES;
pub(crate) use referee::RefereePublisher;
