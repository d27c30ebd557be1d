//! The start, the schedule, the rounds and the end.

use league_core::league::{
    AgentState, Command, Event, FixtureStage, LeagueRules, Lever, MAX_PAST_MATCHES, Phase, Refusal,
    Reply,
};
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::{MatchId, PlayerId};
use league_protocol::message::Message;
use league_protocol::sender::{Agent, Dialect};

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::honest;

fn kinds(messages: &[Message]) -> Vec<&'static str> {
    messages.iter().filter_map(Message::v2_type).collect()
}

#[test]
fn league_starts_when_enough_agents_registered() {
    let mut world = LeagueWorld::new(LeagueRules {
        start_when: Some((2, 1)),
        ..rules()
    });
    world.admit_player("Alpha");
    world.admit_player("Beta");
    assert_eq!(world.league.wakeup(), None);
    world.admit_referee("Whistle", 1);
    let events = world.settle();
    assert!(
        matches!(
            events[..],
            [
                Event::LeagueStarted { .. },
                Event::RoundOpened { round: 1, .. },
                Event::Resumed { .. }
            ]
        ),
        "{events:?}"
    );
    let player = &world.league.players()[0];
    assert_eq!(world.league.player_state(player), AgentState::Active);
}

#[test]
fn pairings_do_not_depend_on_registration_order() {
    let pairings = |order: &[&str]| {
        let mut world = LeagueWorld::new(rules());
        world.admit_referee("Whistle", 9);
        for id in order {
            let mut candidate = world.candidate(id);
            candidate.request.wanted_id = Some((*id).to_owned());
            world.when(&Command::RegisterPlayer(candidate)).unwrap();
        }
        let schedule = world.when(&Command::CreateSchedule { admin: true });
        let schedule = schedule.unwrap().1;
        world.when(&Command::pull(Lever::Start)).unwrap();
        world.settle();
        let begun = world.when(&Command::CreateSchedule { admin: true });
        assert_eq!(begun.unwrap().1, schedule, "as it was shown before");
        for id in order {
            let player = world.league.player(&PlayerId::new(*id).unwrap()).unwrap();
            assert_eq!(&**player.member().display_name(), *id);
        }
        let orders = world.orders().into_iter();
        let pairings = orders.map(|(_, order)| order.players.map(|player| player.player_id));
        (schedule, pairings.collect::<Vec<_>>())
    };
    let usual = pairings(&["P01", "P02", "P09", "P10", "P100", "dragon"]);
    assert_eq!(
        pairings(&["P10", "dragon", "P02", "P100", "P01", "P09"]),
        usual
    );
}

#[test]
fn only_the_administrator_starts_the_league_and_once() {
    let mut world = LeagueWorld::new(rules());
    let start = |admin| {
        let Command::Pull(mut pull) = Command::pull(Lever::Start) else {
            unreachable!("it is a lever");
        };
        pull.admin = admin;
        Command::Pull(pull)
    };
    let refused = world.when(&start(false)).unwrap_err();
    assert_eq!(
        (refused.clone(), refused.code()),
        (Refusal::NotAdmin, Code::TokenInvalid)
    );
    world.admit_player("Alpha");
    world.admit_player("Beta");
    let refused = world.when(&start(true)).unwrap_err();
    assert_eq!(refused.code(), Code::OutOfTurn);
    assert!(matches!(
        refused,
        Refusal::TooFew {
            players: 2,
            referees: 0,
            ..
        }
    ));
    world.admit_referee("Whistle", 1);
    let (events, _) = world.when(&start(true)).unwrap();
    assert!(matches!(events[1], Event::LeagueStarted { .. }));
    assert_eq!(
        world.when(&start(true)).unwrap_err(),
        Refusal::AlreadyStarted
    );
}

