//! Queries of agents.

use league_core::league::{Command, Lever, Refusal, Reply};
use league_core::machine::Machine;
use league_protocol::id::{LeagueId, PlayerId};
use league_protocol::message::{LeagueQuery, LeagueQueryResponse, Query, QueryAnswer};
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::honest;

fn ask(world: &mut LeagueWorld, query: Query) -> LeagueQueryResponse {
    let asked = LeagueQuery {
        league_id: None,
        query,
        by_api_page: true,
    };
    ask_exactly(world, asked)
}

fn ask_exactly(world: &mut LeagueWorld, query: LeagueQuery) -> LeagueQueryResponse {
    let agent = Agent::Player(PlayerId::numbered(1));
    let command = Command::Query {
        token: Some(world.tokens[&agent].hash()),
        sender: Some(agent),
        query: Box::new(query),
    };
    let (events, reply) = world.when(&command).unwrap();
    assert!(events.is_empty(), "a question changes nothing");
    match reply {
        Reply::Query(response) => *response,
        other => panic!("{other:?}"),
    }
}

#[test]
fn query_without_a_token_is_refused() {
    let world = LeagueWorld::begun(2, 1, 1);
    let command = Command::Query {
        token: None,
        sender: Some(Agent::Player(PlayerId::numbered(1))),
        query: Box::new(LeagueQuery {
            league_id: None,
            query: Query::Standings,
            by_api_page: false,
        }),
    };
    let decision = world.league.decide(world.now, &command);
    assert!(decision.events.is_empty());
    assert_eq!(decision.answer, Err(Refusal::TokenMissing));
}

#[test]
fn unstarted_league_has_standings_but_no_schedule() {
    let mut world = LeagueWorld::new(rules());
    let id = world.admit_player("Alpha");
    let response = ask(&mut world, Query::Standings);
    assert!(response.by_api_page);
    assert_eq!(response.query_type, "GET_STANDINGS");
    let Ok(QueryAnswer::Standings { round_id: 0, rows }) = response.answer else {
        panic!("{response:?}");
    };
    assert_eq!(rows.len(), 1);
    for query in [Query::Schedule, Query::NextMatch(id)] {
        let answer = ask(&mut world, query).answer;
        assert_eq!(
            answer.unwrap_err(),
            "nothing is scheduled before the league begins"
        );
    }
}

#[test]
fn next_match_is_the_current_one_then_the_next_then_none() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let first = PlayerId::numbered(1);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let answer = ask(&mut world, Query::NextMatch(first.clone())).answer;
        let Ok(QueryAnswer::NextMatch(next)) = answer else {
            panic!("{answer:?}");
        };
        assert!(next.referee_endpoint.is_some());
        seen.push(format!("{} {}", next.match_id, next.opponent_id));
        let orders = world.orders();
        let (referee, order) = &orders[0];
        world.report(referee, honest(order)).unwrap();
        if seen.len() < 3 {
            let answer = ask(&mut world, Query::NextMatch(first.clone())).answer;
            let Ok(QueryAnswer::NextMatch(next)) = answer else {
                panic!("{answer:?}");
            };
            assert!(
                next.referee_endpoint.is_some(),
                "the one whose turn it will be"
            );
            assert_eq!(next.round_id as usize, seen.len() + 1);
        }
        let (referee, order) = &orders[1];
        world.report(referee, honest(order)).unwrap();
        world.settle();
    }
    assert_eq!(seen, ["R1M1 P02", "R2M1 P03", "R3M1 P04"]);
    let answer = ask(&mut world, Query::NextMatch(first)).answer;
    assert_eq!(answer.unwrap_err(), "no match of `P01` is left");
}

#[test]
fn player_that_is_out_is_told_so_instead_of_a_next_match() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    world.settle();
    let player_id = PlayerId::numbered(2);
    let withdraw = Lever::Withdraw {
        player_id: player_id.clone(),
    };
    world.pull(withdraw).unwrap();
    let answer = ask(&mut world, Query::NextMatch(player_id)).answer;
    let told = "`P02` plays no more: withdrawn in round 1";
    assert_eq!(answer.unwrap_err(), told);
}

#[test]
fn unanswerable_query_says_so() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let nobody = PlayerId::new("P77").unwrap();
    for query in [Query::NextMatch(nobody.clone()), Query::PlayerStats(nobody)] {
        let answer = ask(&mut world, query).answer;
        assert_eq!(answer.unwrap_err(), "there is no player `P77`");
    }
    let elsewhere = LeagueQuery {
        league_id: Some(LeagueId::new("another").unwrap()),
        query: Query::Standings,
        by_api_page: false,
    };
    let answer = ask_exactly(&mut world, elsewhere).answer;
    assert_eq!(answer.unwrap_err(), "this is not league `another`");
}

#[test]
fn any_token_may_query_figures_and_schedule() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let (referee, order) = world.orders().remove(0);
    world.report(&referee, honest(&order)).unwrap();
    let answer = ask(&mut world, Query::PlayerStats(PlayerId::numbered(2))).answer;
    let Ok(QueryAnswer::PlayerStats(stats)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((stats.row.played, stats.state), (1, "ACTIVE"));
    let answer = ask(&mut world, Query::Schedule).answer;
    let Ok(QueryAnswer::Schedule {
        total_rounds: 3,
        rounds,
    }) = answer
    else {
        panic!("{answer:?}");
    };
    assert_eq!(
        rounds
            .iter()
            .map(|round| round.matches.len())
            .sum::<usize>(),
        6
    );
}

#[test]
fn oversized_schedule_starts_at_the_current_round() {
    let mut world = LeagueWorld::begun(100, 1, 50);
    for (referee, order) in world.orders() {
        world.report(&referee, honest(&order)).unwrap();
    }
    world.settle();
    let answer = ask(&mut world, Query::Schedule).answer;
    let Ok(QueryAnswer::Schedule {
        total_rounds: 99,
        rounds,
    }) = answer
    else {
        panic!("{answer:?}");
    };
    assert_eq!(rounds[0].round_id, 2);
    assert_eq!(
        rounds
            .iter()
            .map(|round| round.matches.len())
            .sum::<usize>(),
        2_000
    );
}
