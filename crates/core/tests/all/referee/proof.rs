//! Requests that only the manager may send to a referee.

use std::sync::Arc;

use league_core::machine::Machine;
use league_core::referee::{Command, MANUAL_LIMIT, Refusal, Reply};
use league_core::timeouts::FORCED_ATTEMPT;
use league_protocol::fault::Code;
use league_protocol::id::{LeagueId, RefereeId};
use league_protocol::message::{
    Enrolment, MatchState, Message, Mode, RegisterResponse, StartMatch,
};
use league_protocol::sender::Agent;
use league_protocol::token::{AuthToken, TokenHash};

use league_testkit::referee::*;

fn manager() -> AuthToken {
    SECRET.manager_token(&league(), &Agent::Referee(RefereeId::numbered(1)))
}

fn register(house: &mut RefereeWorld, league_id: LeagueId, manager_token: Option<AuthToken>) {
    house.tell(Command::Begin { token: None }).unwrap();
    let letter = house.take().pop().unwrap();
    let response = RegisterResponse::from(Enrolment {
        id: RefereeId::numbered(1),
        token: AuthToken::mint("REF01", &[9; 32]),
        league_id,
        manager_token,
        return_token: None,
        note: None,
    });
    let message = Message::RefereeRegisterResponse(response);
    house.hear(&letter, answer(&letter, message)).unwrap();
}

fn enrolled() -> RefereeWorld {
    let mut house = RefereeWorld::new();
    register(&mut house, league(), Some(manager()));
    house
}

fn manual() -> StartMatch {
    StartMatch {
        mode: Mode::Manual,
        ..order("R1M1")
    }
}

/// Every call that is the manager's.
fn calls(token: Option<TokenHash>) -> [Command; 5] {
    let match_id = || id("R1M1");
    [
        start(manual(), token),
        Command::CollectChoices {
            match_id: match_id(),
            token,
        },
        Command::DrawNumber {
            match_id: match_id(),
            token,
        },
        Command::FinalizeMatch {
            match_id: match_id(),
            token,
        },
        Command::LeagueCompleted {
            league_id: league(),
            token,
        },
    ]
}

#[test]
fn only_the_manager_gives_orders() {
    let mut house = enrolled();
    let before = house.events.len();
    for command in calls(None) {
        let refusal = house.tell(command).unwrap_err();
        assert_eq!(refusal.to_league_error().code, Code::TokenMissing);
    }
    for command in calls(Some(token(1).hash())) {
        let refusal = house.tell(command).unwrap_err();
        assert_eq!(refusal.to_league_error().code, Code::TokenInvalid);
    }
    assert_eq!(house.events.len(), before);
}

#[test]
fn only_the_manager_learns_of_barred_players() {
    let mut house = enrolled();
    for shown in [None, Some(token(1).hash())] {
        assert!(house.tell(barred(1, shown)).is_err());
    }
    let reply = house.tell(barred(1, Some(manager().hash()))).unwrap();
    assert!(matches!(reply, Reply::StartMatchAck(ack) if !ack.accepted));
}

#[test]
fn forced_attempt_runs_despite_a_barred_player() {
    let mut house = enrolled();
    for (attempt, runs) in [(FORCED_ATTEMPT - 1, false), (FORCED_ATTEMPT, true)] {
        let reply = house.tell(barred(attempt, Some(manager().hash())));
        let Reply::StartMatchAck(ack) = reply.unwrap() else {
            panic!("an order is answered");
        };
        assert_eq!(ack.accepted, runs, "attempt {attempt}");
    }
}

/// An order for a match with a barred player.
fn barred(attempt: u32, token: Option<TokenHash>) -> Command {
    Command::StartMatch {
        order: Arc::new(StartMatch {
            attempt,
            ..manual()
        }),
        token,
        barred: Some("player P01 is not called".to_owned()),
    }
}

