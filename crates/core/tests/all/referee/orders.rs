//! The manager's orders: taken, repeated, replaced, turned down.

use std::sync::Arc;

use league_core::machine::Machine;
use league_core::referee::{Command, CorrelationId, Event, RefereeRules, Reply};
use league_protocol::id::GameType;
use league_protocol::message::{Message, StartMatch};
use serde_json::json;

use league_testkit::referee::*;

fn attempt(attempt: u32) -> StartMatch {
    StartMatch {
        attempt,
        ..order("R1M1")
    }
}

fn reason(house: &mut RefereeWorld, order: StartMatch) -> Option<String> {
    let events = house.events.len();
    let Reply::StartMatchAck(ack) = house.tell(start(order, None)).unwrap() else {
        panic!()
    };
    assert_eq!(ack.accepted, ack.reason.is_none());
    assert!(
        ack.accepted || house.events.len() == events,
        "an order turned down leaves no trace"
    );
    ack.reason
}

#[test]
fn barred_player_blocks_only_its_own_match() {
    let barred = |order: StartMatch, token| Command::StartMatch {
        order: Arc::new(order),
        token,
        barred: Some("player P01 is not called".to_owned()),
    };
    let ack = |house: &mut RefereeWorld, command| match house.tell(command) {
        Ok(Reply::StartMatchAck(ack)) => ack,
        other => panic!("{other:?}"),
    };
    let mut house = RefereeWorld::started(order("R1M1"));
    let known = ack(&mut house, barred(order("R1M1"), None));
    assert!(known.accepted, "it is held already: {known:?}");
    let new = ack(&mut house, barred(order("R1M2"), None));
    assert_eq!(new.reason.as_deref(), Some("player P01 is not called"));
    let mut again = order("R1M1");
    again.attempt += 1;
    let again = ack(&mut house, barred(again, None));
    assert!(!again.accepted, "it would begin anew: {again:?}");
}

#[test]
fn invalid_orders_are_refused_with_a_reason() {
    let game = |name: &str| StartMatch {
        game_type: GameType::new(name).unwrap(),
        ..order("R1M1")
    };
    let mut house = RefereeWorld::new();
    assert_eq!(
        reason(&mut house, game("chess")).unwrap(),
        "this referee does not know the game `chess`"
    );
    let settings = StartMatch {
        settings: json!({"lowest": 5, "highest": 5}),
        ..order("R1M1")
    };
    assert!(
        reason(&mut house, settings)
            .unwrap()
            .starts_with("the settings of `even_odd` cannot be used")
    );
    let alone = order_between("R1M1", [1, 1]);
    assert_eq!(
        reason(&mut house, alone).unwrap(),
        "a match needs two different players"
    );
    let mut specialist = rules();
    specialist.games.truncate(1);
    let mut house = RefereeWorld::with(specialist);
    assert!(
        reason(&mut house, tic_tac_toe("R1M1"))
            .unwrap()
            .contains("tic_tac_toe")
    );
}

#[test]
fn match_without_secrets_uses_no_capacity() {
    let mut house = RefereeWorld::new();
    house.order(order("R1M1"));
    house.order(order_between("R1M2", [3, 4]));
    house.restart();
    assert_eq!((house.referee.playing(), house.referee.held()), (0, 2));
    let third = order_between("R1M3", [5, 6]);
    assert_eq!(
        reason(&mut house, third),
        None,
        "the manager may have given the other two to somebody else"
    );
}

#[test]
fn orders_beyond_capacity_are_refused() {
    let mut house = RefereeWorld::new();
    house.order(order("R1M1"));
    house.order(order_between("R1M2", [3, 4]));
    let third = order_between("R1M3", [5, 6]);
    assert_eq!(
        reason(&mut house, third.clone()).unwrap(),
        "this referee is full: it runs 2 matches"
    );
    assert_eq!(
        reason(&mut house, order("R1M1")),
        None,
        "the same again is no further match"
    );
    assert_eq!(
        reason(&mut house, attempt(2)),
        None,
        "nor is one that replaces it"
    );
    for number in [1, 2] {
        let letters: Vec<_> = house
            .out
            .iter()
            .filter(|letter| told(letter) == format!("P{number:02} GAME_INVITATION"))
            .cloned()
            .collect();
        let letter = letters.last().unwrap();
        house.hear(letter, join(letter, false)).unwrap();
    }
    assert_eq!((house.referee.playing(), house.referee.held()), (1, 2));
    assert_eq!(
        reason(&mut house, third),
        None,
        "a decided match has freed its place"
    );
}

#[test]
fn repeated_order_changes_nothing() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let (events, letters) = (house.events.len(), house.out.len());
    assert_eq!(reason(&mut house, order("R1M1")), None);
    assert_eq!((house.events.len(), house.out.len()), (events, letters));
    house.both_join();
    house.choose(1, even());
    let events = house.events.len();
    assert_eq!(reason(&mut house, order("R1M1")), None);
    assert_eq!(house.events.len(), events);
}

