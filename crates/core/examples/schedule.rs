//! Walks through a whole schedule and tells what that cost: `cargo xtask schedule` calls it.
//!
//! Every pairing is taken into a sum, so that none can be left out unseen.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the library is pure; here a person asks for figures and reads them"
)]

use std::process::ExitCode;
use std::time::Instant;

use league_core::league::schedule::{RoundRobin, Sides};

fn main() -> ExitCode {
    let players = std::env::args()
        .nth(1)
        .map_or(Ok(10_000), |text| text.parse());
    let Ok(players) = players else {
        println!("schedule [PLAYERS]");
        return ExitCode::from(2);
    };
    for sides in [Sides::AsPrinted, Sides::Balanced] {
        walk(RoundRobin::new(players, sides), sides);
    }
    ExitCode::SUCCESS
}

fn walk(schedule: RoundRobin, sides: Sides) {
    let (before, start) = (resident_kib(), Instant::now());
    let (mut pairings, mut sum) = (0_u64, 0_u64);
    for pairing in schedule.pairings() {
        pairings += 1;
        sum += u64::from(pairing.seats[0]) + u64::from(pairing.seats[1]);
    }
    let seconds = start.elapsed().as_secs_f64();
    let growth = resident_kib().saturating_sub(before);
    let players = u64::from(schedule.players());
    assert_eq!(
        pairings,
        players * (players - 1) / 2,
        "each pair meets once"
    );
    assert_eq!(
        sum,
        (players - 1) * (players * (players - 1) / 2),
        "each player meets all"
    );
    let sides = match sides {
        Sides::AsPrinted => "sides as the document prints them",
        Sides::Balanced => "sides balanced",
    };
    println!("{pairings} pairings in {seconds:.3} s, {growth} KiB of growth, {sides}");
}

/// The memory that the process holds, where the system tells it.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
