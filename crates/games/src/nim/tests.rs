//! The spelling of moves, the last stick, and which heaps make a game.

use super::*;

fn nim(heaps: &[u8]) -> Nim {
    Nim::new(&Settings {
        heaps: heaps.to_vec(),
    })
}

#[test]
fn last_stick_wins() {
    let mut game = nim(&[1, 2]);
    game.play(Seat::A, Take::try_from(21).unwrap()).unwrap();
    assert_eq!(game.view(Seat::B).heaps, [1, 1]);
    game.play(Seat::B, Take::try_from(11).unwrap()).unwrap();
    game.play(Seat::A, Take::try_from(21).unwrap()).unwrap();
    assert_eq!(game.turn(), Turn::Over(Outcome::Win(Seat::A)));
    assert_eq!(game.reason(&["P01", "P02"]), "P01 took the last stick");
}

#[test]
fn options_are_all_takes_that_the_heaps_allow() {
    let numbers: Vec<u8> = nim(&[2, 0, 3])
        .options(Seat::A)
        .into_iter()
        .map(u8::from)
        .collect();
    assert_eq!(numbers, [11, 12, 31, 32, 33]);
    assert_eq!(nim(&[2, 1]).options(Seat::B), []);
}

#[test]
fn more_sticks_than_a_heap_has_are_refused() {
    let mut game = nim(&[2, 3]);
    let refusal = game.play(Seat::A, Take::try_from(13).unwrap()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "`13` is not legal here; the options are `11`, `12`, `21`, `22`, `23`"
    );
}

#[test]
fn number_that_takes_nothing_is_not_a_move() {
    for number in [0, 5, 10, 90, 100, 255] {
        assert_eq!(Take::try_from(number), Err(NotATake(number)));
    }
    for number in [11, 19, 91, 99] {
        assert_eq!(u8::from(Take::try_from(number).unwrap()), number);
    }
}

#[test]
fn heaps_have_one_to_nine_sticks() {
    let fits = |heaps: &[u8]| {
        Nim::check(&Settings {
            heaps: heaps.to_vec(),
        })
        .is_ok()
    };
    assert!(fits(&[9; 9]) && fits(&[1]));
    assert!(!fits(&[]) && !fits(&[1; 10]) && !fits(&[3, 0]) && !fits(&[10]));
}
