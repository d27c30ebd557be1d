//! Which answers count: tokens, names, nonces, message types.

use std::sync::Arc;

use league_core::letter::{CallOutcome, Letter, PeerAnswer};
use league_core::referee::CorrelationId;
use league_protocol::fault::Code;
use league_protocol::message::{LeagueError, Message, MoveResponse, StartMatch};
use league_protocol::sender::Dialect;

use crate::referee::failing::failures;
use league_testkit::referee::*;

/// The event of an answer to the first move request.
fn weighed(
    strict: bool,
    dialect: Dialect,
    outcome: impl Fn(&Letter<CorrelationId>) -> CallOutcome,
) -> Vec<(usize, Code)> {
    let mut order = StartMatch {
        strict,
        ..order("R1M1")
    };
    order.players[0].dialect = dialect;
    let mut house = RefereeWorld::started(order);
    house.both_join();
    let letter = house.only(1, "CHOOSE_PARITY_CALL");
    let outcome = outcome(&letter);
    house.hear(&letter, outcome).unwrap();
    failures(&house)
}

#[test]
fn token_check_follows_the_league_rules() {
    let with = |hash: Option<u32>| {
        move |letter: &Letter<CorrelationId>| {
            let message = Message::MoveResponse(Arc::new(response(letter, even())));
            Ok(PeerAnswer {
                message,
                token: hash.map(|number| token(number).hash()),
            })
        }
    };
    for strict in [false, true] {
        assert_eq!(weighed(strict, Dialect::V2, with(Some(1))), []);
        assert_eq!(
            weighed(strict, Dialect::V2, with(Some(2))),
            [(1, Code::TokenInvalid)]
        );
    }
    assert_eq!(weighed(false, Dialect::V2, with(None)), []);
    assert_eq!(
        weighed(true, Dialect::V2, with(None)),
        [(1, Code::TokenMissing)]
    );
    assert_eq!(weighed(true, Dialect::V1, with(None)), []);
}

#[test]
fn answer_for_another_match_or_player_fails() {
    let changed = |change: fn(&mut MoveResponse)| {
        move |letter: &Letter<CorrelationId>| {
            let mut response = response(letter, even());
            change(&mut response);
            answer(letter, Message::MoveResponse(response.into()))
        }
    };
    let wrong_match = changed(|response| response.match_id = id("R9M9"));
    assert_eq!(
        weighed(false, Dialect::V2, wrong_match),
        [(1, Code::MatchNotFound)]
    );
    let wrong_player = changed(|response| response.player_id = Some(player(2)));
    assert_eq!(
        weighed(false, Dialect::V2, wrong_player),
        [(1, Code::TokenInvalid)]
    );
    assert_eq!(
        weighed(
            false,
            Dialect::V2,
            changed(|response| response.player_id = None)
        ),
        []
    );
}

#[test]
fn overlong_nonce_fails() {
    let nonce = |length: usize| {
        move |letter: &Letter<CorrelationId>| {
            let mut response = response(letter, even());
            response.nonce = Some("x".repeat(length));
            answer(letter, Message::MoveResponse(response.into()))
        }
    };
    assert_eq!(weighed(false, Dialect::V2, nonce(128)), []);
    assert_eq!(
        weighed(false, Dialect::V2, nonce(129)),
        [(1, Code::InvalidMove)]
    );
}

#[test]
fn message_of_the_wrong_type_fails() {
    for message in [
        Message::Acknowledged,
        Message::from(LeagueError::new(Code::TokenInvalid, "no")),
    ] {
        let said = |letter: &Letter<CorrelationId>| answer(letter, message.clone());
        assert_eq!(
            weighed(false, Dialect::V2, said),
            [(1, Code::InvalidMessage)]
        );
    }
    for code in [
        Code::InvalidMessage,
        Code::MissingField,
        Code::InvalidTimestamp,
    ] {
        assert_eq!(weighed(false, Dialect::V2, |_| failed(code)), [(1, code)]);
    }
}
