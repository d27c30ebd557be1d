//! Failures, suspension and return of players.

use league_core::league::{AgentState, CorrelationId, Event};
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::Message;
use league_protocol::sender::Agent;

use league_testkit::league::LeagueWorld;
use league_testkit::report::{forfeited, honest};

fn first() -> Agent {
    Agent::Player(PlayerId::numbered(1))
}

fn state(world: &LeagueWorld) -> AgentState {
    world.league.player_state(&world.league.players()[0])
}

fn fail(world: &mut LeagueWorld, times: usize) {
    for _ in 0..times {
        let events = world.hear(CorrelationId::Notice(first()), Err(Code::Timeout));
        assert!(matches!(events[..], [Event::AgentFailed { .. }]));
    }
}

#[test]
fn acknowledged_notice_makes_no_event() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    assert!(
        world
            .hear(CorrelationId::Notice(first()), Ok(Message::Acknowledged))
            .is_empty()
    );
}

#[test]
fn five_failures_suspend_a_player_until_it_answers() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    fail(&mut world, 4);
    assert_eq!(state(&world), AgentState::Active);
    let events = world.hear(CorrelationId::Notice(first()), Ok(Message::Acknowledged));
    assert!(matches!(
        events[..],
        [Event::AgentAnswered {
            recovered: false,
            ..
        }]
    ));
    fail(&mut world, 4);
    assert_eq!(state(&world), AgentState::Active, "the count began anew");
    fail(&mut world, 1);
    assert_eq!(state(&world), AgentState::Suspended);
}

#[test]
fn suspended_player_gets_only_its_matches_and_a_probe_a_minute() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    fail(&mut world, 5);
    let orders = world.orders();
    world.letters.clear();
    for (referee, order) in &orders {
        // P01 does not play, so its match does not count as a good answer.
        let report = match order.match_id.as_str() {
            "R1M1" => forfeited(order, &[(0, Code::InvalidMove)]),
            _ => honest(order),
        };
        world.report(referee, report).unwrap();
    }
    world.players_answer = false;
    world.settle();
    assert_eq!(world.league.round().unwrap().number(), 2);
    let told = world.letters_to(&first());
    assert!(
        matches!(told[..], [Message::RoundAnnouncement(_)]),
        "it may be back: {told:?}"
    );
    for (referee, order) in world.orders() {
        world.answer_order(&referee, &order, true);
    }
    let referee = CorrelationId::Probe(Agent::Referee(world.league.referees()[0].id().clone()));
    for _ in 0..11 {
        world.pass(5);
        world.hear(referee.clone(), Ok(Message::Acknowledged));
    }
    assert!(world.letters_to(&first()).is_empty(), "55 seconds");
    world.pass(5);
    assert_eq!(world.letters_to(&first()), [Message::Ping]);
    let events = world.hear(CorrelationId::Probe(first()), Err(Code::Connection));
    assert!(matches!(events[..], [Event::AgentFailed { .. }]));
    world.hear(referee, Ok(Message::Acknowledged));
    let events = world.hear(CorrelationId::Probe(first()), Ok(Message::Acknowledged));
    assert!(matches!(
        events[..],
        [Event::AgentAnswered {
            recovered: true,
            ..
        }]
    ));
    assert_eq!(state(&world), AgentState::Active);
    let told = world.letters_to(&first());
    assert!(
        matches!(told[..], [Message::RoundAnnouncement(_)]),
        "{told:?}"
    );
}

#[test]
fn silent_losses_feed_the_breaker_and_a_played_match_clears_it() {
    for (code, suspended) in [
        (Code::Timeout, true),
        (Code::Connection, true),
        (Code::InvalidMove, false),
    ] {
        let mut world = LeagueWorld::begun(8, 1, 4);
        fail(&mut world, 4);
        for (referee, order) in world.orders() {
            let report = match order.match_id.as_str() {
                "R1M1" => forfeited(&order, &[(0, code)]),
                _ => honest(&order),
            };
            world.report(&referee, report).unwrap();
        }
        assert_eq!(state(&world) == AgentState::Suspended, suspended, "{code}");
        world.settle();
        for (referee, order) in world.orders() {
            world.report(&referee, honest(&order)).unwrap();
        }
        assert_eq!(state(&world), AgentState::Active);
        assert_eq!(world.league.players()[0].member().failures(), 0);
    }
}
