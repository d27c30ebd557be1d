//! Finding and missing pairs, when dice are rolled, and the end.

use super::*;

/// Turns cards over; a card that is new shows the next of these values.
fn turn_over(game: &mut Memory, seat: Seat, cards: [u8; 2], mut dice: Dice) {
    for card in cards {
        game.play(seat, Card::try_from(card).unwrap()).unwrap();
        game.roll(&mut dice);
    }
}

#[test]
fn value_is_rolled_when_a_card_is_first_turned_over() {
    let mut game = Memory::new(&Settings { pairs: 2 });
    game.play(Seat::A, Card(0)).unwrap();
    assert_eq!(game.turn(), Turn::Dice);
    assert_eq!(game.view(Seat::A).turned[0].value, None);
    game.roll(&mut Dice::lowest());
    assert_eq!(game.view(Seat::B).turned[0].value, Some(1));
    game.play(Seat::A, Card(1)).unwrap();
    game.roll(&mut Dice::highest());
    assert_eq!(game.view(Seat::B).turned[1].value, Some(2));
    game.play(Seat::B, Card(0)).unwrap();
    assert_eq!(game.turn(), Turn::Seats([Seat::B].into()), "it is known");
}

#[test]
fn found_pair_gives_another_turn_and_a_miss_passes_it() {
    let mut game = Memory::new(&Settings { pairs: 3 });
    turn_over(&mut game, Seat::A, [0, 1], Dice::lowest());
    assert_eq!(game.turn(), Turn::Seats([Seat::A].into()));
    assert_eq!(game.view(Seat::A).your_pairs, 1);
    game.play(Seat::A, Card(2)).unwrap();
    game.roll(&mut Dice::lowest());
    game.play(Seat::A, Card(3)).unwrap();
    game.roll(&mut Dice::highest());
    assert_eq!(game.turn(), Turn::Seats([Seat::B].into()));
    let view = game.view(Seat::B);
    assert_eq!(view.opponent_pairs, 1);
    assert_eq!(
        view.cards[..4],
        ["taken", "taken", "down", "down"].map(|card| json!(card))
    );
}

#[test]
fn each_value_comes_exactly_twice() {
    for seed in 0..50 {
        let mut dice = Dice::seeded(seed);
        let mut game = Memory::new(&Settings::default());
        for cards in [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]] {
            for card in cards {
                game.play(game.next, Card(card)).unwrap();
                game.roll(&mut dice);
            }
        }
        let mut values: Vec<u8> = game.values.into_values().collect();
        values.sort_unstable();
        assert_eq!(values, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6], "seed {seed}");
    }
}

#[test]
fn card_that_is_up_or_taken_is_not_offered() {
    let mut game = Memory::new(&Settings { pairs: 2 });
    turn_over(&mut game, Seat::A, [0, 1], Dice::lowest());
    game.play(Seat::A, Card(3)).unwrap();
    game.roll(&mut Dice::lowest());
    assert_eq!(game.options(Seat::A), [Card(2)]);
    assert_eq!(game.view(Seat::B).cards[3], json!(2));
}

#[test]
fn game_ends_with_the_last_pair_or_the_last_turn() {
    let mut game = Memory::new(&Settings { pairs: 1 });
    turn_over(&mut game, Seat::A, [0, 1], Dice::lowest());
    assert_eq!(game.turn(), Turn::Over(Outcome::Win(Seat::A)));
    assert_eq!(game.reason(&["P01", "P02"]), "P01 found 1 pairs to 0");
    let mut forgetful = Memory::new(&Settings { pairs: 2 });
    for _ in 0..6 {
        for seat in [Seat::A, Seat::B] {
            forgetful.play(seat, Card(0)).unwrap();
            forgetful.roll(&mut Dice::lowest());
            forgetful.play(seat, Card(1)).unwrap();
            forgetful.roll(&mut Dice::highest());
        }
    }
    assert_eq!(forgetful.turn(), Turn::Over(Outcome::Draw));
    assert_eq!(forgetful.reason(&[]), "both found 0 pairs");
}

#[test]
fn table_has_one_to_eighteen_pairs() {
    for (pairs, fits) in [(0, false), (1, true), (18, true), (19, false)] {
        assert_eq!(Memory::check(&Settings { pairs }).is_ok(), fits, "{pairs}");
    }
}
