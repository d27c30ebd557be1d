//! The hand-over of moves to the manager, and the draw that it gives for them.

use league_core::draw;
use league_core::letter::{CallOutcome, Credential, Letter, PeerAnswer};
use league_core::machine::Machine;
use league_core::referee::{CorrelationId, Event, Refusal, Reply, ReportAnswer};
use league_protocol::fault::Code;
use league_protocol::message::{
    DrawResponse, HandedOver, LeagueError, MatchState, Message, SignedMove, StartMatch,
};
use league_protocol::secret::Proof;
use serde_json::{Value, json};

use league_testkit::referee::*;

/// A match whose moves are made and whose draw is requested.
fn requesting() -> RefereeWorld {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose_only(2, odd());
    house.choose_only(1, even());
    house
}

fn error(code: Code) -> CallOutcome {
    Ok(PeerAnswer {
        message: Message::from(LeagueError::new(code, "as the test wants it")),
        token: None,
    })
}

fn state(house: &RefereeWorld) -> MatchState {
    house.referee.view(&id("R1M1")).unwrap().state
}

#[test]
fn request_hands_over_all_moves_in_order() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    let letter = house.only(2, "CHOOSE_PARITY_CALL");
    let mut signed = response(&letter, odd());
    signed.proof = Some(Proof([5; 32]));
    let signed = answer(&letter, Message::MoveResponse(signed.into()));
    house.hear(&letter, signed).unwrap();
    house.choose_only(1, even());
    let letter = house.draw_request();
    let request = requested(&letter);
    assert_eq!((request.round_id, request.attempt), (1, 1));
    assert_eq!(request.order_token, Some(order_token(&id("R1M1"))));
    let made = |number, choice, proof| SignedMove {
        player_id: player(number),
        choice,
        nonce: Some(format!("nonce of P{number:02}")),
        proof,
        model: None,
    };
    assert_eq!(
        request.moves,
        [made(2, odd(), Some(Proof([5; 32]))), made(1, even(), None)]
    );
    assert_eq!(letter.credential, Credential::Own);
    assert_eq!(
        (letter.retry.attempts, letter.retry.timeout.as_secs()),
        (3, 10)
    );
    let correlation = CorrelationId::Draw {
        match_id: id("R1M1"),
        attempt: 1,
        roll: 0,
        tried: 1,
    };
    assert_eq!(letter.correlation, Some(correlation));
}

#[test]
fn number_follows_from_the_seed_of_the_roll_and_the_nonces() {
    let mut house = requesting();
    let letter = house.draw_request();
    house.hear(&letter, drawn(&letter)).unwrap();
    let seed = draw::roll_seed(&seed(&id("R1M1")), 1, 0);
    let nonces = ["nonce of P01", "nonce of P02"];
    let number = draw::dice_of(&league(), &id("R1M1"), &seed, 1, nonces).roll(1..=10);
    let result = house.result("R1M1").unwrap();
    assert_eq!(result.details["drawn_number"], number);
}

#[test]
fn request_is_sent_again_until_answered() {
    let mut house = requesting();
    let first = house.draw_request();
    house.hear(&first, failed(Code::Connection)).unwrap();
    house.wait(60);
    assert!(house.out.len() == 1, "no second try under way at once");
    let second = house.draw_request();
    assert_eq!(requested(&second), requested(&first));
    house.wait(600);
    assert!(!house.out.is_empty(), "a lost outcome counts as silence");
    house.play(&mut plain);
    assert_eq!(house.kinds().last(), Some(&"closed"));
}

#[test]
fn late_answer_to_an_earlier_try_changes_nothing() {
    let mut house = requesting();
    let first = house.draw_request();
    house.hear(&first, error(Code::RateLimited)).unwrap();
    let events = house.events.len();
    house.hear(&first, drawn(&first)).unwrap();
    assert_eq!(house.events.len(), events);
    house.wait(30);
    let second = house.draw_request();
    house.hear(&second, drawn(&second)).unwrap();
    let events = house.events.len();
    house.hear(&second, drawn(&second)).unwrap();
    assert_eq!(house.events.len(), events);
    assert_eq!(state(&house), MatchState::Finished);
}

