//! Registration with the manager, and the end of the league.

use std::time::Duration;

use league_core::letter::{CallOutcome, Credential, Letter, PeerAnswer};
use league_core::machine::Machine;
use league_core::referee::{Command, CorrelationId, Event, Refusal, Reply, ReportAnswer};
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::message::{Enrolment, LeagueError, Message, RegisterResponse};
use league_protocol::token::AuthToken;

use league_testkit::referee::*;

fn granted() -> AuthToken {
    AuthToken::mint("REF01", &[9; 32])
}

fn accepted() -> CallOutcome {
    accepted_by(None)
}

/// An admission by a manager that proves itself with this token.
fn accepted_by(manager: Option<&str>) -> CallOutcome {
    let response = RegisterResponse::from(Enrolment {
        id: RefereeId::numbered(1),
        token: granted(),
        league_id: league(),
        manager_token: manager.map(AuthToken::new),
        return_token: None,
        note: None,
    });
    Ok(PeerAnswer {
        message: Message::RefereeRegisterResponse(response),
        token: None,
    })
}

fn registration(house: &mut RefereeWorld) -> Letter<CorrelationId> {
    let mut letters = house.take();
    assert_eq!(
        letters.iter().map(told).collect::<Vec<_>>(),
        ["league_manager REFEREE_REGISTER_REQUEST"]
    );
    letters.remove(0)
}

fn enrolled() -> RefereeWorld {
    let mut house = RefereeWorld::new();
    house.tell(Command::Begin { token: None }).unwrap();
    let letter = registration(&mut house);
    house.hear(&letter, accepted()).unwrap();
    house
}

#[test]
fn match_of_a_new_league_with_an_old_id_is_played() {
    for (manager, plays) in [("tok-manager-one", false), ("tok-manager-two", true)] {
        let mut house = RefereeWorld::new();
        house.tell(Command::Begin { token: None }).unwrap();
        let letter = registration(&mut house);
        let first = accepted_by(Some("tok-manager-one"));
        house.hear(&letter, first).unwrap();
        let order = order("R1M1");
        let shown = AuthToken::new("tok-manager-one").hash();
        house.tell(start(order.clone(), Some(shown))).unwrap();
        house.both_join();
        house.choose(1, even());
        house.choose(2, odd());
        house.close();
        house.tell(Command::Begin { token: None }).unwrap();
        let letter = registration(&mut house);
        house.hear(&letter, accepted_by(Some(manager))).unwrap();
        let shown = AuthToken::new(manager).hash();
        house.tell(start(order, Some(shown))).unwrap();
        let said = house.said();
        let invited = said.iter().filter(|said| said.contains("GAME_INVITATION"));
        assert_eq!(invited.count(), if plays { 2 } else { 0 }, "{said:?}");
    }
}

#[test]
fn unregistered_referee_takes_no_match() {
    let mut house = RefereeWorld::new();
    house.tell(Command::Begin { token: None }).unwrap();
    let letter = registration(&mut house);
    let reason = "Duplicate display name".to_owned();
    let response = RegisterResponse::Rejected { reason };
    let message = Message::RefereeRegisterResponse(response);
    house
        .hear(
            &letter,
            Ok(PeerAnswer {
                message,
                token: None,
            }),
        )
        .unwrap();
    let reply = house.tell(start(order("R1M1"), None)).unwrap();
    let Reply::StartMatchAck(ack) = reply else {
        panic!("{reply:?}")
    };
    assert!(!ack.accepted, "it could not report how the match ends");
    assert!(house.take().is_empty());
}

