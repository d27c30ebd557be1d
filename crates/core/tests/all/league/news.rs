//! The order of a player's messages: its result before the news of the round, and the announcement
//! before its next match.

use std::time::Duration;

use league_core::league::{CorrelationId, Event, LeagueRules, Phase};
use league_core::letter::Letter;
use league_protocol::id::{MatchId, PlayerId, RefereeId};
use league_protocol::message::{Message, StartMatch};
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, rules};
use league_testkit::report::honest;

const NEWS: [&str; 3] = [
    "LEAGUE_STANDINGS_UPDATE",
    "ROUND_COMPLETED",
    "ROUND_ANNOUNCEMENT",
];

/// Reports all matches that are ordered; no player has acknowledged its result yet.
fn play_round(world: &mut LeagueWorld) -> Vec<(RefereeId, StartMatch)> {
    world.players_answer = false;
    let orders = world.orders();
    for (referee, order) in &orders {
        world.report(referee, honest(order)).unwrap();
    }
    world.settle();
    orders
}

fn kinds(world: &mut LeagueWorld, player: u32) -> Vec<&'static str> {
    let told = world.letters_to(&Agent::Player(PlayerId::numbered(player)));
    told.iter().filter_map(Message::v2_type).collect()
}

/// The referee of a player's match tells that the player knows its result.
fn tell(world: &mut LeagueWorld, orders: &[(RefereeId, StartMatch)], player: u32) {
    let id = PlayerId::numbered(player);
    let own = |(_, order): &&(RefereeId, StartMatch)| {
        order.players.iter().any(|seated| seated.player_id == id)
    };
    let (referee, order) = orders.iter().find(own).unwrap();
    let told = world.told_command(referee, &order.match_id, order.attempt, Some(id));
    world.when(&told).unwrap();
}

#[test]
fn news_of_a_round_wait_for_the_players_own_result_only() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    world
        .letters
        .retain(|letter| matches!(letter.message, Message::StartMatch(_)));
    let orders = play_round(&mut world);
    assert_eq!(world.league.round().unwrap().number(), 2, "no round waits");
    for player in 1..=4 {
        assert!(kinds(&mut world, player).is_empty());
    }
    tell(&mut world, &orders, 2);
    assert_eq!(kinds(&mut world, 2), NEWS);
    tell(&mut world, &orders, 2);
    for player in 1..=4 {
        assert!(kinds(&mut world, player).is_empty(), "told once");
    }
    world.pass(18);
    assert!(kinds(&mut world, 1).is_empty());
    world.pass(1);
    for player in [1, 3, 4] {
        assert_eq!(kinds(&mut world, player), NEWS, "GAME_OVER had its time");
    }
}

/// Answers the announcement that a player was sent.
fn acknowledge(world: &mut LeagueWorld, player: u32) {
    let agent = Agent::Player(PlayerId::numbered(player));
    let is_own = |letter: &&Letter<CorrelationId>| {
        letter.to.agent == agent && matches!(letter.message, Message::RoundAnnouncement(_))
    };
    let letter = world.letters.iter().rfind(is_own);
    let correlation = letter.and_then(|letter| letter.correlation.clone());
    world.hear(correlation.unwrap(), Ok(Message::Acknowledged));
}

#[test]
fn order_waits_for_the_announcement_that_waits_for_the_result() {
    let mut world = LeagueWorld::begun(4, 1, 2);
    let orders = play_round(&mut world);
    let seats = |world: &LeagueWorld, id: &str| {
        let fixture = world.fixture(id);
        let [a, b] = world.league.seats_of(fixture).unwrap();
        [a, b].map(|id| id.as_str()[1..].parse::<u32>().unwrap())
    };
    let [a, b] = seats(&world, "R2M1");
    for player in [a, b] {
        assert!(world.orders().is_empty());
        tell(&mut world, &orders, player);
        acknowledge(&mut world, player);
    }
    let ordered: Vec<MatchId> = world
        .orders()
        .into_iter()
        .map(|(_, own)| own.match_id)
        .collect();
    assert_eq!(ordered, [MatchId::numbered(2, 1)]);
    // The other two were told in vain for 19 s, and have 10 s for each of three news.
    world.pass(19);
    world.pass(29);
    assert!(world.orders().is_empty());
    world.pass(1);
    assert_eq!(world.orders().len(), 1);
}

