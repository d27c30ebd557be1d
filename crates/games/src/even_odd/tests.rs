//! Every outcome of Even/Odd, 000 table 7 among them, and what stays secret until when.

use serde_json::json;

use super::*;

fn played(a: NumberParity, b: NumberParity, number: u64) -> EvenOdd {
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
fn outcome_follows_the_table_of_the_documents() {
    use NumberParity::{Even, Odd};
    use Outcome::{Draw, Win};
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
fn reason_names_the_right_guess_or_the_draw() {
    use NumberParity::{Even, Odd};
    let reason = |a, b, number| played(a, b, number).reason(&["P01", "P02"]);
    assert_eq!(reason(Even, Odd, 8), "P01 chose even, number was 8 (even)");
    assert_eq!(reason(Even, Odd, 7), "P02 chose odd, number was 7 (odd)");
    let alike = "P01 and P02 both chose odd, number was 4 (even)";
    assert_eq!(reason(Odd, Odd, 4), alike);
}

#[test]
fn details_appear_once_the_number_is_drawn() {
    let mut game = EvenOdd::new(&Settings::default());
    assert_eq!(game.details(), Map::new());
    assert_eq!(game.reason(&[]), "the number is not drawn yet");
    game = played(NumberParity::Even, NumberParity::Odd, 8);
    let facts = json!({"drawn_number": 8, "number_parity": "even"});
    assert_eq!(Value::Object(game.details()), facts);
    assert_eq!(game.view(Seat::B).opponent_choice, Some(NumberParity::Even));
}

#[test]
fn choice_stays_hidden_before_the_roll() {
    let mut game = EvenOdd::new(&Settings::default());
    game.play(Seat::A, NumberParity::Even).unwrap();
    game.play(Seat::B, NumberParity::Odd).unwrap();
    assert_eq!(game.turn(), Turn::Dice);
    assert_eq!(game.view(Seat::B).opponent_choice, None);
    assert_eq!(game.view(Seat::B).your_choice, Some(NumberParity::Odd));
}

#[test]
fn choice_cannot_be_taken_back() {
    let mut game = EvenOdd::new(&Settings::default());
    game.play(Seat::B, NumberParity::Odd).unwrap();
    let refusal = game.play(Seat::B, NumberParity::Even);
    assert_eq!(refusal, Err(Illegal::NotYourTurn { seat: Seat::B }));
    assert_eq!(game.turn(), Turn::Seats([Seat::A].into()));
}

#[test]
fn number_is_drawn_from_the_whole_range_and_only_from_it() {
    for (lowest, highest) in [(1, 10), (0, 99), (0, 1)] {
        let settings = Settings { lowest, highest };
        EvenOdd::check(&settings).unwrap();
        let draw = |dice: &mut Dice| {
            let mut game = EvenOdd::new(&settings);
            game.choices = [Some(NumberParity::Even); 2];
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
fn range_without_both_parities_is_refused() {
    let key = |lowest, highest| match EvenOdd::check(&Settings { lowest, highest }) {
        Err(BadSettings::OutOfRange { key, .. }) => Some(key),
        _ => None,
    };
    assert_eq!(key(10, 1), Some("lowest"));
    assert_eq!(key(5, 5), Some("lowest"));
    assert_eq!(key(0, MAX_NUMBER + 1), Some("highest"));
    assert_eq!(key(u64::MAX, u64::MAX), Some("highest"));
    assert_eq!(key(4, 5), None);
    assert_eq!(key(0, MAX_NUMBER), None);
}

#[test]
fn unchecked_empty_range_does_not_panic() {
    let game = played(NumberParity::Even, NumberParity::Odd, u64::MAX);
    assert_eq!(game.turn(), Turn::Over(Outcome::Win(Seat::B)));
    let mut backwards = EvenOdd::new(&Settings {
        lowest: 10,
        highest: 1,
    });
    backwards.choices = [Some(NumberParity::Even); 2];
    backwards.roll(&mut Dice::seeded(1));
    assert_eq!(backwards.turn(), Turn::Over(Outcome::Draw));
}
