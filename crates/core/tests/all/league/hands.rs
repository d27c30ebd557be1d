//! Queued matches move to idle referees, and referees learn of returning players.

use league_core::league::{Assignment, Command, LeagueRules};
use league_protocol::id::PlayerId;
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::honest;

#[test]
fn idle_referee_takes_queued_matches() {
    let rules = LeagueRules {
        assignment: Assignment::RoundRobin,
        ..rules()
    };
    let mut world = LeagueWorld::begun_by(rules, 8, 2, 1);
    let orders = world.orders();
    assert_eq!(orders.len(), 2);
    let (quick, slow) = (&orders[0], &orders[1]);
    world.report(&quick.0, honest(&quick.1)).unwrap();
    let own = world.orders().remove(0);
    assert_eq!(own.0, quick.0, "first its own line");
    world.report(&own.0, honest(&own.1)).unwrap();
    let (referee, order) = world.orders().remove(0);
    assert_eq!((&referee, order.attempt), (&quick.0, 1));
    let left = world.league.referee(&slow.0).unwrap();
    assert_eq!((left.running(), left.queued()), (1, 0));
    assert_eq!(
        world.replayed().after_restart(),
        world.league.after_restart()
    );
    world.report(&referee, honest(&order)).unwrap();
    assert!(world.orders().is_empty());
    world.report(&slow.0, honest(&slow.1)).unwrap();
    world.settle();
    assert_eq!(world.league.round().unwrap().number(), 2);
}

#[test]
fn referee_learns_the_new_token_of_a_returning_player() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let (referee, order) = world.orders().remove(0);
    world.answer_order(&referee, &order, true);
    let token = world.tokens[&Agent::Player(PlayerId::numbered(1))].clone();
    let mut back = world.candidate("Player 1");
    back.request.token = Some(token);
    back.request.meta.version = "1.0.1".to_owned();
    world.when(&Command::RegisterPlayer(back)).unwrap();
    let (again, repeated) = world.orders().remove(0);
    assert_eq!((&again, repeated.attempt), (&referee, order.attempt));
    let before = order.players.each_ref().map(|player| player.token_hash);
    let after = repeated.players.each_ref().map(|player| player.token_hash);
    assert!(before[0] != after[0] && before[1] == after[1]);
}