#[test]
fn order_waits_for_all_news_of_a_player_that_rested() {
    let mut world = LeagueWorld::begun_by(rarely_probing(), 3, 1, 1);
    let orders = play_round(&mut world);
    let (referee, order) = &orders[0];
    let told = world.told_command(referee, &order.match_id, order.attempt, None);
    world.when(&told).unwrap();
    // The news of two rounds, with 10 s each.
    world.pass(59);
    assert!(world.orders().is_empty());
    world.pass(1);
    assert_eq!(world.orders().len(), 1);
}

fn rarely_probing() -> LeagueRules {
    LeagueRules {
        probe_every: Duration::from_secs(600),
        ..rules()
    }
}

#[test]
fn player_that_ignores_news_is_waited_for_once() {
    let mut world = LeagueWorld::begun_by(rarely_probing(), 4, 1, 2);
    world.players_answer = false;
    let mut waits = Vec::new();
    for _ in 0..3 {
        let orders = world.orders();
        for (referee, order) in &orders {
            world.report(referee, honest(order)).unwrap();
            let told = world.told_command(referee, &order.match_id, order.attempt, None);
            world.when(&told).unwrap();
        }
        world.settle();
        let begun = world.now;
        for _ in 0..100 {
            if world.league.is_over() || world.letters.iter().any(is_order) {
                break;
            }
            world.pass(1);
        }
        waits.push(world.now.since(begun));
    }
    assert_eq!(waits, [30, 0, 0].map(Duration::from_secs));
    assert!(world.league.is_over());
}

fn is_order(letter: &Letter<CorrelationId>) -> bool {
    matches!(letter.message, Message::StartMatch(_))
}

#[test]
fn end_of_the_league_is_told_last() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    let orders = play_round(&mut world);
    assert_eq!(world.league.phase(), Phase::Running);
    tell(&mut world, &orders, 1);
    world.settle();
    assert_eq!(kinds(&mut world, 1)[1..], NEWS[..2], "the end of the round");
    tell(&mut world, &orders, 2);
    world.settle();
    assert_eq!(world.league.phase(), Phase::Completed);
    assert_eq!(kinds(&mut world, 1), ["LEAGUE_COMPLETED"]);
    let second = kinds(&mut world, 2);
    assert_eq!(second[1..], [NEWS[0], NEWS[1], "LEAGUE_COMPLETED"]);
}

#[test]
fn end_of_the_league_does_not_wait_for_ever() {
    let mut world = LeagueWorld::begun(2, 1, 1);
    play_round(&mut world);
    world.pass(18);
    assert_eq!(world.league.phase(), Phase::Running);
    world.pass(1);
    assert_eq!(world.league.phase(), Phase::Completed);
}

#[test]
fn player_that_rests_is_told_of_all_rounds_that_it_missed() {
    let mut world = LeagueWorld::begun(3, 1, 1);
    let first = play_round(&mut world);
    let absent = world.league.schedule();
    let [a, b] = absent.pairing(1, 0).unwrap().seats;
    let resting = if absent.pairing_of(a, 2).is_none() {
        a
    } else {
        b
    };
    for number in [a, b].into_iter().filter(|number| *number != resting) {
        tell(&mut world, &first, number + 1);
    }
    world.players_answer = true;
    world.answer_players(0);
    world.letters.retain(|letter| {
        is_order(letter) || letter.to.agent == Agent::Player(PlayerId::numbered(resting + 1))
    });
    let (referee, order) = world.orders().remove(0);
    world.report(&referee, honest(&order)).unwrap();
    world.settle();
    assert_eq!(world.league.round().unwrap().number(), 3);
    kinds(&mut world, resting + 1);
    tell(&mut world, &first, resting + 1);
    let twice = [NEWS, NEWS].concat();
    assert_eq!(kinds(&mut world, resting + 1), twice);
}

#[test]
fn only_the_referee_of_a_match_tells_of_it() {
    let mut world = LeagueWorld::begun(4, 2, 1);
    let orders = play_round(&mut world);
    let (_, order) = &orders[0];
    let (other, _) = &orders[1];
    let told = world.told_command(other, &order.match_id, order.attempt, None);
    assert!(world.when(&told).is_err());
    let stranger = Some(PlayerId::new("P99").unwrap());
    let told = world.told_command(&orders[0].0, &order.match_id, order.attempt, stranger);
    assert!(world.when(&told).is_err());
    let released = |event: &Event| matches!(event, Event::NewsReleased { .. });
    assert!(!world.events.iter().any(released));
}