#[test]
fn answer_about_another_match_or_attempt_does_not_count() {
    for (match_id, attempt) in [("R1M2", 1), ("R1M1", 2)] {
        let mut house = requesting();
        let letter = house.draw_request();
        let message = Message::from(DrawResponse {
            match_id: id(match_id),
            attempt,
            seed: seed(&id("R1M1")),
        });
        let token = None;
        house
            .hear(&letter, Ok(PeerAnswer { message, token }))
            .unwrap();
        assert_eq!(house.kinds().last(), Some(&"not drawn"));
        assert_eq!(state(&house), MatchState::DrawingNumber);
    }
}

#[test]
fn refused_token_registers_and_requests_again() {
    for code in [
        Code::TokenMissing,
        Code::TokenInvalid,
        Code::RefereeNotRegistered,
    ] {
        let mut house = requesting();
        let letter = house.draw_request();
        let answer = house.hear(&letter, error(code));
        assert_eq!(answer, Err(Refusal::TokenRefused), "{code}");
        house.wait(30);
        house.draw_request();
    }
}

#[test]
fn draw_refused_for_good_closes_the_match() {
    let mut house = requesting();
    let letter = house.draw_request();
    house.hear(&letter, error(Code::OutOfTurn)).unwrap();
    let Some(Event::Closed { report, .. }) = house.events.last() else {
        panic!("{:?}", house.kinds())
    };
    assert_eq!(*report, ReportAnswer::Refused(Code::OutOfTurn));
    for _ in 0..2 {
        assert!(house.out.is_empty());
        assert_eq!(house.referee.wakeup(), None);
        assert_eq!((house.referee.held(), house.referee.playing()), (0, 0));
        assert_eq!(house.result("R1M1"), None);
        let Ok(Reply::StartMatchAck(ack)) = house.tell(start(order("R1M1"), None)) else {
            panic!("an order is answered")
        };
        assert_eq!(
            ack.reason.as_deref(),
            Some("match `R1M1` was closed here: the manager refused its draw")
        );
        house.restart();
    }
    house.order(StartMatch {
        attempt: 2,
        ..order("R1M1")
    });
}

#[test]
fn unanswered_request_ends_with_the_league() {
    let mut house = requesting();
    house.take();
    house.referee.apply(&Event::LeagueEnded { at: house.now });
    house.wait(300);
    assert!(house.out.is_empty());
    assert!(matches!(
        house.events.last(),
        Some(Event::Closed {
            report: ReportAnswer::Unanswered,
            ..
        })
    ));
}

#[test]
fn restart_while_drawing_asks_again_for_the_moves() {
    let mut house = requesting();
    house.restart();
    assert!(house.out.is_empty());
    house.order(order("R1M1"));
    house.choose(1, even());
    house.choose(2, odd());
    assert!(house.result("R1M1").is_some());
}

#[test]
fn game_without_dice_requests_no_draw() {
    let mut house = RefereeWorld::started(tic_tac_toe("R1M1"));
    let mut said = Vec::new();
    house.play(&mut |letter| {
        said.push(told(letter));
        plain(letter)
    });
    assert!(!said.contains(&"league_manager DRAW_REQUEST".to_owned()));
    assert_eq!(house.kinds().last(), Some(&"closed"));
}

/// A match of tic-tac-toe that goes on after these moves.
fn going_on(cells: &[(u32, u32)]) -> StartMatch {
    let moves = cells.iter().map(|(number, cell)| SignedMove {
        player_id: player(*number),
        choice: json!(cell),
        nonce: Some(format!("early {number}")),
        proof: Some(Proof([7; 32])),
        model: None,
    });
    StartMatch {
        attempt: 2,
        handed_over: Some(HandedOver {
            attempt: 1,
            moves: moves.collect(),
            seeds: Vec::new(),
        }),
        ..tic_tac_toe("R1M1")
    }
}

fn mark(house: &mut RefereeWorld, number: u32, cell: u32) -> Letter<CorrelationId> {
    let letter = house.only(number, "GAME_MOVE_CALL");
    house.hear(&letter, chosen(&letter, json!(cell))).unwrap();
    letter
}

fn cells(letter: &Letter<CorrelationId>) -> Vec<(u32, Value)> {
    let number = |made: &SignedMove| 1 + u32::from(made.player_id == player(2));
    let moves = call(letter).moves.iter();
    moves
        .map(|made| (number(made), made.choice.clone()))
        .collect()
}