#[test]
fn referee_registers_with_its_details() {
    let mut house = RefereeWorld::new();
    house.tell(Command::Begin { token: None }).unwrap();
    let letter = registration(&mut house);
    let Message::RefereeRegisterRequest(request) = &letter.message else {
        panic!()
    };
    assert_eq!(request.meta.display_name, "Whistle");
    assert_eq!(request.meta.max_concurrent_matches, Some(2));
    assert_eq!(request.meta.protocol_version.as_deref(), Some("2.1.0"));
    assert_eq!((&request.wanted_id, &request.token), (&None, &None));
    assert_eq!(
        (letter.credential.clone(), letter.retry.timeout),
        (Credential::None, Duration::from_secs(10))
    );
    assert_eq!(
        house.hear(&letter, accepted()),
        Ok(Reply::TokenGranted {
            token: granted(),
            return_token: None,
        })
    );
    assert_eq!(
        house.referee.enrolled(),
        Some((&RefereeId::numbered(1), &league()))
    );
    assert_eq!((house.referee.wakeup(), house.journal.len()), (None, 1));
    assert!(!house.journal[0].contains(granted().reveal()));
    assert_eq!(
        house.hear(&letter, accepted()),
        Ok(Reply::Noted),
        "the answer counts once"
    );
}

#[test]
fn manager_that_names_a_wait_is_asked_after_it() {
    let mut house = RefereeWorld::new();
    house.tell(Command::Begin { token: None }).unwrap();
    let letter = registration(&mut house);
    let error = LeagueError::new(Code::RateLimited, "too many");
    let message = Message::from(error.until(Duration::from_secs(90)));
    let answer = Ok(PeerAnswer {
        message,
        token: None,
    });
    house.hear(&letter, answer).unwrap();
    let due = house.referee.wakeup().unwrap();
    assert_eq!(due.since(house.now), Duration::from_secs(90));
}

#[test]
fn registration_retries_until_the_manager_answers() {
    let mut house = RefereeWorld::new();
    house
        .tell(Command::Begin {
            token: Some(granted()),
        })
        .unwrap();
    let mut waits = Vec::new();
    for _ in 0..12 {
        let letter = registration(&mut house);
        let Message::RefereeRegisterRequest(request) = &letter.message else {
            panic!()
        };
        assert_eq!(request.token, Some(granted()));
        house.hear(&letter, failed(Code::Connection)).unwrap();
        let due = house.referee.wakeup().unwrap();
        waits.push(due.since(house.now));
        house.wait_until(due);
    }
    assert!(
        waits[0] <= Duration::from_secs(2)
            && waits.iter().max().unwrap() <= &Duration::from_secs(60)
    );
    assert!(waits[11] >= Duration::from_secs(30));
    let letter = registration(&mut house);
    house.hear(&letter, accepted()).unwrap();
    assert!(house.referee.enrolled().is_some() && house.referee.registration_problem().is_none());
}

#[test]
fn registration_retries_after_silence_and_rejection() {
    let mut house = RefereeWorld::new();
    house.tell(Command::Begin { token: None }).unwrap();
    registration(&mut house);
    house.wait_until(second(13));
    let letter = registration(&mut house);
    reject(&mut house, &letter);
    assert_eq!(house.referee.rejection(), Some("Registration closed"));
    house.wait(60);
    assert!(!house.take().is_empty());
}

#[test]
fn rejected_member_is_not_turned_away() {
    let mut house = enrolled();
    house.tell(Command::Begin { token: None }).unwrap();
    let letter = registration(&mut house);
    reject(&mut house, &letter);
    assert_eq!(house.referee.rejection(), None);
    assert_eq!(
        house.referee.registration_problem(),
        Some("Registration closed")
    );
    house.wait(60);
    assert!(!house.take().is_empty());
}

fn reject(house: &mut RefereeWorld, letter: &Letter<CorrelationId>) {
    let rejected = RegisterResponse::Rejected {
        reason: "Registration closed".to_owned(),
    };
    let answer = PeerAnswer {
        message: Message::RefereeRegisterResponse(rejected),
        token: None,
    };
    house.hear(letter, Ok(answer)).unwrap();
}

