//! Silent, declining, cheating and unreachable players.

use std::time::Duration;

use league_core::letter::{CallOutcome, Letter};
use league_core::machine::Machine;
use league_core::referee::{CorrelationId, Event, MAX_POSTPONED, RefereeRules, Refusal, Reply};
use league_core::timeouts::Backoff;
use league_games::Seat;
use league_protocol::fault::Code;
use league_protocol::message::{GameError, MatchState, MatchStatus, Message, StartMatch};
use league_protocol::token::TokenHash;
use serde_json::json;

use league_testkit::referee::*;

fn error(house: &mut RefereeWorld, number: u32) -> GameError {
    let Message::GameError(error) = house.only(number, "GAME_ERROR").message else {
        panic!()
    };
    *error
}

pub(crate) fn failures(house: &RefereeWorld) -> Vec<(usize, Code)> {
    let failed = house.events.iter().filter_map(|event| match event {
        Event::AttemptFailed { seat, code, .. } => Some((seat.index() + 1, *code)),
        _ => None,
    });
    failed.collect()
}

#[test]
fn silent_invitee_loses_after_three_invitations() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let letter = house.only(1, "GAME_INVITATION");
    house.hear(&letter, join(&letter, true)).unwrap();
    house.only(2, "GAME_INVITATION");
    house.wait_until(second(5) - Duration::from_millis(1));
    assert!(house.out.is_empty());
    house.wait_until(second(5));
    let first = error(&mut house, 2);
    assert_eq!(
        (first.code, first.retry_count, first.max_retries),
        (Code::Timeout, 1, 3)
    );
    assert_eq!(first.next_retry_at, Some(second(7)));
    assert_eq!(
        (first.action_required, first.state),
        ("GAME_JOIN_ACK", MatchState::WaitingForPlayers)
    );
    house.wait_until(second(7));
    house.only(2, "GAME_INVITATION");
    house.wait_until(second(12));
    assert_eq!(error(&mut house, 2).retry_count, 2);
    house.wait_until(second(14));
    house.only(2, "GAME_INVITATION");
    house.wait_until(second(19) - Duration::from_millis(1));
    assert!(house.out.is_empty() && house.result("R1M1").is_none());
    house.wait_until(second(19));
    let last = error(&mut house, 2);
    assert_eq!((last.retry_count, last.next_retry_at), (3, None));
    let result = house.result("R1M1").unwrap();
    assert_eq!(
        (result.status, result.points),
        (MatchStatus::TechnicalLoss, [3, 0])
    );
    assert_eq!(
        (result.winner.clone(), result.failed[&player(2)]),
        (Some(player(1)), Code::Timeout)
    );
    assert_eq!(result.reason, "P02 did not answer in time (E001)");
    assert!(result.draw.is_some() && result.details.is_empty());
}

#[test]
fn silent_mover_loses_after_three_times_thirty_seconds() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.wait_until(second(30));
    let first = error(&mut house, 2);
    assert_eq!(
        (first.action_required, first.state),
        ("CHOOSE_PARITY_RESPONSE", MatchState::CollectingChoices)
    );
    assert_eq!(first.next_retry_at, Some(second(32)));
    house.wait_until(second(93));
    assert_eq!(house.result("R1M1"), None);
    house.wait_until(second(94));
    let result = house.result("R1M1").unwrap();
    assert_eq!((result.points, result.choices.len()), ([3, 0], 1));
    assert_eq!(result.choices[&player(1)], even());
    assert_eq!(failures(&house), [(2, Code::Timeout); 3]);
}

#[test]
fn silent_player_loses_once_the_other_is_settled() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    let mut slow = None;
    house.play(&mut |letter| match &letter.message {
        Message::MoveCall(call) if call.player_id == player(1) => Some(failed(Code::Connection)),
        Message::MoveCall(_) => {
            slow = Some(letter.clone());
            None
        }
        _ => plain(letter),
    });
    let result = house.result("R1M1").unwrap();
    assert_eq!(
        (result.points, result.failed.len(), result.winner.clone()),
        ([0, 0], 2, None)
    );
    assert_eq!(result.failed[&player(1)], Code::Connection);
    assert_eq!(result.failed[&player(2)], Code::Timeout);
}

#[test]
fn two_silent_players_lose_together() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.take();
    house.wait_until(second(19));
    let result = house.result("R1M1").unwrap();
    assert_eq!(
        (result.status, result.points, result.winner.clone()),
        (MatchStatus::TechnicalLoss, [0, 0], None)
    );
    assert_eq!(result.failed.len(), 2);
    assert_eq!(
        result.reason,
        "P01 did not answer in time (E001); P02 did not answer in time (E001)"
    );
}