#[test]
fn handed_over_moves_are_not_asked_for_again() {
    let mut house = RefereeWorld::started(going_on(&[(1, 0), (2, 4)]));
    house.both_join();
    let letter = house.only(1, "GAME_MOVE_CALL");
    assert_eq!(call(&letter).turn_number, 2);
    assert_eq!(call(&letter).view["board"][4], json!("O"));
    assert_eq!(cells(&letter), [(1, json!(0)), (2, json!(4))]);
    house.hear(&letter, chosen(&letter, json!(1))).unwrap();
    mark(&mut house, 2, 8);
    mark(&mut house, 1, 2);
    let result = house.result("R1M1").unwrap();
    assert_eq!(result.choices[&player(1)], json!([0, 1, 2]));
    let evidence = &result.evidence.moves;
    assert_eq!(evidence.len(), 5);
    assert_eq!(evidence[0].proof, Some(Proof([7; 32])));
    let draw = result.draw.as_ref().unwrap();
    assert_eq!(draw.attempt, 1, "its draws go on as they began");
    assert_eq!(draw.nonces, ["early 1", "early 2"]);
}

#[test]
fn handed_over_moves_come_back_after_a_restart() {
    let mut house = RefereeWorld::started(going_on(&[(1, 0), (2, 4)]));
    house.both_join();
    mark(&mut house, 1, 1);
    house.restart();
    house.order(going_on(&[(1, 0), (2, 4)]));
    let letter = mark(&mut house, 2, 8);
    assert_eq!(
        cells(&letter),
        [(1, json!(0)), (2, json!(4)), (1, json!(1))]
    );
    house.restart();
    // By now the manager holds more of them.
    house.order(going_on(&[(1, 0), (2, 4), (1, 1)]));
    let letter = mark(&mut house, 1, 2);
    assert_eq!(cells(&letter).len(), 4);
    let result = house.result("R1M1").unwrap();
    assert_eq!(result.choices[&player(2)], json!([4, 8]));
}

#[test]
fn game_that_the_handed_over_moves_end_is_decided_at_once() {
    let made = |number, choice| SignedMove {
        player_id: player(number),
        choice,
        nonce: Some(format!("nonce of P{number:02}")),
        proof: None,
        model: None,
    };
    let roll = draw::roll_seed(&seed(&id("R1M1")), 1, 0);
    let mut house = RefereeWorld::started(StartMatch {
        attempt: 2,
        handed_over: Some(HandedOver {
            attempt: 1,
            moves: vec![made(1, even()), made(2, odd())],
            seeds: vec![roll],
        }),
        ..order("R1M1")
    });
    assert_eq!(house.said(), ["league_manager MATCH_RESULT_REPORT"]);
    let mut first = requesting();
    first.manager_draws();
    let (here, there) = (house.result("R1M1"), first.result("R1M1"));
    assert_eq!(here.unwrap().details, there.unwrap().details);
}

#[test]
fn debug_output_hides_handed_over_moves() {
    let mut hidden = going_on(&[]);
    hidden.game_type = order("R1M1").game_type;
    hidden.handed_over.as_mut().unwrap().moves = vec![SignedMove {
        player_id: player(1),
        choice: even(),
        nonce: None,
        proof: None,
        model: None,
    }];
    let house = RefereeWorld::started(hidden);
    let printed = format!("{:?} {:?}", house.referee, house.events);
    assert!(!printed.contains("\"even\""), "{printed}");
    assert!(!house.journal.concat().contains("\"even\""));
}

#[test]
fn order_that_brings_the_requested_draw_ends_the_wait_for_it() {
    let mut house = requesting();
    let request = house.draw_request();
    let moves = requested(&request).moves.clone();
    let roll = draw::roll_seed(&seed(&id("R1M1")), 1, 0);
    let order = StartMatch {
        handed_over: Some(HandedOver {
            attempt: 1,
            moves,
            seeds: vec![roll],
        }),
        ..order("R1M1")
    };
    house.tell(start(order, None)).unwrap();
    assert_eq!(house.said(), ["league_manager MATCH_RESULT_REPORT"]);
    let mut first = requesting();
    first.manager_draws();
    let (here, there) = (house.result("R1M1"), first.result("R1M1"));
    assert_eq!(here.unwrap(), there.unwrap());
}
