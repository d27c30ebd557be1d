//! Orders wait until the players of a match know what its referee will show.

use std::sync::Arc;

use league_core::league::CorrelationId;
use league_core::machine::Machine;
use league_protocol::fault::Code;
use league_protocol::id::PlayerId;
use league_protocol::message::{Message, RoundAnnouncement};
use league_protocol::sender::Agent;

use league_testkit::league::{LeagueWorld, rules};

/// The announcements among the letters, with their correlations.
fn announcements(world: &mut LeagueWorld) -> Vec<(RoundAnnouncement, CorrelationId)> {
    let letters = std::mem::take(&mut world.letters);
    let (told, rest): (Vec<_>, Vec<_>) = letters
        .into_iter()
        .partition(|letter| matches!(letter.message, Message::RoundAnnouncement(_)));
    world.letters = rest;
    told.into_iter()
        .map(|letter| match letter.message {
            Message::RoundAnnouncement(told) => ((*told).clone(), letter.correlation.unwrap()),
            other => panic!("{other:?}"),
        })
        .collect()
}

fn quiet(signs: bool) -> LeagueWorld {
    let mut world = LeagueWorld::new(rules());
    world.players_answer = false;
    for number in 1..=2 {
        world.admit_referee(&format!("Referee {number}"), 1);
        let mut candidate = world.candidate(&format!("Player {number}"));
        candidate.request.meta.proofs = signs;
        world.register_player(candidate);
    }
    let start = league_core::league::Command::pull(league_core::league::Lever::Start);
    world.when(&start).unwrap();
    world.settle();
    world
}

#[test]
fn order_waits_for_both_announcements() {
    for answer in [Ok(Message::Acknowledged), Err(Code::Timeout)] {
        let mut world = quiet(true);
        assert!(world.orders().is_empty());
        let told = announcements(&mut world);
        let [(_, first), (_, second)] = &told[..] else {
            panic!("{told:?}");
        };
        world.hear(first.clone(), Ok(Message::Acknowledged));
        assert!(world.orders().is_empty());
        world.hear(first.clone(), Ok(Message::Acknowledged));
        assert!(world.orders().is_empty(), "the same player again");
        world.hear(second.clone(), answer);
        assert_eq!(world.orders().len(), 1);
    }
}

#[test]
fn order_waits_for_announcements_no_longer_than_their_timeout() {
    let mut world = quiet(true);
    let timeout = rules().timeouts.other;
    world.pass(timeout.as_secs() - 1);
    assert!(world.orders().is_empty());
    world.pass(1);
    assert_eq!(world.orders().len(), 1);
}

#[test]
fn new_attempt_tells_players_that_sign_its_token_first() {
    let mut world = quiet(true);
    let old = announcements(&mut world);
    for (_, correlation) in &old {
        world.hear(correlation.clone(), Ok(Message::Acknowledged));
    }
    let (referee, order) = world.orders().remove(0);
    world.fail_order(&referee, &order);
    assert!(world.orders().is_empty());
    let told = announcements(&mut world);
    let endpoint = |told: &RoundAnnouncement| {
        let mut matches = told.matches.iter();
        Arc::clone(&matches.next().unwrap().referee_endpoint)
    };
    for ((before, late), (after, _)) in old.iter().zip(&told) {
        assert_ne!(endpoint(before), endpoint(after));
        let (before, after) = (before.own.as_ref().unwrap(), after.own.as_ref().unwrap());
        assert_eq!((before.attempt, after.attempt), (1, 2));
        assert_ne!(before.token, after.token);
        world.hear(late.clone(), Ok(Message::Acknowledged));
    }
    assert!(world.orders().is_empty(), "they know the old token only");
    for (_, correlation) in &told {
        world.hear(correlation.clone(), Ok(Message::Acknowledged));
    }
    let (other, again) = world.orders().remove(0);
    assert_ne!(referee, other);
    let shown = again.players.map(|player| player.match_token);
    let known = told.iter().map(|(told, _)| told.own.clone().unwrap().token);
    assert!(shown.into_iter().eq(known));
    assert_ne!(again.order_token, order.order_token);
}

#[test]
fn player_that_does_not_sign_keeps_its_first_token() {
    let mut world = quiet(false);
    for (_, correlation) in announcements(&mut world) {
        world.hear(correlation, Ok(Message::Acknowledged));
    }
    let (referee, order) = world.orders().remove(0);
    world.fail_order(&referee, &order);
    assert!(announcements(&mut world).is_empty());
    let (_, again) = world.orders().remove(0);
    assert_eq!(again.attempt, 2);
    let tokens = |players: [league_protocol::message::StartMatchPlayer; 2]| {
        players.map(|player| player.match_token)
    };
    assert_eq!(tokens(order.players), tokens(again.players));
}

#[test]
fn player_that_is_not_reached_delays_no_order() {
    let mut world = quiet(true);
    let told = announcements(&mut world);
    let silent = Agent::Player(PlayerId::numbered(2));
    world.hear(told[0].1.clone(), Ok(Message::Acknowledged));
    for _ in 0..5 {
        world.hear(CorrelationId::Notice(silent.clone()), Err(Code::Connection));
    }
    world.hear(told[0].1.clone(), Ok(Message::Acknowledged));
    assert_eq!(world.orders().len(), 1);
}

#[test]
fn announcement_that_cannot_be_sent_is_sent_again_and_blames_no_player() {
    let (timeout, probe_every) = (rules().timeouts.other, rules().probe_every);
    for answered in [true, false] {
        let mut world = quiet(true);
        let told = announcements(&mut world);
        world.hear(told[0].1.clone(), Ok(Message::Acknowledged));
        let unsent = told[1].1.clone();
        world.unsent(unsent.clone());
        let player = world.league.player(&PlayerId::numbered(2)).unwrap();
        assert_eq!(player.member().failures(), 0);
        assert!(world.orders().is_empty(), "it does not know the attempt");
        world.pass(probe_every.as_secs());
        let again = announcements(&mut world);
        let [(_, correlation)] = &again[..] else {
            panic!("{again:?}");
        };
        assert_eq!(*correlation, unsent);
        assert!(world.orders().is_empty());
        if answered {
            world.hear(unsent, Ok(Message::Acknowledged));
        } else {
            world.pass(timeout.as_secs() - 1);
            assert!(world.orders().is_empty(), "its time counts from the letter");
            world.pass(1);
        }
        assert_eq!(world.orders().len(), 1);
    }
}

#[test]
fn restarted_manager_gives_players_their_time_again() {
    let mut world = quiet(true);
    announcements(&mut world);
    world.league = world.replayed();
    world.letters = world.league.pending();
    let timeout = rules().timeouts.other.as_secs();
    world.pass(3_600);
    assert_eq!(announcements(&mut world).len(), 2);
    assert!(world.orders().is_empty());
    world.pass(timeout - 1);
    assert!(world.orders().is_empty());
    world.pass(1);
    assert_eq!(world.orders().len(), 1);
}
