//! Every course of a hand, the end of a match, and what stays hidden until when.

use super::*;

/// A match of one hand with this deal and these actions.
fn hand(cards: [Card; 2], actions: &[Action]) -> KuhnPoker {
    played(1, &[(cards, actions)])
}

fn played(total: u8, hands: &[([Card; 2], &[Action])]) -> KuhnPoker {
    let mut game = KuhnPoker::new(&Settings { hands: total });
    for (cards, actions) in hands {
        game.roll(&mut Dice::lowest());
        game.hands.last_mut().unwrap().cards = *cards;
        for action in *actions {
            let Turn::Seats(seats) = game.turn() else {
                panic!("nobody acts before {action:?}");
            };
            game.play(seats[0], *action).unwrap();
        }
    }
    game
}

#[test]
fn each_course_of_a_hand_is_worth_what_the_rules_say() {
    use Action::{Bet, Call, Check, Fold};
    use Card::{Jack, King, Queen};
    let cases: [(&[Action], [Card; 2], i32); 8] = [
        (&[Check, Check], [King, Jack], 1),
        (&[Check, Check], [Jack, Queen], -1),
        (&[Bet, Fold], [Jack, King], 1),
        (&[Bet, Call], [King, Queen], 2),
        (&[Bet, Call], [Jack, Queen], -2),
        (&[Check, Bet, Fold], [King, Jack], -1),
        (&[Check, Bet, Call], [Queen, Jack], 2),
        (&[Check, Bet, Call], [Queen, King], -2),
    ];
    for (actions, cards, chips) in cases {
        let game = hand(cards, actions);
        assert_eq!(
            game.view(Seat::A).your_chips,
            chips,
            "{actions:?} {cards:?}"
        );
        assert_eq!(
            game.view(Seat::B).your_chips,
            -chips,
            "{actions:?} {cards:?}"
        );
        let winner = if chips > 0 { Seat::A } else { Seat::B };
        assert_eq!(game.turn(), Turn::Over(Outcome::Win(winner)));
    }
}

#[test]
fn options_follow_the_bet() {
    use Action::{Bet, Call, Check, Fold};
    let options = |actions: &[Action], seat| hand([Card::Jack, Card::King], actions).options(seat);
    assert_eq!(options(&[], Seat::A), [Check, Bet]);
    assert_eq!(options(&[], Seat::B), []);
    assert_eq!(options(&[Check], Seat::B), [Check, Bet]);
    assert_eq!(options(&[Bet], Seat::B), [Call, Fold]);
    assert_eq!(options(&[Check, Bet], Seat::A), [Call, Fold]);
}

#[test]
fn seats_move_first_in_turn() {
    let one = (
        [Card::King, Card::Jack],
        &[Action::Check, Action::Check][..],
    );
    let two = ([Card::King, Card::Jack], &[][..]);
    assert_eq!(played(2, &[two]).turn(), Turn::Seats([Seat::A].into()));
    assert_eq!(played(2, &[one]).turn(), Turn::Dice);
    let second = played(2, &[one, two]);
    assert_eq!(second.turn(), Turn::Seats([Seat::B].into()));
    assert!(second.view(Seat::B).you_move_first);
}

#[test]
fn chips_of_all_hands_decide() {
    let won = ([Card::King, Card::Jack], &[Action::Bet, Action::Call][..]);
    let lost = (
        [Card::Jack, Card::King],
        &[Action::Check, Action::Check][..],
    );
    let game = played(2, &[won, lost]);
    assert_eq!(game.turn(), Turn::Over(Outcome::Win(Seat::A)));
    assert_eq!(game.reason(&["P01", "P02"]), "P01 won 1 chips in 2 hands");
    assert_eq!(game.details()["chips"], json!([1, -1]));
    let even = played(2, &[lost, ([Card::King, Card::Jack], lost.1)]);
    assert_eq!(even.turn(), Turn::Over(Outcome::Draw));
}

/// All that a seat, or a spectator, can find out.
fn known(game: &KuhnPoker, seat: Seat) -> String {
    let refusals = [Action::Check, Action::Bet, Action::Call, Action::Fold]
        .into_iter()
        .filter(|action| !game.options(seat).contains(action))
        .map(|action| game.clone().play(seat, action));
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        game.view(seat),
        game.options(seat),
        game.picture(),
        game.reason(&[]),
        game.details(),
        refusals.collect::<Vec<_>>(),
    )
}

#[test]
fn card_of_the_other_seat_stays_hidden_while_a_hand_is_on_and_after_a_fold() {
    use Action::{Bet, Check, Fold};
    let courses: [&[Action]; 6] = [
        &[],
        &[Check],
        &[Bet],
        &[Check, Bet],
        &[Bet, Fold],
        &[Check, Bet, Fold],
    ];
    for actions in courses {
        let queen = played(2, &[([Card::Queen, Card::Jack], actions)]);
        let king = played(2, &[([Card::Queen, Card::King], actions)]);
        assert_eq!(known(&queen, Seat::A), known(&king, Seat::A), "{actions:?}");
        let queen = played(2, &[([Card::Jack, Card::Queen], actions)]);
        let king = played(2, &[([Card::King, Card::Queen], actions)]);
        assert_eq!(known(&queen, Seat::B), known(&king, Seat::B), "{actions:?}");
        assert_eq!(queen.picture(), king.picture(), "{actions:?}");
    }
}

#[test]
fn cards_are_shown_when_nobody_folds_and_all_at_the_end() {
    use Action::{Bet, Check, Fold};
    let game = played(2, &[([Card::Queen, Card::Jack], &[Check, Check])]);
    assert_eq!(
        game.view(Seat::A).past_hands[0].opponent_card,
        Some(Card::Jack)
    );
    let folded = ([Card::Queen, Card::Jack], &[Bet, Fold][..]);
    assert_eq!(
        played(2, &[folded]).view(Seat::A).past_hands[0].opponent_card,
        None
    );
    let over = played(2, &[folded, folded]);
    assert_eq!(
        over.view(Seat::A).past_hands[0].opponent_card,
        Some(Card::Jack)
    );
    assert_eq!(
        over.details()["cards"],
        json!([["queen", "jack"], ["queen", "jack"]])
    );
}

#[test]
fn match_has_one_to_fifty_hands() {
    for (hands, fits) in [(0, false), (1, true), (50, true), (51, false)] {
        assert_eq!(
            KuhnPoker::check(&Settings { hands }).is_ok(),
            fits,
            "{hands}"
        );
    }
}
