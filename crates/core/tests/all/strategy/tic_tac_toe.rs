//! Tic-tac-toe is a game of skill: who plays perfectly never loses, and mostly wins against chance.

use league_games::{Dice, Outcome, Seat, Table, find};
use serde_json::{Value, json};

use crate::strategy::{Chair, play, walk};

fn board() -> Box<dyn Table> {
    (find("tic_tac_toe").expect("the game is listed").open)(&Value::Null).expect("the defaults fit")
}

/// Plays a thousand games against chance and counts those won and those lost.
fn against_chance(seat: Seat) -> (u32, u32) {
    let mut chairs = [Chair::new("random", 1), Chair::new("random", 2)];
    chairs[seat.index()] = Chair::new("minimax", 3);
    let (mut won, mut lost) = (0, 0);
    for _ in 0..1_000 {
        match play(&mut *board(), &mut chairs, &mut Dice::lowest()) {
            Outcome::Win(winner) if winner == seat => won += 1,
            Outcome::Win(_) => lost += 1,
            Outcome::Draw => {}
        }
    }
    (won, lost)
}

#[test]
fn minimax_wins_most_games_against_chance_and_loses_none() {
    for seat in [Seat::A, Seat::B] {
        let (won, lost) = against_chance(seat);
        assert_eq!(lost, 0, "as {seat}");
        assert!(won > 600, "as {seat} it won {won} of 1,000");
    }
}

#[test]
fn two_perfect_players_draw() {
    let mut chairs = [Chair::new("minimax", 1), Chair::new("minimax", 2)];
    for _ in 0..20 {
        let outcome = play(&mut *board(), &mut chairs, &mut Dice::lowest());
        assert_eq!(outcome, Outcome::Draw);
    }
}

#[test]
fn minimax_never_loses() {
    for seat in [Seat::A, Seat::B] {
        for seed in 0..3 {
            let holds = |outcome| !matches!(outcome, Outcome::Win(winner) if winner != seat);
            let games = walk(&*board(), &mut Chair::new("minimax", seed), seat, holds);
            assert!(games > 50, "{games} games as {seat}");
        }
    }
}

#[test]
fn minimax_takes_a_win_before_it_stops_one() {
    let (x, o, free) = (json!("X"), json!("O"), Value::Null);
    let board = |cells: [&Value; 9]| cells.map(Value::clone);
    for (cells, expected) in [
        // Three in a row for itself, though the other threatens too.
        (
            board([&x, &x, &free, &o, &o, &free, &free, &free, &free]),
            2,
        ),
        // The other would win at 5.
        (
            board([&x, &free, &free, &o, &o, &free, &free, &free, &x]),
            5,
        ),
    ] {
        let cell = |number: usize| Value::from(number);
        let options: Vec<Value> = (0..9).filter(|at| cells[*at].is_null()).map(cell).collect();
        let view = json!({"board": cells, "your_mark": "X", "next_mark": "X"});
        let mut chair = Chair::new("minimax", 0);
        let think = chair.think("tic_tac_toe", view, &options, "P02");
        assert_eq!(chair.choose(&think), expected);
    }
}