#[test]
fn changed_order_of_the_same_attempt_is_refused() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let mut other = order("R1M1");
    other.commitment = commitment(&id("R1M2"));
    for changed in [
        other,
        order_between("R1M1", [2, 1]),
        StartMatch {
            settings: json!({"highest": 12}),
            ..order("R1M1")
        },
        StartMatch {
            round_id: 2,
            ..order("R1M1")
        },
        StartMatch {
            strict: true,
            ..order("R1M1")
        },
    ] {
        assert_eq!(
            reason(&mut house, changed).unwrap(),
            "match `R1M1` was ordered differently before"
        );
    }
}

#[test]
fn moved_player_is_called_at_its_new_address() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let mut moved = order("R1M1");
    moved.players[1].endpoint = "http://127.0.0.1:9999/mcp".into();
    moved.players[1].token_hash = token(9).hash();
    assert_eq!(reason(&mut house, moved), None);
    assert!(matches!(
        house.events.last(),
        Some(Event::Readdressed { .. })
    ));
    house.take();
    house.wait(7);
    assert_eq!(
        &*house.only(2, "GAME_INVITATION").to.endpoint,
        "http://127.0.0.1:9999/mcp"
    );
}

#[test]
fn only_a_later_attempt_replaces_the_match() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let stale = house.only(1, "GAME_INVITATION");
    house.take();
    assert_eq!(reason(&mut house, attempt(3)), None);
    assert_eq!(house.referee.playing(), 1);
    assert_eq!(
        reason(&mut house, order("R1M1")).unwrap(),
        "match `R1M1` is at attempt 3 here"
    );
    assert!(
        house.hear(&stale, join(&stale, false)).is_err(),
        "an answer to the old attempt is late"
    );
    house.play(&mut plain);
    let result = house.result("R1M1").unwrap();
    assert_eq!(result.draw.as_ref().unwrap().attempt, 3);
    assert_eq!(house.referee.view(&id("R1M1")).unwrap().attempt, 3);
    assert_eq!(
        house.referee.wakeup(),
        None,
        "nothing of the old attempt is waited for"
    );
}

#[test]
fn later_attempt_replaces_a_match_however_far_it_is() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.choose(2, odd());
    let old = house.take();
    assert_eq!(reason(&mut house, attempt(2)), None);
    for letter in &old {
        house.hear(letter, acknowledged()).unwrap();
    }
    assert_eq!((house.referee.held(), house.result("R1M1")), (1, None));
    house.play(&mut plain);
    assert!(house.result("R1M1").is_some());
    assert_eq!(reason(&mut house, attempt(3)), None);
    assert_eq!(house.said(), ["P01 GAME_INVITATION", "P02 GAME_INVITATION"]);
}

#[test]
fn order_for_a_finished_match_resends_its_result() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.play(&mut plain);
    assert_eq!(reason(&mut house, order("R1M1")), None);
    let letters = house.take();
    assert_eq!(
        letters.iter().map(told).collect::<Vec<_>>(),
        ["league_manager MATCH_RESULT_REPORT"]
    );
    assert_eq!(Some(&house.reports[1]), house.shown("R1M1").as_ref());
    house.hear(&letters[0], acknowledged()).unwrap();
    assert_eq!(house.referee.wakeup(), None);
}

#[test]
fn report_is_resent_until_accepted() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let mut refusals = vec![
        Err(league_core::letter::CallFailure::of_peer(
            league_protocol::fault::Code::Connection,
            "gone",
        ));
        6
    ];
    house.play(&mut |letter| match letter.message {
        Message::MatchResultReport(_) => Some(refusals.pop().unwrap_or_else(acknowledged)),
        _ => plain(letter),
    });
    assert_eq!(house.reports.len(), 7);
    assert!(house.reports.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(house.kinds().last(), Some(&"closed"));
    assert!(
        house.now > second(2 + 4 + 8) && house.now < second(300),
        "{}",
        house.now
    );
}

#[test]
fn lost_outcome_does_not_block_the_match() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let mut lost = 2;
    house.play(&mut |letter| match letter.message {
        Message::GameOver(_) => None,
        Message::MatchResultReport(_) if lost > 0 => {
            lost -= 1;
            None
        }
        _ => plain(letter),
    });
    assert_eq!(house.kinds().last(), Some(&"closed"));
    assert_eq!(house.reports.len(), 3);
}

#[test]
fn stale_report_correlation_settles_nothing() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.choose(2, odd());
    let letters = house.take();
    house
        .hear(
            &letters[0],
            failed(league_protocol::fault::Code::Connection),
        )
        .unwrap();
    house.wait(10);
    let again = house.take().pop().unwrap();
    assert_eq!(
        again.correlation,
        Some(CorrelationId::Report {
            match_id: id("R1M1"),
            attempt: 1,
            tried: 2
        })
    );
    let events = house.events.len();
    house
        .hear(
            &letters[0],
            failed(league_protocol::fault::Code::Connection),
        )
        .unwrap();
    assert_eq!(house.events.len(), events);
}

#[test]
fn old_order_is_refused_by_a_full_referee() {
    let mut house = RefereeWorld::with(RefereeRules {
        max_concurrent: 1,
        ..rules()
    });
    house.order(order("R1M1"));
    house.restart();
    house.order(order("R1M2"));
    assert_eq!(
        reason(&mut house, order("R1M1")).unwrap(),
        "this referee is full: it runs 1 matches"
    );
    assert_eq!(house.referee.playing(), 1);
}