#[test]
fn previewing_the_schedule_changes_nothing() {
    let mut world = LeagueWorld::new(rules());
    let see = Command::CreateSchedule { admin: true };
    assert!(matches!(world.when(&see), Err(Refusal::TooFew { .. })));
    for name in ["a", "b", "c", "d"] {
        world.admit_player(name);
    }
    let refused = world.when(&Command::CreateSchedule { admin: false });
    assert_eq!(refused.unwrap_err(), Refusal::NotAdmin);
    let (events, reply) = world.when(&see).unwrap();
    assert!(events.is_empty());
    let Reply::Schedule {
        total_rounds,
        rounds,
    } = reply
    else {
        panic!("{reply:?}");
    };
    assert_eq!(total_rounds, 3);
    let table: Vec<String> = rounds
        .iter()
        .flat_map(|round| &round.matches)
        .map(|row| format!("{} {} {}", row.match_id, row.player_a, row.player_b))
        .collect();
    assert_eq!(
        table,
        [
            "R1M1 P01 P02",
            "R1M2 P03 P04",
            "R2M1 P03 P01",
            "R2M2 P04 P02",
            "R3M1 P04 P01",
            "R3M2 P03 P02"
        ]
    );
}

#[test]
fn announcement_carries_each_players_match_token() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let mut tokens = Vec::new();
    for number in 1..=4 {
        let told = world.letters_to(&Agent::Player(PlayerId::numbered(number)));
        let [Message::RoundAnnouncement(announcement)] = &told[..] else {
            panic!("{told:?}");
        };
        assert_eq!(announcement.matches.len(), 2);
        let first = announcement.matches.iter().next().unwrap();
        assert_eq!(&*first.referee_endpoint, "http://localhost/referee 1");
        assert_eq!(first.commitment, Some(world.fixture("R1M1").commitment()));
        let own = announcement.own.clone().unwrap();
        tokens.push((own.match_id, own.token, own.attempt));
    }
    let orders = world.orders();
    let shown: Vec<_> = orders
        .iter()
        .flat_map(|(_, order)| {
            order
                .players
                .iter()
                .map(|p| (order.match_id.clone(), p.match_token.clone(), order.attempt))
        })
        .collect();
    assert_eq!(
        tokens, shown,
        "what the referee will show is what the player was told"
    );
    let (_, order) = &orders[0];
    let hash = world.tokens[&Agent::Player(PlayerId::numbered(1))].hash();
    assert_eq!(order.players[0].token_hash, hash);
    assert_eq!((order.round_id, order.attempt), (1, 1));
}

#[test]
fn only_v1_players_get_the_start_message() {
    let mut world = LeagueWorld::new(rules());
    let mut old = world.candidate("Old");
    old.dialect = Dialect::V1;
    world.when(&Command::RegisterPlayer(old)).unwrap();
    world.admit_player("New");
    world.admit_referee("Whistle", 1);
    world.when(&Command::pull(Lever::Start)).unwrap();
    world.settle();
    let old = world.letters_to(&Agent::Player(PlayerId::numbered(1)));
    let Some(Message::LeagueStart(start)) = old.first() else {
        panic!("{old:?}");
    };
    assert_eq!((start.total_rounds, start.total_players), (1, 2));
    assert_eq!(start.schedule.len(), 1);
    let new = world.letters_to(&Agent::Player(PlayerId::numbered(2)));
    assert_eq!(kinds(&new), ["ROUND_ANNOUNCEMENT"]);
}

#[test]
fn last_result_closes_the_round_and_opens_the_next() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let orders = world.orders();
    world.letters.clear();
    let (referee, order) = &orders[0];
    let (events, reply) = world.report(referee, honest(order)).unwrap();
    assert!(matches!(reply, Reply::Opened(_)), "{reply:?}");
    assert!(
        matches!(events[..], [Event::ResultRecorded { .. }]),
        "{events:?}"
    );
    assert!(world.settle().is_empty());
    let (referee, order) = &orders[1];
    world.report(referee, honest(order)).unwrap();
    let events = world.settle();
    assert!(
        matches!(
            events[..],
            [
                Event::RoundClosed { round: 1, .. },
                Event::RoundOpened { round: 2, .. }
            ]
        ),
        "{events:?}"
    );
    let told = world.letters_to(&Agent::Player(PlayerId::numbered(3)));
    assert_eq!(
        kinds(&told),
        [
            "LEAGUE_STANDINGS_UPDATE",
            "ROUND_COMPLETED",
            "ROUND_ANNOUNCEMENT"
        ]
    );
    let Message::RoundCompleted(completed) = &told[1] else {
        panic!("{told:?}");
    };
    assert_eq!(completed.next_round_id, Some(2));
    assert_eq!(completed.summary.total_matches, 2);
}

