//! Games of many turns: both seats at once, and rolls before and between moves.

use league_core::draw;
use league_core::league::{Event, LeagueRules, Reply as LeagueReply};
use league_core::letter::PeerAnswer;
use league_core::referee::{Command, Reply};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, RefereeId};
use league_protocol::message::{MatchStatus, Message, StartMatch};
use league_protocol::sender::Dialect;
use serde_json::{Value, json};

use league_testkit::league::LeagueWorld;
use league_testkit::referee::*;
use league_testkit::report::forfeited;

/// A match of rock, paper, scissors whose players have joined.
fn throwing() -> RefereeWorld {
    let mut house = RefereeWorld::started(order_of("rock_paper_scissors", "R1M1"));
    house.both_join();
    house
}

fn throw(house: &mut RefereeWorld, number: u32, choice: &str) {
    let letter = house.only(number, "GAME_MOVE_CALL");
    house.hear(&letter, chosen(&letter, json!(choice))).unwrap();
}

fn shown_moves(house: &mut RefereeWorld) -> Vec<Value> {
    let command = Command::MatchState {
        match_id: id("R1M1"),
    };
    let Ok(Reply::MatchState(view)) = house.tell(command) else {
        panic!("there is a state")
    };
    view.moves.into_iter().map(|(_, choice)| choice).collect()
}

#[test]
fn first_move_of_a_turn_of_both_seats_stays_secret() {
    let mut house = throwing();
    throw(&mut house, 2, "scissors");
    let written = house.journal.join("\n");
    assert!(!written.contains("\"scissors\""), "{written}");
    assert!(shown_moves(&mut house).is_empty());
    assert_eq!(house.kinds().last(), Some(&"sealed"));
    let letter = house.only(1, "GAME_MOVE_CALL");
    assert!(call(&letter).moves.is_empty());
    assert_eq!(call(&letter).view["opponent_throws"], json!([]));
}

#[test]
fn complete_turn_is_written_down_and_shown_to_both() {
    let mut house = throwing();
    throw(&mut house, 2, "scissors");
    throw(&mut house, 1, "rock");
    assert_eq!(shown_moves(&mut house), ["scissors", "rock"]);
    let kinds = house.kinds();
    assert_eq!(
        kinds[kinds.len() - 5..],
        ["sealed", "played", "played", "asked", "asked"]
    );
    for number in [1, 2] {
        let letter = house.only(number, "GAME_MOVE_CALL");
        let told: Vec<&Value> = call(&letter)
            .moves
            .iter()
            .map(|made| &made.choice)
            .collect();
        assert_eq!(told, ["scissors", "rock"]);
        assert_eq!(call(&letter).turn_number, 2);
        house.out.push(letter);
    }
    throw(&mut house, 1, "paper");
    let letter = house.only(2, "GAME_MOVE_CALL");
    assert_eq!(call(&letter).moves.len(), 2, "the third move is secret");
}

#[test]
fn illegal_move_of_a_turn_of_both_seats_is_not_quoted_in_the_journal() {
    let mut house = throwing();
    throw(&mut house, 1, "ROCK-SOLID");
    let written = house.journal.join("\n");
    assert!(!written.contains("ROCK"), "{written}");
}

#[test]
fn restart_keeps_complete_turns_and_asks_again_for_the_open_one() {
    let mut house = throwing();
    throw(&mut house, 2, "scissors");
    throw(&mut house, 1, "rock");
    throw(&mut house, 1, "paper");
    house.restart();
    house.order(order_of("rock_paper_scissors", "R1M1"));
    assert_eq!(shown_moves(&mut house), ["scissors", "rock"]);
    throw(&mut house, 1, "scissors");
    throw(&mut house, 2, "paper");
    assert_eq!(
        shown_moves(&mut house),
        ["scissors", "rock", "scissors", "paper"]
    );
    house.play(&mut plain);
    let result = house.shown("R1M1").unwrap();
    assert_ne!(result.status, MatchStatus::TechnicalLoss);
    assert_eq!(result.evidence.moves.len(), 30);
}

