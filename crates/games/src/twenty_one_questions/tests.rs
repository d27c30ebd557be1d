//! The table, answers, the end, and what stays hidden.

use std::collections::BTreeSet;

use super::*;

fn asked(item: &str, words: &[&str]) -> TwentyOneQuestions {
    let mut game = TwentyOneQuestions::new(&Settings::default());
    game.item = ITEMS.iter().position(|(name, _)| *name == item);
    for (seat, word) in [Seat::A, Seat::B].into_iter().cycle().zip(words) {
        let question = ItemQuestion::try_from((*word).to_owned()).unwrap();
        game.play(seat, question).unwrap();
    }
    game
}

#[test]
fn no_two_items_have_the_same_attributes() {
    let all: BTreeSet<BTreeSet<&str>> = ITEMS
        .iter()
        .map(|(_, has)| has.iter().copied().collect())
        .collect();
    assert_eq!(all.len(), ITEMS.len());
    for (item, has) in ITEMS {
        assert!(has.iter().all(|one| ATTRIBUTES.contains(one)), "{item}");
    }
    let words: BTreeSet<&str> = CHOICES.into_iter().collect();
    assert_eq!(words.len(), CHOICES.len());
}

#[test]
fn answers_follow_the_table() {
    let game = asked("penguin", &["bird", "flies", "shark"]);
    let answers: Vec<bool> = game
        .view(Seat::A)
        .answers
        .iter()
        .map(|one| one.answer)
        .collect();
    assert_eq!(answers, [true, false, false]);
    assert_eq!(game.turn(), Turn::Seats([Seat::B].into()));
    assert!(!game.view(Seat::B).answers[2].by_you);
}

#[test]
fn first_right_guess_wins() {
    let game = asked("penguin", &["bird", "penguin"]);
    assert_eq!(game.turn(), Turn::Over(Outcome::Win(Seat::B)));
    assert_eq!(game.reason(&["P01", "P02"]), "P02 guessed the penguin");
    assert_eq!(game.details()["hidden_item"], json!("penguin"));
}

#[test]
fn game_without_a_right_guess_is_a_draw() {
    let mut game = TwentyOneQuestions::new(&Settings { questions: 2 });
    game.roll(&mut Dice::lowest());
    game.play(Seat::A, ItemQuestion(0)).unwrap();
    game.play(Seat::B, ItemQuestion(1)).unwrap();
    assert_eq!(game.turn(), Turn::Over(Outcome::Draw));
    assert_eq!(game.reason(&[]), "neither guessed the bat");
}

#[test]
fn nothing_is_asked_twice() {
    let game = asked("lion", &["mammal", "tiger"]);
    let offered = game.options(Seat::A);
    assert_eq!(offered.len(), CHOICES.len() - 2);
    assert!(
        !offered
            .iter()
            .any(|one| ["mammal", "tiger"].contains(&one.word()))
    );
}

#[test]
fn hidden_item_shows_only_in_the_answers() {
    // The two differ only in what was not asked.
    let words = ["mammal", "eats_meat", "cat"];
    let (lion, bear) = (asked("lion", &words), asked("bear", &words));
    for seat in [Seat::A, Seat::B] {
        assert_eq!(lion.view(seat), bear.view(seat));
        assert_eq!(lion.options(seat), bear.options(seat));
    }
    assert_eq!(lion.picture(), bear.picture());
    assert_eq!(lion.reason(&[]), bear.reason(&[]));
    let told = asked("lion", &["mammal", "eats_meat", "african"]);
    let other = asked("bear", &["mammal", "eats_meat", "african"]);
    assert_ne!(told.view(Seat::B), other.view(Seat::B));
}
