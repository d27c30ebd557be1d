//! Every outcome of Even/Odd, 000 table 7 among them, and what stays secret until when.

use serde_json::json;

use super::*;

fn played(a: Parity, b: Parity, number: u64) -> EvenOdd {
    let mut game = EvenOdd::new(&Settings {
        lowest: number,
        highest: number,
    });
    game.play(Seat::A, a).unwrap();
    game.play(Seat::B, b).unwrap();
    game.roll(&mut Dice::lowest());
    game
}

#[test]
fn the_outcome_is_that_of_the_documents_table_and_of_every_other_case() {
    use Outcome::{Draw, Win};
    use Parity::{Even, Odd};
    let cases = [
        // 000 table 7.
        (Even, Odd, 8, Win(Seat::A)),
        (Even, Odd, 7, Win(Seat::B)),
        (Odd, Odd, 4, Draw),
        // The rest.
        (Odd, Even, 8, Win(Seat::B)),
        (Odd, Even, 7, Win(Seat::A)),
        (Odd, Odd, 3, Draw),
        (Even, Even, 10, Draw),
        (Even, Even, 1, Draw),
        (Even, Odd, 0, Win(Seat::A)),
    ];
    for (a, b, number, outcome) in cases {
        let turn = played(a, b, number).turn();
        assert_eq!(turn, Turn::Over(outcome), "{a} {b} {number}");
    }
}

#[test]
fn the_reason_names_who_was_right_or_that_both_chose_alike() {
    use Parity::{Even, Odd};
    let reason = |a, b, number| played(a, b, number).reason(&["P01", "P02"]);
    assert_eq!(reason(Even, Odd, 8), "P01 chose even, number was 8 (even)");
    assert_eq!(reason(Even, Odd, 7), "P02 chose odd, number was 7 (odd)");
    let alike = "P01 and P02 both chose odd, number was 4 (even)";
    assert_eq!(reason(Odd, Odd, 4), alike);
}

#[test]
fn the_facts_are_public_only_when_the_number_is_drawn() {
    let mut game = EvenOdd::new(&Settings::default());
    assert_eq!(game.details(), Map::new());
    assert_eq!(game.reason(&[]), "the number is not drawn yet");
    game = played(Parity::Even, Parity::Odd, 8);
    let facts = json!({"drawn_number": 8, "number_parity": "even"});
    assert_eq!(Value::Object(game.details()), facts);
    assert_eq!(game.view(Seat::B).opponent_choice, Some(Parity::Even));
}

#[test]
fn a_choice_stays_sealed_while_the_dice_are_still_to_roll() {
    let mut game = EvenOdd::new(&Settings::default());
    game.play(Seat::A, Parity::Even).unwrap();
    game.play(Seat::B, Parity::Odd).unwrap();
    assert_eq!(game.turn(), Turn::Dice);
    assert_eq!(game.view(Seat::B).opponent_choice, None);
    assert_eq!(game.view(Seat::B).your_choice, Some(Parity::Odd));
}

#[test]
fn a_choice_cannot_be_taken_back() {
    let mut game = EvenOdd::new(&Settings::default());
    game.play(Seat::B, Parity::Odd).unwrap();
    let refusal = game.play(Seat::B, Parity::Even);
    assert_eq!(refusal, Err(Illegal::NotYourTurn { seat: Seat::B }));
    assert_eq!(game.turn(), Turn::Seats([Seat::A].into()));
}

#[test]
fn the_number_is_drawn_from_the_whole_range_and_only_from_it() {
    for (lowest, highest) in [(1, 10), (0, 99), (0, 1)] {
        let settings = Settings { lowest, highest };
        EvenOdd::check(&settings).unwrap();
        let draw = |dice: &mut Dice| {
            let mut game = EvenOdd::new(&settings);
            game.choices = [Some(Parity::Even); 2];
            game.roll(dice);
            game.drawn.unwrap()
        };
        assert_eq!(draw(&mut Dice::lowest()), lowest);
        assert_eq!(draw(&mut Dice::highest()), highest);
        let mut dice = Dice::seeded(1);
        assert!((0..1000).all(|_| (lowest..=highest).contains(&draw(&mut dice))));
    }
}

#[test]
fn a_range_without_both_parities_is_refused() {
    let key = |lowest, highest| match EvenOdd::check(&Settings { lowest, highest }) {
        Err(BadSettings::OutOfRange { key, .. }) => Some(key),
        _ => None,
    };
    assert_eq!(key(10, 1), Some("lowest"));
    assert_eq!(key(5, 5), Some("lowest"));
    assert_eq!(key(0, LARGEST_NUMBER + 1), Some("highest"));
    assert_eq!(key(u64::MAX, u64::MAX), Some("highest"));
    assert_eq!(key(4, 5), None);
    assert_eq!(key(0, LARGEST_NUMBER), None);
}

#[test]
fn without_a_check_a_senseless_range_still_does_no_harm() {
    let game = played(Parity::Even, Parity::Odd, u64::MAX);
    assert_eq!(game.turn(), Turn::Over(Outcome::Win(Seat::B)));
    let mut backwards = EvenOdd::new(&Settings {
        lowest: 10,
        highest: 1,
    });
    backwards.choices = [Some(Parity::Even); 2];
    backwards.roll(&mut Dice::seeded(1));
    assert_eq!(backwards.turn(), Turn::Over(Outcome::Draw));
}
