//! Calls that come before their time: they wait, but only so many.

use std::sync::Arc;
use std::thread;

use league_games::Dice;

use super::*;
use crate::call::ManagerUrl;
use crate::{Kit, strategy};

fn seat(folder: &tempfile::TempDir) -> Seat {
    let manager = ManagerUrl::parse("localhost", None).unwrap();
    let player = Player::new(Kit::new("Grey Heron").rules(8101, &manager));
    let mind = Mind::start(strategy::find("random").unwrap(), Dice::seeded(1)).unwrap();
    Seat::new(player, &folder.path().join("memory.jsonl"), mind).unwrap()
}

/// Waits for an admission that never comes; `true` after the time.
fn misses(seat: &Seat, wait: Duration) -> bool {
    seat.is_missing(Instant::now() + wait, |state| state.is_admitted)
}

#[test]
fn call_above_the_most_early_ones_does_not_wait() {
    let folder = tempfile::tempdir().unwrap();
    let seat = Arc::new(seat(&folder));
    for _ in 0..MAX_EARLY_CALLS {
        let seat = Arc::clone(&seat);
        thread::spawn(move || misses(&seat, Duration::from_secs(3_600)));
    }
    while seat.lock().early_calls < MAX_EARLY_CALLS {
        thread::yield_now();
    }
    let long = Duration::from_secs(60);
    let start = Instant::now();
    assert!(misses(&seat, long));
    assert!(start.elapsed() < long, "it waited");
    // The places are free again once the others have what they waited for.
    seat.lock().is_admitted = true;
    seat.changed.notify_all();
    while seat.lock().early_calls > 0 {
        thread::yield_now();
    }
}
