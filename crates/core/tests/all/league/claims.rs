//! Technical losses: players that are said to have failed are asked whether they were called.

use league_core::league::{
    AgentState, AskedCall, CorrelationId, Doubt, Event, LeagueRules, QueryCause, Refusal, Reply,
};
use league_protocol::fault::Code;
use league_protocol::id::{PlayerId, RefereeId};
use league_protocol::message::{CallQueryResponse, MatchResultReport, Message, StartMatch};
use league_protocol::sender::{Agent, Dialect};

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::{forfeited, played, signed};
use serde_json::json;

const LATE: [(usize, Code); 1] = [(1, Code::Timeout)];

/// A league whose players take announcements; the test answers for them otherwise.
fn begun(referees: u32) -> LeagueWorld {
    let mut world = LeagueWorld::begun_signing(2, referees, 1);
    world.players_answer = false;
    world
}

/// Reports without another try; gives the events and the answer.
fn report(
    world: &mut LeagueWorld,
    referee: &RefereeId,
    report: MatchResultReport,
) -> Result<Reply, Refusal> {
    let command = world.report_command(referee, report);
    world.when(&command).map(|(_, reply)| reply)
}

/// Takes the questions whether players were called.
fn queries(world: &mut LeagueWorld) -> Vec<CorrelationId> {
    let mut asked = Vec::new();
    world.letters.retain(|letter| {
        if matches!(letter.message, Message::CallQuery(_)) {
            asked.extend(letter.correlation.clone());
            return false;
        }
        true
    });
    asked
}

fn answer(correlation: &CorrelationId, called: bool) -> Message {
    let CorrelationId::CallQuery(asked) = correlation else {
        panic!("{correlation:?}");
    };
    Message::from(CallQueryResponse {
        match_id: asked.match_id.clone(),
        attempt: asked.attempt,
        called,
    })
}

fn say(world: &mut LeagueWorld, correlation: &CorrelationId, called: bool) -> Vec<Event> {
    let message = answer(correlation, called);
    world.hear(correlation.clone(), Ok(message))
}

/// The next order, once the players know of it.
fn next_order(world: &mut LeagueWorld) -> (RefereeId, StartMatch) {
    world.answer_players(0);
    world.orders().remove(0)
}

fn doubts(world: &LeagueWorld) -> Vec<(RefereeId, Doubt)> {
    let doubted = world.events.iter().filter_map(|event| match event {
        Event::LossDoubted { referee, doubt, .. } => Some((referee.clone(), *doubt)),
        _ => None,
    });
    doubted.collect()
}

fn check_journal(world: &LeagueWorld) {
    world.audited().unwrap();
    assert_eq!(
        world.replayed().after_restart(),
        world.league.after_restart()
    );
}

#[test]
fn absent_player_is_asked_and_the_report_waits() {
    let mut world = begun(2);
    let (referee, order) = world.orders().remove(0);
    let loss = forfeited(&order, &LATE);
    let asking = Refusal::AskingPlayer(order.match_id.clone());
    assert_eq!(asking.code(), Code::RateLimited);
    assert_eq!(
        report(&mut world, &referee, loss.clone()),
        Err(asking.clone())
    );
    let [query] = &queries(&mut world)[..] else {
        panic!("one question");
    };
    assert_eq!(report(&mut world, &referee, loss.clone()), Err(asking));
    assert!(queries(&mut world).is_empty(), "it is asked once");
    let events = say(&mut world, query, true);
    assert!(
        matches!(events[0], Event::ResultRecorded { .. }),
        "{events:?}"
    );
    let reply = report(&mut world, &referee, loss).unwrap();
    assert!(matches!(reply, Reply::Opened(_)));
    assert!(doubts(&world).is_empty());
    check_journal(&world);
}

#[test]
fn silence_and_errors_count_as_called() {
    for said in [
        Err(Code::Timeout),
        Err(Code::InvalidMessage),
        Ok(Message::Acknowledged),
        Ok(Message::Ping),
    ] {
        let mut world = begun(2);
        let (referee, order) = world.orders().remove(0);
        let _ = report(&mut world, &referee, forfeited(&order, &LATE));
        let query = queries(&mut world).remove(0);
        let events = world.hear(query, said);
        assert!(
            matches!(events[0], Event::ResultRecorded { .. }),
            "{events:?}"
        );
    }
}

