//! Assignment of matches to referees, capacity, and failing referees.

use std::time::Duration;

use league_core::league::{
    Assignment, Command, CorrelationId, Event, FixtureStage, LeagueRules, Lever,
};
use league_core::machine::Machine;
use league_core::timeouts::{Backoff, FORCED_ATTEMPT};
use league_protocol::fault::Code;
use league_protocol::id::{GameType, RefereeId};
use league_protocol::message::{Message, Mode, StartMatch};
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, order_correlation, rules};
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
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    world
}

fn planned(world: &LeagueWorld) -> Vec<String> {
    let fixtures = world.league.round().unwrap().fixtures().iter();
    let referees = fixtures.filter_map(|fixture| world.league.referee_of(fixture));
    referees.map(|referee| referee.id().to_string()).collect()
}

#[test]
fn round_robin_rule_alternates_referees() {
    let world = begun_with(Assignment::RoundRobin, 10, &[1, 5]);
    assert_eq!(
        planned(&world),
        ["REF01", "REF02", "REF01", "REF02", "REF01"]
    );
}

#[test]
fn round_robin_rule_continues_across_rounds() {
    let mut world = begun_with(Assignment::RoundRobin, 4, &[1, 1, 1]);
    assert_eq!(planned(&world), ["REF01", "REF02"]);
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    world.settle();
    assert_eq!(planned(&world), ["REF03", "REF01"]);
}

#[test]
fn least_loaded_rule_picks_the_idlest_referee() {
    let world = begun_with(Assignment::LeastLoaded, 12, &[1, 9, 1]);
    let plan = planned(&world);
    for referee in ["REF01", "REF02", "REF03"] {
        assert_eq!(plan.iter().filter(|found| *found == referee).count(), 2);
    }
}

#[test]
fn weighted_rule_follows_capacity() {
    let world = begun_with(Assignment::Weighted, 16, &[1, 6, 1]);
    let plan = planned(&world);
    let count = |referee: &str| plan.iter().filter(|found| *found == referee).count();
    assert_eq!([count("REF01"), count("REF02"), count("REF03")], [1, 6, 1]);
}

#[test]
fn referee_stays_within_capacity_and_takes_the_next_when_done() {
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
fn accepted_order_runs_and_a_repeated_answer_changes_nothing() {
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
fn failed_order_moves_on_with_the_next_attempt() {
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
fn declined_match_moves_on_and_no_other() {
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
fn referee_that_loses_a_match_starts_its_next() {
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
fn match_without_another_referee_waits() {
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
fn new_referee_takes_waiting_matches_at_once() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    world.fail_order(&referee, &order);
    let fresh = world.invite_referee("Fresh", 1);
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
fn suspended_referee_loses_all_its_matches() {
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
fn silent_referee_loses_its_matches_after_three_probes() {
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
fn answering_referee_keeps_its_match() {
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
fn suspended_referee_is_probed_each_minute_and_returns() {
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

fn half_an_hour() -> LeagueRules {
    LeagueRules {
        match_limit: Duration::from_secs(30 * 60),
        ..rules()
    }
}

#[test]
fn match_may_take_the_deadlines_of_its_game_and_two_minutes() {
    let limit = |game: &str, change: &dyn Fn(&mut LeagueRules)| {
        let mut rules = LeagueRules::new(rules().league_id, GameType::new(game).unwrap());
        change(&mut rules);
        rules.longest_match().as_secs()
    };
    let joined = 3 * (5 + 10) + 2 * 2 + 20;
    let moved = 3 * (30 + 10) + 2 * 2 + 20;
    assert_eq!(limit("even_odd", &|_| ()), joined + 2 * moved + 120);
    assert_eq!(limit("tic_tac_toe", &|_| ()), joined + 9 * moved + 120);
    let once = limit("even_odd", &|rules| rules.timeouts.attempts = 1);
    assert_eq!(once, 35 + 2 * 60 + 120);
    let doubling = limit("even_odd", &|rules| {
        rules.timeouts.backoff = Backoff::Exponential(Duration::from_secs(2));
    });
    assert_eq!(doubling, joined + 2 * moved + 120 + 3 * 2);
    let by_hand = limit("even_odd", &|rules| rules.mode = Mode::Manual);
    assert_eq!(by_hand, 30 * 60);
    assert_eq!(rules().match_limit, rules().longest_match());
}

#[test]
fn overdue_match_is_taken_from_an_answering_referee() {
    let mut world = LeagueWorld::begun_by(half_an_hour(), 2, 2, 1);
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
fn match_limit_counts_from_acceptance() {
    let mut world = LeagueWorld::begun_by(half_an_hour(), 2, 2, 1);
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
fn round_without_referees_waits() {
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
    world.invite_referee("Fresh", 1);
    world.settle();
    world.play_on();
    assert_eq!(world.league.matches_played(), 6);
}

#[test]
fn answer_from_another_match_or_agent_changes_nothing() {
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

#[test]
fn order_that_cannot_be_sent_waits_and_no_referee_is_blamed() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let (referee, order) = world.order("R1M1");
    let events = world.unsent(order_correlation(&referee, &order));
    assert!(
        matches!(&events[..], [Event::MatchesMoved { .. }]),
        "{events:?}"
    );
    assert_eq!(world.fixture("R1M1").stage(), FixtureStage::Waiting);
    world.pass(10);
    let (again, later) = world.order("R1M1");
    assert_eq!((again, later.attempt), (referee, order.attempt + 1));
    let fixture = world.fixture("R1M1");
    let entry = world.league.referee_of(fixture).unwrap();
    assert_eq!(entry.member().failures(), 0);
}

#[test]
fn probe_that_cannot_be_sent_says_nothing_of_a_referee() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    for (referee, order) in world.orders() {
        world.answer_order(&referee, &order, true);
    }
    for _ in 0..10 {
        let events = world.pass(10);
        let probed = events.iter().filter_map(|event| match event {
            Event::ProbesSent { agents, .. } => Some(agents.clone()),
            Event::RefereeSuspended { .. } => panic!("{events:?}"),
            _ => None,
        });
        for agent in probed.flatten().collect::<Vec<_>>() {
            world.unsent(CorrelationId::Probe(agent.clone()));
            world.unsent(CorrelationId::Notice(agent));
        }
    }
}

#[test]
fn referee_may_give_a_match_back_that_it_took() {
    let mut world = LeagueWorld::begun(4, 2, 2);
    let (referee, order) = world.order("R1M1");
    world.answer_order(&referee, &order, true);
    assert_eq!(world.fixture("R1M1").stage(), FixtureStage::Running);
    let events = world.answer_order(&referee, &order, false);
    assert!(
        matches!(&events[..], [Event::MatchesMoved { .. }]),
        "{events:?}"
    );
    let (other, later) = world.order("R1M1");
    assert_ne!(other, referee);
    assert_eq!(later.attempt, 2);
}
