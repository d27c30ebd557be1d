//! Detecting a player's call style does not count against its deadline.

use std::time::Duration;

use league_core::timeouts::CALL_STYLE_TIMEOUT;
use league_protocol::fault::Code;
use league_protocol::message::StartMatch;
use league_protocol::sender::CallStyle;

use crate::referee::failing::failures;
use league_testkit::referee::*;

/// A match whose second player takes calls like this.
fn order_with(speech: Option<CallStyle>) -> StartMatch {
    let mut order = order("R1M1");
    order.players[1].speech = speech;
    order
}

#[test]
fn finding_the_call_style_extends_only_silence() {
    for speech in [None, Some(CallStyle::Mcp)] {
        let mut house = RefereeWorld::started(order_with(speech));
        let known = house.only(1, "GAME_INVITATION");
        let unknown = house.only(2, "GAME_INVITATION");
        assert_eq!(unknown.retry, known.retry);
        assert_eq!(unknown.to.speech, speech);
        house.wait_until(second(5) + CALL_STYLE_TIMEOUT - Duration::from_millis(1));
        assert_eq!(failures(&house)[0].0, 1, "whose speech is known has failed");
        assert!(failures(&house).iter().all(|(seat, _)| *seat == 1));
        house.wait_until(second(5) + CALL_STYLE_TIMEOUT);
        assert!(failures(&house).contains(&(2, Code::Timeout)));
    }
}

#[test]
fn answer_after_finding_the_call_style_counts() {
    let mut house = RefereeWorld::started(order_with(None));
    let first = house.only(1, "GAME_INVITATION");
    house.hear(&first, join(&first, true)).unwrap();
    let letter = house.only(2, "GAME_INVITATION");
    house.wait_until(second(12));
    house.hear(&letter, join(&letter, true)).unwrap();
    house.only(2, "CHOOSE_PARITY_CALL");
    assert_eq!(failures(&house), []);
}

#[test]
fn silence_after_the_full_wait_counts_at_once() {
    let mut house = RefereeWorld::started(order_with(None));
    let letter = house.only(2, "GAME_INVITATION");
    house.wait_until(second(5));
    house.hear(&letter, failed(Code::Timeout)).unwrap();
    assert!(failures(&house).contains(&(2, Code::Timeout)));
}
