//! Nim is solved: the solver wins every won position, whatever the other does.

use league_games::{Outcome, Seat, find};
use serde_json::json;

use crate::strategy::{Chair, walk};

#[test]
fn solver_never_loses_a_won_position() {
    let mut games = 0;
    for heaps in (1..=4_u8).flat_map(|a| (1..=4).flat_map(move |b| (1..=5).map(move |c| [a, b, c])))
    {
        let [a, b, c] = heaps;
        // The seat to move wins unless the heaps cancel out in binary; then the other seat does.
        let own = if a ^ b ^ c == 0 { Seat::B } else { Seat::A };
        let open = find("nim").expect("the game is listed").open;
        let table = open(&json!({"heaps": heaps})).expect("the heaps fit");
        let won = |outcome| outcome == Outcome::Win(own);
        games += walk(&*table, &mut Chair::new("solver", 1), own, won);
    }
    assert!(games > 1_000, "{games} games");
}