#[test]
fn declining_player_loses_at_once() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let letter = house.only(1, "GAME_INVITATION");
    house.hear(&letter, join(&letter, false)).unwrap();
    assert_eq!(house.result("R1M1"), None);
    let letter = house.only(2, "GAME_INVITATION");
    house.hear(&letter, join(&letter, true)).unwrap();
    let result = house.result("R1M1").unwrap();
    assert_eq!(
        (result.status, result.points),
        (MatchStatus::TechnicalLoss, [0, 3])
    );
    assert_eq!(result.reason, "P01 declined the invitation");
    assert_eq!(failures(&house), []);
    assert_eq!(house.said(), ["league_manager MATCH_RESULT_REPORT"]);
}

#[test]
fn two_declining_players_both_lose() {
    let mut house = RefereeWorld::started(order("R1M1"));
    for number in [2, 1] {
        let letter = house.only(number, "GAME_INVITATION");
        house.hear(&letter, join(&letter, false)).unwrap();
    }
    let result = house.result("R1M1").unwrap();
    assert_eq!(
        (result.points, result.failed.len(), result.winner.clone()),
        ([0, 0], 2, None)
    );
}

#[test]
fn illegal_move_is_reported_and_may_be_replaced() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, json!("Even"));
    let told = error(&mut house, 1);
    assert_eq!(
        (told.code, told.retry_count, told.next_retry_at),
        (Code::InvalidMove, 1, Some(second(2)))
    );
    assert!(told.detail.contains("`even`, `odd`"), "{}", told.detail);
    house.choose(2, odd());
    house.wait(2);
    house.choose(1, even());
    let result = house.result("R1M1").unwrap();
    assert_eq!(result.status, MatchStatus::Win);
    assert!(result.failed.is_empty());
}

#[test]
fn three_illegal_moves_lose_the_match() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(2, odd());
    for attempt in 0..3 {
        house.choose(1, json!(7));
        assert_eq!(error(&mut house, 1).retry_count, attempt + 1);
        house.wait_until(house.now + Duration::from_secs(2));
    }
    let result = house.result("R1M1").unwrap();
    assert_eq!(
        (result.failed[&player(1)], result.points),
        (Code::InvalidMove, [0, 3])
    );
    let reason = "P01 gave no answer that counts (E004): `7` is not a move of this game, which takes \
                  `even`, `odd`";
    assert_eq!(result.reason, reason);
}

#[test]
fn late_answer_is_told_and_changes_nothing() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    let question = house.only(1, "CHOOSE_PARITY_CALL");
    house.choose(2, odd());
    house.wait(30);
    assert_eq!(error(&mut house, 1).code, Code::Timeout);
    assert!(house.hear(&question, chosen(&question, even())).is_err());
    let told = error(&mut house, 1);
    assert_eq!((told.code, told.retry_count), (Code::DeadlinePassed, 1));
    house.wait(2);
    house.choose(1, odd());
    let result = house.result("R1M1").unwrap();
    assert!(result.failed.is_empty(), "{result:?}");
}

#[test]
fn quoted_words_of_a_player_are_harmless_and_short() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(2, odd());
    for _ in 0..3 {
        let long = format!("\u{7}\u{202e}{}", "x".repeat(1_000));
        house.choose(1, json!(long));
        house.wait_until(house.now + Duration::from_secs(2));
    }
    let reason = &house.result("R1M1").unwrap().reason;
    assert!(reason.contains("xxx"), "{reason}");
    assert!(!reason.contains(['\u{7}', '\u{202e}']), "{reason}");
    assert!(reason.chars().count() < 400, "{reason}");
}

#[test]
fn attempts_are_counted_per_move() {
    let mut house = RefereeWorld::started(tic_tac_toe("R1M1"));
    let mut asked = 0;
    house.play(&mut |letter| match &letter.message {
        Message::MoveCall(_) => {
            asked += 1;
            if asked % 3 == 0 {
                plain(letter)
            } else {
                Some(failed(Code::Connection))
            }
        }
        _ => plain(letter),
    });
    assert_eq!(house.result("R1M1").unwrap().status, MatchStatus::Win);
    assert!(failures(&house).len() > 6);
}

