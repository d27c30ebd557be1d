//! Nim is solved: the solver wins every won position, whatever the other does.

use league_games::{Outcome, Seat, Table, Turn, find};
use serde_json::{Value, json};

use crate::strategy::Chair;

/// Lets the solver play against every reply; counts the games, all of which it must win.
fn win(table: &dyn Table, chair: &mut Chair, own: Seat) -> u32 {
    let mover = match table.turn() {
        Turn::Over(outcome) => {
            assert_eq!(outcome, Outcome::Win(own), "{}", table.position());
            return 1;
        }
        Turn::Seats(seats) => seats[0],
        Turn::Dice => panic!("there are no dice in this game"),
    };
    let moves = if mover == own {
        vec![chair.choose_at(table, own, "P02")]
    } else {
        table.options(mover)
    };
    let after = |mv: &Value| {
        let mut next = table.boxed_clone();
        next.play(mover, mv).expect("the move is legal");
        win(&*next, chair, own)
    };
    moves.iter().map(after).sum()
}

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
        games += win(&*table, &mut Chair::new("solver", 1), own);
    }
    assert!(games > 1_000, "{games} games");
}
