//! Matches in which all players answer.

use league_core::draw;
use league_core::letter::Credential;
use league_core::machine::Machine;
use league_core::referee::{CorrelationId, Event, MAX_RECENT, Refusal, ReportAnswer};
use league_protocol::fault::Code;
use league_protocol::message::{MatchState, MatchStatus, Message, Role, StartMatch};
use league_protocol::sender::Dialect;
use serde_json::json;

use league_testkit::referee::*;

#[test]
fn smooth_match_sends_exactly_these_letters() {
    let mut house = RefereeWorld::started(order("R1M1"));
    assert_eq!(
        house.out.iter().map(told).collect::<Vec<_>>(),
        ["P01 GAME_INVITATION", "P02 GAME_INVITATION"]
    );
    house.both_join();
    assert_eq!(
        house.out.iter().map(told).collect::<Vec<_>>(),
        ["P01 CHOOSE_PARITY_CALL", "P02 CHOOSE_PARITY_CALL"]
    );
    house.choose(2, odd());
    assert_eq!(house.out.len(), 1);
    house.choose_only(1, even());
    assert_eq!(
        house.out.iter().map(told).collect::<Vec<_>>(),
        ["league_manager DRAW_REQUEST"]
    );
    house.manager_draws();
    house.close();
    assert!(house.out.is_empty() && house.referee.wakeup().is_none());
    assert_eq!(house.referee.held(), 0);
    assert_eq!(
        house.kinds(),
        [
            "opened",
            "secrets",
            "asked",
            "asked",
            "joined",
            "joined",
            "started",
            "asked",
            "asked",
            "sealed",
            "sealed",
            "drawing",
            "drawn",
            "decided",
            "settled",
            "told",
            "told",
            "noticed",
            "notice settled",
            "closed"
        ]
    );
}

#[test]
fn invitation_names_opponent_role_and_commitment() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let letter = house.only(2, "GAME_INVITATION");
    let Message::GameInvitation(invitation) = &letter.message else {
        panic!()
    };
    assert_eq!(
        (invitation.role, &invitation.opponent_id),
        (Role::B, &player(1))
    );
    assert_eq!(invitation.commitment, Some(commitment(&id("R1M1"))));
    assert_eq!(
        letter.credential,
        Credential::Match(match_token(&id("R1M1"), 2))
    );
    assert_eq!(
        (letter.retry.attempts, letter.retry.timeout.as_secs()),
        (1, 5)
    );
}

#[test]
fn move_request_has_deadline_options_and_record() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.wait(1);
    house.both_join();
    let letter = house.only(2, "CHOOSE_PARITY_CALL");
    let call = call(&letter);
    assert_eq!(call.deadline, second(31));
    assert_eq!(
        (call.move_seconds, call.turn_number, call.record.wins),
        (30, 1, 2)
    );
    assert_eq!(*call.options, [even(), odd()]);
    assert_eq!(
        (&call.player_id, &call.opponent_id),
        (&player(2), &player(1))
    );
    assert_eq!(&*call.move_type, "choose_parity");
    assert_eq!(letter.retry.timeout.as_secs(), 30);
}

#[test]
fn drawn_number_can_be_recomputed() {
    for match_number in 1..30 {
        let name = format!("R1M{match_number}");
        let mut house = RefereeWorld::started(order(&name));
        house.play(&mut plain);
        let result = house.shown(&name).unwrap();
        let opened = result.draw.as_ref().unwrap();
        assert_eq!(opened.nonces, ["nonce of P01", "nonce of P02"]);
        assert!(draw::keeps_promise(&league(), &id(&name), opened));
        let mut dice = draw::dice(&league(), &id(&name), opened, 0).unwrap();
        let number = dice.roll(1..=10);
        assert_eq!(result.details["drawn_number"], number);
        let winner = if number.is_multiple_of(2) {
            player(1)
        } else {
            player(2)
        };
        assert_eq!(result.winner, Some(winner.clone()));
        assert_eq!(result.status, MatchStatus::Win);
        assert_eq!(result.points_of(&winner), Some(3));
        assert_eq!(result.points.iter().sum::<u32>(), 3);
        assert_eq!(result.choices[&player(1)], even());
        assert!(
            result.reason.contains(&number.to_string()),
            "{}",
            result.reason
        );
    }
}