#[test]
fn every_agent_learns_the_champion_once() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    world.play_on();
    assert_eq!(world.league.phase(), Phase::Completed);
    assert_eq!(world.league.wakeup(), None);
    let champion = world.league.standings()[0].clone();
    let mut agents: Vec<Agent> = (1..=4)
        .map(|n| Agent::Player(PlayerId::numbered(n)))
        .collect();
    agents.extend(
        world
            .league
            .referees()
            .iter()
            .map(|r| Agent::Referee(r.id().clone())),
    );
    for agent in agents {
        let told = world.letters_to(&agent);
        let ends: Vec<_> = told
            .iter()
            .filter_map(|message| match message {
                Message::LeagueCompleted(end) => Some(end),
                _ => None,
            })
            .collect();
        let [end] = ends[..] else {
            panic!("{agent}: {told:?}");
        };
        assert_eq!((end.total_rounds, end.total_matches), (3, 6));
        assert_eq!(end.champion.as_ref().unwrap().player_id, champion.player_id);
    }
    let player = &world.league.players()[0];
    assert_eq!(world.league.player_state(player), AgentState::Shutdown);
    let ends = world.events.iter();
    let ends = ends.filter(|event| matches!(event, Event::LeagueCompleted { .. }));
    assert_eq!(ends.count(), 1);
}

#[test]
fn odd_player_rests_each_round_and_is_told() {
    let mut world = LeagueWorld::begun(3, 1, 1);
    let mut rests = 0;
    for number in 1..=3 {
        let told = world.letters_to(&Agent::Player(PlayerId::numbered(number)));
        let [Message::RoundAnnouncement(announcement)] = &told[..] else {
            panic!("{told:?}");
        };
        rests += usize::from(announcement.own.is_none());
    }
    assert_eq!(rests, 1);
    world.play_on();
    assert_eq!(world.league.matches_played(), 3);
}

#[test]
fn stopped_league_only_takes_results() {
    let mut world = LeagueWorld::begun(4, 1, 1);
    let orders = world.orders();
    world.letters.clear();
    let (referee, order) = &orders[0];
    world.when(&Command::Stop).unwrap();
    assert!(world.when(&Command::Stop).unwrap().0.is_empty());
    assert_eq!(world.league.wakeup(), None);
    let (_, reply) = world.report(referee, honest(order)).unwrap();
    assert!(matches!(reply, Reply::Opened(_)), "{reply:?}");
    assert!(world.letters.is_empty());
    assert!(world.when(&Command::Tick).unwrap().0.is_empty());
    let late = world.candidate("Late");
    let refused = world.when(&Command::RegisterReferee(late)).unwrap_err();
    assert_eq!(refused, Refusal::Stopping);
    let started = world.when(&Command::pull(Lever::Start)).unwrap_err();
    assert_eq!(started, Refusal::Stopping);
    for refusal in [refused, started] {
        assert_eq!(refusal.to_league_error().code.to_string(), "E009");
    }

    let mut again = LeagueWorld::new(rules());
    again.events.clone_from(&world.events);
    again.restart();
    let league = &again.league;
    let orders: Vec<_> = again
        .letters
        .iter()
        .filter_map(|letter| match &letter.message {
            Message::StartMatch(order) => Some(order.match_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        orders,
        ["R1M2"],
        "the next match is ordered after the restart"
    );
    let second = league.fixture(&MatchId::numbered(1, 2));
    assert_eq!(second.unwrap().stage(), FixtureStage::Ordered);
}

#[test]
fn manager_keeps_a_bounded_number_of_matches() {
    let mut world = LeagueWorld::begun(80, 1, 40);
    world.play_on();
    assert_eq!(world.league.phase(), Phase::Completed);
    let ids = (1..=79).flat_map(|round| (1..=40).map(move |number| (round, number)));
    let ids = ids.map(|(round, number)| MatchId::numbered(round, number));
    let kept = ids.filter(|id| world.league.fixture(id).is_some()).count();
    assert_eq!(kept, MAX_PAST_MATCHES + 40, "of 3,160 matches");
}
