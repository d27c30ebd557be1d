//! The final letters of a match.

use std::time::Duration;

use league_core::letter::Credential;
use league_core::machine::Machine;
use league_core::referee::{Event, MatchView, ReportAnswer};
use league_protocol::fault::Code;
use league_protocol::message::{LeagueError, MatchState, Message};

use league_testkit::referee::*;

#[test]
fn final_letters_carry_the_same_result() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.choose(2, odd());
    let result = house.result("R1M1").unwrap();
    let report = house.take().pop().unwrap();
    house.hear(&report, acknowledged()).unwrap();
    for number in [1, 2] {
        let letter = house.only(number, "GAME_OVER");
        let Message::GameOver(over) = &letter.message else {
            panic!()
        };
        assert_eq!((&over.receiver, &over.result), (&player(number), &result));
        assert_eq!(
            (letter.retry.attempts, letter.retry.timeout.as_secs()),
            (3, 5)
        );
        let token = match_token(&id("R1M1"), number);
        assert_eq!(letter.credential, Credential::Match(token));
    }
    let Message::MatchResultReport(told) = &report.message else {
        panic!()
    };
    assert_eq!((told.round_id, told.attempt, &told.result), (1, 1, &result));
    assert_eq!(
        (report.retry.attempts, report.retry.timeout.as_secs()),
        (3, 10)
    );
    assert_eq!(report.credential, Credential::Own);
}

#[test]
fn referee_never_shows_its_own_token_to_a_player() {
    let mut house = RefereeWorld::started(order("R1M1"));
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

/// A match that is decided, with its report in the tray.
fn decided() -> RefereeWorld {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.choose(2, odd());
    house
}

fn view(house: &RefereeWorld) -> MatchView {
    house.referee.view(&id("R1M1")).unwrap()
}

#[test]
fn players_learn_the_result_after_the_manager_took_it() {
    let mut house = decided();
    assert_eq!(
        (view(&house).state, view(&house).result),
        (MatchState::Finished, None)
    );
    let report = house.take().pop().unwrap();
    house.hear(&report, failed(Code::Timeout)).unwrap();
    house.wait(100);
    let said = house.said();
    assert!(!said.is_empty());
    assert!(
        said.iter()
            .all(|said| said == "league_manager MATCH_RESULT_REPORT")
    );
    assert_eq!(view(&house).result, None);
    house.wait(400);
    house.manager_acknowledges();
    let shown = view(&house).result.unwrap();
    assert_eq!(shown.choices, house.result("R1M1").unwrap().choices);
    assert!(
        house
            .said()
            .ends_with(&["P01 GAME_OVER".to_owned(), "P02 GAME_OVER".to_owned()])
    );
}

#[test]
fn rejected_result_reaches_no_player() {
    for code in [Code::OutOfTurn, Code::InvalidMessage, Code::MatchNotFound] {
        let mut house = decided();
        let report = house.take().pop().unwrap();
        let error = LeagueError::new(code, "not yours");
        house
            .hear(&report, answer(&report, Message::from(error)))
            .unwrap();
        assert!(house.out.is_empty(), "{code}");
        assert_eq!(view(&house).result, None);
        assert_eq!(house.referee.held(), 0);
        house.restart();
        assert_eq!(view(&house).result, None);
        assert!(house.out.is_empty(), "{code}");
    }
}

#[test]
fn unanswered_result_reaches_no_player() {
    let mut house = decided();
    let report = house.take().pop().unwrap();
    house.hear(&report, failed(Code::Connection)).unwrap();
    house.events.clear();
    house.referee.apply(&Event::LeagueEnded { at: house.now });
    house.wait(300);
    let said = house.said();
    assert!(
        said.iter().all(|said| !said.contains("GAME_OVER")),
        "{said:?}"
    );
    assert!(matches!(
        house.events.last(),
        Some(Event::Closed {
            report: ReportAnswer::Unanswered,
            ..
        })
    ));
}

#[test]
fn manager_learns_of_one_player_that_knows_the_result_when_the_other_is_slow() {
    let mut house = decided();
    house.manager_acknowledges();
    house.wait_until(house.now + Duration::from_millis(100));
    let slow = house.only(2, "GAME_OVER");
    let quick = house.only(1, "GAME_OVER");
    house.hear(&quick, acknowledged()).unwrap();
    assert!(house.said().is_empty(), "the other may follow at once");
    house.wait(1);
    let [notice] = &house.take()[..] else {
        panic!("one notice")
    };
    let Message::GameOverTold(told) = &notice.message else {
        panic!("{:?}", notice.message)
    };
    assert_eq!(told.player_id, Some(player(1)));
    let first = notice.clone();
    house.hear(&slow, acknowledged()).unwrap();
    let [notice] = &house.take()[..] else {
        panic!("one more notice")
    };
    let Message::GameOverTold(told) = &notice.message else {
        panic!("{:?}", notice.message)
    };
    assert_eq!(told.player_id, Some(player(2)));
    let second = notice.clone();
    assert_eq!(house.referee.held(), 1, "a restart tells the manager again");
    house.hear(&second, acknowledged()).unwrap();
    house.hear(&first, failed(Code::Connection)).unwrap();
    assert_eq!(house.referee.held(), 0);
}

/// A referee that comes back registers and tells what it owes at the same time, with a token that its
/// registration makes void.
#[test]
fn manager_that_did_not_know_the_token_is_told_again_who_knows_the_result() {
    let mut house = decided();
    house.manager_acknowledges();
    house.wait_until(house.now + Duration::from_millis(100));
    for player in [1, 2] {
        let over = house.only(player, "GAME_OVER");
        house.hear(&over, acknowledged()).unwrap();
    }
    let [notice] = &house.take()[..] else {
        panic!("one notice")
    };
    let error = Message::from(LeagueError::new(Code::TokenInvalid, "who are you?"));
    house.hear(notice, answer(notice, error)).unwrap();
    assert!(house.said().is_empty(), "not at once");
    house.wait(1);
    let [again] = &house.take()[..] else {
        panic!("one more notice")
    };
    assert_eq!(again.message, notice.message);
    house.hear(again, acknowledged()).unwrap();
    assert_eq!(house.referee.held(), 0);
}