#[test]
fn players_of_version_one_are_told_of_a_complete_turn() {
    let mut order = order_of("rock_paper_scissors", "R1M1");
    for seated in &mut order.players {
        seated.dialect = Dialect::V1;
    }
    let mut house = RefereeWorld::started(order);
    let told = |house: &mut RefereeWorld| {
        let letters = house.take();
        let validations = letters.iter().filter_map(|letter| match &letter.message {
            Message::PlayValidation(told) => Some(told.choice.clone()),
            _ => None,
        });
        let validations: Vec<_> = validations.collect();
        house.out.extend(letters);
        validations
    };
    house.both_join();
    for (number, choice, shown) in [(1, "rock", 0), (2, "paper", 4)] {
        let place = house.out.iter().position(|letter| {
            matches!(&letter.message, Message::MoveCall(call) if call.player_id == player(number))
        });
        let letter = house.out.remove(place.unwrap());
        house.hear(&letter, chosen(&letter, json!(choice))).unwrap();
        assert_eq!(told(&mut house).len(), shown, "after {choice}");
    }
}

#[test]
fn every_game_is_played_to_its_end() {
    for game in league_games::all() {
        let game = game.rules.game_type;
        let mut house = RefereeWorld::started(order_of(game, "R1M1"));
        house.play(&mut plain);
        let result = house.shown("R1M1").unwrap();
        assert_ne!(result.status, MatchStatus::TechnicalLoss, "{game}");
        let shares = draw::have_shares(&GameType::new(game).unwrap(), &result);
        let nonces = &result.draw.as_ref().unwrap().nonces;
        let used = nonces.each_ref().map(|nonce| !nonce.is_empty());
        assert_eq!(shares, used, "{game}: both players send nonces");
    }
}

/// Plays letters by the first option, with draws from a manager, for so many draws; then, if there
/// is no limit, reports the result to it.
fn play_with(
    house: &mut RefereeWorld,
    manager: &mut LeagueWorld,
    (referee, order): (&RefereeId, &StartMatch),
    draws: usize,
) {
    let mut given = 0;
    for _ in 0..500 {
        let letters = house.take();
        if letters.is_empty() {
            return;
        }
        for letter in letters {
            let outcome = match &letter.message {
                Message::GameInvitation(_) => join(&letter, true),
                Message::MoveCall(call) => chosen(&letter, call.options[0].clone()),
                Message::DrawRequest(_) if given == draws => return,
                Message::DrawRequest(request) => {
                    given += 1;
                    let (_, answer) = manager.request_draw(referee, order, &request.moves);
                    let Ok(LeagueReply::Draw(response)) = answer else {
                        panic!("{answer:?}")
                    };
                    Ok(PeerAnswer {
                        message: Message::from(response),
                        token: None,
                    })
                }
                Message::MatchResultReport(report) => {
                    manager.report(referee, (**report).clone()).unwrap();
                    return;
                }
                _ => acknowledged(),
            };
            house.hear(&letter, outcome).unwrap();
        }
    }
}

/// A league of this game with two players, and two referees of one match each.
fn league_of(game: &str) -> LeagueWorld {
    let rules = LeagueRules::new(league(), GameType::new(game).unwrap());
    LeagueWorld::begun_by(rules, 2, 2, 1)
}

/// Whether each hand-over decided the match, and the referee of the result, as the journal has them.
fn outcome(manager: &LeagueWorld) -> (Vec<bool>, Option<RefereeId>) {
    let handed = manager.events.iter().filter_map(|event| match event {
        Event::MovesReceived { last, .. } => Some(*last),
        _ => None,
    });
    let recorded = manager.events.iter().find_map(|event| match event {
        Event::ResultRecorded { referee, .. } => referee.clone(),
        _ => None,
    });
    (handed.collect(), recorded)
}