#[test]
fn question_that_cannot_be_sent_is_asked_again() {
    let mut world = begun(2);
    let (referee, order) = world.orders().remove(0);
    let _ = report(&mut world, &referee, forfeited(&order, &LATE));
    let query = queries(&mut world).remove(0);
    world.unsent(query.clone());
    assert_eq!(world.league.matches_played(), 0, "silence of the manager");
    assert!(queries(&mut world).is_empty());
    world.pass(rules().probe_every.as_secs());
    assert_eq!(queries(&mut world).first(), Some(&query));
    say(&mut world, &query, false);
    assert_eq!(doubts(&world), [(referee, Doubt::Denied)]);
    check_journal(&world);
}

#[test]
fn answer_about_another_attempt_is_not_a_denial() {
    let mut world = begun(2);
    let (referee, order) = world.orders().remove(0);
    let _ = report(&mut world, &referee, forfeited(&order, &LATE));
    let query = queries(&mut world).remove(0);
    let other = Message::from(CallQueryResponse {
        match_id: order.match_id.clone(),
        attempt: 2,
        called: false,
    });
    world.hear(query, Ok(other));
    assert!(doubts(&world).is_empty());
}

#[test]
fn denial_moves_the_match_once() {
    let mut world = begun(2);
    let (first, order) = world.orders().remove(0);
    let _ = report(&mut world, &first, forfeited(&order, &LATE));
    let query = queries(&mut world).remove(0);
    say(&mut world, &query, false);
    assert_eq!(doubts(&world), [(first.clone(), Doubt::Denied)]);
    let (second, again) = next_order(&mut world);
    assert_ne!(first, second);
    assert_eq!(again.attempt, 2);
    let taken = Refusal::TakenAway(order.match_id.clone());
    let late = report(&mut world, &first, forfeited(&order, &LATE));
    assert_eq!(late, Err(taken));
    let loss = forfeited(&again, &LATE);
    let reply = report(&mut world, &second, loss).unwrap();
    assert!(
        matches!(reply, Reply::Opened(_)),
        "the second time it stands"
    );
    check_journal(&world);
}

#[test]
fn each_of_two_absent_players_is_asked() {
    let both = [(0, Code::Timeout), (1, Code::InvalidMove)];
    for last in [true, false] {
        let mut world = begun(2);
        let (referee, order) = world.orders().remove(0);
        let _ = report(&mut world, &referee, forfeited(&order, &both));
        let asked = queries(&mut world);
        assert_eq!(asked.len(), 2);
        let events = say(&mut world, &asked[0], true);
        assert!(
            matches!(events[..], [Event::CallConfirmed { .. }]),
            "{events:?}"
        );
        say(&mut world, &asked[1], last);
        assert_eq!(world.league.matches_played(), u64::from(last));
        assert_eq!(doubts(&world).len(), usize::from(!last));
        check_journal(&world);
    }
}

#[test]
fn player_that_proved_its_part_is_not_asked() {
    let mut world = begun(2);
    let (referee, order) = world.orders().remove(0);
    let joined = signed(forfeited(&order, &LATE), &order, &[1]);
    assert!(report(&mut world, &referee, joined).is_ok());
    assert!(queries(&mut world).is_empty());
    check_journal(&world);
}

#[test]
fn join_of_another_player_or_attempt_proves_nothing() {
    let forged = |world: &mut LeagueWorld, order: &StartMatch, signer: &StartMatch, seat| {
        let loss = signed(forfeited(order, &LATE), signer, &[seat]);
        let referee = RefereeId::numbered(1);
        report(world, &referee, loss)
    };
    let mut world = begun(2);
    let (_, order) = world.orders().remove(0);
    let later = StartMatch {
        attempt: 2,
        ..order.clone()
    };
    let asking = Err(Refusal::AskingPlayer(order.match_id.clone()));
    assert_eq!(forged(&mut world, &order, &order, 0), asking);
    let mut world = begun(2);
    world.orders();
    assert_eq!(forged(&mut world, &order, &later, 1), asking);
}