#[test]
fn manager_token_survives_a_restart() {
    let mut house = enrolled();
    house.restart();
    assert!(house.referee.knows_manager());
    assert!(house.tell(start(manual(), None)).is_err());
    let reply = house.tell(start(manual(), Some(manager().hash()))).unwrap();
    assert!(matches!(reply, Reply::StartMatchAck(ack) if ack.accepted));
    assert!(!house.journal.concat().contains(manager().reveal()));
}

#[test]
fn answer_without_a_manager_token_keeps_the_old_one() {
    let mut house = enrolled();
    register(&mut house, league(), None);
    assert!(house.tell(start(manual(), None)).is_err());
    assert!(house.tell(start(manual(), Some(manager().hash()))).is_ok());
}

#[test]
fn new_league_replaces_the_manager_token() {
    let mut house = enrolled();
    register(&mut house, LeagueId::new("league_2026").unwrap(), None);
    assert!(!house.referee.knows_manager());
    assert!(house.tell(start(manual(), None)).is_ok());
}

#[test]
fn match_state_needs_no_token() {
    let mut house = enrolled();
    house.tell(start(manual(), Some(manager().hash()))).unwrap();
    let match_id = id("R1M1");
    assert!(house.tell(Command::MatchState { match_id }).is_ok());
    assert!(house.tell(Command::Ping).is_ok());
}

#[test]
fn step_token_allows_only_stepping_its_match() {
    let step = TokenHash::of("step R1M1");
    let mut house = enrolled();
    let stepped = |match_id: &str| StartMatch {
        mode: Mode::Manual,
        step_token: Some(TokenHash::of(&format!("step {match_id}"))),
        ..order(match_id)
    };
    for match_id in ["R1M1", "R1M2"] {
        let token = Some(manager().hash());
        house.tell(start(stepped(match_id), token)).unwrap();
    }
    let collect = |match_id: &str| Command::CollectChoices {
        match_id: id(match_id),
        token: Some(step),
    };
    let due = house.tell(collect("R1M1")).unwrap_err();
    assert!(matches!(due, Refusal::OutOfOrder { .. }), "{due}");
    let refusal = house.tell(collect("R1M2")).unwrap_err();
    assert_eq!(refusal, Refusal::WrongStepToken(id("R1M2")));
    let ended = Command::LeagueCompleted {
        league_id: league(),
        token: Some(step),
    };
    assert_eq!(house.tell(ended).unwrap_err(), Refusal::WrongManagerToken);
}

#[test]
fn unstepped_manual_match_continues_after_the_limit() {
    let mut house = RefereeWorld::started(manual());
    house.both_join();
    let until = second(0) + MANUAL_LIMIT;
    assert_eq!(house.referee.wakeup(), Some(until));
    house.wait_until(until);
    let state = || house.referee.view(&id("R1M1")).unwrap().state;
    assert_eq!(state(), MatchState::CollectingChoices);
    house.play(&mut plain);
    assert!(house.kinds().ends_with(&["closed"]));
}

#[test]
fn manual_limit_survives_a_restart() {
    let mut house = RefereeWorld::started(manual());
    house.both_join();
    house.wait(600);
    house.restart();
    house.order(manual());
    house.both_join();
    assert_eq!(house.referee.wakeup(), Some(second(0) + MANUAL_LIMIT));
}

#[test]
fn new_league_drops_the_matches_of_the_old_one() {
    let mut house = enrolled();
    let proven = Some(manager().hash());
    house.tell(start(manual(), proven)).unwrap();
    house.play(&mut plain);
    house.tell(start(order("R1M2"), proven)).unwrap();
    house.take();
    assert_eq!(house.referee.held(), 1);
    let other = LeagueId::new("league_2026").unwrap();
    register(&mut house, other.clone(), None);
    assert_eq!((house.referee.held(), house.referee.playing()), (0, 0));
    assert_eq!(house.referee.view(&id("R1M1")), None);
    assert_eq!(house.referee.wakeup(), None);
    house.restart();
    assert_eq!(house.referee.held(), 0);
    house.order(StartMatch {
        league_id: other,
        ..manual()
    });
    assert_eq!(house.referee.playing(), 1);
}