#[test]
fn late_answer_is_refused() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(2, odd());
    let letter = house.only(1, "CHOOSE_PARITY_CALL");
    house.wait_until(second(31));
    house.take();
    let refused = house.hear(&letter, chosen(&letter, even())).unwrap_err();
    assert_eq!(
        refused,
        Refusal::Late {
            match_id: id("R1M1"),
            seat: Seat::A
        }
    );
    assert_eq!(refused.to_league_error().code, Code::DeadlinePassed);
    assert_eq!(failures(&house), [(1, Code::Timeout)]);
    assert_eq!(
        house.hear(&letter, failed(Code::Timeout)),
        Ok(league_core::referee::Reply::Noted)
    );
    assert_eq!(failures(&house).len(), 1);
    house.wait_until(second(32));
    house.choose(1, odd());
    assert_eq!(house.result("R1M1").unwrap().choices[&player(1)], odd());
}

#[test]
fn answer_after_the_deadline_is_late_before_the_tick() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    let (first, second_call) = (
        house.only(1, "CHOOSE_PARITY_CALL"),
        house.only(2, "CHOOSE_PARITY_CALL"),
    );
    house.now = second(30);
    house.hear(&first, chosen(&first, even())).unwrap();
    assert_eq!(failures(&house), [(2, Code::Timeout)]);
    let mut other = RefereeWorld::started(order("R1M1"));
    other.both_join();
    other.now = second(30) + Duration::from_millis(1);
    let refused = other
        .hear(&second_call, chosen(&second_call, odd()))
        .unwrap_err();
    assert_eq!(refused.code(), Code::DeadlinePassed);
    assert!(failures(&other).is_empty());
}

#[test]
fn reported_timeout_before_the_deadline_does_not_count() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let letter = house.only(1, "GAME_INVITATION");
    house.hear(&letter, failed(Code::Timeout)).unwrap();
    assert!(failures(&house).is_empty());
    house.wait_until(second(5));
    assert_eq!(failures(&house).len(), 2);
}

#[test]
fn broken_connection_counts_at_once() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let letter = house.only(1, "GAME_INVITATION");
    house.hear(&letter, failed(Code::Connection)).unwrap();
    assert_eq!(failures(&house), [(1, Code::Connection)]);
    assert_eq!(error(&mut house, 1).next_retry_at, Some(second(2)));
}

#[test]
fn notice_is_delivered_before_the_next_question() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let letter = house.only(1, "GAME_INVITATION");
    house.hear(&letter, failed(Code::Connection)).unwrap();
    let notice = house.only(1, "GAME_ERROR");
    assert_eq!(
        (notice.retry.attempts, notice.retry.timeout),
        (1, Duration::from_secs(2))
    );
    assert_eq!(notice.correlation, None);
}

/// A second player that leaves invitations without an outcome, or with this one.
fn second_player(
    outcome: Option<Code>,
) -> impl Fn(&Letter<CorrelationId>) -> Option<CallOutcome> + Copy {
    move |letter| match &letter.message {
        Message::GameInvitation(invitation) if invitation.opponent_id == player(1) => {
            outcome.map(failed)
        }
        _ => plain(letter),
    }
}

fn invitations(house: &RefereeWorld) -> usize {
    let asked = house.events.iter();
    asked
        .filter(|event| matches!(event, Event::Asked { seat, .. } if seat.index() == 1))
        .count()
}

#[test]
fn silent_player_opens_its_breaker_and_a_new_token_closes_it() {
    let mut house = RefereeWorld::new();
    let silent = second_player(None);
    for match_id in ["R1M1", "R2M1"] {
        house.order(order(match_id));
        house.play(&mut { silent });
    }
    assert_eq!(invitations(&house), 5, "it opened at the fifth silence");
    house.order(order("R3M1"));
    house.play(&mut { silent });
    assert_eq!(invitations(&house), 5, "lost at once");
    assert_eq!(failures(&house).last(), Some(&(2, Code::Connection)));
    let mut returned = order("R4M1");
    returned.players[1].token_hash = TokenHash::of("a new one");
    house.order(returned);
    house.play(&mut { silent });
    assert_eq!(invitations(&house), 8, "it came back, so it is asked");
    house.now = house.now + Duration::from_secs(60);
    house.order(order("R5M1"));
    house.play(&mut { silent });
    assert_eq!(
        invitations(&house),
        9,
        "after a minute one call is let through"
    );
}

#[test]
fn player_that_joins_while_its_breaker_is_open_is_asked_for_its_move() {
    let mut rules: RefereeRules = rules();
    rules.breaker.threshold = 1;
    let mut house = RefereeWorld::with(rules);
    house.order(order("R1M1"));
    house.wait(4);
    house.take();
    house.order(order("R2M1"));
    house.wait(4);
    assert_eq!(failures(&house)[0], (1, Code::Timeout), "it opens here");
    house.both_join();
    house.only(1, "CHOOSE_PARITY_CALL");
    house.only(2, "CHOOSE_PARITY_CALL");
}