#[test]
fn player_that_could_not_be_reached_costs_the_referee_nothing() {
    let unreached = [(1, Code::Connection)];
    let mut world = begun(2);
    let (first, order) = world.orders().remove(0);
    let taken = Err(Refusal::TakenAway(order.match_id.clone()));
    let answer = report(&mut world, &first, forfeited(&order, &unreached));
    assert_eq!(answer, taken);
    assert!(queries(&mut world).is_empty());
    assert_eq!(doubts(&world), [(first.clone(), Doubt::Unreached)]);
    assert_eq!(world.league.referee(&first).unwrap().member().failures(), 0);
    let (second, again) = next_order(&mut world);
    assert_ne!(first, second);
    let loss = forfeited(&again, &unreached);
    let answer = report(&mut world, &second, loss);
    assert_eq!(answer, Err(Refusal::AskingPlayer(order.match_id.clone())));
    let query = queries(&mut world).remove(0);
    say(&mut world, &query, true);
    assert_eq!(world.league.matches_played(), 1, "it moves once a match");
    check_journal(&world);
}

#[test]
fn player_that_one_referee_could_not_reach_may_deny_a_call_of_another() {
    let mut world = begun(3);
    let (first, order) = world.orders().remove(0);
    let _ = report(
        &mut world,
        &first,
        forfeited(&order, &[(1, Code::Connection)]),
    );
    let (second, again) = next_order(&mut world);
    let answer = report(&mut world, &second, forfeited(&again, &LATE));
    assert_eq!(answer, Err(Refusal::AskingPlayer(order.match_id.clone())));
    let query = queries(&mut world).remove(0);
    say(&mut world, &query, false);
    assert_eq!(
        doubts(&world),
        [(first, Doubt::Unreached), (second, Doubt::Denied)]
    );
    let (third, last) = next_order(&mut world);
    assert_eq!(last.attempt, 3);
    assert!(report(&mut world, &third, forfeited(&last, &LATE)).is_ok());
    check_journal(&world);
}

#[test]
fn loss_stands_if_no_other_referee_is_there() {
    let mut world = begun(1);
    let (referee, order) = world.orders().remove(0);
    let loss = forfeited(&order, &[(1, Code::Connection)]);
    assert!(report(&mut world, &referee, loss).is_ok());
    check_journal(&world);

    let mut world = begun(1);
    let (referee, order) = world.orders().remove(0);
    let _ = report(&mut world, &referee, forfeited(&order, &LATE));
    let query = queries(&mut world).remove(0);
    say(&mut world, &query, false);
    assert_eq!(doubts(&world), [(referee, Doubt::Denied)], "it is noted");
    assert_eq!(world.league.matches_played(), 1);
    check_journal(&world);
}

/// Lets the first referee claim losses of these players in round 1; all of them deny.
fn denied(referees: u32, players: &[u32]) -> LeagueWorld {
    let mut world = LeagueWorld::begun_signing(8, referees, 4);
    world.players_answer = false;
    let first = RefereeId::numbered(1);
    for (referee, order) in world.orders() {
        let absent = order.players.iter().position(|player| {
            let mut players = players.iter().map(|number| PlayerId::numbered(*number));
            players.any(|absent| absent == player.player_id)
        });
        let held = world.referee_of(order.match_id.as_str());
        if let Some(seat) = absent.filter(|_| held.as_deref() == Some(first.as_str())) {
            assert_eq!(referee, first);
            let loss = forfeited(&order, &[(seat, Code::Timeout)]);
            let _ = report(&mut world, &referee, loss);
            let query = queries(&mut world).remove(0);
            say(&mut world, &query, false);
        }
    }
    world
}

#[test]
fn two_players_that_deny_a_call_set_the_referee_aside() {
    // Referee 1 has matches 1 and 3: of players 1 and 2, and of players 5 and 6.
    let first = RefereeId::numbered(1);
    let world = denied(2, &[1]);
    let state = world
        .league
        .referee_state(world.league.referee(&first).unwrap());
    assert_eq!(state, AgentState::Active);
    let mut players = world.fixture("R1M3").pairing().seats.into_iter();
    let other = players.next().unwrap() + 1;
    let mut world = denied(2, &[1, other]);
    let referee = world.league.referee(&first).unwrap();
    assert_eq!(world.league.referee_state(referee), AgentState::Suspended);
    assert_eq!((referee.running(), referee.queued()), (0, 0));
    check_journal(&world);
    world.players_answer = true;
    world.answer_players(0);
    while world.league.round().unwrap().number() == 1 {
        for (referee, order) in world.orders() {
            let result = signed(
                played(&order, [json!("even"), json!("odd")]),
                &order,
                &[0, 1],
            );
            world.report(&referee, result).unwrap();
        }
        world.settle();
    }
    let orders = world.orders();
    assert!(!orders.is_empty());
    assert!(orders.iter().all(|(referee, _)| *referee != first));
}

