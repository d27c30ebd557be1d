//! Played leagues for tests: the machines of `league-core`, driven by hand.
//!
//! [`LeagueWorld`] drives a league manager, [`RefereeWorld`] a referee and [`PlayerWorld`] a player.
//! Each records its events and letters, and takes a command at a time that the test chooses.
//! [`Season`] plays a whole league with a manager and its referees.

#![expect(
    clippy::unwrap_used,
    reason = "every function here serves a test, where a panic is the verdict"
)]

pub mod league;
pub mod levers;
pub mod player;
pub mod ports;
pub mod referee;
pub mod report;
pub mod season;

pub use league::LeagueWorld;
pub use player::PlayerWorld;
pub use referee::RefereeWorld;
pub use season::Season;
