//! Repeated technical losses, and players that were shut down.

use league_core::league::{AgentState, Command, Event, LeagueRules, Phase, Reply};
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::{RegisterResponse, StartMatch};

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::{forfeited, honest};

/// A league that shuts a player down after so many technical losses in a row.
fn begun(max_fail: u32, players: u32, capacity: u32) -> LeagueWorld {
    let rules = LeagueRules {
        max_fail,
        ..rules()
    };
    LeagueWorld::begun_by(rules, players, 1, capacity)
}

fn seat_of_first(order: &StartMatch) -> Option<usize> {
    let mut players = order.players.iter();
    players.position(|player| player.player_id == PlayerId::numbered(1))
}

#[test]
fn repeated_technical_losses_shut_a_player_down() {
    let mut world = begun(2, 6, 3);
    for _ in 0..2 {
        for (referee, order) in world.orders() {
            let report = match seat_of_first(&order) {
                Some(seat) => forfeited(&order, &[(seat, Code::Timeout)]),
                None => honest(&order),
            };
            world.report(&referee, report).unwrap();
        }
        if world.league.round().unwrap().number() == 1 {
            world.settle();
        }
    }
    let out = world.events.iter();
    let out = out.filter(|event| matches!(event, Event::PlayerShutDown { .. }));
    assert_eq!(out.count(), 1);
    let player = &world.league.players()[0];
    assert_eq!(world.league.player_state(player), AgentState::Shutdown);
    let events = world.settle();
    let ruled: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::ResultRecorded {
                referee: None,
                result,
                ..
            } => Some(result),
            _ => None,
        })
        .collect();
    let [result] = ruled[..] else {
        panic!("{events:?}");
    };
    assert!(result.failed.contains_key(&PlayerId::numbered(1)));
    assert_eq!(result.points.iter().sum::<u32>(), 3);
    assert_eq!(world.orders().len(), 2, "nobody is told to run that match");
    world.letters.clear();
    let back = world.candidate("Player 1");
    let (_, reply) = world.when(&Command::RegisterPlayer(back)).unwrap();
    assert!(matches!(
        reply,
        Reply::Player(RegisterResponse::Rejected { .. })
    ));
}

#[test]
fn win_resets_the_count_of_technical_losses() {
    let mut world = begun(2, 4, 2);
    for round in 1..=3 {
        for (referee, order) in world.orders() {
            let report = match seat_of_first(&order) {
                Some(seat) if round != 2 => forfeited(&order, &[(seat, Code::InvalidMove)]),
                _ => honest(&order),
            };
            world.report(&referee, report).unwrap();
        }
        world.settle();
    }
    assert!(
        world
            .events
            .iter()
            .all(|event| !matches!(event, Event::PlayerShutDown { .. }))
    );
}

#[test]
fn league_ends_with_all_players_shut_down() {
    let mut world = begun(1, 5, 1);
    for _ in 0..10 {
        for (referee, order) in world.orders() {
            let failed = [(0, Code::Timeout), (1, Code::Connection)];
            world.report(&referee, forfeited(&order, &failed)).unwrap();
        }
        world.settle();
    }
    assert_eq!(world.league.phase(), Phase::Completed);
    assert_eq!(world.league.matches_played(), 10);
    let points: Vec<u32> = world
        .league
        .standings()
        .iter()
        .map(|row| row.points)
        .collect();
    assert_eq!(
        points,
        [12, 0, 0, 0, 0],
        "who rested in the first round is the only one left"
    );
    let ruled = world.events.iter().filter_map(|event| match event {
        Event::ResultRecorded {
            referee: None,
            result,
            ..
        } => Some(result),
        _ => None,
    });
    for result in ruled {
        let absent: Vec<&str> = result.failed.keys().map(PlayerId::as_str).collect();
        let verb = if absent.len() == 1 { "was" } else { "were" };
        assert!(
            result
                .reason
                .ends_with(&format!(" {verb} put out of the league")),
            "{}",
            result.reason
        );
    }
}
