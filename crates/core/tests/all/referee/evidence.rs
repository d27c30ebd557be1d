//! What shows that a match was played as it is reported, and what the manager opens with it.

use league_core::letter::{CallOutcome, Letter, PeerAnswer};
use league_core::referee::{Command, CorrelationId, Refusal};
use league_protocol::fault::Code;
use league_protocol::message::{
    GameJoinAck, LeagueError, MatchResult, Message, ModelUse, SignedMove,
};
use league_protocol::secret::Proof;
use serde_json::json;

use league_testkit::referee::*;

const JOIN: Proof = Proof([3; 32]);
const MOVE: Proof = Proof([4; 32]);

/// A player that signs; the second one does not.
fn signing(letter: &Letter<CorrelationId>) -> Option<CallOutcome> {
    let first = letter.to.agent == league_protocol::sender::Agent::Player(player(1));
    match &letter.message {
        Message::GameInvitation(invitation) if first => {
            let ack = GameJoinAck {
                match_id: invitation.match_id.clone(),
                player_id: None,
                arrival: None,
                accept: true,
                proof: Some(JOIN),
            };
            Some(answer(letter, Message::from(ack)))
        }
        Message::MoveCall(call) if first => {
            let mut signed = response(letter, call.options[0].clone());
            signed.proof = Some(MOVE);
            Some(answer(letter, Message::MoveResponse(signed.into())))
        }
        _ => plain(letter),
    }
}

/// Plays with a player that signs, up to the report.
fn reported(house: &mut RefereeWorld) -> Letter<CorrelationId> {
    loop {
        for letter in house.take() {
            if matches!(letter.message, Message::MatchResultReport(_)) {
                return letter;
            }
            house.hear(&letter, signing(&letter).unwrap()).unwrap();
        }
    }
}

fn told_over(house: &mut RefereeWorld, number: u32) -> MatchResult {
    let Message::GameOver(over) = house.only(number, "GAME_OVER").message else {
        panic!("it is over")
    };
    (*over.result).clone()
}

#[test]
fn report_holds_joins_and_moves_and_no_seed() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let letter = reported(&mut house);
    let Message::MatchResultReport(report) = &letter.message else {
        panic!("it is a report")
    };
    assert_eq!(report.order_token, Some(order_token(&id("R1M1"))));
    let draw = report.result.draw.as_ref().unwrap();
    assert_eq!((draw.seed, draw.mode), (None, MODE));
    assert_eq!(draw.commitment, commitment(&id("R1M1")));
    let evidence = &report.result.evidence;
    assert_eq!(evidence.of(&player(1)).unwrap().join, Some(JOIN));
    assert_eq!(evidence.of(&player(2)), None);
    let proofs: Vec<_> = evidence.moves.iter().map(|made| made.proof).collect();
    assert_eq!(proofs, [Some(MOVE), None]);
}

#[test]
fn acknowledged_result_opens_seed_and_keys() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let report = reported(&mut house);
    house.hear(&report, taken(&report)).unwrap();
    let key = proof_key(&id("R1M1"), 1);
    let shown = house.shown("R1M1").unwrap();
    assert_eq!(shown.draw.as_ref().unwrap().seed, Some(seed(&id("R1M1"))));
    let first = shown.evidence.of(&player(1)).unwrap();
    assert_eq!((first.join, first.key), (Some(JOIN), Some(key)));
    for number in [1, 2] {
        assert_eq!(told_over(&mut house, number), *shown);
    }
}

#[test]
fn opened_result_is_known_after_a_restart() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let report = reported(&mut house);
    house.hear(&report, taken(&report)).unwrap();
    let shown = house.shown("R1M1");
    house.restart();
    let again = house.take().pop().unwrap();
    house.hear(&again, taken(&again)).unwrap();
    assert_eq!(house.shown("R1M1"), shown, "the report brings it again");
    house.play(&mut plain);
    house.restart();
    assert_eq!(house.shown("R1M1"), shown, "the journal has it");
}

#[test]
fn report_that_is_repeated_after_the_acknowledgement_tells_what_that_opened() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.play(&mut signing);
    house.order(order("R1M1"));
    assert_eq!(house.reports.len(), 2);
    assert_eq!(house.reports[0].draw.as_ref().unwrap().seed, None);
    assert_eq!(Some(&house.reports[1]), house.shown("R1M1").as_ref());
    assert!(house.reports[1].draw.as_ref().unwrap().seed.is_some());
}

