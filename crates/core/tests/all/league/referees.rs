//! Who runs which match, how many at once, and what happens when a referee does not.

use league_core::league::{Assignment, Command, CorrelationId, Event, FixtureStage, LeagueRules};
use league_core::machine::Machine;
use league_core::timeouts::FORCED_ATTEMPT;
use league_protocol::fault::Code;
use league_protocol::id::RefereeId;
use league_protocol::message::{Message, StartMatch};
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::honest;

fn begun_with(assignment: Assignment, players: u32, capacities: &[u32]) -> LeagueWorld {
    let mut world = LeagueWorld::new(LeagueRules {
        assignment,
        ..rules()
    });
    for (number, capacity) in capacities.iter().enumerate() {
        world.admit_referee(&format!("Referee {}", number + 1), *capacity);
    }
    for number in 0..players {
        world.admit_player(&format!("Player {number}"));
    }
    world.when(&Command::Start { admin: true }).unwrap();
    world.settle();
    world
}

fn planned(world: &LeagueWorld) -> Vec<String> {
    let fixtures = world.league.round().unwrap().fixtures().iter();
    let referees = fixtures.filter_map(|fixture| world.league.referee_of(fixture));
    referees.map(|referee| referee.id().to_string()).collect()
}

#[test]
fn matches_go_to_one_referee_after_the_other() {
    let world = begun_with(Assignment::RoundRobin, 10, &[1, 5]);
    assert_eq!(
        planned(&world),
        ["REF01", "REF02", "REF01", "REF02", "REF01"]
    );
}

#[test]
fn turns_go_on_from_round_to_round() {
    let mut world = begun_with(Assignment::RoundRobin, 4, &[1, 1, 1]);
    assert_eq!(planned(&world), ["REF01", "REF02"]);
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    world.settle();
    assert_eq!(planned(&world), ["REF03", "REF01"]);
}

#[test]
fn matches_go_to_the_least_loaded() {
    let world = begun_with(Assignment::LeastLoaded, 12, &[1, 9, 1]);
    let plan = planned(&world);
    for referee in ["REF01", "REF02", "REF03"] {
        assert_eq!(plan.iter().filter(|found| *found == referee).count(), 2);
    }
}

#[test]
fn matches_go_by_weight() {
    let world = begun_with(Assignment::Weighted, 16, &[1, 6, 1]);
    let plan = planned(&world);
    let count = |referee: &str| plan.iter().filter(|found| *found == referee).count();
    assert_eq!([count("REF01"), count("REF02"), count("REF03")], [1, 6, 1]);
}

#[test]
fn a_referee_never_gets_more_than_it_can_run_and_takes_up_the_next_when_one_is_done() {
    let mut world = LeagueWorld::begun(10, 1, 2);
    let orders = world.orders();
    let started: Vec<_> = orders
        .iter()
        .map(|(_, order)| order.match_id.as_str())
        .collect();
    assert_eq!(started, ["R1M1", "R1M2"]);
    assert_eq!(world.fixture("R1M3").stage(), FixtureStage::Queued);
    let (referee, order) = &orders[1];
    let (events, _) = world.report(referee, honest(order)).unwrap();
    let [
        Event::ResultRecorded {
            next: Some(next), ..
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(next.as_str(), "R1M3");
    let next = world.orders();
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].1.match_id.as_str(), "R1M3");
}

#[test]
fn an_order_that_is_taken_runs_and_the_answer_may_come_twice() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    let events = world.answer_order(&referee, &order, true);
    assert!(matches!(events[..], [Event::MatchAccepted { .. }]));
    assert_eq!(world.fixture("R1M1").stage(), FixtureStage::Running);
    assert!(world.answer_order(&referee, &order, true).is_empty());
    assert!(
        world.fail_order(&referee, &order).is_empty(),
        "an old letter's silence"
    );
}

#[test]
fn an_order_that_fails_goes_to_the_next_referee_with_the_next_attempt() {
    for fail in [
        (|world, referee, order| world.fail_order(referee, order))
            as fn(&mut LeagueWorld, &RefereeId, &StartMatch) -> Vec<Event>,
        |world, referee, order| {
            let correlation = league_testkit::league::order_correlation(referee, order);
            world.hear(correlation, Ok(Message::Ping))
        },
    ] {
        let mut world = LeagueWorld::begun(2, 2, 1);
        let (referee, order) = world.orders().remove(0);
        let events = fail(&mut world, &referee, &order);
        assert!(
            matches!(
                events[..],
                [Event::AgentFailed { .. }, Event::MatchesMoved { .. }]
            ),
            "{events:?}"
        );
        let (other, again) = world.orders().remove(0);
        assert_ne!(referee, other);
        assert_eq!(again.attempt, 2);
        assert!(
            fail(&mut world, &referee, &order).is_empty(),
            "a stale correlation"
        );
        assert_eq!(world.league.referee(&referee).unwrap().running(), 0);
    }
}