#[test]
fn returning_referee_keeps_its_id_and_matches() {
    let mut house = enrolled();
    house.order(order("R1M1"));
    house.restart();
    house
        .tell(Command::Begin {
            token: Some(granted()),
        })
        .unwrap();
    let letter = registration(&mut house);
    let Message::RefereeRegisterRequest(request) = &letter.message else {
        panic!()
    };
    assert_eq!(request.wanted_id.as_deref(), Some("REF01"));
    house.hear(&letter, accepted()).unwrap();
    assert_eq!(house.referee.held(), 1);
}

#[test]
fn refused_token_leads_to_registration_and_keeps_the_report() {
    let mut house = enrolled();
    house.order(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.choose(2, odd());
    let report = house.take().pop().unwrap();
    assert_eq!(report.credential, Credential::Own);
    let refused = Message::from(LeagueError::new(Code::TokenInvalid, "expired"));
    let reply = house.hear(
        &report,
        Ok(PeerAnswer {
            message: refused,
            token: None,
        }),
    );
    assert_eq!(reply, Err(Refusal::TokenRefused));
    house.wait(5);
    assert_eq!(house.said(), ["league_manager MATCH_RESULT_REPORT"]);
}

#[test]
fn report_refused_by_the_rules_is_not_resent() {
    let mut house = enrolled();
    house.order(order("R1M1"));
    house.play(&mut |letter| match letter.message {
        Message::MatchResultReport(_) => {
            let message = Message::from(LeagueError::new(Code::OutOfTurn, "taken away"));
            Some(Ok(PeerAnswer {
                message,
                token: None,
            }))
        }
        _ => plain(letter),
    });
    assert_eq!(house.reports.len(), 1);
    let Some(Event::Closed { report, .. }) = house.events.last() else {
        panic!()
    };
    assert_eq!(*report, ReportAnswer::Refused(Code::OutOfTurn));
}

#[test]
fn busy_manager_is_asked_again() {
    let mut house = enrolled();
    house.order(order("R1M1"));
    let mut busy = 2;
    house.play(&mut |letter| match letter.message {
        Message::MatchResultReport(_) if busy > 0 => {
            busy -= 1;
            let message = Message::from(LeagueError::new(Code::RateLimited, "later"));
            Some(Ok(PeerAnswer {
                message,
                token: None,
            }))
        }
        _ => plain(letter),
    });
    assert_eq!(house.reports.len(), 3);
}

#[test]
fn end_of_league_stops_orders_and_unanswered_reports() {
    let mut house = enrolled();
    house.order(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.choose(2, odd());
    let letters = house.take();
    let other = LeagueId::new("another_league").unwrap();
    house
        .tell(Command::LeagueCompleted {
            league_id: other,
            token: None,
        })
        .unwrap();
    assert!(!house.referee.league_over());
    house
        .tell(Command::LeagueCompleted {
            league_id: league(),
            token: None,
        })
        .unwrap();
    house
        .tell(Command::LeagueCompleted {
            league_id: league(),
            token: None,
        })
        .unwrap();
    assert_eq!(
        house
            .kinds()
            .iter()
            .filter(|kind| **kind == "ended")
            .count(),
        1
    );
    for letter in &letters {
        house.hear(letter, failed(Code::Connection)).unwrap();
    }
    assert_eq!(house.kinds().last(), Some(&"closed"));
    let Ok(Reply::StartMatchAck(ack)) = house.tell(start(order("R2M1"), None)) else {
        panic!()
    };
    assert_eq!(ack.reason.as_deref(), Some("the league is over"));
}

#[test]
fn orders_of_another_league_are_refused() {
    let mut house = enrolled();
    let mut foreign = order("R1M1");
    foreign.league_id = LeagueId::new("another_league").unwrap();
    let Ok(Reply::StartMatchAck(ack)) = house.tell(start(foreign, None)) else {
        panic!()
    };
    assert_eq!(
        ack.reason.as_deref(),
        Some("this referee serves league `league_2025_even_odd`, not `another_league`")
    );
    assert_eq!(house.tell(Command::Ping), Ok(Reply::Noted));
}