#[test]
fn match_waits_for_a_player_that_cannot_be_reached() {
    let mut house = RefereeWorld::new();
    house.order(order("R1M1"));
    let start = house.now;
    let gone = second_player(Some(Code::Connection));
    house.play(&mut { gone });
    assert_eq!(house.now.since(start), Duration::from_secs(20));
    assert_eq!(invitations(&house), 11, "every two seconds");
    let result = house.result("R1M1").unwrap();
    assert_eq!(result.failed.get(&player(2)), Some(&Code::Connection));
    let mut absent = order("R2M1");
    absent.players[1].absent = true;
    house.order(absent);
    let again = house.now;
    house.play(&mut { gone });
    assert_eq!(house.now, again, "it waits once for an absence");
    assert_eq!(invitations(&house), 12);
}

#[test]
fn player_that_comes_back_in_time_plays() {
    let mut house = RefereeWorld::new();
    house.order(order("R1M1"));
    let mut refused = 0;
    house.play(&mut |letter| match &letter.message {
        Message::GameInvitation(invitation) if invitation.opponent_id == player(1) => {
            refused += 1;
            match refused <= 9 {
                true => Some(failed(Code::Connection)),
                false => plain(letter),
            }
        }
        _ => plain(letter),
    });
    let result = house.result("R1M1").unwrap();
    assert_ne!(result.status, MatchStatus::TechnicalLoss);
}

#[test]
fn extreme_timeouts_and_attempts_do_no_harm() {
    let mut rules: RefereeRules = rules();
    rules.timeouts.attempts = u32::MAX;
    rules.timeouts.backoff = Backoff::Fixed(Duration::ZERO);
    rules.timeouts.join = Duration::ZERO;
    let mut house = RefereeWorld::with(rules);
    house.order(order("R1M1"));
    house.wait(300);
    assert_eq!(house.result("R1M1").unwrap().points, [0, 0]);
    assert!(failures(&house).len() <= 20);
}

#[test]
fn question_that_cannot_be_sent_is_put_again_with_its_whole_time() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let letter = house.only(1, "GAME_INVITATION");
    house.hear(&letter, join(&letter, true)).unwrap();
    for _ in 0..MAX_POSTPONED {
        let letter = house.only(2, "GAME_INVITATION");
        house.hear(&letter, unsent()).unwrap();
        assert!(house.out.is_empty(), "the player hears of no failure");
        let due = house.referee.wakeup().unwrap();
        house.wait_until(due);
    }
    assert!(house.now > second(5), "beyond the deadline of the first");
    let letter = house.only(2, "GAME_INVITATION");
    house.hear(&letter, join(&letter, true)).unwrap();
    house.choose(1, even());
    let moving = house.only(2, "CHOOSE_PARITY_CALL");
    house.hear(&moving, unsent()).unwrap();
    house.wait(1);
    house.choose(2, odd());
    assert_eq!(failures(&house), []);
    assert_ne!(
        house.result("R1M1").unwrap().status,
        MatchStatus::TechnicalLoss
    );
}

#[test]
fn match_goes_back_if_its_questions_cannot_be_sent() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let other = house.only(2, "GAME_INVITATION");
    house.hear(&other, join(&other, true)).unwrap();
    let mut refused = None;
    while refused.is_none() {
        let letter = house.only(1, "GAME_INVITATION");
        refused = house.hear(&letter, unsent()).err();
        house.wait_until(house.referee.wakeup().unwrap_or(second(0)));
    }
    assert_eq!(refused, Some(Refusal::GivenBack(id("R1M1"))));
    assert_eq!(house.referee.playing(), 0);
    assert_eq!(house.referee.wakeup(), None);
    let late = house.hear(&other, join(&other, true));
    assert!(matches!(late, Err(Refusal::Late { .. })), "{late:?}");

    let Ok(Reply::StartMatchAck(ack)) = house.tell(start(order("R1M1"), None)) else {
        panic!("an order is answered")
    };
    assert!(!ack.accepted && ack.reason.unwrap().contains("given back"));
    let later = StartMatch {
        attempt: 2,
        ..order("R1M1")
    };
    house.order(later);
    assert_eq!(house.referee.playing(), 1, "a later attempt is a new one");
    assert_eq!(failures(&house), []);
}

#[test]
fn quoted_answers_fit_into_a_report() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let long = "\u{7a7a}".repeat(400);
    house.play(&mut |letter| match &letter.message {
        Message::MoveCall(_) => Some(chosen(letter, json!(long.clone()))),
        _ => plain(letter),
    });
    let result = house.result("R1M1").unwrap();
    assert_eq!(result.failed.len(), 2, "{result:?}");
    assert!(result.reason.len() <= 1_000, "{}", result.reason.len());
}
