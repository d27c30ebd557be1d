//! Repeated technical losses, and players that were shut down.

use league_core::league::{
    AgentState, Command, CorrelationId, Event, ExitCause, Expulsion, LeagueRules, Phase, Refusal,
    Reply,
};
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::{Message, RegisterResponse, StartMatch};
use league_protocol::sender::Agent;

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

/// A league in which the first player was absent in two rounds of which it is put out.
fn put_out(code: Code) -> LeagueWorld {
    let mut world = begun(2, 6, 3);
    for _ in 0..2 {
        for (referee, order) in world.orders() {
            let report = match seat_of_first(&order) {
                Some(seat) => forfeited(&order, &[(seat, code)]),
                None => honest(&order),
            };
            world.report(&referee, report).unwrap();
        }
        world.settle();
    }
    world
}

fn expulsion(world: &LeagueWorld) -> Option<Expulsion> {
    world.league.players()[0].expulsion()
}

/// The first player registers once more, by its return token.
pub(super) fn return_first(world: &mut LeagueWorld) -> Result<(Vec<Event>, Reply), Refusal> {
    let entry = world.league.players()[0].clone();
    let agent = Agent::Player(entry.id().clone());
    let mut candidate = world.candidate(entry.member().display_name());
    candidate.request.meta.contact_endpoint = entry.member().peer().endpoint.to_string();
    candidate.request.token = world.tokens.get(&agent).cloned();
    world.when(&Command::RegisterPlayer(candidate))
}

#[test]
fn absent_player_that_was_put_out_is_in_again_when_it_returns() {
    let mut world = put_out(Code::Timeout);
    assert_eq!(
        expulsion(&world),
        Some(Expulsion {
            round: 2,
            losses: 2,
            is_absence: true,
            cause: ExitCause::Losses,
            is_annulled: false,
        })
    );
    world.letters.clear();
    let (events, _) = return_first(&mut world).unwrap();
    assert!(
        matches!(
            events[..],
            [Event::AgentReturned { .. }, Event::PlayerReinstated { .. }]
        ),
        "{events:?}"
    );
    assert_eq!(expulsion(&world), None);
    let first = Agent::Player(world.league.players()[0].id().clone());
    let told = world.letters_to(&first);
    assert!(
        matches!(told[..], [Message::RoundAnnouncement(_)]),
        "{told:?}"
    );
    assert_eq!(
        world.replayed().after_restart(),
        world.league.after_restart()
    );
}

#[test]
fn absent_player_that_was_put_out_is_in_again_when_it_answers() {
    let mut world = put_out(Code::Connection);
    world.letters.clear();
    let first = Agent::Player(world.league.players()[0].id().clone());
    for _ in 0..13 {
        world.pass(5);
    }
    let told = world.letters_to(&first);
    assert!(told.contains(&Message::Ping), "{told:?}");
    let events = world.hear(CorrelationId::Probe(first), Ok(Message::Acknowledged));
    assert!(
        matches!(events[..], [Event::PlayerReinstated { .. }]),
        "{events:?}"
    );
}

#[test]
fn player_that_was_put_out_for_its_moves_stays_out_and_is_told_why() {
    let mut world = put_out(Code::InvalidMove);
    let (events, reply) = return_first(&mut world).unwrap();
    let Reply::Player(RegisterResponse::Rejected { reason, .. }) = reply else {
        panic!("{reply:?}");
    };
    let id = world.league.players()[0].id();
    let said = format!("you are {id}, out since round 2 after 2 technical losses");
    assert!(reason.starts_with(&said), "{reason}");
    assert!(events.is_empty(), "{events:?}");
}

#[test]
fn absent_player_is_called_once_until_it_answers() {
    let mut world = begun(9, 4, 2);
    for (referee, order) in world.orders() {
        let report = match seat_of_first(&order) {
            Some(seat) => forfeited(&order, &[(seat, Code::Connection)]),
            None => honest(&order),
        };
        world.report(&referee, report).unwrap();
    }
    world.players_answer = false;
    world.settle();
    let first = world.league.players()[0].id().clone();
    let seated = |world: &mut LeagueWorld| {
        let orders = world.orders().into_iter();
        let mut seats = orders.flat_map(|(_, order)| order.players);
        seats.find(|seated| seated.player_id == first)
    };
    assert!(
        seated(&mut world).is_none(),
        "its opponent is to be told first"
    );
    world.answer_players(0);
    assert_eq!(seated(&mut world).map(|seated| seated.absent), Some(false));
}