#[test]
fn equal_choices_draw_and_missing_nonce_counts_as_empty() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    for number in [1, 2] {
        let letter = house.only(number, "CHOOSE_PARITY_CALL");
        let mut response = response(&letter, odd());
        response.nonce = None;
        house
            .hear(
                &letter,
                answer(&letter, Message::MoveResponse(response.into())),
            )
            .unwrap();
    }
    house.manager_draws();
    let result = house.result("R1M1").unwrap();
    assert_eq!(
        (result.status, result.points, result.winner.as_ref()),
        (MatchStatus::Draw, [1, 1], None)
    );
    assert_eq!(result.draw.as_ref().unwrap().nonces, ["", ""]);
}

#[test]
fn league_may_draw_from_0_to_99() {
    let settings = json!({"lowest": 0, "highest": 99});
    let mut above_ten = 0;
    for match_number in 1..20 {
        let name = format!("R1M{match_number}");
        let mut house = RefereeWorld::started(StartMatch {
            settings: settings.clone(),
            ..order(&name)
        });
        house.play(&mut plain);
        let result = house.shown(&name).unwrap();
        let opened = result.draw.as_ref().unwrap();
        let mut dice = draw::dice(&league(), &id(&name), opened, 0).unwrap();
        let drawn = result.details["drawn_number"].as_u64().unwrap();
        assert_eq!(drawn, dice.roll(0..=99));
        above_ten += usize::from(drawn > 10);
    }
    assert!(above_ten > 10);
}

#[test]
fn tic_tac_toe_is_asked_turn_by_turn_and_seen_by_both() {
    let mut house = RefereeWorld::started(tic_tac_toe("R1M1"));
    house.both_join();
    for (turn, (number, cell)) in [(1, 0), (2, 3), (1, 1), (2, 4), (1, 2)]
        .into_iter()
        .enumerate()
    {
        assert_eq!(house.out.len(), 1);
        let letter = house.only(number, "GAME_MOVE_CALL");
        assert_eq!(call(&letter).options.len(), 9 - turn);
        assert_eq!(
            call(&letter).turn_number,
            u32::try_from(turn / 2 + 1).unwrap()
        );
        assert_eq!(
            call(&letter).view["board"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|mark| !mark.is_null())
                .count(),
            turn
        );
        house.hear(&letter, chosen(&letter, json!(cell))).unwrap();
    }
    let result = house.result("R1M1").unwrap();
    assert_eq!(
        (result.winner.clone(), result.points),
        (Some(player(1)), [3, 0])
    );
    assert_eq!(result.choices[&player(1)], json!([0, 1, 2]));
    assert_eq!(result.choices[&player(2)], json!([3, 4]));
    assert!(result.draw.is_some());
    assert_eq!(
        house
            .journal
            .iter()
            .filter(|line| line.contains("move_played"))
            .count(),
        5
    );
}

#[test]
fn v1_players_learn_start_and_moves_but_no_hidden_choice() {
    let mut order = order("R1M1");
    order.players[0].dialect = Dialect::V1;
    let mut house = RefereeWorld::started(order);
    house.both_join();
    assert_eq!(
        house.out.iter().map(told).collect::<Vec<_>>(),
        ["P01 GAME_START", "P01 CHOOSE_PARITY_CALL"]
    );
    let start = house.only(1, "GAME_START");
    let Message::GameStart(start) = start.message else {
        panic!()
    };
    assert_eq!((start.current_player, start.move_seconds), (player(1), 30));
    let letter = house.only(1, "CHOOSE_PARITY_CALL");
    house.hear(&letter, chosen(&letter, even())).unwrap();
    let Message::PlayValidation(own) = house.only(1, "PLAY_VALIDATION").message else {
        panic!()
    };
    assert_eq!((own.player_id, own.choice), (player(1), Some(even())));
    // Whose turn it is is asked, and seat A goes first.
    house.choose(2, odd());
    let Message::PlayValidation(other) = house.only(1, "PLAY_VALIDATION").message else {
        panic!()
    };
    assert_eq!(
        (other.player_id, other.choice, other.error),
        (player(2), None, None)
    );
    assert_eq!(house.said(), ["league_manager MATCH_RESULT_REPORT"]);
}