fn check_journal(manager: &LeagueWorld) {
    manager.audited().unwrap();
    let replayed = manager.replayed();
    assert_eq!(replayed.after_restart(), manager.league.after_restart());
}

#[test]
fn each_roll_is_handed_over_and_the_manager_takes_the_result() {
    for game in ["kuhn_poker", "memory", "twenty_one_questions"] {
        let mut manager = league_of(game);
        let (referee, order) = manager.orders().remove(0);
        let mut house = RefereeWorld::started(order.clone());
        play_with(&mut house, &mut manager, (&referee, &order), usize::MAX);
        let (handed, by) = outcome(&manager);
        assert_eq!(by.as_ref(), Some(&referee), "{game}");
        let rolls = match game {
            "kuhn_poker" => 10..=10,
            "memory" => 2..=12,
            _ => 1..=1,
        };
        assert!(rolls.contains(&handed.len()), "{game}: {handed:?}");
        check_journal(&manager);
    }
}

#[test]
fn new_referee_goes_on_after_the_second_roll() {
    let mut manager = league_of("kuhn_poker");
    let (first, order) = manager.orders().remove(0);
    let mut house = RefereeWorld::started(order.clone());
    play_with(&mut house, &mut manager, (&first, &order), 2);
    assert_eq!(outcome(&manager).0, [false, false]);
    for _ in 0..4 {
        manager.pass(5);
    }
    let (second, again) = manager.orders().remove(0);
    assert_eq!((again.attempt, second == first), (2, false));
    let held = again.handed_over.as_ref().unwrap();
    assert_eq!((held.attempt, held.seeds.len()), (1, 2));
    let mut house = RefereeWorld::started(again.clone());
    house.both_join();
    // Two checks ended the first hand; seat B moves first in the second.
    let said: Vec<String> = house.out.iter().map(told).collect();
    assert_eq!(said, ["P02 GAME_MOVE_CALL"]);
    let view = &call(&house.out[0]).view;
    assert_eq!(
        (&view["hand_number"], &view["you_move_first"]),
        (&json!(2), &json!(true))
    );
    play_with(&mut house, &mut manager, (&second, &again), usize::MAX);
    let (handed, by) = outcome(&manager);
    assert_eq!((handed.len(), by), (10, Some(second)));
    check_journal(&manager);
}

#[test]
fn restarted_referee_gets_the_same_cards_again() {
    let mut manager = league_of("kuhn_poker");
    let (referee, order) = manager.orders().remove(0);
    let mut house = RefereeWorld::started(order.clone());
    house.both_join();
    let seen = |house: &mut RefereeWorld, manager: &mut LeagueWorld| {
        let letter = house.draw_request();
        let (_, answer) = manager.request_draw(&referee, &order, &requested(&letter).moves);
        let Ok(LeagueReply::Draw(response)) = answer else {
            panic!("{answer:?}")
        };
        let message = Message::from(response);
        let token = None;
        house
            .hear(&letter, Ok(PeerAnswer { message, token }))
            .unwrap();
        let letter = house.only(1, "GAME_MOVE_CALL");
        call(&letter).view.clone()
    };
    let before = seen(&mut house, &mut manager);
    assert!(before["your_card"].is_string());
    house.restart();
    house.order(order.clone());
    assert_eq!(seen(&mut house, &mut manager), before);
    assert_eq!(outcome(&manager).0.len(), 1, "it is one hand-over");
}

#[test]
fn player_that_does_not_join_loses_before_the_first_roll() {
    let mut manager = league_of("kuhn_poker");
    let (referee, order) = manager.orders().remove(0);
    let report = forfeited(&order, &[(0, Code::Timeout)]);
    manager.report(&referee, report).unwrap();
    assert_eq!(outcome(&manager), (vec![], Some(referee)));
    check_journal(&manager);
}
