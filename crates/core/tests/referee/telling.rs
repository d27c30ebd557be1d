//! What stands in the last letters.

use league_core::letter::Credential;
use league_protocol::message::Message;

use crate::kit::*;

#[test]
fn the_last_letters_hold_one_result_for_all() {
    let mut house = House::started(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.choose(2, odd());
    let result = house.result("R1M1").unwrap();
    for number in [1, 2] {
        let letter = house.only(number, "GAME_OVER");
        let Message::GameOver(over) = &letter.message else {
            panic!()
        };
        assert_eq!((&over.receiver, &over.result), (&player(number), &result));
        assert_eq!(
            (letter.effort.attempts, letter.effort.timeout.as_secs()),
            (3, 5)
        );
        let token = SECRET.match_token(&league(), &id("R1M1"), &player(number));
        assert_eq!(letter.credential, Credential::Match(token));
    }
    let report = house.take().pop().unwrap();
    let Message::MatchResultReport(told) = &report.message else {
        panic!()
    };
    assert_eq!((told.round_id, told.attempt, &told.result), (1, 1, &result));
    assert_eq!(
        (report.effort.attempts, report.effort.timeout.as_secs()),
        (3, 10)
    );
    assert_eq!(report.credential, Credential::Own);
}

#[test]
fn the_referee_never_shows_its_own_token_to_a_player() {
    let mut house = House::started(order("R1M1"));
    let mut letters = Vec::new();
    house.play(&mut |letter| {
        letters.push(letter.clone());
        plain(letter)
    });
    for letter in letters
        .iter()
        .filter(|letter| told(letter).starts_with('P'))
    {
        assert!(
            matches!(letter.credential, Credential::Match(_)),
            "{}",
            told(letter)
        );
    }
}