#[test]
fn open_moves_are_shown_to_v1_players() {
    let mut order = tic_tac_toe("R1M1");
    order.players[1].dialect = Dialect::V1;
    let mut house = RefereeWorld::started(order);
    house.both_join();
    let letter = house.only(1, "GAME_MOVE_CALL");
    house.hear(&letter, chosen(&letter, json!(4))).unwrap();
    let Message::PlayValidation(shown) = house.only(2, "PLAY_VALIDATION").message else {
        panic!()
    };
    assert_eq!(shown.choice, Some(json!(4)));
}

#[test]
fn repeated_answer_counts_once() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let invitation = house.only(1, "GAME_INVITATION");
    house.hear(&invitation, join(&invitation, true)).unwrap();
    let late = Refusal::Late {
        match_id: id("R1M1"),
        seat: league_games::Seat::A,
    };
    assert_eq!(
        house.hear(&invitation, join(&invitation, false)),
        Err(late.clone())
    );
    assert_eq!(late.to_league_error().code, Code::DeadlinePassed);
    let other = house.only(2, "GAME_INVITATION");
    house.hear(&other, join(&other, true)).unwrap();
    let letter = house.only(1, "CHOOSE_PARITY_CALL");
    house.hear(&letter, chosen(&letter, even())).unwrap();
    assert_eq!(house.hear(&letter, chosen(&letter, odd())), Err(late));
    house.choose(2, odd());
    assert_eq!(house.result("R1M1").unwrap().choices[&player(1)], even());
}

#[test]
fn match_state_never_goes_back() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let state = |house: &RefereeWorld| house.referee.view(&id("R1M1")).unwrap().state;
    assert_eq!(state(&house), MatchState::WaitingForPlayers);
    house.both_join();
    assert_eq!(state(&house), MatchState::CollectingChoices);
    house.choose(1, even());
    assert_eq!(state(&house), MatchState::CollectingChoices);
    house.choose(2, even());
    assert_eq!(state(&house), MatchState::Finished);
}

#[test]
fn referee_wakes_at_the_earliest_deadline() {
    let mut house = RefereeWorld::new();
    house.order(order("R1M1"));
    house.wait(2);
    house.order(order_between("R1M2", [3, 4]));
    assert_eq!(house.referee.wakeup(), Some(second(5)));
    house.both_join();
    assert_eq!(house.referee.wakeup(), Some(second(7)));
    assert_eq!(house.referee.playing(), 2);
}

#[test]
fn manager_verdict_is_journaled() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.play(&mut plain);
    let Some(Event::Closed { report, .. }) = house.events.last() else {
        panic!()
    };
    assert_eq!(*report, ReportAnswer::Acknowledged);
    assert!(matches!(
        house
            .events
            .iter()
            .filter(|event| kind(event) == "closed")
            .count(),
        1
    ));
    let again = CorrelationId::Report {
        match_id: id("R1M1"),
        attempt: 1,
        tried: 1,
    };
    house
        .tell(league_core::referee::Command::Outcome {
            correlation: again,
            outcome: acknowledged(),
        })
        .unwrap();
    assert_eq!(
        house
            .events
            .iter()
            .filter(|event| kind(event) == "closed")
            .count(),
        1
    );
}

#[test]
fn referee_keeps_a_bounded_number_of_matches() {
    let mut house = RefereeWorld::new();
    let matches = 2 * MAX_RECENT;
    for number in 1..=matches {
        house.order(order(&format!("R1M{number}")));
        house.play(&mut plain);
        // The test world's own records are not the referee's.
        house.events.clear();
        house.journal.clear();
    }
    assert_eq!((house.referee.held(), house.referee.playing()), (0, 0));
    let known = |number: &usize| house.referee.view(&id(&format!("R1M{number}"))).is_some();
    assert_eq!((1..=matches).filter(known).count(), MAX_RECENT);
}