#[test]
fn last_referee_is_never_set_aside() {
    let world = denied(1, &[1, 3, 5]);
    assert!(doubts(&world).len() >= 2);
    let referee = world.league.referee(&RefereeId::numbered(1)).unwrap();
    assert_eq!(world.league.referee_state(referee), AgentState::Active);
    check_journal(&world);
}

#[test]
fn players_of_the_first_protocol_and_silent_ones_are_not_asked() {
    let mut world = LeagueWorld::begun_with(rules(), 2, 2, 1, |player| {
        player.dialect = Dialect::V1;
    });
    world.players_answer = false;
    let (referee, order) = world.orders().remove(0);
    assert!(report(&mut world, &referee, forfeited(&order, &LATE)).is_ok());

    let mut world = begun(2);
    let (referee, order) = world.orders().remove(0);
    let silent = Agent::Player(PlayerId::numbered(2));
    for _ in 0..5 {
        world.hear(CorrelationId::Notice(silent.clone()), Err(Code::Connection));
    }
    let loss = forfeited(&order, &[(1, Code::Connection)]);
    assert!(report(&mut world, &referee, loss).is_ok());
}

#[test]
fn restarted_manager_asks_for_the_report_again() {
    let mut world = begun(2);
    let (referee, order) = world.orders().remove(0);
    let _ = report(&mut world, &referee, forfeited(&order, &LATE));
    let query = queries(&mut world).remove(0);
    world.restart();
    assert!(
        say(&mut world, &query, false).is_empty(),
        "nothing waits for it"
    );
    let asked = report(&mut world, &referee, forfeited(&order, &LATE));
    assert!(matches!(asked, Err(Refusal::AskingPlayer(_))));
    assert_eq!(queries(&mut world).len(), 1);
}

#[test]
fn played_result_overtakes_an_open_question() {
    let mut world = begun(2);
    let (referee, order) = world.orders().remove(0);
    let _ = report(&mut world, &referee, forfeited(&order, &LATE));
    let query = queries(&mut world).remove(0);
    let result = signed(
        played(&order, [json!("even"), json!("odd")]),
        &order,
        &[0, 1],
    );
    world.report(&referee, result).unwrap();
    assert!(say(&mut world, &query, false).is_empty());
    check_journal(&world);
}

#[test]
fn referee_that_declines_after_a_call_is_noted() {
    for called in [true, false] {
        let mut world = begun(2);
        let (referee, order) = world.orders().remove(0);
        world.answer_order(&referee, &order, false);
        let asked = queries(&mut world);
        assert_eq!(asked.len(), 2);
        for correlation in &asked {
            assert!(matches!(
                correlation,
                CorrelationId::CallQuery(AskedCall {
                    attempt: 1,
                    cause: QueryCause::Decline,
                    ..
                })
            ));
        }
        let events = say(&mut world, &asked[1], called);
        let noted = matches!(
            &events[..],
            [Event::DeclinedAfterCall { referee: noted, player_id, attempt: 1, .. }]
                if *noted == referee && player_id.as_str() == "P02"
        );
        assert_eq!(noted, called, "{events:?}");
        check_journal(&world);
    }
}

#[test]
fn second_doubt_in_a_match_fails_the_audit() {
    let mut world = begun(2);
    let (referee, order) = world.orders().remove(0);
    let _ = report(&mut world, &referee, forfeited(&order, &LATE));
    let query = queries(&mut world).remove(0);
    say(&mut world, &query, false);
    let is_doubt = |event: &Event| matches!(event, Event::LossDoubted { .. });
    let place = world.events.iter().position(is_doubt).unwrap();
    world.events.insert(place, world.events[place].clone());
    assert!(world.audited().is_err());
}

#[test]
fn shut_down_player_is_counted_by_losses_that_stand() {
    let rules = LeagueRules {
        max_fail: 1,
        ..rules()
    };
    let mut world = LeagueWorld::begun_by(rules, 2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    let (events, _) = world.report(&referee, forfeited(&order, &LATE)).unwrap();
    assert!(matches!(
        events[..],
        [Event::ResultRecorded { .. }, Event::PlayerShutDown { .. }]
    ));
}