#[test]
fn plain_acknowledgement_opens_nothing() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let report = reported(&mut house);
    house.hear(&report, acknowledged()).unwrap();
    let shown = house.shown("R1M1").unwrap();
    assert_eq!(Some(&shown), house.result("R1M1").as_ref());
    assert_eq!(told_over(&mut house, 1).draw.unwrap().seed, None);
}

#[test]
fn proof_of_joining_survives_a_restart() {
    let mut house = RefereeWorld::started(order("R1M1"));
    for letter in house.take() {
        house.hear(&letter, signing(&letter).unwrap()).unwrap();
    }
    house.restart();
    house.order(order("R1M1"));
    reported(&mut house);
    let result = house.result("R1M1").unwrap();
    assert_eq!(result.evidence.of(&player(1)).unwrap().join, Some(JOIN));
}

#[test]
fn what_is_told_of_a_model_stands_in_the_evidence_and_not_in_requests() {
    let told = ModelUse {
        model: "stub".to_owned(),
        tokens_in: 7,
        ..ModelUse::default()
    };
    let mut requests = Vec::new();
    let mut house = RefereeWorld::started(tic_tac_toe("R1M1"));
    let mut cells = 0..9;
    house.play(&mut |letter| match &letter.message {
        Message::MoveCall(call) => {
            requests.extend(call.moves.iter().cloned());
            let mut response = response(letter, json!(cells.next()));
            response.model = Some(Box::new(told.clone()));
            Some(answer(letter, Message::MoveResponse(response.into())))
        }
        _ => plain(letter),
    });
    let moves = house.result("R1M1").unwrap().evidence.moves.clone();
    assert!(moves.len() > 4);
    assert!(
        moves
            .iter()
            .all(|made| made.model.as_deref() == Some(&told))
    );
    assert!(!requests.is_empty() && requests.iter().all(|made| made.model.is_none()));
}

#[test]
fn technical_loss_shows_who_was_there() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.play(&mut |letter| match &letter.message {
        Message::MoveCall(call) if call.player_id == player(1) => None,
        _ => signing(letter),
    });
    let result = house.result("R1M1").unwrap();
    assert_eq!(result.failed.get(&player(1)), Some(&Code::Timeout));
    assert_eq!(result.evidence.of(&player(1)).unwrap().join, Some(JOIN));
    assert_eq!(result.evidence.moves.len(), 1);
}

#[test]
fn move_request_shows_the_open_moves_so_far() {
    let mut house = RefereeWorld::started(tic_tac_toe("R1M1"));
    house.both_join();
    let first = house.only(1, "GAME_MOVE_CALL");
    assert_eq!(*call(&first).moves, []);
    house.hear(&first, chosen(&first, json!(4))).unwrap();
    let second = house.only(2, "GAME_MOVE_CALL");
    let made = SignedMove {
        player_id: player(1),
        choice: json!(4),
        nonce: None,
        proof: None,
        model: None,
    };
    assert_eq!(*call(&second).moves, [made]);
}

#[test]
fn move_request_shows_no_hidden_move() {
    let mut order = order("R1M1");
    // Its players are asked one after the other.
    order.players[0].dialect = league_protocol::sender::Dialect::V1;
    let mut house = RefereeWorld::started(order);
    house.both_join();
    let first = house.only(1, "CHOOSE_PARITY_CALL");
    house.hear(&first, chosen(&first, even())).unwrap();
    let second = house.only(2, "CHOOSE_PARITY_CALL");
    assert_eq!(*call(&second).moves, []);
}

#[test]
fn refused_token_of_a_closed_match_registers_again() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.play(&mut plain);
    house.order(order("R1M1"));
    let report = house.take().pop().unwrap();
    let message = Message::from(LeagueError::new(Code::TokenInvalid, "unknown"));
    let token = None;
    let heard = house.hear(&report, Ok(PeerAnswer { message, token }));
    assert_eq!(heard, Err(Refusal::TokenRefused));
    let done = house.hear(&report, acknowledged());
    assert!(done.is_ok());
}

#[test]
fn key_of_the_organiser_is_shown_at_registration() {
    let mut rules = rules();
    rules.key = Some(token(9));
    let mut house = RefereeWorld::with(rules);
    house.tell(Command::Begin { token: None }).unwrap();
    let Message::RefereeRegisterRequest(request) = house.take().remove(0).message else {
        panic!("it registers")
    };
    assert_eq!(request.referee_key, Some(token(9)));
}
