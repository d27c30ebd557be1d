//! Played leagues for tests: the machines of `league-core`, driven by hand.
//!
//! [`LeagueWorld`] drives a league manager, [`RefereeWorld`] a referee and [`PlayerWorld`] a player.
//! Each records its events and letters, and takes a command at a time that the test chooses.
//! [`Season`] plays a whole league with a manager and its referees.

#![expect(
    clippy::unwrap_used,
    reason = "every function here serves a test, where a panic is the verdict"
)]

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

pub mod league;
pub mod levers;
pub mod player;
pub mod referee;
pub mod report;
pub mod season;

pub use league::LeagueWorld;
pub use player::PlayerWorld;
pub use referee::RefereeWorld;
pub use season::Season;

/// Below the ports that the system gives to outgoing connections, so that none takes one meanwhile.
const PORTS: Range<u32> = 10_000..32_768;

/// The ports to try in tests that need one before the program that takes it runs, each at most once by this process; the number of the process tells it from others
/// that run at the same time.
pub fn candidate_ports(process: u32) -> impl Iterator<Item = u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Starts far apart for processes with near numbers, so that two do not try the same ports.
    let start = process.wrapping_mul(14_071);
    PORTS.map(move |_| {
        let place = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        u16::try_from(PORTS.start + place % (PORTS.end - PORTS.start)).unwrap()
    })
}