#[test]
fn whoever_turns_matches_down_passes_them_on_and_loses_no_other() {
    let mut world = LeagueWorld::begun(24, 2, 12);
    let orders = world.orders();
    let (kept, barred) = orders.split_at(2);
    for (referee, order) in kept {
        world.answer_order(referee, order, true);
    }
    let attempts = |world: &mut LeagueWorld| -> Vec<u32> {
        let orders = world.orders();
        for (referee, order) in &orders {
            let events = world.answer_order(referee, order, false);
            assert!(
                matches!(events[..], [Event::MatchesMoved { .. }]),
                "{events:?}"
            );
        }
        orders.iter().map(|(_, order)| order.attempt).collect()
    };
    for (referee, order) in barred {
        let events = world.answer_order(referee, order, false);
        assert!(matches!(events[..], [Event::MatchesMoved { .. }]));
        assert_ne!(
            world.referee_of(order.match_id.as_str()),
            Some(referee.to_string())
        );
    }
    assert_eq!(attempts(&mut world), [2; 10], "each other referee");
    assert!(world.settle().is_empty() && world.orders().is_empty());
    let pass = |world: &mut LeagueWorld| {
        world.pass(5);
        for number in [1, 2] {
            let probe = CorrelationId::Probe(Agent::Referee(RefereeId::numbered(number)));
            world.hear(probe, Ok(Message::Acknowledged));
        }
    };
    for attempt in 3..FORCED_ATTEMPT {
        pass(&mut world);
        assert_eq!(attempts(&mut world), [attempt; 10], "after a while");
    }
    for (referee, order) in kept {
        let held = world.fixture(order.match_id.as_str());
        assert_eq!((held.stage(), order.attempt), (FixtureStage::Running, 1));
        assert!(world.league.referee(referee).unwrap().running() > 0);
    }
    pass(&mut world);
    let (referee, order) = world.orders().remove(0);
    assert_eq!(order.attempt, FORCED_ATTEMPT);
    let events = world.answer_order(&referee, &order, false);
    assert!(
        matches!(events[..], [Event::AgentFailed { .. }, ..]),
        "{events:?}"
    );
}

#[test]
fn a_referee_that_loses_a_match_takes_up_its_next_one() {
    let mut world = LeagueWorld::begun(8, 2, 1);
    let (first, order) = world.orders().remove(0);
    assert_eq!(world.referee_of("R1M3").as_deref(), Some("REF01"));
    let events = world.answer_order(&first, &order, false);
    let Some(Event::MatchesMoved {
        next: Some(next), ..
    }) = events.last()
    else {
        panic!("{events:?}");
    };
    assert_eq!(next.as_str(), "R1M3");
    assert_eq!(
        world.fixture("R1M1").stage(),
        FixtureStage::Queued,
        "REF02 is busy"
    );
}

#[test]
fn with_nobody_else_a_match_waits_and_is_given_again_later() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    world.answer_order(&referee, &order, false);
    assert_eq!(world.fixture("R1M1").stage(), FixtureStage::Waiting);
    assert!(world.settle().is_empty());
    assert!(world.orders().is_empty());
    world.pass(5);
    let (again, order) = world.orders().remove(0);
    assert_eq!((again, order.attempt), (referee, 2));
}

#[test]
fn a_new_referee_takes_what_waits_at_once() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    world.fail_order(&referee, &order);
    let fresh = world.admit_referee("Fresh", 1);
    let events = world.settle();
    assert!(
        matches!(events[..], [Event::MatchesMoved { .. }]),
        "{events:?}"
    );
    let (taker, order) = world.orders().remove(0);
    assert_ne!(taker, referee, "turns go on");
    assert_eq!((taker, order.attempt), (fresh, 2));
}

#[test]
fn five_failures_suspend_a_referee_and_all_its_matches_go_to_others() {
    let mut world = LeagueWorld::begun(24, 2, 6);
    let orders = world.orders();
    let mine: Vec<_> = orders
        .iter()
        .filter(|(r, _)| r.as_str() == "REF01")
        .collect();
    assert_eq!(mine.len(), 6);
    for (referee, order) in &mine[..5] {
        world.fail_order(referee, order);
    }
    let referee = world.league.referee(&RefereeId::numbered(1)).unwrap();
    assert!(referee.member().suspended_since().is_some());
    assert_eq!((referee.running(), referee.queued()), (0, 0));
    assert_eq!(world.referee_of("R1M11").as_deref(), Some("REF02"));
}

fn pings(world: &mut LeagueWorld, referee: u32) -> usize {
    let letters = world.letters_to(&Agent::Referee(RefereeId::numbered(referee)));
    letters
        .iter()
        .filter(|message| **message == Message::Ping)
        .count()
}

