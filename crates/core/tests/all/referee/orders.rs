//! The manager's orders: taken, repeated, replaced, turned down.

use std::sync::Arc;

use league_core::machine::Machine;
use league_core::referee::{Command, CorrelationId, Event, RefereeRules, Reply};
use league_protocol::id::GameType;
use league_protocol::message::{Message, StartMatch};
use serde_json::json;

use league_testkit::referee::*;

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
fn a_player_who_may_not_be_called_keeps_a_match_from_beginning_and_no_other() {
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
fn orders_that_make_no_sense_are_turned_down_with_a_reason() {
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
fn a_match_that_lost_its_secrets_in_a_restart_takes_no_place() {
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
fn no_more_matches_are_taken_than_can_be_played() {
    let mut house = RefereeWorld::new();
    house.order(order("R1M1"));
    house.order(order_between("R1M2", [3, 4]));
    let third = order_between("R1M3", [5, 6]);
    assert_eq!(
        reason(&mut house, third.clone()).unwrap(),
        "this referee runs 2 matches and takes no more"
    );
    assert_eq!(
        reason(&mut house, order("R1M1")),
        None,
        "the same again is no further match"
    );
    assert_eq!(
        reason(
            &mut house,
            StartMatch {
                attempt: 2,
                ..order("R1M1")
            }
        ),
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
fn the_same_order_again_changes_nothing() {
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
fn the_same_match_under_other_terms_is_turned_down() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let mut other = order("R1M1");
    other.seed = SECRET.seed(&league(), &id("R1M2"));
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
fn a_player_that_moved_is_asked_at_its_new_address() {
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
fn a_later_attempt_replaces_the_match_and_an_earlier_one_does_not() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let stale = house.only(1, "GAME_INVITATION");
    house.take();
    assert_eq!(
        reason(
            &mut house,
            StartMatch {
                attempt: 3,
                ..order("R1M1")
            }
        ),
        None
    );
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
fn a_later_attempt_replaces_a_match_that_was_decided_or_closed() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.both_join();
    house.choose(1, even());
    house.choose(2, odd());
    let old = house.take();
    assert_eq!(
        reason(
            &mut house,
            StartMatch {
                attempt: 2,
                ..order("R1M1")
            }
        ),
        None
    );
    for letter in &old {
        house.hear(letter, acknowledged()).unwrap();
    }
    assert_eq!((house.referee.held(), house.result("R1M1")), (1, None));
    house.play(&mut plain);
    assert_eq!(
        reason(
            &mut house,
            StartMatch {
                attempt: 3,
                ..order("R1M1")
            }
        ),
        None
    );
    assert_eq!(house.result("R1M1"), None);
}

#[test]
fn an_order_for_a_match_that_is_over_is_answered_with_its_result() {
    let mut house = RefereeWorld::started(order("R1M1"));
    house.play(&mut plain);
    assert_eq!(reason(&mut house, order("R1M1")), None);
    let letters = house.take();
    assert_eq!(
        letters.iter().map(told).collect::<Vec<_>>(),
        ["league_manager MATCH_RESULT_REPORT"]
    );
    assert_eq!(house.reports[0], house.reports[1]);
    house.hear(&letters[0], acknowledged()).unwrap();
    assert_eq!(house.referee.wakeup(), None);
}

#[test]
fn the_report_is_sent_until_it_is_taken() {
    let mut house = RefereeWorld::started(order("R1M1"));
    let mut refusals = vec![
        Err(league_core::letter::CallFailure {
            code: league_protocol::fault::Code::Connection,
            detail: "gone".into(),
        });
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
fn an_outcome_that_never_comes_does_not_hold_the_match_for_ever() {
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
fn a_stale_report_ticket_settles_nothing() {
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
fn an_old_order_finds_no_room_in_a_referee_that_has_others_by_now() {
    let mut house = RefereeWorld::with(RefereeRules {
        max_concurrent: 1,
        ..rules()
    });
    house.order(order("R1M1"));
    house.restart();
    house.order(order("R1M2"));
    assert_eq!(
        reason(&mut house, order("R1M1")).unwrap(),
        "this referee runs 1 matches and takes no more"
    );
    assert_eq!(house.referee.playing(), 1);
}
