//! What beats what, who wins a match, and when a throw becomes public.

use serde_json::json;

use super::*;

fn after(throws: &[[Throw; 2]], settings: &Settings) -> RockPaperScissors {
    let mut game = RockPaperScissors::new(settings);
    for [a, b] in throws {
        game.play(Seat::B, *b).unwrap();
        game.play(Seat::A, *a).unwrap();
    }
    game
}

#[test]
fn each_throw_beats_one_and_loses_to_one() {
    use Outcome::{Draw, Win};
    use Throw::{Paper, Rock, Scissors};
    let cases = [
        (Rock, Rock, Draw),
        (Rock, Paper, Win(Seat::B)),
        (Rock, Scissors, Win(Seat::A)),
        (Paper, Rock, Win(Seat::A)),
        (Paper, Paper, Draw),
        (Paper, Scissors, Win(Seat::B)),
        (Scissors, Rock, Win(Seat::B)),
        (Scissors, Paper, Win(Seat::A)),
        (Scissors, Scissors, Draw),
    ];
    for (a, b, outcome) in cases {
        let game = after(&[[a, b]], &Settings { throws: 1 });
        assert_eq!(game.turn(), Turn::Over(outcome), "{a:?} {b:?}");
    }
}

#[test]
fn more_won_throws_win_the_match() {
    use Throw::{Paper, Rock, Scissors};
    let throws = [
        [Rock, Paper],
        [Scissors, Paper],
        [Paper, Rock],
        [Rock, Rock],
    ];
    let game = after(&throws, &Settings { throws: 4 });
    assert_eq!(game.turn(), Turn::Over(Outcome::Win(Seat::A)));
    assert_eq!(game.reason(&["P01", "P02"]), "P01 won 2 throws to 1");
    assert_eq!(game.details()["won_throws"], json!([2, 1]));
    let even = after(&throws[..2], &Settings { throws: 2 });
    assert_eq!(even.turn(), Turn::Over(Outcome::Draw));
    assert_eq!(even.reason(&["P01", "P02"]), "both won 1 of 2 throws");
}

#[test]
fn throw_is_public_once_both_have_thrown() {
    let mut game = RockPaperScissors::new(&Settings::default());
    game.play(Seat::A, Throw::Rock).unwrap();
    assert_eq!(game.view(Seat::A).your_throw, Some(Throw::Rock));
    assert_eq!(game.view(Seat::B).opponent_throws, []);
    assert_eq!(
        game.play(Seat::A, Throw::Paper),
        Err(Illegal::NotYourTurn { seat: Seat::A })
    );
    game.play(Seat::B, Throw::Paper).unwrap();
    assert_eq!(game.view(Seat::B).opponent_throws, [Throw::Rock]);
    assert_eq!(game.view(Seat::B).your_wins, 1);
    assert_eq!(game.turn(), Turn::Seats([Seat::A, Seat::B].into()));
}

#[test]
fn match_has_one_to_ninety_nine_throws() {
    for (throws, fits) in [(0, false), (1, true), (99, true), (100, false)] {
        let checked = RockPaperScissors::check(&Settings { throws });
        assert_eq!(checked.is_ok(), fits, "{throws}");
    }
}
