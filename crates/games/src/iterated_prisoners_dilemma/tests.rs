//! The payoffs, who wins a match, and when a choice becomes public.

use serde_json::json;

use super::*;

fn after(rounds: &[[DilemmaChoice; 2]]) -> IteratedPrisonersDilemma {
    let rounds_in_all = u8::try_from(rounds.len()).unwrap();
    let mut game = IteratedPrisonersDilemma::new(&Settings {
        rounds: rounds_in_all,
    });
    for [a, b] in rounds {
        game.play(Seat::A, *a).unwrap();
        game.play(Seat::B, *b).unwrap();
    }
    game
}

#[test]
fn points_follow_the_usual_payoffs() {
    use DilemmaChoice::{Cooperate, Defect};
    let cases = [
        ([Cooperate, Cooperate], [3, 3], Outcome::Draw),
        ([Cooperate, Defect], [0, 5], Outcome::Win(Seat::B)),
        ([Defect, Cooperate], [5, 0], Outcome::Win(Seat::A)),
        ([Defect, Defect], [1, 1], Outcome::Draw),
    ];
    for (round, points, outcome) in cases {
        let game = after(&[round]);
        assert_eq!(game.details()["points"], json!(points), "{round:?}");
        assert_eq!(game.turn(), Turn::Over(outcome), "{round:?}");
    }
}

#[test]
fn more_points_win_the_match() {
    use DilemmaChoice::{Cooperate, Defect};
    let game = after(&[
        [Cooperate, Cooperate],
        [Cooperate, Defect],
        [Defect, Defect],
    ]);
    assert_eq!(game.turn(), Turn::Over(Outcome::Win(Seat::B)));
    assert_eq!(game.reason(&["P01", "P02"]), "P02 has 9 points to 4");
    let even = after(&[[Cooperate, Defect], [Defect, Cooperate]]);
    assert_eq!(even.reason(&["P01", "P02"]), "both have 5 points");
}

#[test]
fn choice_is_public_once_both_have_chosen() {
    let mut game = IteratedPrisonersDilemma::new(&Settings::default());
    game.play(Seat::B, DilemmaChoice::Defect).unwrap();
    assert_eq!(game.view(Seat::B).your_choice, Some(DilemmaChoice::Defect));
    assert_eq!(game.view(Seat::A).opponent_choices, []);
    game.play(Seat::A, DilemmaChoice::Cooperate).unwrap();
    assert_eq!(game.view(Seat::A).opponent_choices, [DilemmaChoice::Defect]);
    assert_eq!(game.view(Seat::A).opponent_points, 5);
}

#[test]
fn match_has_one_to_ninety_nine_rounds() {
    for (rounds, fits) in [(0, false), (1, true), (99, true), (100, false)] {
        let checked = IteratedPrisonersDilemma::check(&Settings { rounds });
        assert_eq!(checked.is_ok(), fits, "{rounds}");
    }
}
