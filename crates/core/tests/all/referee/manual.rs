//! Matches that are stepped by hand.

use league_core::referee::{Command, Refusal, Reply};
use league_protocol::fault::Code;
use league_protocol::message::{MatchState, MatchStatus, Mode, StartMatch};
use serde_json::json;

use league_testkit::referee::*;

fn collect(house: &mut RefereeWorld) -> Result<Reply, Refusal> {
    house.tell(Command::CollectChoices {
        match_id: id("R1M1"),
        token: None,
    })
}

fn draw(house: &mut RefereeWorld) -> Result<Reply, Refusal> {
    house.tell(Command::DrawNumber {
        match_id: id("R1M1"),
        token: None,
    })
}

fn finalize(house: &mut RefereeWorld) -> Result<Reply, Refusal> {
    house.tell(Command::FinalizeMatch {
        match_id: id("R1M1"),
        token: None,
    })
}

fn state(house: &RefereeWorld) -> MatchState {
    house.referee.view(&id("R1M1")).unwrap().state
}

fn out_of_order(step: fn(&mut RefereeWorld) -> Result<Reply, Refusal>, house: &mut RefereeWorld) {
    let (before, events) = (state(house), house.events.len());
    let refusal = step(house).unwrap_err();
    assert!(
        matches!(refusal, Refusal::OutOfOrder { state, .. } if state == before),
        "{refusal}"
    );
    assert_eq!(refusal.to_league_error().code, Code::OutOfTurn);
    assert_eq!(house.events.len(), events);
}

#[test]
fn manual_steps_wait_and_come_in_order() {
    let mut house = RefereeWorld::started(StartMatch {
        mode: Mode::Manual,
        ..order("R1M1")
    });
    for step in [collect, draw, finalize] {
        out_of_order(step, &mut house);
    }
    house.both_join();
    assert!(house.out.is_empty());
    assert_eq!(state(&house), MatchState::WaitingForPlayers);
    out_of_order(draw, &mut house);
    collect(&mut house).unwrap();
    assert_eq!(state(&house), MatchState::CollectingChoices);
    out_of_order(collect, &mut house);
    house.choose(1, even());
    out_of_order(draw, &mut house);
    house.choose(2, odd());
    assert_eq!(state(&house), MatchState::DrawingNumber);
    out_of_order(finalize, &mut house);
    draw(&mut house).unwrap();
    out_of_order(finalize, &mut house);
    house.manager_draws();
    assert_eq!(state(&house), MatchState::DrawingNumber);
    assert_eq!(house.result("R1M1"), None);
    out_of_order(draw, &mut house);
    out_of_order(collect, &mut house);
    finalize(&mut house).unwrap();
    assert_eq!(state(&house), MatchState::Finished);
    assert_eq!(house.said(), ["league_manager MATCH_RESULT_REPORT"]);
    for step in [collect, draw, finalize] {
        out_of_order(step, &mut house);
    }
}

#[test]
fn manual_match_ends_like_an_automatic_one() {
    let mut by_itself = RefereeWorld::started(order("R1M1"));
    by_itself.play(&mut plain);
    let mut house = RefereeWorld::started(StartMatch {
        mode: Mode::Manual,
        ..order("R1M1")
    });
    house.both_join();
    collect(&mut house).unwrap();
    house.choose(1, even());
    house.choose(2, odd());
    draw(&mut house).unwrap();
    house.manager_draws();
    finalize(&mut house).unwrap();
    assert_eq!(house.result("R1M1"), by_itself.result("R1M1"));
}

#[test]
fn draw_under_way_is_not_requested_again() {
    let mut house = RefereeWorld::started(StartMatch {
        mode: Mode::Manual,
        ..order("R1M1")
    });
    house.both_join();
    collect(&mut house).unwrap();
    house.choose(1, even());
    house.choose(2, odd());
    draw(&mut house).unwrap();
    draw(&mut house).unwrap();
    assert_eq!(house.said(), ["league_manager DRAW_REQUEST"]);
}

#[test]
fn game_without_dice_takes_the_same_steps() {
    let mut house = RefereeWorld::started(StartMatch {
        mode: Mode::Manual,
        ..tic_tac_toe("R1M1")
    });
    house.both_join();
    collect(&mut house).unwrap();
    for (number, cell) in [(1, 0), (2, 3), (1, 1), (2, 4), (1, 2)] {
        let letter = house.only(number, "GAME_MOVE_CALL");
        house.hear(&letter, chosen(&letter, json!(cell))).unwrap();
    }
    assert_eq!(state(&house), MatchState::DrawingNumber);
    out_of_order(finalize, &mut house);
    draw(&mut house).unwrap();
    finalize(&mut house).unwrap();
    assert_eq!(house.result("R1M1").unwrap().winner, Some(player(1)));
}

#[test]
fn silence_counts_without_a_step() {
    let mut house = RefereeWorld::started(StartMatch {
        mode: Mode::Manual,
        ..order("R1M1")
    });
    house.take();
    house.wait(19);
    assert_eq!(
        house.result("R1M1").unwrap().status,
        MatchStatus::TechnicalLoss
    );
}

#[test]
fn automatic_match_refuses_steps() {
    let mut house = RefereeWorld::started(order("R1M1"));
    for step in [collect, draw, finalize] {
        let refusal = step(&mut house).unwrap_err();
        assert!(matches!(refusal, Refusal::PlaysByItself { .. }));
        assert_eq!(refusal.to_league_error().code, Code::OutOfTurn);
    }
}

#[test]
fn unknown_match_is_not_found() {
    let mut house = RefereeWorld::new();
    let match_id = id("R9M9");
    for command in [
        Command::CollectChoices {
            match_id: match_id.clone(),
            token: None,
        },
        Command::DrawNumber {
            match_id: match_id.clone(),
            token: None,
        },
        Command::FinalizeMatch {
            match_id: match_id.clone(),
            token: None,
        },
        Command::MatchState {
            match_id: match_id.clone(),
        },
    ] {
        let refusal = house.tell(command).unwrap_err();
        assert_eq!(refusal, Refusal::UnknownMatch(match_id.clone()));
        let error = refusal.to_league_error();
        assert_eq!(
            (error.code, error.path.as_deref()),
            (Code::MatchNotFound, Some("match_id"))
        );
    }
}

#[test]
fn manual_steps_continue_after_a_restart() {
    let manual = StartMatch {
        mode: Mode::Manual,
        ..order("R1M1")
    };
    let mut house = RefereeWorld::started(manual.clone());
    house.both_join();
    collect(&mut house).unwrap();
    house.choose(1, even());
    house.choose(2, odd());
    draw(&mut house).unwrap();
    house.restart();
    for step in [draw, finalize] {
        out_of_order(step, &mut house);
    }
    house.order(manual);
    house.choose(1, even());
    house.choose(2, odd());
    draw(&mut house).unwrap();
    house.manager_draws();
    finalize(&mut house).unwrap();
    assert!(house.result("R1M1").is_some());
}
