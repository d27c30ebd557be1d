//! A crash after any event: journaled events survive, and no result changes.

use std::sync::Arc;

use league_core::letter::{CallOutcome, Letter};
use league_core::machine::Machine;
use league_core::referee::{CorrelationId, Event};
use league_protocol::fault::Code;
use league_protocol::message::{MatchResult, MatchStatus, Message, StartMatch};
use league_protocol::sender::Dialect;
use serde_json::json;

use league_testkit::referee::*;

type Behaviour = fn(&Letter<CorrelationId>) -> Option<CallOutcome>;

fn silent_second(letter: &Letter<CorrelationId>) -> Option<CallOutcome> {
    match &letter.message {
        Message::MoveCall(call) if call.player_id == player(2) => None,
        _ => plain(letter),
    }
}

fn unwilling_first(letter: &Letter<CorrelationId>) -> Option<CallOutcome> {
    match &letter.message {
        Message::GameInvitation(invitation) if invitation.opponent_id == player(2) => {
            Some(join(letter, false))
        }
        _ => plain(letter),
    }
}

/// Answers nonsense the first two times in a life of the question.
fn clumsy(letter: &Letter<CorrelationId>) -> Option<CallOutcome> {
    match &letter.correlation {
        Some(CorrelationId::Question(question)) if question.failed == 0 && question.turn > 0 => {
            Some(chosen(letter, json!("both")))
        }
        _ => plain(letter),
    }
}

/// Asks for the match, and again if the power failed after `facts` facts.
fn played(order: &StartMatch, behave: Behaviour, facts: Option<usize>) -> RefereeWorld {
    let mut house = RefereeWorld::new();
    house.power = facts;
    house.tell(start(order.clone(), None)).unwrap();
    house.play(&mut { behave });
    if facts.is_some() {
        house.restart();
        house.wait(1);
        house.tell(start(order.clone(), None)).unwrap();
        house.play(&mut { behave });
    }
    house
}

#[test]
fn crash_after_any_event_leaves_the_result_unchanged() {
    let mut old_speaker = order("R1M1");
    old_speaker.players[0].dialect = Dialect::V1;
    let cases: [(&str, StartMatch, Behaviour); 6] = [
        ("smooth", order("R1M1"), plain),
        ("old speaker", old_speaker, plain),
        ("tic-tac-toe", tic_tac_toe("R1M1"), plain),
        ("silent", order("R1M1"), silent_second),
        ("declining", order("R1M1"), unwilling_first),
        ("clumsy", order("R1M1"), clumsy),
    ];
    for (name, order, behave) in cases {
        let whole = played(&order, behave, None);
        let result = whole.result("R1M1").unwrap();
        for facts in 0..=whole.events.len() {
            let house = played(&order, behave, Some(facts));
            assert_eq!(
                house.result("R1M1").as_ref(),
                Some(&result),
                "{name} after {facts}"
            );
            assert!(!house.reports.is_empty(), "{name} after {facts}");
            let shown = house.shown("R1M1");
            let is_told =
                |report: &Arc<MatchResult>| *report == result || Some(report) == shown.as_ref();
            assert!(house.reports.iter().all(is_told), "{name} after {facts}");
            assert_eq!(count(&house, "decided"), 1, "{name} after {facts}");
            assert_eq!(count(&house, "closed"), 1, "{name} after {facts}");
            assert_eq!(house.referee.wakeup(), None, "{name} after {facts}");
            assert!(most_failures(&house) <= 3, "{name} after {facts}");
        }
    }
}

fn count(house: &RefereeWorld, wanted: &str) -> usize {
    house.kinds().iter().filter(|kind| **kind == wanted).count()
}

/// The most failures of one question.
fn most_failures(house: &RefereeWorld) -> usize {
    let questions = house.events.iter().filter_map(|event| match event {
        Event::AttemptFailed { seat, turn, .. } => Some((*seat, *turn)),
        _ => None,
    });
    let all: Vec<_> = questions.collect();
    all.iter()
        .map(|one| all.iter().filter(|other| *other == one).count())
        .max()
        .unwrap_or(0)
}

#[test]
fn used_attempts_survive_a_restart() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.take();
    house.wait_until(second(12));
    house.restart();
    assert!(
        house.out.is_empty(),
        "without the secrets nobody can be asked"
    );
    assert_eq!(house.referee.wakeup(), None);
    house.order(order("R1M1"));
    assert!(
        house.out.is_empty(),
        "the wait before the last attempt goes on"
    );
    house.wait_until(second(14));
    assert_eq!(house.said(), ["P01 GAME_INVITATION", "P02 GAME_INVITATION"]);
    house.wait_until(second(19));
    assert_eq!(house.result("R1M1").unwrap().points, [0, 0]);
}

#[test]
fn decided_match_only_resends_its_result() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.choose(2, odd());
    house.restart();
    house.close();
    assert_eq!((house.referee.held(), count(&house, "closed")), (0, 1));
    house.restart();
    assert!(house.out.is_empty());
    assert!(
        house.referee.view(&id("R1M1")).unwrap().result.is_some(),
        "a closed match is still known"
    );
}

#[test]
fn answer_to_a_question_before_the_restart_is_late() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    let letter = house.only(1, "CHOOSE_PARITY_CALL");
    house.restart();
    assert!(house.hear(&letter, chosen(&letter, even())).is_err());
    house.wait(1);
    house.order(order("R1M1"));
    assert_eq!(
        house
            .hear(&letter, chosen(&letter, even()))
            .unwrap_err()
            .code(),
        Code::DeadlinePassed
    );
    house.choose(1, odd());
    house.choose(2, odd());
    assert_eq!(house.result("R1M1").unwrap().choices[&player(1)], odd());
}

#[test]
fn replaying_a_journal_twice_gives_equal_referees() {
    let house = played(&order("R1M1"), clumsy, None);
    for length in 0..=house.journal.len() {
        let machine = || {
            let mut machine = league_core::referee::Referee::new(rules());
            for line in &house.journal[..length] {
                machine.apply(&serde_json::from_str(line).unwrap());
            }
            format!("{machine:?}")
        };
        assert_eq!(machine(), machine());
    }
}

#[test]
fn failures_before_and_after_a_restart_do_not_add_up() {
    let mut house = RefereeWorld::new();
    for round in 1..=8 {
        house.order(order(&format!("R{round}M1")));
        house.play(&mut |letter| match &letter.correlation {
            Some(CorrelationId::Question(question))
                if question.failed == 0 && question.turn == 0 =>
            {
                Some(failed(Code::Connection))
            }
            _ => plain(letter),
        });
    }
    house.restart();
    house.order(order("R9M1"));
    assert_eq!(house.said(), ["P01 GAME_INVITATION", "P02 GAME_INVITATION"]);
    house.play(&mut { plain });
    assert_ne!(
        house.result("R8M1").unwrap().status,
        MatchStatus::TechnicalLoss
    );
}