#[test]
fn a_silent_referee_is_asked_three_times_and_then_loses_its_matches() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let orders = world.orders();
    for (referee, order) in &orders {
        world.answer_order(referee, order, true);
    }
    let healthy = CorrelationId::Probe(Agent::Referee(RefereeId::numbered(2)));
    for _ in 0..3 {
        world.pass(5);
        assert_eq!((pings(&mut world, 1), pings(&mut world, 2)), (1, 1));
        world.hear(healthy.clone(), Ok(Message::Acknowledged));
    }
    let events = world.pass(5);
    let suspended = events.iter().any(
        |event| matches!(event, Event::RefereeSuspended { referee, .. } if referee.as_str() == "REF01"),
    );
    assert!(suspended, "{events:?}");
    assert_eq!(world.referee_of("R1M1").as_deref(), Some("REF02"));
    assert_eq!(world.fixture("R1M1").stage(), FixtureStage::Queued);
    assert_eq!(world.fixture("R1M1").attempt(), 2);
    let (referee, order) = &orders[1];
    world.report(referee, honest(order)).unwrap();
    assert_eq!(world.orders()[0].1.match_id.as_str(), "R1M1");
}

#[test]
fn a_referee_that_answers_keeps_its_match() {
    let mut world = LeagueWorld::begun(2, 2, 1);
    let (referee, order) = world.orders().remove(0);
    world.answer_order(&referee, &order, true);
    for _ in 0..20 {
        world.pass(5);
        let correlation = CorrelationId::Probe(Agent::Referee(referee.clone()));
        world.hear(correlation, Ok(Message::Acknowledged));
    }
    assert_eq!(world.fixture("R1M1").attempt(), 1);
}

#[test]
fn a_suspended_referee_is_asked_once_a_minute_and_is_back_when_it_answers() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    world.answer_order(&referee, &order, true);
    for _ in 0..4 {
        world.pass(5);
    }
    assert_eq!(pings(&mut world, 1), 3);
    assert_eq!(world.fixture("R1M1").stage(), FixtureStage::Waiting);
    for _ in 0..10 {
        world.pass(5);
    }
    assert_eq!(pings(&mut world, 1), 0, "it rests");
    for _ in 0..12 {
        world.pass(5);
    }
    assert_eq!(pings(&mut world, 1), 1, "once a minute");
    let correlation = CorrelationId::Probe(Agent::Referee(referee.clone()));
    let events = world.hear(correlation, Ok(Message::Acknowledged));
    assert!(matches!(
        events[..],
        [Event::AgentAnswered {
            recovered: true,
            ..
        }]
    ));
    world.settle();
    let (again, order) = world.orders().remove(0);
    assert_eq!((again, order.attempt), (referee, 2));
}

#[test]
fn a_match_beyond_the_limit_is_taken_from_a_referee_that_answers_but_never_reports() {
    let mut world = LeagueWorld::begun(2, 2, 1);
    let (referee, order) = world.orders().remove(0);
    world.answer_order(&referee, &order, true);
    for _ in 0..360 {
        world.pass(5);
        let correlation = CorrelationId::Probe(Agent::Referee(referee.clone()));
        world.hear(correlation, Ok(Message::Acknowledged));
    }
    assert_eq!(world.referee_of("R1M1").as_deref(), Some("REF02"));
    assert_eq!(world.fixture("R1M1").attempt(), 2);
}

#[test]
fn the_limit_on_a_match_counts_from_its_acceptance() {
    let mut world = LeagueWorld::begun(2, 2, 1);
    let (referee, order) = world.orders().remove(0);
    let look_around = |world: &mut LeagueWorld, times: u32| {
        for _ in 0..times {
            world.pass(5);
            let correlation = CorrelationId::Probe(Agent::Referee(referee.clone()));
            world.hear(correlation, Ok(Message::Acknowledged));
        }
    };
    look_around(&mut world, 120);
    world.answer_order(&referee, &order, true);
    look_around(&mut world, 358);
    assert_eq!(world.fixture("R1M1").attempt(), 1, "accepted late");
    look_around(&mut world, 2);
    assert_eq!(world.fixture("R1M1").attempt(), 2);
}

#[test]
fn a_round_without_any_referee_waits_for_one() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let orders = world.orders();
    for (referee, order) in &orders {
        world.answer_order(referee, order, true);
    }
    for _ in 0..4 {
        world.pass(5);
    }
    assert_eq!(world.league.round().unwrap().open(), 2);
    assert!(world.orders().is_empty());
    let due = world.league.wakeup().unwrap();
    assert!(due > world.now, "it waits and does not spin");
    world.admit_referee("Fresh", 1);
    world.settle();
    world.play_on();
    assert_eq!(world.league.matches_played(), 6);
}

#[test]
fn an_answer_of_another_match_or_agent_changes_nothing() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    for correlation in [
        CorrelationId::Notice(Agent::Manager),
        CorrelationId::Probe(Agent::Referee(RefereeId::numbered(9))),
        CorrelationId::Order {
            match_id: league_protocol::id::MatchId::numbered(7, 7),
            attempt: 1,
            referee: RefereeId::numbered(1),
        },
    ] {
        assert!(
            world
                .hear(correlation.clone(), Err(Code::Timeout))
                .is_empty()
        );
        assert!(
            world
                .hear(correlation, Ok(Message::Acknowledged))
                .is_empty()
        );
    }
}
