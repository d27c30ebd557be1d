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
pub mod wire;

pub use league::LeagueWorld;
pub use player::PlayerWorld;
pub use referee::RefereeWorld;
pub use season::Season;

use league_core::machine::{Decision, Machine};
use league_protocol::time::Timestamp;

/// What machine M decides.
pub type DecisionOf<M> =
    Decision<<M as Machine>::Event, <M as Machine>::Reply, <M as Machine>::Refusal>;

/// Decides, in a function of its own: its instructions are counted by its name.
#[inline(never)]
pub fn decide<M: Machine>(machine: &M, at: Timestamp, command: &M::Command) -> DecisionOf<M> {
    machine.decide(at, command)
}

/// Applies, in a function of its own for the same reason.
#[inline(never)]
pub fn apply<M: Machine>(machine: &mut M, event: &M::Event) {
    machine.apply(event);
}
